package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	Glob       string `json:"glob,omitempty" jsonschema:"only files such as *.{ts,tsx} or src/**; ! in front leaves them out"`
	Type       string `json:"type,omitempty" jsonschema:"only files of a language: go, py, js, ts, rust, java, ..."`
	Context    int    `json:"context,omitempty" jsonschema:"lines shown around each match, up to 20"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema:"matches may span lines and . matches line breaks"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"name the files only"`
	Limit      int    `json:"limit,omitempty" jsonschema:"matches (or files) shown; default 100"`
}

// Grep makes the tool that searches file contents.
func Grep() Tool {
	return New(Def{
		Name: "grep",
		Kind: KindRead,
		Mend: mendGrep,
		Description: "Search file contents with a regular expression. Answers path:line: text, sorted by path; " +
			"context lines are path-line- text. Leaves out binary files, and what .gitignore names; " +
			"a file named as path is searched even so.",
	}, planGrep, runGrep)
}

type grepCall struct {
	in      grepInput
	place   Place
	pattern textPattern
	filter  fileFilter
}

func (in grepInput) check(files *Files) (grepCall, error) {
	c := grepCall{in: in}
	var err error
	if c.pattern, err = compilePattern(in.Pattern, in.IgnoreCase, in.Multiline); err != nil {
		return c, fmt.Errorf("grep: %w", err)
	}
	if c.filter, err = newFileFilter(in.Glob, in.Type); err != nil {
		return c, fmt.Errorf("grep: %w", err)
	}
	if in.Context < 0 || in.Limit < 0 {
		return c, errors.New("grep: context and limit count lines and matches: they cannot be negative")
	}
	c.in.Context = min(in.Context, maxContext)
	if in.Limit == 0 {
		c.in.Limit = grepLimit
	}
	c.in.Limit = min(c.in.Limit, maxGrepLimit)
	if c.place, err = files.Resolve(orDot(in.Path), false); err != nil {
		return c, fmt.Errorf("grep: %w", err)
	}
	return c, nil
}

func planGrep(_ context.Context, env *Env, in grepInput) (Access, error) {
	c, err := in.check(env.Files)
	if err != nil {
		return Access{}, err
	}
	return c.place.access(KindRead, "search", fmt.Sprintf("\"%s\" in %s", in.Pattern, orDot(c.place.Display))), nil
}

func runGrep(ctx context.Context, env *Env, in grepInput, _ io.Writer) (Result, error) {
	c, err := in.check(env.Files)
	if err != nil {
		return Result{}, err
	}
	if c.place.Outside || c.place.Denied {
		return Result{}, fmt.Errorf("grep: %s", c.place.Why)
	}
	info, err := os.Stat(c.place.Abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Result{}, fmt.Errorf("grep: there is no %s; use glob to find its name", c.place.Display)
	case err != nil:
		return Result{}, fmt.Errorf("grep: %w", err)
	case info.IsDir():
		return c.tree(ctx, env)
	}
	return c.file(ctx, env)
}

func (c *grepCall) searcher() lineSearch {
	return lineSearch{pattern: c.pattern, context: c.in.Context, first: c.in.FilesOnly}
}

func (c *grepCall) file(ctx context.Context, env *Env) (Result, error) {
	s := fileSearch{env: env, lines: c.searcher()}
	inner, cancel := context.WithTimeout(ctx, grepTimeout)
	defer cancel()
	hits, err := s.file(inner, c.place.Abs, c.in.Limit)
	all := treeHits{timedOut: errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil}
	switch {
	case all.timedOut:
	case errors.Is(err, errBinary):
		return Result{}, fmt.Errorf("grep: %s is a binary file", c.place.Display)
	case (errors.Is(err, errTooBig) || errors.Is(err, errHeavy)) && c.pattern.multi:
		return Result{}, fmt.Errorf("grep: %s is %w: search it without multiline", c.place.Display, err)
	case err != nil:
		return Result{}, fmt.Errorf("grep: %s: %w", c.place.Display, err)
	}
	all.add("", fileResult{hits: hits}, c.in.Limit, c.in.FilesOnly)
	return c.result(all, false, env.page(maxGrepText)), nil
}

func (c *grepCall) tree(ctx context.Context, env *Env) (Result, error) {
	all, err := list(ctx, env.Files, c.place.Abs, func(_ *os.File, e fs.DirEntry, name string) (changed int64, keep bool) {
		return 0, e.Type().IsRegular() && c.filter.takes(name, c.place.child(name))
	})
	if err != nil {
		return Result{}, fmt.Errorf("grep: %w", err)
	}
	if len(all.files) == 0 && all.looked > 0 && c.in.Glob+c.in.Type != "" {
		return c.nothingToSearch(all.looked), nil
	}
	slices.SortFunc(all.files, byName)
	t := treeSearch{env: env, dir: c.place.Abs, proto: c.searcher(), limit: c.in.Limit, timeout: grepTimeout}
	hits, err := t.search(ctx, all.files)
	if err != nil {
		return Result{}, fmt.Errorf("grep: %w", err)
	}
	return c.result(hits, all.more, env.page(maxGrepText)), nil
}

// nothingToSearch says that glob and type left none of the files there are.
func (c *grepCall) nothingToSearch(all int) Result {
	var by []string
	if c.in.Glob != "" {
		by = append(by, "the glob "+c.in.Glob)
	}
	if c.in.Type != "" {
		by = append(by, "the type "+c.in.Type)
	}
	return Result{
		Text: fmt.Sprintf("no file was searched: %s fits none of the %s in %s\n", strings.Join(by, " with "),
			plural(all, "file"), orDot(c.place.Display)),
		Summary: "no files",
	}
}

// result puts the answer into words, in at most most bytes of lines.
func (c *grepCall) result(all treeHits, cut bool, most int) Result {
	var b strings.Builder
	shown := 0 // matches, or files
	for _, f := range all.files {
		name := filepath.ToSlash(c.place.Display)
		if f.name != "" {
			name = c.place.child(f.name)
		}
		if c.in.FilesOnly {
			if b.Len()+len(name) > most && shown > 0 {
				break
			}
			fmt.Fprintln(&b, printable(name))
			shown++
			continue
		}
		n, whole := writeHits(&b, printable(name), f.lines, c.in.Context > 0, most)
		if shown += n; !whole {
			break
		}
	}
	all.full = shown < all.shown
	all.shown = shown
	if all.total == 0 {
		fmt.Fprintf(&b, "nothing matches %q in %s\n", c.in.Pattern, orDot(c.place.Display))
	}
	c.notes(&b, all, cut)
	return Result{Text: b.String(), Summary: c.summary(all), Paged: true}
}

// writeHits writes a file's lines up to most bytes of answer, and tells how many
// matches these are and whether it was all; where context is shown, lines that
// are not neighbours are parted by "--".
func writeHits(b *strings.Builder, name string, lines []hitLine, parted bool, most int) (matches int, whole bool) {
	last := -1
	for _, l := range lines {
		if b.Len() > 0 && b.Len()+len(name)+len(l.text) > most {
			return matches, false
		}
		if parted && b.Len() > 0 && l.num != last+1 {
			b.WriteString("--\n")
		}
		last = l.num
		if l.kind == hitContext {
			fmt.Fprintf(b, "%s-%d- %s\n", name, l.num, l.text)
		} else {
			fmt.Fprintf(b, "%s:%d: %s\n", name, l.num, l.text)
		}
		if l.kind == hitStart {
			matches++
		}
	}
	return matches, true
}

func (c *grepCall) notes(b *strings.Builder, all treeHits, cut bool) {
	what := counted(all.shown, "match", "matches")
	if c.in.FilesOnly {
		what = plural(all.shown, "file")
	}
	switch {
	case all.full:
		fmt.Fprintf(b, "(the first %s: more do not fit into one answer; narrow the pattern, path or glob)\n", what)
	case all.more && !all.timedOut:
		fmt.Fprintf(b, "(stopped at the limit of %s, there may be more; narrow the pattern, path or glob, or raise "+
			"limit)\n", what)
	}
	if all.timedOut {
		fmt.Fprintf(b, "(stopped after %s: not every file was searched; narrow the path or glob)\n", grepTimeout)
	}
	if cut {
		fmt.Fprintf(b, "(only the first %d files were looked at; narrow the path)\n", maxListed)
	}
	if n := len(all.tooBig); n > 0 {
		fmt.Fprintf(b, "(%s over %d MB left out, such as %s; name one as path to search it)\n",
			plural(n, "file"), maxGrepFile>>20, c.few(all.tooBig))
	}
	if n := len(all.slow); n > 0 {
		fmt.Fprintf(b, "(%s given up, such as %s: the pattern takes too long on them; make it simpler)\n",
			counted(n, "file was", "files were"), c.few(all.slow))
	}
	if n := len(all.binary); n > 0 {
		fmt.Fprintf(b, "(%s binary further down, such as %s, and searched up to there)\n",
			counted(n, "file is", "files are"), c.few(all.binary))
	}
	if all.unread > 0 {
		fmt.Fprintf(b, "(%s could not be read)\n", plural(all.unread, "file"))
	}
}

func (c *grepCall) few(names []string) string {
	var few []string
	for _, name := range names[:min(len(names), 3)] {
		few = append(few, printable(c.place.child(name)))
	}
	return strings.Join(few, ", ")
}

func (c *grepCall) summary(all treeHits) string {
	one, many := "hit", "hits"
	if c.in.FilesOnly {
		one, many = "file", "files"
	}
	if all.more || all.full {
		return "the first " + counted(all.shown, one, many)
	}
	return counted(all.shown, one, many)
}

// orDot is the path a missing one stands for.
func orDot(p string) string {
	return cmp.Or(p, ".")
}
