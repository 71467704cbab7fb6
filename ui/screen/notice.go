package screen

import (
	"fmt"
	"strings"
	"time"

	"artoo/agent"
	"artoo/provider"
)

// OnNotice implements agent.Callbacks: one line, and none for reports of usage.
func (s *Screen) OnNotice(n agent.Notice) {
	if n.Answered != nil {
		s.Decided(n.Answered.Question, n.Answered.Answer)
		return
	}
	s.do(func(t *transcript) {
		switch {
		case n.Retry != nil:
			t.retry(n)
		case n.Kind == agent.NoticeInput:
			t.input(*n.Input)
		case n.Kind == agent.NoticeUsage:
			if b := t.work.busy; b.doing == calling { // the reply is complete
				t.work.hear(checking, 0, s.opt.Now())
				t.work.busy.tool = b.tool
			}
		case n.Text == "":
		case n.Kind == agent.NoticeStep:
			// As with a tool call, the text before a step of the provider's own was not the answer.
			t.rest()
			t.holdEnds()
			t.print(s.layout.note(line(n.Text)))
			t.work.hear(thinking, 0, s.opt.Now()) // the provider works on
		case n.Kind == agent.NoticeWarning:
			t.aside(s.layout.notice("warning: " + n.Text))
		default:
			t.aside(s.layout.notice(n.Text))
		}
	})
}

// retry reports a failed try. The held part of its reply is void when the next one starts.
func (t *transcript) retry(n agent.Notice) {
	r := n.Retry
	t.open.heldVoid = t.open.heldVoid || r.Discard
	t.closeReply()
	if r.Try <= 2 {
		t.tries = r.Tries
	}
	t.print(t.layout.retryLine(n, t.tries))
	now := t.opt.Now()
	t.work.busy = busy{doing: waiting, since: now.Add(r.Wait), said: now.Add(r.Wait), until: now.Add(r.Wait)}
	if t.layout.moving() {
		t.work.busy.since = now // the wait itself is counted down
	}
}

// retryLine names the failure and when the next try comes, or the change of the next one differently.
func (lay *layout) retryLine(n agent.Notice, tries int) string {
	r := n.Retry
	var text string
	switch {
	case n.Kind != agent.NoticeRetry && n.Text != "": // nothing failed
		return lay.notice(n.Text)
	case r.NewKey:
		text = retryReason(r.Err) + ". Trying again with a new one"
	default:
		of := fmt.Sprintf(" of %d", r.Tries)
		if r.Tries != tries {
			of = "" // another fault allows another number: two would not agree
		}
		text = fmt.Sprintf("%s. Try %d%s in %s", retryReason(r.Err), r.Try, of, lay.spanWords(wholeWait(r.Wait)))
		if lay.opt.ErrTTY {
			text += ", Ctrl-C stops"
		}
	}
	if lay.opt.Profile == Spoken {
		return lay.wrap("error: "+text+".", "", "")
	}
	return lay.labelled(margin, "error:", text+".")
}

// wholeWait is a wait as it is shown: never less than a second.
func wholeWait(d time.Duration) time.Duration {
	if d > 0 && d < time.Second {
		return time.Second
	}
	return d
}

func retryReason(e *provider.Error) string {
	if e == nil {
		return "the request failed"
	}
	status := ""
	if e.Status != 0 {
		status = fmt.Sprintf(" (%d)", e.Status)
	}
	why := line(e.Message)
	if why == "" && e.Err != nil {
		why = line(e.Err.Error())
	}
	why = strings.TrimRight(why, ".")
	switch e.Kind {
	case provider.KindOverloaded:
		return "the API is overloaded" + status
	case provider.KindRateLimit:
		return "the rate limit is reached" + status
	case provider.KindTimeout:
		return "no answer in time" + status
	case provider.KindNetwork:
		return prefixed("the connection failed", why) + status
	case provider.KindAuth:
		return prefixed("the key was refused", why) + status
	}
	return prefixed("the API failed", why) + status
}

func (lay *layout) notice(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n") {
		return lay.note(line(text))
	}
	return lay.prose(text, lay.before("note: "))
}

// note is one line of status.
func (lay *layout) note(text string) string {
	if lay.opt.Profile == Spoken {
		return lay.wrap("note: "+strings.TrimRight(text, ".")+".", "", "")
	}
	return lay.wrap(text, margin, margin)
}
