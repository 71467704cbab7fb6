package cli

// What artoo undo lists and prints.

import (
	"fmt"
	"strings"
	"time"

	"artoo/tool/journal"
	"artoo/ui"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

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

// changedTurns are the turns that changed something, the last session first, and of
// each the last turn.
func (a *app) changedTurns(sessions []journal.Session) (list []changedTurn) {
	for _, s := range sessions {
		said := a.said(s.ID)
		for i := len(s.Steps) - 1; i >= 0; i-- {
			step := s.Steps[i]
			if n := len(list) - 1; n >= 0 && list[n].Session == s.ID && list[n].Turn == step.Turn && list[n].Undone == step.Undone {
				list[n].Steps = append(list[n].Steps, step.What)
				list[n].Paths += step.Paths
				continue
			}
			list = append(list, changedTurn{Session: s.ID, Turn: step.Turn, Message: of(said, step.Turn), Steps: []string{step.What},
				Paths: step.Paths, Time: step.Time, Undone: step.Undone, InUse: s.InUse})
		}
	}
	return list
}

// changedText is a turn as it is listed.
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

// undoing is what artoo undo prints as JSON.
type undoing struct {
	Session   string        `json:"session"`
	Redo      bool          `json:"redo"`
	Done      bool          `json:"done"` // false: what would be done
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

// add takes over what was done.
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
