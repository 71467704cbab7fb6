package tool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// maxEdit is the size in bytes of the largest file that is changed here; it is
// held in memory a few times over.
const maxEdit = 10 << 20

// change is what a call would do to one file.
type change struct {
	target
	state    State // of the file before
	old, new []byte
	// before and text are the file's text before and after.
	before, text string
	note         string // for the model, at the end of the result
	moves        string // Access.MovesSecret
	unified      udiff.UnifiedDiff
	diff         string    // that the user is shown, where it is not the one of the text
	cells        cellShift // of a notebook
	added        int
	removed      int
}

// access is the part of Access that every file tool fills alike.
func (p Place) access(kind Kind, verb, object string) Access {
	return Access{
		Kind: kind, Paths: []string{p.Abs},
		Outside: p.Outside, Denied: p.Denied, Why: p.Why,
		Verb: verb, Object: object,
	}
}

// loadText reads the text file at the target. A file that does not exist is an
// empty textFile with State.Missing.
func (t target) loadText() (textFile, []byte, State, error) {
	info, err := t.replaceable()
	if err != nil {
		return textFile{}, nil, State{}, err
	}
	if info == nil {
		return textFile{}, nil, State{Missing: true}, nil
	}
	raw, info, err := t.readFile(maxEdit)
	if errors.Is(err, errTooLarge) {
		return textFile{}, nil, State{}, fmt.Errorf("%w; change it with a command", err)
	}
	if err != nil {
		return textFile{}, nil, State{}, err
	}
	if kind := binaryType(raw); kind != "" {
		return textFile{}, nil, State{}, t.errorf(nil, "is a binary file (%s); change it with a command", kind)
	}
	text, err := decodeText(raw)
	if err != nil {
		return textFile{}, nil, State{}, t.errorf(err, "")
	}
	return text, raw, stateOf(info, raw), nil
}

// stale returns an error if the file is not as the model last saw it.
func (f *Files) stale(t target, now State) error {
	if seen, ok := f.sightOf(t.Abs); ok && !seen.Same(now) {
		if now.Missing {
			return t.errorf(nil, "has been removed since it was read")
		}
		return t.errorf(nil, "has changed since it was read; read it again before changing it")
	}
	return nil
}

// newChange compares the file with what it is to become.
func newChange(t target, state State, old []byte, before, after textFile) (change, error) {
	c := change{target: t, state: state, old: old, before: before.body, text: after.body}
	var err error
	if c.new, err = after.encode(); err != nil {
		return c, t.errorf(err, "cannot be written as %s: ", after.charset)
	}
	if !state.Missing && bytes.Equal(c.old, c.new) {
		return c, t.errorf(nil, "has this very content already; there is nothing to do")
	}
	from := label("a/" + t.Display)
	if state.Missing {
		from = "/dev/null"
	}
	edits := udiff.Lines(before.body, after.body)
	c.unified, err = udiff.ToUnifiedDiff(from, label("b/"+t.Display), before.body, edits, udiff.DefaultContextLines)
	if err != nil {
		return c, t.errorf(err, "cannot be compared: ")
	}
	c.added, c.removed = countDiff(c.unified)
	return c, nil
}

// countDiff counts the lines of a diff.
func countDiff(unified udiff.UnifiedDiff) (added, removed int) {
	for _, h := range unified.Hunks {
		for _, line := range h.Lines {
			switch line.Kind {
			case udiff.Insert:
				added++
			case udiff.Delete:
				removed++
			}
		}
	}
	return added, removed
}

// label is a file name in the head of a diff, quoted like git does if it could
// be taken for more.
func label(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsAny(name, `"\`) {
		return strconv.Quote(name)
	}
	return name
}

// planChange is the Access of a call that changes the file at path as find says;
// the change is kept for commitChange.
func (f *Files) planChange(verb, path string, find func(target) (change, error)) (Access, error) {
	t, err := f.resolve(path, true)
	if err != nil {
		return Access{Kind: KindWrite, Verb: verb, Object: path}, err
	}
	access := t.access(KindWrite, verb, t.Display)
	if t.refused() != nil {
		return access, nil
	}
	c, err := find(t)
	if err != nil {
		return access, err
	}
	access.MovesSecret = c.moves
	access.Diff = strings.ToValidUTF8(cmp.Or(c.diff, c.unified.String()), "�")
	access.Added, access.Removed = c.added, c.removed
	access.OtherNames = c.hasOtherNames()
	f.plan(path, planned{abs: c.Abs, state: c.state, after: sha256.Sum256(c.new)})
	return access, nil
}

// hasOtherNames reports whether the file at the place has other names (hard links).
func (p Place) hasOtherNames() bool {
	info, err := os.Lstat(p.Abs)
	return err == nil && info.Mode().IsRegular() && linkCount(info) > 1
}

// commitChange finds the change anew and writes it if it is what planChange
// showed, and nothing else.
func (f *Files) commitChange(path string, find func(target) (change, error)) (change, error) {
	t, err := f.resolve(path, true)
	if err != nil {
		return change{}, err
	}
	if err := t.refused(); err != nil {
		return change{}, err
	}
	c, err := find(t)
	if err != nil {
		return c, err
	}
	shown, ok := f.takePlan(path)
	if !ok || shown.abs != c.Abs || !shown.state.Same(c.state) || shown.after != sha256.Sum256(c.new) {
		return c, c.errorf(nil, "has changed since this call was shown and allowed, and was left alone; read it again "+
			"and repeat the call")
	}
	state, err := f.WriteFileAtomic(c.Abs, c.new, &c.state)
	if err != nil {
		return c, err
	}
	seen, _ := f.sightOf(c.Abs)
	f.keepSight(c.Abs, seen.after(c, state))
	return c, nil
}

// counts is the summary of a change, such as "+3 -1".
func (c change) counts() string {
	if c.state.Missing {
		return "new, " + plural(c.added, "line")
	}
	return fmt.Sprintf("+%d -%d", c.added, c.removed)
}

// plural counts things whose plural ends in s.
func plural(n int, what string) string {
	return counted(n, what, what+"s")
}

// The changed regions that the model is shown after an edit.
const (
	regionLines = 60
	regionBytes = 4 << 10
)

// regions is the file around each change as it is now, with line numbers.
func (c change) regions() string {
	var b strings.Builder
	lines := 0
	for i, h := range c.unified.Hunks {
		if i > 0 {
			b.WriteString("   ...\n")
		}
		n := h.ToLine
		for _, line := range h.Lines {
			if line.Kind == udiff.Delete {
				continue
			}
			if lines++; lines > regionLines || b.Len() > regionBytes {
				b.WriteString("[more was changed further down]\n")
				return b.String()
			}
			text, cut := cutLine(strings.TrimSuffix(line.Content, "\n"), maxLine)
			writeLine(&b, n, text, cut)
			n++
		}
	}
	return b.String()
}

// writeLine writes a line of a file as models see it: right-aligned number,
// tab, text. cut is how many bytes were left out of the text.
func writeLine(w io.Writer, number int, text string, cut int) {
	mark := ""
	if cut > 0 {
		mark = fmt.Sprintf(" [%s of this line left out]", byteSize(int64(cut)))
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
	fmt.Fprintf(w, "%6d\t%s%s\n", number, text, mark)
}
