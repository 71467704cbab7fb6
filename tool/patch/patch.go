// Package patch writes changes of files as a patch that git apply takes: texts as unified
// diffs, other content in git's literal form, with modes, links and renames.
package patch

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"strings"

	"artoo/tool/diff"
	"artoo/tool/git"
)

// Change is a path whose file differs. A patch holds regular files and symbolic links; of their
// modes git keeps whether the owner may execute a file.
type Change struct {
	Path          string // relative to where the patch is applied, with slashes
	Before, After *File  // nil for no file
}

// File is one side of a change.
type File struct {
	Mode   fs.FileMode // type and permission bits
	Target string      // a link's target
}

// Contents opens the regular files of changes.
type Contents interface {
	Before(path string) (io.ReadCloser, error)
	After(path string) (io.ReadCloser, error)
}

// maxText is how many bytes of a file are held in memory and compared line by line. A larger one is written as binary.
const maxText = 8 << 20

// Write writes the changes as one patch, sorted by path, with renames of files that kept their
// content. newHash is the one by which the repository names objects, sha1.New for most. left are
// the paths, sorted, of changes that no patch can hold: of other kinds of files, of permissions, and
// of directories without files.
func Write(w io.Writer, changes []Change, contents Contents, newHash func() hash.Hash) (left []string, err error) {
	p := &patch{w: bufio.NewWriter(w), contents: contents, newHash: newHash}
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	var held []Change
	for _, c := range changes {
		before, after := holds(c.Before), holds(c.After)
		if (before != c.Before || after != c.After) && !follows(changes, c) {
			left = append(left, c.Path)
		}
		switch {
		case before == nil && after == nil:
		case before != nil && after != nil && before.Mode.Type() != after.Mode.Type():
			held = append(held, Change{Path: c.Path, Before: before}, Change{Path: c.Path, After: after})
		default:
			held = append(held, Change{Path: c.Path, Before: before, After: after})
		}
	}
	renamed, err := p.renames(held)
	if err != nil {
		return left, err
	}
	gone := map[string]bool{}
	for _, from := range renamed {
		gone[from.Path] = true
	}
	for _, c := range held {
		if c.After == nil && gone[c.Path] {
			continue
		}
		if from, ok := renamed[c.Path]; ok {
			p.rename(from, c)
			continue
		}
		wrote, err := p.change(c)
		if err != nil {
			return left, fmt.Errorf("%s: %w", c.Path, err)
		}
		if !wrote {
			left = append(left, c.Path)
		}
	}
	slices.Sort(left)
	return left, p.w.Flush()
}

// holds is a side of a change, nil if a patch cannot hold it.
func holds(f *File) *File {
	if f != nil && (f.Mode.IsRegular() || f.Mode.Type() == fs.ModeSymlink) {
		return f
	}
	return nil
}

// follows reports whether the change of a directory follows from those of files, which are sorted.
func follows(changes []Change, c Change) bool {
	isDir := func(f *File) bool { return f != nil && f.Mode.IsDir() }
	came, went := isDir(c.After), isDir(c.Before)
	if came == went {
		return false
	}
	if went && holds(c.After) != nil {
		return true // git removes it for the file
	}
	below := c.Path + "/"
	at, _ := slices.BinarySearchFunc(changes, below, func(o Change, path string) int { return cmp.Compare(o.Path, path) })
	for _, o := range changes[at:] {
		if !strings.HasPrefix(o.Path, below) {
			break
		}
		if came && holds(o.After) != nil || went && holds(o.Before) != nil {
			return true
		}
	}
	return false
}

type patch struct {
	w        *bufio.Writer // Its errors come with Flush.
	contents Contents
	newHash  func() hash.Hash
}

// renames pairs files that went with those that came with the same content: the former by the path of the
// latter. A link is none of them: git apply would not see that it went.
func (p *patch) renames(changes []Change) (map[string]Change, error) {
	went := map[string][]Change{} // keyed by git's name of the content
	types := map[string]int{}     // A path of two changes has another type now, and is not renamed.
	renamed := map[string]Change{}
	for _, c := range changes {
		types[c.Path]++
	}
	for _, after := range []bool{false, true} {
		for _, c := range changes {
			if (c.Before == nil) != after || (c.After == nil) == after || types[c.Path] > 1 || after && len(went) == 0 {
				continue
			}
			s, err := p.side(c, after)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Path, err)
			}
			switch from := went[s.id]; {
			case s.size == 0 || s.open == nil:
			case !after:
				went[s.id] = append(from, c)
			case len(from) > 0:
				renamed[c.Path], went[s.id] = from[0], from[1:]
			}
		}
	}
	return renamed, nil
}

func (p *patch) rename(from, to Change) {
	p.head(from.Path, to.Path)
	if was, is := gitMode(from.Before), gitMode(to.After); was != is {
		fmt.Fprintf(p.w, "old mode %s\nnew mode %s\n", was, is)
	}
	fmt.Fprintf(p.w, "similarity index 100%%\nrename from %s\nrename to %s\n", git.Quote(from.Path), git.Quote(to.Path))
}

func (p *patch) head(from, to string) {
	fmt.Fprintf(p.w, "diff --git %s %s\n", git.Quote("a/"+from), git.Quote("b/"+to))
}

// change writes one change; false is one that git does not see.
func (p *patch) change(c Change) (wrote bool, err error) {
	before, err := p.side(c, false)
	if err != nil {
		return false, err
	}
	after, err := p.side(c, true)
	if err != nil {
		return false, err
	}
	was, is := gitMode(c.Before), gitMode(c.After)
	if before.id == after.id && was == is {
		return false, nil
	}
	p.head(c.Path, c.Path)
	none := strings.Repeat("0", len(cmp.Or(before.id, after.id)))
	index := fmt.Sprintf("index %s..%s", cmp.Or(before.id, none), cmp.Or(after.id, none))
	from, to := label("a/"+c.Path), label("b/"+c.Path)
	switch {
	case was == "":
		from = "/dev/null"
		fmt.Fprintf(p.w, "new file mode %s\n%s\n", is, index)
	case is == "":
		to = "/dev/null"
		fmt.Fprintf(p.w, "deleted file mode %s\n%s\n", was, index)
	case was != is:
		fmt.Fprintf(p.w, "old mode %s\nnew mode %s\n", was, is)
		if before.id == after.id {
			return true, nil
		}
		fmt.Fprintln(p.w, index)
	default:
		fmt.Fprintf(p.w, "%s %s\n", index, is)
	}
	if before.binary || after.binary {
		fmt.Fprintln(p.w, "GIT binary patch")
		if err := p.literal(after); err != nil {
			return false, err
		}
		return true, p.literal(before)
	}
	fmt.Fprint(p.w, diff.Compare(from, to, string(before.data), string(after.data)))
	return true, nil
}

// label is a name as the lines --- and +++ have it: a tab ends one that has a space.
func label(name string) string {
	quoted := git.Quote(name)
	if quoted == name && strings.Contains(name, " ") {
		return name + "\t"
	}
	return quoted
}

func gitMode(f *File) string {
	switch {
	case f == nil:
		return ""
	case f.Mode.Type() == fs.ModeSymlink:
		return "120000"
	case f.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// side is the content of one side of a change.
type side struct {
	file   *File
	id     string // git's name of it, "" for no file
	size   int64
	data   []byte // all of it, unless it is more than maxText
	binary bool
	open   func() (io.ReadCloser, error) // nil for a link
}

func (p *patch) side(c Change, after bool) (s side, err error) {
	s.file = c.Before
	open := p.contents.Before
	if after {
		s.file, open = c.After, p.contents.After
	}
	if s.file == nil {
		return s, nil
	}
	if s.file.Mode.Type() == fs.ModeSymlink {
		s.data = []byte(s.file.Target)
	} else {
		s.open = func() (io.ReadCloser, error) { return open(c.Path) }
		file, err := s.open()
		if err != nil {
			return s, err
		}
		s.data, err = io.ReadAll(io.LimitReader(file, maxText+1))
		if err == nil && len(s.data) > maxText {
			s.data = nil
			rest, copyErr := io.Copy(io.Discard, file)
			s.size, s.binary, err = maxText+1+rest, true, copyErr
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return s, err
		}
	}
	sum := p.newHash()
	if !s.binary {
		s.size, s.binary = int64(len(s.data)), bytes.IndexByte(s.data, 0) >= 0
	}
	fmt.Fprintf(sum, "blob %d\x00", s.size)
	err = s.copyTo(sum)
	s.id = hex.EncodeToString(sum.Sum(nil))
	return s, err
}

// copyTo writes the content. It is an error if its size has changed.
func (s side) copyTo(w io.Writer) error {
	if s.data != nil || s.size == 0 {
		_, err := w.Write(s.data)
		return err
	}
	file, err := s.open()
	if err != nil {
		return err
	}
	n, err := io.Copy(w, file)
	if n != s.size && err == nil {
		err = errors.New("the file changes")
	}
	return errors.Join(err, file.Close())
}
