package builtin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/diff"
	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/text"
)

// change is the change that a call would make to one file.
type change struct {
	files.Place
	op       byte         // A, M or D: it is added, modified or deleted
	from     *files.Place // where a patch moves it from, nil where it stays
	state    files.State
	old, new []byte
	was, now files.Text
	note     string
	moves    string // Access.MovesSecret
	unified  diff.Unified
	shown    string // shown to the user in place of the diff of the text
	cells    cellShift
	added    int
	removed  int
}

// cellShift says that n cells of a notebook take the place of those from a number to another,
// excluded. The zero value changes none.
type cellShift struct{ from, to, n int }

// accessTo is the part of Access that every file tool fills alike.
func accessTo(p files.Place, kind tool.Kind, verb, object string) tool.Access {
	return tool.Access{
		Kind: kind, Paths: []string{p.Abs},
		Outside: p.Outside, Denied: p.Denied, Why: p.Why,
		Verb: verb, Object: object,
	}
}

// newChange compares the file with its new text.
func newChange(t files.Place, state files.State, old []byte, was, now files.Text) (change, error) {
	c := change{Place: t, op: 'M', state: state, old: old, was: was, now: now}
	if state.Missing {
		c.op = 'A'
	}
	err := c.finish()
	if err == nil && !state.Missing && bytes.Equal(c.old, c.new) {
		err = t.Errorf(nil, "already has exactly this content; there is nothing to do")
	}
	return c, err
}

// finish makes the bytes to write, and the diff.
func (c *change) finish() (err error) {
	from, to := git.Quote("a/"+c.source().Display), git.Quote("b/"+c.Display)
	if c.state.Missing {
		from = "/dev/null"
	}
	if c.op == 'D' {
		to = "/dev/null"
	} else if c.new, err = c.now.Encode(); err != nil {
		return c.Errorf(err, "cannot be written as %s: ", c.now.Charset)
	}
	c.unified = diff.Compare(from, to, c.was.Body, c.now.Body)
	c.added, c.removed = diff.Count(c.unified)
	return nil
}

// source is the place of the file before the change.
func (c *change) source() files.Place {
	if c.from != nil {
		return *c.from
	}
	return c.Place
}

// diff is the change as the user is shown it.
func (c *change) diff() string {
	switch {
	case c.shown != "" || c.unified.Hunks != nil:
		return strings.ToValidUTF8(cmp.Or(c.shown, c.unified.String()), "�")
	case c.op == 'D':
		return fmt.Sprintf("--- %s\n+++ /dev/null\n(%s are deleted)\n", git.Quote("a/"+c.Display), text.Bytes(c.state.Size))
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", c.unified.From, c.unified.To)
}

// planned adds the changes of a call to its access.
func planned(access *tool.Access, changes ...change) {
	for _, c := range changes {
		access.Diff += c.diff()
		access.Added, access.Removed = access.Added+c.added, access.Removed+c.removed
		access.OtherNames = access.OtherNames || c.source().HasOtherNames()
		access.MovesSecret = cmp.Or(access.MovesSecret, c.moves)
		if c.from != nil {
			access.Outcomes = append(access.Outcomes, tool.Outcome{Path: c.from.Abs, Gone: true})
		}
		access.Outcomes = append(access.Outcomes, tool.Outcome{Path: c.Abs, Data: c.new, Gone: c.op == 'D'})
	}
	access.Digest = digest(changes)
}

// digest hashes the present and the new content of the changes.
func digest(changes []change) string {
	h := sha256.New()
	for _, c := range changes {
		fmt.Fprintf(h, "%c %q %q %x %v %d %x\n", c.op, c.source().Abs, c.Abs, c.state.Hash, c.state.Missing, c.state.Size,
			sha256.Sum256(c.new))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// planChange is the Access of a call that changes the file at path as find says.
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
	if err == nil {
		planned(&access, c)
	}
	return access, err
}

// commitChange finds the change again and makes it if it is the one that planChange showed.
func commitChange(env *tool.Env, path string, find func(files.Place) (change, error)) (change, error) {
	t, err := env.Files.Resolve(path, true)
	if err == nil {
		err = t.Refused()
	}
	if err != nil {
		return change{}, err
	}
	c, err := find(t)
	if err == nil {
		err = commit(env, c)
	}
	return c, err
}

// commit makes the changes of a call if they are those that were decided on, all or none: after a failure
// everything is as before, or the error names the files that could not be put back.
func commit(env *tool.Env, changes ...change) error {
	if env.Digest != digest(changes) {
		return errors.New("a file has changed since this call was allowed, and nothing was done; read " +
			"it again and repeat the call")
	}
	var done []changed
	for i := range changes {
		c, err := changes[i].make(env.Files)
		if err == nil {
			done = append(done, c)
			continue
		}
		for _, c := range slices.Backward(done) {
			if back := c.back(); back != nil {
				err = errors.Join(err, fmt.Errorf("could not be put back: %w", back))
			}
		}
		return err
	}
	for i, c := range done {
		if c.last != nil {
			if err := c.last(); err != nil {
				return changes[i].Errorf(err, "is deleted, but its content is left in the same directory: ")
			}
		}
		changes[i].saw(env.Files, c.state)
	}
	return nil
}

// changed is a change that was made.
type changed struct {
	state files.State
	back  func() error // takes it back
	last  func() error // runs once all changes are made; may be nil
}

func (c *change) make(f *files.Files) (done changed, err error) {
	switch {
	case c.op == 'D':
		done.state = files.State{Missing: true}
		done.back, done.last, err = f.SetAside(c.Place, c.state)
		return done, err
	case c.state.Missing:
		done.state, done.back, err = f.Create(c.Place, c.new)
		return done, err
	}
	unmove := func() error { return nil }
	if c.from != nil {
		if unmove, err = f.Move(*c.from, c.Place, c.state); err != nil || c.was.Body == c.now.Body {
			return changed{state: c.state, back: unmove}, err
		}
	}
	state, err := f.WriteFileAtomic(c.Abs, c.new, &c.state)
	if err != nil {
		return changed{}, errors.Join(err, unmove())
	}
	return changed{state: state, back: func() error {
		if _, err := f.WriteFileAtomic(c.Abs, c.old, &state); err != nil {
			return err
		}
		return unmove()
	}}, nil
}

// saw notes the lines that the model knows of the file now: those it wrote, and those it knew before.
func (c *change) saw(f *files.Files, now files.State) {
	source := c.source()
	seen, _ := f.Seen.Of(source.Abs)
	if c.op == 'D' || c.from != nil {
		f.Seen.Forget(source.Abs)
	}
	if c.op == 'D' {
		return
	}
	next := files.ReadState{State: now, Whole: seen.Whole || c.state.Missing, Body: c.now.Body, Kept: true, Lines: seen.Lines,
		Cells: files.Replaced(seen.Cells, c.cells.from, c.cells.to, c.cells.n)}
	if !next.Whole {
		for range strings.Lines(c.now.Body) {
			next.Of++
		}
		for _, h := range c.unified.Hunks {
			at := h.ToLine
			for _, l := range h.Lines {
				switch l.Kind {
				case diff.Equal:
					at++
				case diff.Delete:
					next.Lines = files.Replaced(next.Lines, at, at+1, 0)
				case diff.Insert:
					next.Lines = files.Replaced(next.Lines, at, at, 1)
					at++
				}
			}
		}
	}
	f.Seen.Keep(c.Abs, next)
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
			if line.Kind == diff.Delete {
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

// maxDifference bounds the diff of others' changes that is shown, in bytes.
const maxDifference = 4 << 10

// difference is a diff of the changes that others made to a text; whole says that it is complete.
func difference(then, now string) (shown string, whole bool) {
	text := strings.ToValidUTF8(diff.Compare("as read", "as it is now", then, now).String(), "�")
	if len(text) <= maxDifference {
		return text, true
	}
	cut := strings.LastIndexByte(text[:maxDifference], '\n') + 1
	return text[:cut] + "[more was changed further down]\n", false
}

// staleEdit is for a file that changed since it was read. Where a command of the model's own did that, an edit whose
// places are unchanged and unique is still valid; for any other it returns the reason with the changes. lines returns
// those that the edit would change in a text. view gives the part of a text that counts, nil for all of it. note is for
// the result.
func staleEdit(f *files.Files, t files.Place, now files.State, before files.Text, view func(string) string,
	lines func(files.Text) ([]string, error)) (note string, err error) {
	stale := stale(f, t, now)
	if stale == nil {
		return "", nil
	}
	seen, _ := f.Seen.Of(t.Abs)
	shown, is := seen.Body, before.Body
	if view != nil {
		shown, is = view(shown), view(is)
	}
	differs, whole := difference(shown, is)
	if !seen.Kept || differs == "" && view == nil {
		return "", stale
	}
	refused := func(how, begins string) error {
		return t.Errorf(nil, "has changed%s; read it again before changing it. %s:\n%s", how, begins, differs)
	}
	then, err := lines(files.Text{Body: seen.Body})
	current, nowErr := lines(before)
	switch {
	case !whole:
		return "", refused(" a lot since it was read", "It begins")
	case !seen.ChangedByCommand(now):
		return "", refused(" since it was read, and not by a command of yours", "What has changed")
	case err != nil || nowErr != nil || !slices.Equal(then, current):
		return "", refused(" since it was read", "What has changed")
	}
	if differs == "" {
		return "(a command had changed the file since it was read, but not the source of a cell)\n", nil
	}
	return "(a command had changed the file since it was read, but not there:\n" + differs + ")\n", nil
}
