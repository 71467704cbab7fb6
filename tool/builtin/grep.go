package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/search"
	"artoo/tool/text"
)

const (
	grepLimit    = 100  // matches shown unless the call says otherwise
	maxGrepLimit = 1000 // and the most it may say
	maxContext   = 20   // lines before and after a match
	maxGrepText  = 50 << 10
)

type grepInput struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression, RE2 syntax"`
	Path       string `json:"path,omitempty" jsonschema:"file or directory; default: the working directory"`
	Glob       string `json:"glob,omitempty" jsonschema:"such as *.{ts,tsx} or src/**; ! in front excludes"`
	Type       string `json:"type,omitempty" jsonschema:"language: go, py, js, ts, rust, java, ..."`
	Context    int    `json:"context,omitempty" jsonschema:"lines around each match, up to 20"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema:"matches may span lines; . matches line breaks"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"name the files only"`
	Limit      int    `json:"limit,omitempty" jsonschema:"matches (or files) shown; default 100"`
}

// Grep makes the tool that searches file contents.
func Grep() tool.Tool {
	return tool.New(tool.Def{
		Name: "grep",
		Kind: tool.KindRead,
		Description: "Search file contents. Answers path:line: text, sorted by path; context lines are path-line- text. " +
			"Leaves out binary files and what .gitignore names, except a file named as path.",
	}, planGrep, runGrep)
}

type grepCall struct {
	in    grepInput
	place files.Place
	query search.Query
}

func (in grepInput) check(env *tool.Env) (grepCall, error) {
	c := grepCall{in: in}
	if in.Context < 0 || in.Limit < 0 {
		return c, errors.New("grep: context and limit count lines and matches: they cannot be negative")
	}
	c.in.Context = min(in.Context, maxContext)
	c.in.Limit = min(cmp.Or(in.Limit, grepLimit), maxGrepLimit)
	var err error
	c.query, err = search.NewQuery(in.Pattern, search.QueryOptions{IgnoreCase: in.IgnoreCase, Multiline: in.Multiline, Glob: in.Glob, Type: in.Type,
		Context: c.in.Context, FilesOnly: in.FilesOnly, Limit: c.in.Limit,
		Inside: func(body string) map[int]string { return insideSecrets(env, body, math.MaxInt) }})
	if err != nil {
		return c, fmt.Errorf("grep: %w", err)
	}
	if c.place, err = env.Files.Resolve(cmp.Or(in.Path, "."), false); err != nil {
		return c, fmt.Errorf("grep: %w", err)
	}
	return c, nil
}

func planGrep(_ context.Context, env *tool.Env, in grepInput) (tool.Access, error) {
	c, err := in.check(env)
	if err != nil {
		return tool.Access{}, err
	}
	return accessTo(c.place, tool.KindRead, "search", fmt.Sprintf("\"%s\" in %s", in.Pattern, cmp.Or(c.place.Display, "."))), nil
}

func runGrep(ctx context.Context, env *tool.Env, in grepInput, _ io.Writer) (tool.Result, error) {
	c, err := in.check(env)
	if err != nil {
		return tool.Result{}, err
	}
	if c.place.Outside || c.place.Denied {
		return tool.Result{}, fmt.Errorf("grep: %s", c.place.Why)
	}
	info, err := os.Stat(c.place.Abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Result{}, fmt.Errorf("grep: there is no %s; use glob to find its name", c.place.Display)
	case err != nil:
		return tool.Result{}, fmt.Errorf("grep: %w", err)
	case info.IsDir():
		return c.tree(ctx, env)
	}
	hits, err := c.query.File(ctx, env.Files, c.place)
	if err != nil {
		return tool.Result{}, fmt.Errorf("grep: %s %w", c.place.Display, err)
	}
	return c.result(hits, env.Page(maxGrepText)), nil
}

func (c *grepCall) tree(ctx context.Context, env *tool.Env) (tool.Result, error) {
	hits, err := c.query.Tree(ctx, env.Files, c.place)
	if err != nil {
		return tool.Result{}, fmt.Errorf("grep: %w", err)
	}
	if hits.Passed > 0 {
		return c.nothingToSearch(hits.Passed), nil
	}
	return c.result(hits, env.Page(maxGrepText)), nil
}

// nothingToSearch says that glob and type left none of the files there are.
func (c *grepCall) nothingToSearch(all int) tool.Result {
	var by []string
	if c.in.Glob != "" {
		by = append(by, "the glob "+c.in.Glob)
	}
	if c.in.Type != "" {
		by = append(by, "the type "+c.in.Type)
	}
	return tool.Result{
		Text: fmt.Sprintf("no file was searched: %s fits none of the %s in %s\n", strings.Join(by, " with "),
			text.Count(all, "file"), cmp.Or(c.place.Display, ".")),
		Summary: "no files",
	}
}

// result puts the answer into words, in at most most bytes of lines.
func (c *grepCall) result(all search.Hits, most int) tool.Result {
	var b strings.Builder
	shown := 0 // matches, or files
	for _, f := range all.Files {
		name := filepath.ToSlash(c.place.Display)
		if f.Name != "" {
			name = c.place.Child(f.Name)
		}
		if c.in.FilesOnly {
			if b.Len()+len(name) > most && shown > 0 {
				break
			}
			fmt.Fprintln(&b, text.Printable(name))
			shown++
			continue
		}
		n, whole := writeHits(&b, text.Printable(name), f.Lines, c.in.Context > 0, most)
		if shown += n; !whole {
			break
		}
	}
	full := shown < all.Shown
	all.Shown = shown
	if all.Total == 0 {
		fmt.Fprintf(&b, "nothing matches %q in %s\n", c.in.Pattern, cmp.Or(c.place.Display, "."))
	}
	c.notes(&b, all, full)
	return tool.Result{Text: b.String(), Summary: c.summary(all, full), Paged: true}
}

// writeHits writes lines of a file up to most bytes; parted writes "--" between those that are apart.
// It returns how many matches these are and whether it was all.
func writeHits(b *strings.Builder, name string, lines []search.HitLine, parted bool, most int) (matches int, whole bool) {
	last := -1
	for _, l := range lines {
		if b.Len() > 0 && b.Len()+len(name)+len(l.Text) > most {
			return matches, false
		}
		if parted && b.Len() > 0 && l.Num != last+1 {
			b.WriteString("--\n")
		}
		last = l.Num
		if l.Kind == search.HitContext {
			fmt.Fprintf(b, "%s-%d- %s\n", name, l.Num, l.Text)
		} else {
			fmt.Fprintf(b, "%s:%d: %s\n", name, l.Num, l.Text)
		}
		if l.Kind == search.HitStart {
			matches++
		}
	}
	return matches, true
}

func (c *grepCall) notes(b *strings.Builder, all search.Hits, full bool) {
	what := text.Counted(all.Shown, "match", "matches")
	if c.in.FilesOnly {
		what = text.Count(all.Shown, "file")
	}
	switch {
	case full:
		fmt.Fprintf(b, "(the first %s: more do not fit into one answer; narrow the pattern, path or glob)\n", what)
	case all.More && !all.TimedOut:
		fmt.Fprintf(b, "(stopped at the limit of %s, there may be more; narrow the pattern, path or glob, or raise "+
			"limit)\n", what)
	}
	if all.TimedOut {
		fmt.Fprintf(b, "(stopped after %s: not every file was searched; narrow the path or glob)\n", search.Timeout)
	}
	if all.Cut {
		fmt.Fprintf(b, "(only the first %d files were looked at; narrow the path)\n", search.MaxListed)
	}
	if n := len(all.TooBig); n > 0 {
		fmt.Fprintf(b, "(%s over %d MB left out, such as %s; name one as path to search it)\n",
			text.Count(n, "file"), search.MaxFile>>20, c.few(all.TooBig))
	}
	if n := len(all.Slow); n > 0 {
		fmt.Fprintf(b, "(%s skipped, such as %s: the pattern takes too long on them; make it simpler)\n",
			text.Counted(n, "file was", "files were"), c.few(all.Slow))
	}
	if n := len(all.Binary); n > 0 {
		fmt.Fprintf(b, "(%s searched only up to the binary part, such as %s)\n",
			text.Counted(n, "file is", "files are"), c.few(all.Binary))
	}
	b.WriteString(hiddenNote(all.Hidden))
	if all.Unread > 0 {
		fmt.Fprintf(b, "(%s could not be read)\n", text.Count(all.Unread, "file"))
	}
}

func (c *grepCall) few(names []string) string {
	var few []string
	for _, name := range names[:min(len(names), 3)] {
		few = append(few, text.Printable(c.place.Child(name)))
	}
	return strings.Join(few, ", ")
}

func (c *grepCall) summary(all search.Hits, full bool) string {
	one, many := "hit", "hits"
	if c.in.FilesOnly {
		one, many = "file", "files"
	}
	if all.More || full {
		return "the first " + text.Counted(all.Shown, one, many)
	}
	return text.Counted(all.Shown, one, many)
}
