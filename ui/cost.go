package ui

import (
	"math"

	"artoo/agent"
	"artoo/ui/screen"
)

// costStep is after how many US dollars the person is told what was spent.
const costStep = 5

// OnNotice implements agent.Callbacks: the screen shows it, and each 5 dollars
// that the requests add up to get a line.
func (t *Terminal) OnNotice(n agent.Notice) {
	t.Screen.OnNotice(n)
	if n.Kind != agent.NoticeUsage || n.Request == nil || n.Request.CostUSD == nil {
		return
	}
	before := t.spent
	t.spent += *n.Request.CostUSD
	if math.Floor(t.spent/costStep) > math.Floor(before/costStep) {
		t.Screen.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: "cost so far: " + screen.Dollars(t.spent)})
	}
}

// countFrom begins a turn with what the session has cost by now, where that is
// known: another session may have been taken up since the last one.
func (t *Terminal) countFrom() {
	if cost := t.opt.Agent.Cost().CostUSD; cost != nil {
		t.spent = *cost
	}
}

// tellNotify tells once that notifications do not work.
func (t *Terminal) tellNotify() {
	if err := t.opt.Notify.Trouble(); err != nil {
		t.Screen.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: "notify: " + err.Error()})
	}
}
