package agent

import (
	repository "artoo/tool/project"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/journal"
)

// reached notes where a call ran. One that failed may have sent what it was to send; a command that failed was not
// started. Servers in the sandbox have the network, and so have commands where the system cannot hold it.
func (c *calls) reached(r ran) {
	a, reach := r.call.Access, &c.response.Reach
	name := c.session.masked(firstLine(a.Command))
	policy := c.judging(r.decided)
	confined, networked := r.confined != nil, policy.Confinement.Network
	if a.Kind == tool.KindServer {
		name = a.Verb + " " + c.session.masked(firstLine(a.Object))
		confined, networked = confined || c.servers.runs(a.Server), !c.servers.limited(a.Server)
	}
	switch {
	case r.skipped != nil, a.Kind == tool.KindRun && r.err != nil && !r.late:
	case a.Kind == tool.KindNetwork && a.Host != "":
		reach.reached(Reach{Network: []string{a.Host}})
	case a.Kind != tool.KindServer && (a.Kind != tool.KindRun || a.Command == "" || a.To != ""):
	case !confined:
		reach.reached(Reach{Outside: []string{name}})
	case networked && r.decision.Place != permission.PlaceReadOnly:
		reach.reached(Reach{Networked: []string{name}})
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
