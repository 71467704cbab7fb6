package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/search"
	"artoo/tool/text"
)

// globLimit is how many files one call of glob names.
const globLimit = 200

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"such as src/{a,b}/**/*.ts"`
	Path    string `json:"path,omitempty" jsonschema:"directory to start in; default: the working directory"`
}

// Glob makes the tool that finds files by name.
func Glob() tool.Tool {
	return tool.New(tool.Def{
		Name: "glob",
		Kind: tool.KindRead,
		Description: "Find files by name pattern, newest first, at most 200. " +
			"Leaves out what .gitignore names. *.go means this directory only, **/*.go every depth.",
	}, planGlob, runGlob)
}

type globTarget struct {
	place   files.Place
	pattern string
}

func (in globInput) target(files *files.Files) (globTarget, error) {
	pattern := filepath.ToSlash(strings.TrimSpace(in.Pattern))
	if pattern == "" {
		return globTarget{}, errors.New("glob: the pattern is empty: give one such as **/*.go")
	}
	if !doublestar.ValidatePattern(pattern) {
		return globTarget{}, fmt.Errorf("glob: %q is not a pattern: close every [ and {, or put a backslash before one "+
			"that is literal", in.Pattern)
	}
	base, rest := doublestar.SplitPattern(path.Clean(pattern))
	base = filepath.FromSlash(base)
	if !filepath.IsAbs(base) {
		base = filepath.Join(cmp.Or(in.Path, "."), base)
	}
	place, err := files.Resolve(base, false)
	if err != nil {
		return globTarget{}, fmt.Errorf("glob: %w", err)
	}
	return globTarget{place, rest}, nil
}

func planGlob(_ context.Context, env *tool.Env, in globInput) (tool.Access, error) {
	t, err := in.target(env.Files)
	if err != nil {
		return tool.Access{}, err
	}
	a := accessTo(t.place, tool.KindRead, "glob", in.Pattern)
	if in.Path != "" {
		a.Object += " in " + in.Path
	}
	return a, nil
}

func runGlob(ctx context.Context, env *tool.Env, in globInput, _ io.Writer) (tool.Result, error) {
	t, err := in.target(env.Files)
	if err != nil {
		return tool.Result{}, err
	}
	if err := mustBeDir(t.place); err != nil {
		return tool.Result{}, fmt.Errorf("glob: %w", err)
	}
	found, err := search.List(ctx, env.Files, t.place.Abs, t.matches)
	if err != nil {
		return tool.Result{}, fmt.Errorf("glob: %w", err)
	}
	matches := found.Files
	slices.SortFunc(matches, func(a, b search.File) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), strings.Compare(a.Name, b.Name))
	})
	shown := make([]string, 0, min(len(matches), globLimit))
	hidden := 0 // links that lead out or to a hidden file
	for _, m := range matches {
		if len(shown) == globLimit {
			break
		}
		place, err := env.Files.Resolve(filepath.Join(t.place.Abs, filepath.FromSlash(m.Name)), false)
		if err != nil || place.Outside || place.Denied {
			hidden++
			continue
		}
		shown = append(shown, text.Printable(t.place.Child(m.Name)))
	}
	deep, left := 0, found.Hidden
	if len(shown) == 0 && !strings.Contains(t.pattern, "/") {
		t.pattern = "**/" + t.pattern
		all, err := search.List(ctx, env.Files, t.place.Abs, t.matches)
		if err != nil {
			return tool.Result{}, fmt.Errorf("glob: %w", err)
		}
		deep = len(all.Files)
	}
	result := globResult(in, t, found.More, shown, len(matches)-hidden, deep)
	result.Text += hiddenNote(left)
	return result, nil
}

// matches keeps the files of the pattern.
func (t globTarget) matches(dir *os.File, e fs.DirEntry, name string) (changed int64, keep bool) {
	if !doublestar.MatchUnvalidated(t.pattern, name) {
		return 0, false
	}
	changed, err := search.Modified(dir, e)
	return changed, err == nil // else it is gone meanwhile
}

// mustBeDir returns an error for a place that cannot be searched as a directory.
func mustBeDir(p files.Place) error {
	if p.Outside || p.Denied {
		return errors.New(p.Why)
	}
	info, err := os.Stat(p.Abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s", p.Display)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file, not a directory", p.Display)
	}
	return nil
}

// globResult puts the answer into words: total files match, and deep at every depth.
func globResult(in globInput, t globTarget, more bool, shown []string, total, deep int) tool.Result {
	var b strings.Builder
	for _, name := range shown {
		b.WriteString(name)
		b.WriteByte('\n')
	}
	if len(shown) == 0 {
		fmt.Fprintf(&b, "no files match %s in %s\n", in.Pattern, t.place.Display)
		if deep > 0 {
			fmt.Fprintf(&b, "(at every depth, as %s, %s)\n", t.pattern, text.Counted(deep, "file matches", "files match"))
		}
	}
	summary := text.Count(total, "file")
	if len(shown) < total {
		summary = fmt.Sprintf("%d of %s", len(shown), summary)
		fmt.Fprintf(&b, "(the newest %s; narrow the pattern or the path to see others)\n", summary)
	}
	if more {
		fmt.Fprintf(&b, "(only the first %d files were looked at; narrow the path)\n", search.MaxListed)
	}
	return tool.Result{Text: b.String(), Summary: summary}
}
