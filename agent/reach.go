package agent

import (
	repository "artoo/tool/project"

	"artoo/tool"
	"artoo/tool/journal"
)

// reached notes where a call ran. One that failed may have sent what it was to send; a command that failed was not
// started.
func (c *calls) reached(r ran) {
	a, reach := r.call.Access, &c.response.Reach
	switch {
	case r.skipped != nil, a.Kind == tool.KindRun && r.err != nil && !r.late:
	case a.Kind == tool.KindNetwork && a.Host != "":
		reach.add(nil, []string{a.Host})
	case r.confined != nil, a.Kind == tool.KindServer && c.servers.runs(a.Server):
	case a.Kind == tool.KindRun && a.Command != "" && a.To == "":
		reach.add([]string{c.session.masked(firstLine(a.Command))}, nil)
	case a.Kind == tool.KindServer:
		reach.add([]string{a.Verb + " " + c.session.masked(firstLine(a.Object))}, nil)
	}
}

// changed counts the files that the turn changed, by the journal. Each message of the user's is a turn there.
func (t *turn) changed() {
	keeper := t.agent.keeper
	if keeper.journal == nil || t.session.parent != nil {
		return
	}
	var turns []int
	for n := keeper.turnBefore + 1; n <= t.session.turnNumber(); n++ {
		turns = append(turns, n)
	}
	if turns == nil {
		return
	}
	reach := &t.response.Reach
	for _, c := range keeper.journal.Diff(turns...) {
		switch before, after := c.Before.Kind, c.After.Kind; {
		case before == journal.Folder || after == journal.Folder || repository.GitData(c.Path):
		case after == journal.Absent:
			reach.Deleted++
		case before == journal.Absent:
			reach.Created++
		default:
			reach.Modified++
		}
	}
}
