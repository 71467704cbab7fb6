package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/sandbox"
)

// Journal is what the project's files were before each change of the present
// session; nil where nothing is kept. It waits for the end of runs that were stopped.
func (a *Agent) Journal() *journal.Journal {
	a.settling.Wait()
	return a.journal
}

// openJournal opens the journal of the present session. A journal that cannot be
// opened is told: then nothing can be taken back.
func (a *Agent) openJournal() error {
	if a.opt.Journal == nil {
		return nil
	}
	if err := a.closeJournal(); err != nil {
		return err
	}
	from := ""
	if s := a.conv.Session(); s != nil && source(s) != s.ID() {
		from = source(s) // what changed there since is none of its own, once it has a file
	}
	j, err := a.opt.Journal(a.sessionID, from)
	if err != nil {
		a.notify("nothing can be undone in this session: " + err.Error())
		return nil
	}
	a.journal = j
	if line := Recovered(j.Recovered()); line != "" {
		a.notify(line)
	}
	return nil
}

func (a *Agent) closeJournal() error {
	if a.journal == nil {
		return nil
	}
	a.settling.Wait()
	err := errors.Join(a.endStep(), a.journal.Close())
	a.journal = nil
	return err
}

// Recovered says in one line what was finished, kept or taken back because an artoo was
// killed in the middle of it; "" for nothing.
func Recovered(reports []journal.Report) string {
	var finished, kept, back, left []string
	for _, r := range reports {
		to := &back
		switch {
		case r.Finished:
			to = &finished
		case r.Kept:
			to = &kept
		}
		for _, c := range r.Done {
			*to = append(*to, c.Path)
		}
		left = append(left, lackNames(slices.Concat(r.Left, r.Cannot))...)
	}
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
		most  int
	}{{"its undo is finished", finished, 20}, {"what changed stays, and undo takes it back", kept, 20}, {"taken back to what was before", back, 20},
		{"left as they are", left, len(left)}} {
		if len(part.names) > 0 {
			parts = append(parts, part.what+": "+tool.ListUpTo(part.most, part.names))
		}
	}
	if parts == nil {
		return ""
	}
	return "an artoo was killed here in the middle of a change; " + strings.Join(parts, "; ")
}

// UserTurns are the messages that users typed in a history, in order: what the
// journal's turns are called by. The first turn is that of the first of them.
func UserTurns(messages []provider.Message) (turns []string) {
	for _, m := range messages {
		if m.Role == provider.RoleUser && !m.Own() {
			turns = append(turns, typedText(m))
		}
	}
	return turns
}

// Turn is what the user typed at the beginning of a turn of the present session,
// by the journal's number; "" if it is not known.
func (a *Agent) Turn(number int) string {
	before := a.turnsBefore()
	switch {
	case number < 1 || number > before+len(a.turns):
		return ""
	case number > before:
		return a.turns[number-1-before]
	}
	m, err := a.conv.Session().UserMessage(number - 1)
	if err != nil {
		return "" // the file is gone, and with it what was typed
	}
	return typedText(m)
}

// turnsBefore is how many turns the session had when it was opened.
func (a *Agent) turnsBefore() int {
	if s := a.conv.Session(); s != nil {
		return s.UserCount()
	}
	return 0
}

// turnNumber is what the journal knows the present turn by: how many messages the
// user has written in this session, those that are trimmed by now included. What a
// sub-agent changes is of its parent's turn.
func (a *Agent) turnNumber() int {
	if a.parent != nil {
		return a.parent.turnNumber()
	}
	return a.turnsBefore() + len(a.turns)
}

// unsaved says in words which of these absolute paths, with all beneath them, could not
// be brought back if they were removed or overwritten now; "" when all could. It keeps
// what the project's files are now: the next command that changes files is of that step.
func (a *Agent) unsaved(paths []string) string {
	if a.journal == nil {
		return "nothing is kept"
	}
	if a.step == nil {
		step := a.journal.Begin(a.turnNumber(), "a command")
		coverage, err := step.Snapshot(context.Background())
		if err != nil {
			_, endErr := step.End()
			return errors.Join(err, endErr).Error()
		}
		a.step, a.coverage = step, coverage
	}
	var lost []string
	for _, lack := range a.coverage.Lacks {
		if lack.Why == journal.IsIgnored {
			continue
		}
		at := filepath.Join(a.opt.Policy.Root, filepath.FromSlash(strings.TrimSuffix(lack.Path, "/")))
		if slices.ContainsFunc(paths, func(path string) bool { return path == at || isBelow(path, at) || isBelow(at, path) }) {
			lost = append(lost, fmt.Sprintf("%s (%s)", lack.Path, lack.Why))
		}
	}
	for _, path := range paths {
		if !isBelow(a.opt.Policy.Root, path) && path != a.opt.Policy.Root {
			lost = append(lost, path+" (outside the project)")
		}
	}
	return strings.Join(lost, ", ")
}

// isBelow reports whether path lies below dir; both are clean.
func isBelow(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// keepBefore keeps what the files are that a call may change; kept says that
// recordAfter has to follow. The error says that the call must not run.
func (t *turn) keepBefore(ctx context.Context, p *pending) (kept bool, err error) {
	if t.journal == nil {
		return false, nil
	}
	t.giveYours()
	access := p.call.Access
	what := strings.TrimSpace(access.Verb + " " + firstLine(access.Object))
	switch {
	case access.Kind == tool.KindWrite:
		t.recordAfter()
		t.step = t.journal.Begin(t.turnNumber(), what)
		_, err := t.step.Before(access.Paths...)
		return true, err
	case access.Kind != tool.KindRun || p.reads || p.decision.Place == permission.PlaceLayer || p.decision.Place == permission.PlaceReadOnly:
		return false, nil
	case t.step == nil: // else it was kept when it was decided
		t.step = t.journal.Begin(t.turnNumber(), what)
		_, err = t.step.Snapshot(ctx)
	}
	return true, err
}

// giveYours brings back, and names, what the user saved after the last landing to files
// that it had replaced.
func (t *turn) giveYours() {
	yours, err := t.journal.Late()
	if err != nil {
		t.notice(NoticeWarning, "what was saved to a file that artoo had replaced lies in the journal's quarantine: "+err.Error())
	}
	if len(yours) > 0 {
		t.notice(NoticeWarning, "another program saved to files that artoo had just replaced; its content lies beside them: "+
			strings.Join(yours, ", "))
	}
}

// quarantine moves files away from the project that a command made, into the journal,
// and returns the step that it was.
func quarantine(j *journal.Journal, turn int, paths []string) (step int, err error) {
	if j == nil {
		return 0, errors.New("there is no journal to move them into")
	}
	report, err := j.Quarantine(turn, "files that programs run automatically", paths...)
	if err == nil && len(report.Left) > 0 {
		err = errors.New(strings.Join(lackNames(report.Left), ", "))
	}
	return report.Step, err
}

// endStep records what came of the present step.
func (a *Agent) endStep() error {
	if a.step == nil {
		return nil
	}
	step := a.step
	a.step, a.coverage = nil, journal.Coverage{} // also where the end crashes
	return a.closeStep(step)
}

// closeStep records what came of a step. It may be called from any goroutine.
func (a *Agent) closeStep(step *journal.Step) error {
	changed, err := step.End()
	a.noteMade(changed.Changes)
	if err != nil || len(changed.Lacks) == 0 {
		return err
	}
	return &notCovered{tool.ListUpTo(20, lackNames(changed.Lacks)) + "; /undo lists them"}
}

// notCovered names what a step changed and cannot be brought back.
type notCovered struct{ names string }

func (e *notCovered) Error() string { return "cannot be undone: " + e.names }

// recordAfter ends the step of a call, and tells the user what could not be kept.
func (t *turn) recordAfter() {
	if t.journal == nil {
		return
	}
	if text := lostBy(t.endStep()); text != "" {
		t.notice(NoticeWarning, text)
	}
}

// lostBy says in words what the end of a step could not keep; "" for nothing.
func lostBy(err error) string {
	var lost *notCovered
	switch {
	case errors.As(err, &lost):
		return lost.Error()
	case err != nil:
		return "what this changed could not be recorded, so it cannot be undone: " + err.Error()
	}
	return ""
}

// Undid tells the model, with the next message, what the user took back or brought
// back.
func (a *Agent) Undid(r journal.Report, redo bool) {
	verb, now := "undid", "no longer as you left them"
	if redo {
		verb, now = "redid", "as you left them again"
	}
	var names []string
	for _, c := range r.Done {
		names = append(names, c.Path)
	}
	if len(names) == 0 {
		return
	}
	text := fmt.Sprintf("(The user %s changes of yours: these files are %s: %s)", verb, now, tool.ListUpTo(20, names))
	a.unsent = append(a.unsent, provider.Text{Note: provider.NoteUndo, Text: text})
}

// noteMade notes the files that the session made, or made before and changed now.
func (a *Agent) noteMade(changes []journal.Change) {
	for _, c := range changes {
		path := journal.Abs(a.opt.Policy.Root, c.Path)
		if c.After.Kind == journal.File && (c.Before.Kind == journal.Absent || a.made.known(path)) {
			a.made.add(path)
		}
	}
}

// applyLayer makes changes of a layer count, as a step of the journal: all of some or
// none, those of git by git itself. The error says why nothing was applied; left names
// build output and directories that stay as they are, lost what cannot be undone.
func (a *Agent) applyLayer(ctx context.Context, what string, e permission.Effects, changes Changes, git *gitEffects) (left,
	lost []string, err error) {
	if a.journal == nil {
		return nil, nil, errors.New("undo journal unavailable; changes not applied")
	}
	from := layerSource{changes: changes, byPath: map[string]sandbox.Change{}}
	var list []journal.LayerChange
	for _, c := range e.Apply {
		change := layerChange(a.opt.Policy.Root, c)
		change.Output = e.Output[c.Path]
		from.byPath[change.Path] = c
		list = append(list, change)
	}
	then := journal.Then{Paths: git.touches(), Do: git.replay}
	report, err := a.journal.ApplyLayer(ctx, a.turnNumber(), what, list, from, then)
	if errors.Is(err, journal.ErrConflict) && len(report.Left) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.Join(lackNames(report.Left), ", "))
	}
	if err == nil {
		a.noteMade(report.Done)
	}
	return lackNames(report.Left), lackNames(report.Cannot), err
}

// layerSource is a layer as the journal reads it.
type layerSource struct {
	changes Changes
	byPath  map[string]sandbox.Change // as the journal names them
}

// Open returns a crash as an error, so that the journal takes back what it began.
func (s layerSource) Open(path string) (*os.File, error) {
	return guard(func() (*os.File, error) { return s.changes.Open(s.byPath[path]) })
}

func (s layerSource) Path(path string) string { return s.changes.Path(s.byPath[path]) }

func lackNames(lacks []journal.Lack) (names []string) {
	for _, l := range lacks {
		names = append(names, fmt.Sprintf("%s (%s)", l.Path, l.Why))
	}
	return names
}

// layerChange is a change as the journal of the project at root takes it.
func layerChange(root string, c sandbox.Change) journal.LayerChange {
	change := journal.LayerChange{Path: filepath.ToSlash(c.Path), Added: filepath.ToSlash(c.Dir)}
	if rel, err := filepath.Rel(root, c.Path); err == nil && filepath.IsLocal(rel) {
		change.Path, change.Added = filepath.ToSlash(rel), ""
	}
	change.Moved = c.Before.Moved && !c.Before.Mode.IsDir()
	if c.Before.Mode != 0 {
		change.Before = journal.State{Kind: kindOf(c.Before.Mode), Mode: c.Before.Mode.Perm(), Size: c.Before.Size,
			Target: c.Before.Target, Stamp: journal.Stamp{Inode: c.Before.Inode, Ctime: c.Before.Changed.UnixNano()}}
	}
	if c.Kind != sandbox.Deleted {
		change.After = journal.State{Kind: kindOf(c.Mode), Mode: c.Mode.Perm(), Size: c.Size, Target: c.Target}
	}
	return change
}

func kindOf(mode fs.FileMode) journal.Kind {
	switch {
	case mode.IsRegular():
		return journal.File
	case mode.IsDir():
		return journal.Folder
	case mode&fs.ModeSymlink != 0:
		return journal.Link
	}
	return journal.Special
}
