package builtin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/files"
	"artoo/tool/text"
)

// change is what a call would do to one file.
type change struct {
	files.Place
	state    files.State
	old, new []byte
	// before and text are the file's text before and after.
	before, text string
	note         string
	moves        string // Access.MovesSecret
	unified      udiff.UnifiedDiff
	diff         string // shown to the user in place of the diff of the text
	cells        cellShift
	added        int
	removed      int
}

// access is the part of Access that every file tool fills alike.
func accessTo(p files.Place, kind tool.Kind, verb, object string) tool.Access {
	return tool.Access{
		Kind: kind, Paths: []string{p.Abs},
		Outside: p.Outside, Denied: p.Denied, Why: p.Why,
		Verb: verb, Object: object,
	}
}

// stale returns an error if the file is not as the model last saw it.
func stale(f *files.Files, t files.Place, now files.State) error {
	if seen, ok := f.Seen.Of(t.Abs); ok && !seen.Same(now) {
		if now.Missing {
			return t.Errorf(nil, "has been removed since it was read")
		}
		return t.Errorf(nil, "has changed since it was read; read it again before changing it")
	}
	return nil
}

// newChange compares the file with what it is to become.
func newChange(t files.Place, state files.State, old []byte, before, after files.Text) (change, error) {
	c := change{Place: t, state: state, old: old, before: before.Body, text: after.Body}
	var err error
	if c.new, err = after.Encode(); err != nil {
		return c, t.Errorf(err, "cannot be written as %s: ", after.Charset)
	}
	if !state.Missing && bytes.Equal(c.old, c.new) {
		return c, t.Errorf(nil, "has this very content already; there is nothing to do")
	}
	from := edit.Label("a/" + t.Display)
	if state.Missing {
		from = "/dev/null"
	}
	edits := udiff.Lines(before.Body, after.Body)
	c.unified, err = udiff.ToUnifiedDiff(from, edit.Label("b/"+t.Display), before.Body, edits, udiff.DefaultContextLines)
	if err != nil {
		return c, t.Errorf(err, "cannot be compared: ")
	}
	c.added, c.removed = edit.CountDiff(c.unified)
	return c, nil
}

// planChange is the Access of a call that changes the file at path as find says;
// the change is kept for commitChange.
func planChange(f *files.Files, verb, path string, find func(files.Place) (change, error)) (tool.Access, error) {
	t, err := f.Resolve(path, true)
	if err != nil {
		return tool.Access{Kind: tool.KindWrite, Verb: verb, Object: path}, err
	}
	access := accessTo(t, tool.KindWrite, verb, t.Display)
	if t.Refused() != nil {
		return access, nil
	}
	c, err := find(t)
	if err != nil {
		return access, err
	}
	access.MovesSecret = c.moves
	access.Diff = strings.ToValidUTF8(cmp.Or(c.diff, c.unified.String()), "�")
	access.Added, access.Removed = c.added, c.removed
	access.OtherNames = c.HasOtherNames()
	f.Seen.Plan(path, files.Planned{Abs: c.Abs, State: c.state, After: sha256.Sum256(c.new)})
	return access, nil
}

// commitChange finds the change anew and writes it if it is what planChange
// showed, and nothing else.
func commitChange(f *files.Files, path string, find func(files.Place) (change, error)) (change, error) {
	t, err := f.Resolve(path, true)
	if err != nil {
		return change{}, err
	}
	if err := t.Refused(); err != nil {
		return change{}, err
	}
	c, err := find(t)
	if err != nil {
		return c, err
	}
	shown, ok := f.Seen.TakePlan(path)
	if !ok || shown.Abs != c.Abs || !shown.State.Same(c.state) || shown.After != sha256.Sum256(c.new) {
		return c, c.Errorf(nil, "has changed since this call was shown and allowed, and was left alone; read it again "+
			"and repeat the call")
	}
	state, err := f.WriteFileAtomic(c.Abs, c.new, &c.state)
	if err != nil {
		return c, err
	}
	seen, _ := f.Seen.Of(c.Abs)
	f.Seen.Keep(c.Abs, sightAfter(seen, c, state))
	return c, nil
}

// counts is the summary of a change, such as "+3 -1".
func (c change) counts() string {
	if c.state.Missing {
		return "new, " + text.Count(c.added, "line")
	}
	return fmt.Sprintf("+%d -%d", c.added, c.removed)
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
			shown, cut := text.CutLine(strings.TrimSuffix(line.Content, "\n"), maxLine)
			text.WriteLine(&b, n, shown, cut)
			n++
		}
	}
	return b.String()
}
