package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/tool/environ"
	"artoo/tool/text"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

type ended struct {
	response *agent.Response
	err      error
}

// showEnd shows how a turn ended, and its cost. After a bad end queued lines come back to the prompt.
func (t *Terminal) showEnd(ctx context.Context, end ended, took time.Duration) {
	interrupted := errors.Is(context.Cause(ctx), prompt.ErrInterrupted)
	var back []prompt.Line
	if end.err != nil || interrupted {
		back = t.unqueue()
	}
	outcome, words := screen.OutcomeDone, 0
	if end.response != nil {
		words = len(strings.Fields(end.response.Text))
	}
	switch {
	case interrupted:
		outcome = screen.OutcomeStopped
		t.screen.Stopped(words, len(t.returned))
	case errors.Is(end.err, agent.ErrStopped):
		outcome = screen.OutcomeStopped
		t.screen.Note("turn stopped")
	case end.err != nil && errors.Is(end.err, context.Cause(ctx)): // a signal, which ends artoo
		outcome = screen.OutcomeStopped
	case end.err != nil:
		outcome = screen.OutcomeFailed
		f := *agent.Classify(end.err)
		f.Hint = commandHints.Replace(f.Hint)
		t.screen.Failure(&f)
	}
	if n := len(t.returned); n > 1 && !interrupted {
		t.screen.Note(fmt.Sprintf("your %d queued lines come back one by one", n))
	}
	if end.response != nil || outcome != screen.OutcomeDone { // else no turn was made
		t.showStatus(end.response, outcome, took)
	}
	t.showNotifyTrouble()
	if !interrupted { // a user that interrupts looks at the terminal
		t.opt.Notify.Done(took)
	}
	for _, l := range back {
		t.screen.Note("not sent: " + l.Text)
	}
}

// commandHints puts a conversation's commands for the flags of a hint.
var commandHints = strings.NewReplacer(" (--wait-limit waits)", "", "--model", "/model", "--provider", "/provider",
	"or -v to see", "or /debug on to see")

func (t *Terminal) showStatus(r *agent.Response, outcome screen.Outcome, took time.Duration) {
	a := t.opt.Agent
	can := a.Policy().Confinement
	info := screen.StatusInfo{Outcome: outcome, Elapsed: took, Context: -1, NoWalls: !can.Sandbox}
	if r != nil {
		info.Model, info.Usage, info.CostUSD, info.Reach = r.Model, r.Usage, r.CostUSD, r.Reach
		info.Small = smallCost(r.Requests)
	}
	if c := a.Context(); c.Budget > 0 {
		info.Context = c.Used * 100 / c.Budget
	}
	info.Line = t.statusLine(info)
	t.screen.Status(info)
}

// smallCost is the small model's part of the cost of a turn; nil where it answered nothing, or its price is unknown.
func smallCost(requests []agent.RequestReport) *float64 {
	var sum *float64
	for _, r := range requests {
		switch {
		case !r.Small:
			continue
		case r.CostUSD == nil:
			return nil
		case sum == nil:
			sum = new(float64)
		}
		*sum += *r.CostUSD
	}
	return sum
}

// unqueue puts queued lines into the next prompts, one each; it returns those that cannot be
// put there. Lines from a script stay.
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

const costStep = 5

// OnNotice implements agent.Callbacks: the screen shows it, and each 5 dollars that the
// requests add up to.
func (c callbacks) OnNotice(n agent.Notice) {
	if n.Hint != "" {
		n.Text += "; " + n.Hint
	}
	c.Screen.OnNotice(n)
	if n.Kind != agent.NoticeUsage || n.Request == nil || n.Request.CostUSD == nil {
		return
	}
	before := c.t.spent
	c.t.spent += *n.Request.CostUSD
	if math.Floor(c.t.spent/costStep) > math.Floor(before/costStep) {
		c.Screen.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: "cost so far: " + text.Dollars(c.t.spent)})
	}
}

// offerAfter is how long a turn takes before notifications are offered.
const offerAfter = 30 * time.Second

// offerNotify offers notifications after a long turn, once. Other text was meant as a
// message, and comes back with the prompt.
func (t *Terminal) offerNotify(ctx context.Context, took time.Duration) {
	offer := t.opt.Offer
	if offer == nil || took <= offerAfter || !t.prompt.Edits() || t.busy() {
		return
	}
	t.opt.Offer = nil
	choices := []string{"osc9: a notification by the terminal", "bell: the terminal rings",
		"command: a program that you name, such as notify-send", "no"}
	hows := []string{"osc9", "bell", "", "off"}
	if offer.Bell {
		choices, hows = choices[1:], hows[1:]
	}
	type answer struct{ how, text string }
	line, retry := "", false
	ask := dialogue[answer]{
		show: func() (string, bool) {
			if !retry {
				line = t.screen.Offer("That took more than 30 seconds. Do you want to be notified when a long turn ends or a question waits?", choices)
			}
			retry = false
			return line, false
		},
		read: func(text string) (answer, meaning, string) {
			choice, _ := chosen(choices, cmp.Or(strings.TrimSpace(text), "no"))
			if i := slices.Index(choices, choice); i >= 0 {
				return answer{how: hows[i]}, declines, ""
			}
			return answer{"", text}, declines, ""
		},
	}
	at := t.asker()
	for {
		a, err := ask.ask(ctx, at)
		switch {
		case err != nil:
			return // the end of the input ends the conversation at its prompt
		case a.text != "":
			t.initial = prompt.Draft{Text: a.text}
			t.screen.Note("not an answer, so nothing is saved; your line is back")
			return
		case a.how == "":
			if a.how, err = notifyCommand(t.opt.Environ).ask(ctx, at); err != nil {
				return
			}
		}
		n, kept, err := offer.Take(a.how)
		if err != nil {
			t.screen.Trouble(err.Error())
			retry = true
			continue
		}
		t.opt.Notify = n
		t.screen.Note("notify = " + a.how + "; " + kept)
		return
	}
}

func notifyCommand(own environ.Vars) dialogue[string] {
	return dialogue[string]{
		show: func() (string, bool) { return screen.OfferCommand, false },
		read: func(text string) (string, meaning, string) {
			words, err := splitWords(text)
			if err == nil {
				_, err = own.LookPath(words[0])
			}
			switch {
			case errors.Is(err, exec.ErrNotFound):
				return "", unclear, "no such program; the text of the notification becomes its last argument"
			case err != nil:
				return "", unclear, err.Error()
			}
			return strings.TrimSpace(text), grants, ""
		},
	}
}

func (t *Terminal) busy() (busy bool) {
	t.prompt.Queue(func(q *prompt.Queue) { busy = len(q.Lines()) > 0 })
	return busy || t.prompt.Over() != nil
}

// statusLine is the output of the user's command; "" without one, or where it failed, which is
// said once.
func (t *Terminal) statusLine(info screen.StatusInfo) string {
	l := t.opt.StatusLine
	if l == nil {
		return ""
	}
	text, err := l.line(info)
	if err == nil {
		return text
	}
	if !l.failed {
		l.failed = true
		t.screen.Trouble("status: " + l.words[0] + ": " + err.Error())
	}
	return ""
}
