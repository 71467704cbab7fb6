package ui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"artoo/agent"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// showEnd shows how a turn ended, and what it took. What was queued is sent
// next, unless the turn did not end well: then it is put into the prompt for
// the user to decide.
func (t *Terminal) showEnd(ctx context.Context, end ended, took time.Duration) {
	interrupted := errors.Is(context.Cause(ctx), prompt.ErrInterrupted)
	var back []prompt.Line
	if end.err != nil || interrupted {
		back = t.unqueue()
	}
	outcome := screen.OutcomeDone
	switch {
	case interrupted:
		outcome = screen.OutcomeStopped
		t.Stopped(wordCount(end.response), len(t.returned))
	case errors.Is(end.err, agent.ErrStopped):
		outcome = screen.OutcomeStopped
		t.Note("turn stopped")
	case end.err != nil && errors.Is(end.err, context.Cause(ctx)): // a signal, which ends artoo
		outcome = screen.OutcomeStopped
	case end.err != nil:
		outcome = screen.OutcomeFailed
		f := *agent.Classify(end.err)
		f.Hint = commandHints.Replace(f.Hint)
		t.Failure(&f)
	}
	if n := len(t.returned); n > 1 && !interrupted {
		t.Note(fmt.Sprintf("your %d queued lines come back one by one", n))
	}
	if end.response != nil || outcome != screen.OutcomeDone { // else no turn was made
		t.showStatus(end.response, outcome, took)
	}
	t.showNotifyTrouble()
	if !interrupted { // who interrupts is there
		t.opt.Notify.Done(took)
	}
	for _, l := range back {
		t.Note("not sent: " + l.Text)
	}
}

// commandHints puts the commands of a conversation for the flags that a hint
// names: here nobody can give one.
var commandHints = strings.NewReplacer("--model", "/model", "--provider", "/provider", "or -v to see",
	"or /debug on to see")

// showStatus prints the status line.
func (t *Terminal) showStatus(r *agent.Response, outcome screen.Outcome, took time.Duration) {
	info := screen.StatusInfo{Outcome: outcome, Elapsed: took, Context: -1}
	if r != nil {
		info.Model, info.Usage, info.CostUSD = r.Model, r.Usage, r.CostUSD
	}
	if c := t.opt.Agent.Context(); c.Budget > 0 {
		info.Context = c.Used * 100 / c.Budget
	}
	info.Line = t.statusLine(info)
	t.Status(info)
}

func wordCount(r *agent.Response) int {
	if r == nil {
		return 0
	}
	return len(strings.Fields(r.Text))
}

// unqueue takes back what was queued and puts it into the next prompts, one line
// each, so that every one keeps its meaning; what it returns could not be: there
// are plain lines, or no next prompt. Lines from a script stay: nobody is there
// to send them.
func (t *Terminal) unqueue() (lines []prompt.Line) {
	if !t.prompt.Typed() {
		return nil
	}
	t.prompt.Queue(func(q *prompt.Queue) { lines = q.Remove(func(int, prompt.Line) bool { return true }) })
	if !t.prompt.Edits() || t.prompt.Over() != nil {
		return lines
	}
	for _, l := range lines {
		t.returned = append(t.returned, prompt.Draft{Text: l.Text, Pasted: l.Pasted})
	}
	return nil
}

// costStep is after how many US dollars a line shows the cost.
const costStep = 5

// OnNotice implements agent.Callbacks: the screen shows it, with the commands that
// show a summary and take it back, and each 5 dollars that the requests add up to get a line.
func (t *Terminal) OnNotice(n agent.Notice) {
	if n.Kind == agent.NoticeCompacted {
		n.Text += "; /compact show shows it, /uncompact takes it back"
	}
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

// showNotifyTrouble says once that notifications do not work.
func (t *Terminal) showNotifyTrouble() {
	if err := t.opt.Notify.Trouble(); err != nil {
		t.Screen.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: "notify: " + err.Error()})
	}
}
