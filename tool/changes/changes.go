// Package changes reads a change of a repository as git sees it, for a review, and finds the places of what the review
// reports. It writes nothing, and runs no program that a repository names.
package changes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/git"
	"artoo/tool/project"
	"artoo/tool/text"
)

// Scope selects the changes to read. Its zero value is the working tree against HEAD, with the files that git does not
// track and does not ignore.
type Scope struct {
	Range  string   // git's: A..B, A...B, C^!, or a commit that the working tree is compared with; "" for HEAD
	Staged bool     // the index against HEAD; not with Range
	Paths  []string // git's path patterns, relative to the working directory; nil for all
}

// Error is a scope that cannot be read.
type Error struct{ Subject, Why, Try string }

// Error names the subject and the reason.
func (e *Error) Error() string { return e.Subject + ": " + e.Why }

// ErrorKind is usage.
func (e *Error) ErrorKind() string { return "usage" }

// ErrorHint is the way out.
func (e *Error) ErrorHint() string { return e.Try }

// Kind is the kind of a file's change.
type Kind string

// The kinds.
const (
	Added    Kind = "new"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed"
)

// Set is a change.
type Set struct {
	Files []File // ordered as by git, untracked ones last
	git   git.Git
	Root  string // the top of the repository, absolute
	side  string // the new side for git: a commit, ":" for the index; "" is the working tree
}

// File is a changed file.
type File struct {
	Path  string // relative to the top of the repository, with slashes
	From  string // its name before, for Renamed; else ""
	Kind  Kind
	Left  string // why its lines are not here; "" where they are
	Hunks []Hunk // nil for a file of which only the name or the mode changed
}

// Name is a path from the top of the repository as seen from the working directory, with slashes.
func (c *Set) Name(path string) string {
	name, err := filepath.Rel(c.git.Dir, filepath.Join(c.Root, filepath.FromSlash(path)))
	if err != nil {
		return path
	}
	return filepath.ToSlash(name)
}

// HasText reports whether there are lines to look at.
func (c *Set) HasText() bool {
	return slices.ContainsFunc(c.Files, func(f File) bool { return len(f.Hunks) > 0 })
}

// Why says why a file has no lines to look at.
func (f File) Why() string {
	if f.Left == "" && f.Hunks == nil {
		return "no changed lines"
	}
	return f.Left
}

// Hunk is a run of changed lines with some around them.
type Hunk struct {
	Old, New Span
	Section  string   // the line that git shows as the place of the hunk; may be ""
	Lines    []string // each begins with a space, + or -, and has no newline
}

// Span is a run of lines; First counts from 1, and is the line before it where Count is 0.
type Span struct{ First, Count int }

const (
	// unchangedLines is git's option for how many unchanged lines stand around changed ones.
	unchangedLines = "-U10"
	// mostLines bounds the bytes of the lines of one file; a longer one is most often generated.
	mostLines = 256 << 10
)

// Read reads the change of a scope. The error is an *Error where the user can do something about it.
func Read(ctx context.Context, p project.Project, environ []string, s Scope) (*Set, error) {
	if !p.Git {
		return nil, &Error{"review", "not a git repository, or another user's", "cd into a repository of yours; git init makes one"}
	}
	if s.Staged && s.Range != "" {
		return nil, &Error{"--staged", "goes without a range", "artoo review --staged, or artoo review " + s.Range}
	}
	set := &Set{Root: p.Root, git: git.Git{Own: p.Environ, Dir: p.Dir, Env: append(git.SafeEnviron(environ), "GIT_WORK_TREE="+p.Root),
		Flags: []string{"-c", "core.quotePath=false"}}}
	trees, err := set.trees(ctx, s)
	if err != nil {
		return nil, err
	}
	if set.side == "" { // git hands files of the working tree to filters, which a configuration names
		if err := p.GitRuns(); err != nil {
			return nil, &Error{"review", err.Error(), "artoo review --staged, or a range of commits such as main...HEAD, which do not need the working tree"}
		}
	}
	if err := set.known(ctx, s.Paths, trees); err != nil {
		return nil, err
	}
	if s.Staged {
		trees = append(trees, "--cached")
	}
	args := slices.Concat([]string{"diff", "--patch", unchangedLines, "--inter-hunk-context=0", "-M", "--no-color", "--no-ext-diff", "--no-textconv",
		"--no-relative", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=dirty", "--submodule=short", "-O" + os.DevNull}, trees,
		[]string{"--"}, s.Paths)
	if err := set.git.Pipe(ctx, nil, set.parse, args...); err != nil {
		return nil, err
	}
	if set.side == "" {
		err = set.untracked(ctx, s.Paths)
	}
	return set, err
}

// known checks that each path is in the index, in one of the trees, or on disk. Git diff takes a misspelled path for one
// without changes, and a review of it would say that all is well.
func (c *Set) known(ctx context.Context, paths, trees []string) error {
	for _, path := range paths {
		_, err := os.Lstat(git.SeenFrom(c.git.Dir, path))
		found := err == nil
		for _, tree := range trees {
			tracked, err := c.tracks(ctx, tree, path)
			if err != nil {
				return err
			}
			found = found || tracked
		}
		if !found {
			return &Error{path, "no such path, neither on disk nor in git", "a path as seen from the working directory; git status lists those with changes"}
		}
	}
	return nil
}

// tracks reports whether a path pattern matches a file of the index, of a tree, or one that git neither tracks nor ignores.
func (c *Set) tracks(ctx context.Context, tree, path string) (bool, error) {
	err := c.git.Do(ctx, "ls-files", "--cached", "--others", "--exclude-standard", "--error-unmatch", "--with-tree="+tree, "--", path)
	var exit interface{ ExitCode() int }
	switch {
	case err == nil || ctx.Err() != nil || !errors.As(err, &exit):
		return err == nil, err
	case exit.ExitCode() == 1:
		return false, nil
	}
	return false, &Error{path, err.Error(), "a path or a git pattern, below " + c.Root}
}

// trees are one or two for git diff: the old side, and the new one if it is a commit. It sets the new side.
func (c *Set) trees(ctx context.Context, s Scope) ([]string, error) {
	if s.Range == "" {
		head := "HEAD"
		if ids, err := c.revisions(ctx, head); err != nil {
			return nil, err
		} else if len(ids) == 0 { // nothing was committed yet
			if head, err = c.emptyTree(ctx); err != nil {
				return nil, err
			}
		}
		if s.Staged {
			c.side = ":"
		}
		return []string{head}, nil
	}
	ids, err := c.revisions(ctx, s.Range)
	if err != nil {
		return nil, err
	}
	before := slices.IndexFunc(ids, func(id string) bool { return strings.HasPrefix(id, "^") })
	switch {
	case len(ids) == 0 || before == 0:
		try := "a git range such as main...HEAD, HEAD~3, or C^! for one commit"
		if _, err := os.Lstat(filepath.Join(c.git.Dir, s.Range)); err == nil {
			try = "artoo review -- " + s.Range
		}
		return nil, &Error{s.Range, "git knows no such range", try}
	case before < 0 && strings.HasSuffix(s.Range, "^!"): // the first commit
		c.side = ids[0]
		empty, err := c.emptyTree(ctx)
		return []string{empty, ids[0]}, err
	case before < 0 && len(ids) > 1:
		return nil, &Error{s.Range, "its two sides have no commit in common", "A..B, which compares the two sides"}
	case before < 0:
		return ids, nil
	}
	c.side = ids[0]
	return []string{strings.TrimPrefix(ids[before], "^"), ids[0]}, nil
}

// revisions are the commits that a range names, those left out with a ^; none for a range that is unknown.
func (c *Set) revisions(ctx context.Context, of string) (ids []string, err error) {
	err = c.git.Run(ctx, nil, '\n', func(line string) error { ids = append(ids, line); return nil },
		"rev-parse", "--revs-only", "--end-of-options", of)
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && ctx.Err() == nil {
		return nil, nil
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "--end-of-options" }), err // older git repeats it
}

func (c *Set) emptyTree(ctx context.Context) (id string, err error) {
	err = c.git.Run(ctx, strings.NewReader(""), '\n', func(line string) error { id = line; return nil }, "hash-object", "-t", "tree", "--stdin")
	return id, err
}

// untracked adds the files that git neither tracks nor ignores, as new ones.
func (c *Set) untracked(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		paths = []string{":/"}
	}
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	return c.git.Run(ctx, nil, 0, func(name string) error {
		f := File{Path: name, Kind: Added}
		data, err := regular(root, name, mostLines)
		switch {
		case strings.HasSuffix(name, "/"):
			f.Left = "another repository"
		case err != nil:
			f.Left = err.Error()
		case bytes.IndexByte(data, 0) >= 0:
			f.Left = binary
		case len(data) > 0:
			lines := split(data)
			h := Hunk{New: Span{1, len(lines)}}
			for _, line := range lines {
				h.Lines = append(h.Lines, "+"+line)
			}
			f.Hunks = []Hunk{h}
		}
		c.Files = append(c.Files, f)
		return nil
	}, slices.Concat([]string{"ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--"}, paths)...)
}

const binary = "binary"

var errLong = fmt.Errorf("more than %d KB", mostLines>>10)

// regular reads a regular file below a root; most is the most bytes.
func regular(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > most:
		return nil, errLong
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func split(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// mostFile is the most bytes of a file whose lines are counted.
const mostFile = 16 << 20

// Side names the new side for people: the index or a commit; "" for the working tree.
func (c *Set) Side() string {
	switch c.side {
	case "":
		return ""
	case ":":
		return "the index"
	}
	return "commit " + c.side[:min(len(c.side), 12)]
}

// Lines are those of a file on the new side, without newlines. The path is from the top of the repository, with slashes.
func (c *Set) Lines(ctx context.Context, path string) ([]string, error) {
	if c.side == "" {
		root, err := os.OpenRoot(c.Root)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		data, err := regular(root, path, mostFile)
		return split(data), err
	}
	object := c.side + ":" + path
	if c.side == ":" {
		object = ":0:" + path
	}
	var data []byte
	err := c.git.Pipe(ctx, nil, func(out io.Reader) (err error) {
		if data, err = io.ReadAll(io.LimitReader(out, mostFile+1)); err == nil && len(data) > mostFile {
			err = fs.ErrInvalid
		}
		return err
	}, "cat-file", "blob", object)
	return split(data), err
}

// parse reads the output of git diff.
func (c *Set) parse(out io.Reader) error {
	p := parser{set: c, in: bufio.NewReaderSize(out, 64<<10)}
	for {
		line, err := p.in.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
}

type parser struct {
	set      *Set
	in       *bufio.Reader
	size     int // bytes of the present file's lines
	old, new int // lines that the present hunk still has
}

// line takes the next line of a patch.
func (p *parser) line(line string) error {
	if p.old > 0 || p.new > 0 {
		return p.body(line)
	}
	if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
		p.set.Files = append(p.set.Files, File{Path: nameInBoth(rest), Kind: Modified})
		p.size = 0
		return nil
	}
	if len(p.set.Files) == 0 {
		return nil // "* Unmerged path"
	}
	f := &p.set.Files[len(p.set.Files)-1]
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "new file mode "):
		f.Kind = Added
	case strings.HasPrefix(line, "deleted file mode "):
		f.Kind = Deleted
	case strings.HasPrefix(line, "rename from "):
		f.From, f.Kind = unquoted(strings.TrimPrefix(line, "rename from ")), Renamed
	case strings.HasPrefix(line, "rename to "):
		f.Path = unquoted(strings.TrimPrefix(line, "rename to "))
	case word == "---" && f.Kind == Deleted || word == "+++" && f.Kind != Deleted:
		if name := unquoted(strings.TrimSuffix(rest, "\t")); len(name) > 2 && rest != os.DevNull {
			f.Path = name[2:]
		}
	case strings.HasPrefix(line, "Binary files "):
		f.Left = binary
	case strings.HasPrefix(line, "@@ -"):
		return p.hunk(f, line)
	}
	return nil
}

// hunk begins a hunk.
func (p *parser) hunk(f *File, line string) error {
	var h Hunk
	spans, section, ok := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@")
	old, new, two := strings.Cut(spans, " ")
	if !ok || !two || !h.Old.read(old, "-") || !h.New.read(new, "+") {
		return fmt.Errorf("git diff says %q", text.Clip(line, 100))
	}
	h.Section = strings.TrimSpace(section)
	p.old, p.new = h.Old.Count, h.New.Count
	if f.Left == "" {
		f.Hunks = append(f.Hunks, h)
	}
	return nil
}

// read reads "-12,3", or "-12" for one line.
func (s *Span) read(text, sign string) bool {
	text, ok := strings.CutPrefix(text, sign)
	if !ok {
		return false
	}
	if s.Count = 1; strings.Contains(text, ",") {
		_, err := fmt.Sscanf(text, "%d,%d", &s.First, &s.Count)
		return err == nil
	}
	_, err := fmt.Sscanf(text, "%d", &s.First)
	return err == nil
}

// body takes a line of a hunk.
func (p *parser) body(line string) error {
	f := &p.set.Files[len(p.set.Files)-1]
	if line == "" { // a setting of git's leaves out the space of an empty line
		line = " "
	}
	switch line[0] {
	case '\\':
		return nil
	case '+':
		p.new--
	case '-':
		p.old--
	case ' ':
		p.old, p.new = p.old-1, p.new-1
	default:
		return fmt.Errorf("git diff says %q within a hunk", text.Clip(line, 100))
	}
	if p.size += len(line); p.size > mostLines {
		f.Left, f.Hunks = errLong.Error(), nil
	}
	if f.Left == "" {
		h := &f.Hunks[len(f.Hunks)-1]
		h.Lines = append(h.Lines, line)
	}
	return nil
}

// nameInBoth is the name of a file whose name stayed, from "a/NAME b/NAME".
func nameInBoth(rest string) string {
	if strings.HasPrefix(rest, `"`) {
		if end := strings.Index(rest[1:], `" "`); end >= 0 {
			rest = rest[:end+2]
		}
		return strings.TrimPrefix(unquoted(rest), "a/")
	}
	if half := (len(rest) - 1) / 2; half > 2 {
		return rest[2:half]
	}
	return rest
}

// unquoted is a name that git may have written in quotes, see git.Quote.
func unquoted(name string) string {
	inner, ok := strings.CutPrefix(name, `"`)
	if !ok {
		return name
	}
	inner = strings.TrimSuffix(inner, `"`)
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		if c != '\\' || i+1 == len(inner) {
			b.WriteByte(c)
			continue
		}
		i++
		switch at := strings.IndexByte("abtnvfr", inner[i]); {
		case at >= 0:
			b.WriteByte(byte(at + 7))
		case inner[i] >= '0' && inner[i] <= '7' && i+2 < len(inner):
			b.WriteByte((inner[i]-'0')<<6 | (inner[i+1]-'0')<<3 | inner[i+2] - '0')
			i += 2
		default:
			b.WriteByte(inner[i])
		}
	}
	return b.String()
}
