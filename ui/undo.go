package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/edit"
	"artoo/tool/environ"
	"artoo/tool/journal"
	"artoo/tool/project"
	"artoo/tool/repo"
	"artoo/tool/text"
	"artoo/ui/screen"
)

// Undo takes back changes in a project, or brings them back.
type Undo struct {
	Journal *journal.Journal
	Root    string                // the project's
	Said    func(turn int) string // gives the user's message of a turn; may be nil
	Screen  *screen.Screen
	Environ environ.Vars // artoo's own variables
}

// OnTTY asks on the controlling terminal, which the screen's Err must be, whether to carry out
// the plan; without a terminal the error is agent.ErrNobody.
func (u Undo) OnTTY(ctx context.Context, p journal.Plan) (yes bool, err error) {
	return onTTY(u.Screen, nil, func(at asker) (bool, error) { return u.ask(ctx, p, at) })
}

func (u Undo) ask(ctx context.Context, p journal.Plan, at asker) (yes bool, err error) {
	return u.confirm(ctx, u.Question(p), p.HeadMoved, at)
}

// confirm asks, twice where the repository has moved on.
func (u Undo) confirm(ctx context.Context, q screen.UndoQuestion, headMoved bool, at asker) (yes bool, err error) {
	yes, err = yesOrNo(u.Screen, q).ask(ctx, at)
	if err != nil || !yes || !headMoved {
		return yes, err
	}
	q.Head = "HEAD has moved since; restored files belong to the earlier commit"
	q.Steps, q.Rows, q.Object = nil, nil, q.Object+" across that"
	return yesOrNo(u.Screen, q).ask(ctx, at)
}

// Question is the question about a plan.
func (u Undo) Question(p journal.Plan) screen.UndoQuestion {
	q := screen.UndoQuestion{Verb: "undo", Object: u.turns(p.Turns), Head: "nothing would change"}
	if p.Redo {
		q.Verb = "redo"
	}
	if len(p.Restore) > 0 {
		if q.Steps = stepNames(p.Steps); p.Redo {
			q.Steps = []string{"the undone changes"}
		}
		q.Head = screen.Count(len(p.Restore), "path")
	}
	if p.Busy != "" {
		q.Rows = append(q.Rows, screen.UndoRow{Text: "a " + p.Busy + " is in progress in this repository and changes its files"})
	}
	if p.HeadMoved {
		q.Rows = append(q.Rows, screen.UndoRow{Text: "HEAD has moved since then, so artoo asks twice"})
	}
	renamed := renames(p.Restore)
	var rest []screen.UndoRow
	for _, row := range u.git(p.Restore, false) {
		rest = append(rest, screen.UndoRow{Text: row})
	}
	for _, c := range p.Restore {
		row := screen.UndoRow{Verb: verbOf(c, p.Redo), Path: c.Path, Text: effect(c, p.Redo)}
		switch {
		case renamed[c.Path], project.GitData(c.Path): // its new name tells, or git's view
		case c.After.Kind == journal.Absent:
			q.Rows = append(q.Rows, row)
		default:
			rest = append(rest, row)
		}
	}
	for _, l := range p.Left {
		rest = append(rest, screen.UndoRow{Verb: staysAsItIs, Path: l.Path, Text: staysAsItIs + " " + lackText(l)})
	}
	for _, l := range p.Cannot {
		rest = append(rest, screen.UndoRow{Verb: cannotBeUndone, Path: l.Path, Text: cannotBeUndone + " " + lackText(l)})
	}
	q.Rows = append(q.Rows, rest...)
	q.Diff = u.Diff(p.Restore)
	return q
}

// git describes changes of a repository's data: done ones by the journal, others by the files.
func (u Undo) git(changes []journal.Change, done bool) (rows []string) {
	var list []repo.Change
	byPath := map[string]journal.Change{}
	other := func(c journal.Change) journal.State { // that which the files do not have
		if done {
			return c.Before
		}
		return c.After
	}
	for _, c := range changes {
		if project.GitData(c.Path) && (c.Before.Kind == journal.File || c.After.Kind == journal.File) {
			path := journal.Abs(u.Root, c.Path)
			list = append(list, repo.Change{Path: path, Gone: other(c).Kind == journal.Absent})
			byPath[path] = c
		}
	}
	open := func(path string) (io.ReadCloser, error) {
		c := byPath[path]
		data, err := u.content(c.Path, other(c))
		return io.NopCloser(bytes.NewReader(data)), err
	}
	for _, row := range repo.Describe(context.Background(), u.Environ, u.Root, list, done, open) {
		rows = append(rows, "git: "+row)
	}
	return rows
}

func renames(changes []journal.Change) map[string]bool {
	from := map[string]bool{}
	for _, c := range changes {
		from[c.From] = c.From != ""
	}
	return from
}

func stepNames(steps []journal.StepInfo) []string {
	var names []string
	for _, s := range steps {
		names = append(names, text.Clip(text.Head(s.What), 60))
	}
	return names
}

func (u Undo) turns(turns []int) string {
	last := turns[len(turns)-1]
	name := "turn " + numbers(turns)
	if len(turns) > 1 {
		name = "turns " + numbers(turns)
	}
	if u.Said == nil || u.Said(last) == "" {
		return name
	}
	if len(turns) > 1 {
		name += ", back to before"
	} else {
		name += ":"
	}
	return fmt.Sprintf(`%s "%s"`, name, strings.TrimSpace(text.Head(u.Said(last))))
}

// numbers lists turns by their numbers.
func numbers(turns []int) string {
	var names []string
	for _, n := range turns {
		names = append(names, strconv.Itoa(n))
	}
	return strings.Join(names, ", ")
}

// Effect names the change of a path in a few words, for a machine: deleted,
// created, renamed, mode, or modified.
func Effect(c journal.Change) string {
	switch {
	case c.From != "":
		return "renamed"
	case c.After.Kind == journal.Absent:
		return "deleted"
	case c.Before.Kind == journal.Absent:
		return "created"
	case onlyMode(c):
		return "mode"
	}
	return "modified"
}

func onlyMode(c journal.Change) bool {
	return c.Before.Kind == c.After.Kind && c.Before.Mode != c.After.Mode &&
		(c.Before.Kind == journal.Folder || c.Before.Hash != "" && c.Before.Hash == c.After.Hash)
}

// The fates of a path that an undo leaves alone.
const (
	staysAsItIs    = "left as it is:"
	cannotBeUndone = "cannot be undone:"
)

func verbOf(c journal.Change, redo bool) string {
	switch effect := Effect(c); {
	case effect == "modified" && redo:
		return "change"
	case effect == "created" && redo:
		return "create"
	default:
		return map[string]string{"renamed": "rename to", "deleted": "delete", "created": "bring back", "mode": "permissions of",
			"modified": "restore"}[effect]
	}
}

func effect(c journal.Change, redo bool) string {
	verb := verbOf(c, redo)
	what := map[journal.Kind]string{journal.Folder: "directory ", journal.Link: "link "}
	again := ""
	if redo {
		again = " again"
	}
	switch Effect(c) {
	case "renamed":
		return "rename " + c.From + " to " + c.Path + again
	case "deleted":
		text := verb + " " + what[c.Before.Kind] + c.Path + again
		if c.Before.Kind == journal.File {
			text += " (" + screen.Count(int(c.Before.Size), "byte") + ")"
		}
		return text
	case "mode":
		return fmt.Sprintf("%s %s%s: %04o, now %04o", verb, what[c.After.Kind], c.Path, c.After.Mode.Perm(), c.Before.Mode.Perm())
	}
	return verb + " " + what[c.After.Kind] + c.Path + again
}

func lackText(l journal.Lack) string {
	text := l.Path + " (" + string(l.Why)
	if l.Err != nil {
		text += ": " + l.Err.Error()
	}
	return text + ")"
}

// Done reports the changes made, and those left.
func (u Undo) Done(p journal.Plan, r journal.Report) {
	word := "undone"
	if p.Redo {
		word = "redone"
	}
	text := word + ": " + screen.Count(len(r.Done), "path")
	if len(r.Done) == 0 {
		text = "nothing was changed"
	}
	if p.Already() {
		text += ": every path is already in that state"
	}
	u.Screen.TookBack(text)
	u.lacking("left alone: ", slices.Concat(p.Left, r.Left))
	u.lacking(cannotBeUndone+" ", slices.Concat(p.Cannot, r.Cannot))
}

// mostLacking is how many of the paths that were not changed are named after an undo.
const mostLacking = 20

func (u Undo) lacking(what string, all []journal.Lack) {
	for _, l := range all[:min(len(all), mostLacking)] {
		u.Screen.Note(what + oneLine(lackText(l)))
	}
	if more := len(all) - mostLacking; more > 0 {
		u.Screen.Note(what + screen.Count(more, "more path"))
	}
}

// maxDiffed is the size in bytes of the largest file whose text is compared, maxDiff that of
// all diffs.
const (
	maxDiffed = 1 << 20
	maxDiff   = 4 << 20
)

// Diff is the unified diff of changes to contents; binary content, and content not kept or
// too large, is named.
func (u Undo) Diff(changes []journal.Change) string {
	var b strings.Builder
	renamed, left := renames(changes), 0
	for _, c := range changes {
		switch {
		case renamed[c.Path], project.GitData(c.Path):
			continue
		case c.From != "":
			fmt.Fprintf(&b, "%s: was %s\n", c.Path, c.From)
			continue
		case onlyMode(c):
			fmt.Fprintf(&b, "%s: permissions %04o, was %04o\n", c.Path, c.After.Mode.Perm(), c.Before.Mode.Perm())
			continue
		}
		if c.Before.Kind == journal.Folder || c.After.Kind == journal.Folder {
			continue
		}
		text, err := "", errLeftOut
		if b.Len() <= maxDiff {
			text, err = u.diff(c)
		} else {
			left++
		}
		if err != nil {
			text = fmt.Sprintf("%s: %d bytes, was %d (%v)\n", oneLine(c.Path), c.After.Size, c.Before.Size, err)
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "the diff leaves out %s: it would be too long\n", screen.Count(left, "more file"))
	}
	return b.String()
}

var errLeftOut = errors.New("text left out")

func (u Undo) diff(c journal.Change) (string, error) {
	before, err := u.content(c.Path, c.Before)
	if err != nil {
		return "", err
	}
	after, err := u.content(c.Path, c.After)
	if err != nil {
		return "", err
	}
	name := strings.ReplaceAll(c.Path, "\n", "^J") // a name must not look like a line of the diff
	return edit.DiffFiles(name, before, after, c.Before.Kind != journal.Absent, c.After.Kind != journal.Absent), nil
}

// content is the content of a file before or after a change.
func (u Undo) content(path string, s journal.State) ([]byte, error) {
	if s.Kind == journal.File && s.Size > maxDiffed {
		return nil, fmt.Errorf("too long to compare")
	}
	return u.Journal.Content(path, s)
}
