package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/conversation"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// recover finishes or undoes steps that killed artoos left unfinished in the project.
func (w *workspace) recover(environ []string) {
	state, err := w.cfg.Paths.StateDir()
	if err != nil {
		return // there is no home to keep journals in
	}
	env := &tool.Env{Environ: environ}
	open := sync.OnceValue(func() (err error) { // most often there is nothing to do
		env.Files, err = w.forAgent().OpenFiles(nil)
		return err
	})
	config := w.forAgent().JournalConfig("", state, env)
	denied := config.Denied
	config.Denied = func(path string) bool { return open() != nil || denied(path) }
	reports, err := journal.Recover(state, config)
	if env.Files != nil {
		err = errors.Join(err, env.Files.Close())
	}
	if err != nil {
		w.warn("could not recover the step a killed artoo left unfinished: " + err.Error())
	}
	if line := agent.Recovered(reports); line != "" {
		w.screen.Note(sanitize.Text(line, sanitize.Line))
	}
}

// undoCommand is `artoo undo`.
type undoCommand struct {
	app              *app
	json, redo, list *bool
	turns            *string
	yes              *int // how many questions are answered
}

func newUndo(l commandLine) *cobra.Command {
	c := l.command("undo [ID] [-n N] [--redo] [--list] [--yes]",
		"revert the changes that the last session, or session ID, made here; needs no model", common())
	c.Args, c.ValidArgsFunction = l.words(0, 1, ""), l.offerKnown(1, "resume")
	u := undoCommand{
		app: l.app, json: jsonFlag(c), redo: c.Flags().Bool("redo", false, "redo undone turns"),
		list:  c.Flags().Bool("list", false, "list each session's changes"),
		turns: l.textFlag(c, "turns", "n", "N", "number of turns (default: 1)"),
		yes:   c.Flags().Count("yes", "do not ask; give it twice if HEAD has moved since then"),
	}
	c.RunE = func(c *cobra.Command, words []string) error { return u.run(c.Context(), first(words)) }
	return c
}

func (c undoCommand) run(ctx context.Context, id string) error {
	if err := c.app.load(false, false); err != nil {
		return err
	}
	n, err := c.count()
	if err != nil {
		return err
	}
	if *c.list {
		state, err := c.app.cfg.Paths.StateDir()
		if err != nil {
			return err
		}
		return printEach(c.app.process.Out, c.app.workspace.changedTurns(c.app.workspace.journals(state)), *c.json, changedText)
	}
	session, j, err := c.app.workspace.openJournal("undo", id, "/undo in it")
	if err != nil {
		return err
	}
	err = c.undoIn(ctx, j.Journal, session.ID, n)
	return errors.Join(err, j.Close())
}

// journals are those of the project, after unfinished changes of killed artoos are recovered.
func (w *workspace) journals(state string) []journal.Session {
	environ, _ := w.childEnviron()
	w.recover(environ)
	sessions, err := journal.Sessions(state, w.project.Root)
	if err != nil {
		w.warn("some undo journals could not be read: " + err.Error())
	}
	return sessions
}

// openedJournal is a journal with the files that it may read.
type openedJournal struct {
	*journal.Journal
	files *files.Files
}

// Close closes both.
func (j openedJournal) Close() error { return errors.Join(j.Journal.Close(), j.files.Close()) }

// openJournal opens the journal of the session that id means, see chosenSession. Errors name the subcommand by the
// parameter what; hint is for a user whose other artoo has the journal.
func (w *workspace) openJournal(what, id, hint string) (session journal.Session, j openedJournal, err error) {
	state, err := w.cfg.Paths.StateDir()
	if err != nil {
		return session, j, err
	}
	if session, err = chosenSession(w.journals(state), id); err != nil {
		return session, j, err
	}
	if j.files, err = w.forAgent().OpenFiles(nil); err != nil {
		return session, j, err
	}
	environ, _ := w.childEnviron()
	j.Journal, err = journal.Open(w.forAgent().JournalConfig(session.Dir, state, &tool.Env{Environ: environ, Files: j.files}))
	if errors.Is(err, journal.ErrInUse) {
		err = fail(agent.KindUsage, what, errors.New("a running artoo has session "+session.ID), hint)
	}
	if err != nil {
		err = errors.Join(err, j.files.Close())
	}
	return session, j, err
}

func (c undoCommand) count() (int, error) {
	n, err := strconv.Atoi(cmp.Or(*c.turns, "1"))
	if err != nil || n < 1 {
		return 0, usage("--turns", fmt.Sprintf("%q is not a number of turns", *c.turns), "artoo undo -n 2")
	}
	return n, nil
}

// chosenSession is that of an ID or its beginning, else the last that changed the project.
func chosenSession(sessions []journal.Session, id string) (journal.Session, error) {
	const list = "artoo undo --list"
	sessions = slices.DeleteFunc(slices.Clone(sessions), func(s journal.Session) bool {
		return len(s.Turns) == 0 || !strings.HasPrefix(s.ID, id)
	})
	switch {
	case len(sessions) == 0 && id == "":
		return journal.Session{}, fail(agent.KindUsage, "undo", errors.New("no session has changed anything in this project"), list)
	case len(sessions) == 0:
		return journal.Session{}, usage("undo", "no session "+id+" has changed anything in this project", list)
	case id != "" && len(sessions) > 1 && sessions[0].ID != id:
		return journal.Session{}, usage("undo", "more than one session begins with "+id, list)
	}
	return sessions[0], nil
}

// said are the user's messages of a session by turns; nil where it is not kept any more.
func (s *session) said(session string) []string {
	dir, err := s.cfg.Paths.Sessions()
	if err != nil {
		return nil
	}
	kept, err := conversation.Store{Dir: dir}.Read(session)
	if err != nil {
		return nil // the turns are named by their numbers
	}
	return agent.UserTurns(kept.Messages())
}

// of is the element of a turn, "" if there is none.
func of(turns []string, n int) string {
	if n < 1 || n > len(turns) {
		return ""
	}
	return turns[n-1]
}

func (c undoCommand) undoIn(ctx context.Context, j *journal.Journal, session string, n int) error {
	const list = "artoo undo --list"
	p, err := j.Plan(ctx, n, *c.redo)
	switch {
	case errors.Is(err, journal.ErrNothing) && *c.redo:
		return fail(agent.KindUsage, "undo", errors.New("nothing to redo in session "+session), list)
	case errors.Is(err, journal.ErrNothing):
		return fail(agent.KindUsage, "undo", errors.New("nothing left to undo in session "+session), list)
	case err != nil:
		return err
	}
	said := c.app.said(session)
	u := ui.Undo{Journal: j, Root: c.app.project.Root, Screen: c.app.screen, Environ: c.app.process.Environ, Said: func(turn int) string { return of(said, turn) }}
	result := undoResult(session, p, said)
	// A signal stops the undo, which reverses its changes, and not the process meanwhile.
	ctx, c.app.outcome.signals = headless.Watch(ctx)
	yes, err := c.app.workspace.approveUndo(ctx, u, p, *c.yes)
	report := journal.Report{}
	var failed error
	if err == nil && yes && len(p.Restore) > 0 {
		report, failed = j.Apply(ctx, p)
	}
	c.app.outcome.signals.End()
	if failed != nil {
		if c.app.outcome.signals.Caught() != nil { // the signal alone is reported
			c.app.warn("nothing was changed")
		}
		return fail(agent.KindInternal, "undo", fmt.Errorf("nothing was changed: %w", failed), "")
	}
	done := err == nil && yes
	if done {
		u.Done(p, report)
		result.add(report)
	}
	if *c.json {
		err = errors.Join(printOne(c.app.process.Out, result, true, nil), err)
	}
	switch {
	case err == nil && !done:
		err = exitStatus(1)
	case err == nil && p.Already() && !p.Redo:
		err = fail(agent.KindInternal, "undo", errors.New("nothing to undo: every path is already as before"), fmt.Sprintf("artoo undo -n %d, for the turn before too", n+1))
	case err == nil && len(report.Done) == 0:
		err = fail(agent.KindInternal, "undo", errors.New("nothing was undone"), list)
	}
	return err
}

// approveUndo asks, unless given, which counts --yes, answers as many questions as there are.
func (w *workspace) approveUndo(ctx context.Context, u ui.Undo, p journal.Plan, given int) (yes bool, err error) {
	if len(p.Restore) == 0 {
		return true, nil
	}
	hint, questions := "artoo undo --yes", 1
	if p.HeadMoved {
		hint, questions = "artoo undo --yes --yes", 2
	}
	ask := func() (bool, error) { return u.OnTTY(ctx, p) }
	if given > 0 {
		ask = nil
	}
	return w.confirm("undo", u.Question(p), given >= questions, hint, ask)
}

// changedTurn is a turn of a session that changed something.
type changedTurn struct {
	Session string    `json:"session"`
	Turn    int       `json:"turn"`
	Message string    `json:"message,omitempty"`
	Steps   []string  `json:"steps"`
	Paths   int       `json:"paths"`
	Time    time.Time `json:"time"`
	Undone  bool      `json:"undone"`
	InUse   bool      `json:"in_use"`
}

// changedTurns has the last session first, and of each the last turn.
func (w *workspace) changedTurns(sessions []journal.Session) (list []changedTurn) {
	for _, s := range sessions {
		said := w.said(s.ID)
		for _, t := range slices.Backward(s.Turns) {
			changed := changedTurn{Session: s.ID, Turn: t.Turn, Message: of(said, t.Turn), Paths: t.Paths,
				Time: t.Steps[len(t.Steps)-1].Time, Undone: t.Undone, InUse: s.InUse}
			for _, step := range slices.Backward(t.Steps) {
				changed.Steps = append(changed.Steps, step.What)
			}
			list = append(list, changed)
		}
	}
	return list
}

func changedText(t changedTurn) string {
	what := t.Message
	if what == "" {
		what = strings.Join(t.Steps, ", ")
	}
	if t.Undone {
		what += "  (undone)"
	}
	return fmt.Sprintf("%s  %s  turn %d  %s  %s", t.Session, t.Time.Local().Format("2006-01-02 15:04"), t.Turn,
		screen.Count(t.Paths, "path"), sanitize.Text(what, sanitize.Line))
}

// undoing is the JSON of artoo undo.
type undoing struct {
	Session   string        `json:"session"`
	Redo      bool          `json:"redo"`
	Done      bool          `json:"done"` // false: the changes are only planned
	Turns     []undoingTurn `json:"turns"`
	Changes   []undoingPath `json:"changes"`
	Left      []undoingPath `json:"left"`   // stays as it is
	Cannot    []undoingPath `json:"cannot"` // cannot be undone
	HeadMoved bool          `json:"head_moved"`
	Busy      string        `json:"busy,omitempty"` // "rebase" or "merge" while one is under way
}

type undoingTurn struct {
	Turn    int    `json:"turn"`
	Message string `json:"message,omitempty"`
}

type undoingPath struct {
	Path   string `json:"path"`
	Effect string `json:"effect,omitempty"` // created, modified, deleted, renamed, mode
	From   string `json:"from,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func undoResult(session string, p journal.Plan, said []string) *undoing {
	r := &undoing{Session: session, Redo: p.Redo, HeadMoved: p.HeadMoved, Busy: p.Busy, Turns: []undoingTurn{},
		Changes: changedPaths(p.Restore), Left: lackingPaths(p.Left), Cannot: lackingPaths(p.Cannot)}
	for _, n := range p.Turns {
		r.Turns = append(r.Turns, undoingTurn{Turn: n, Message: of(said, n)})
	}
	return r
}

func (r *undoing) add(report journal.Report) {
	r.Done, r.Changes = true, changedPaths(report.Done)
	r.Left = append(r.Left, lackingPaths(report.Left)...)
	r.Cannot = append(r.Cannot, lackingPaths(report.Cannot)...)
}

func changedPaths(changes []journal.Change) []undoingPath {
	list := []undoingPath{}
	for _, c := range changes {
		list = append(list, undoingPath{Path: c.Path, Effect: ui.Effect(c), From: c.From})
	}
	return list
}

func lackingPaths(lacks []journal.Lack) []undoingPath {
	list := []undoingPath{}
	for _, l := range lacks {
		list = append(list, undoingPath{Path: l.Path, Reason: string(l.Why)})
	}
	return list
}
