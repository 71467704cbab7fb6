package cli

import (
	"cmp"
	"fmt"

	"artoo/provider"
)

// usage is what this run used, also where the tool counts for its session.
func (r *run) usage(p plan) provider.Usage {
	total, before := r.reply.total, p.session.Total
	if total == nil {
		return r.reply.usage
	}
	used := *total
	if before == nil || p.session.ID != r.reply.session || total.Input < before.Input ||
		total.CacheRead < before.CacheRead || total.Output < before.Output {
		return used // a new session, or a tool that began to count anew
	}
	used.Input -= before.Input
	used.CacheRead -= before.CacheRead
	used.CacheWrite -= min(before.CacheWrite, used.CacheWrite)
	used.Output -= before.Output
	used.Reasoning -= min(before.Reasoning, used.Reasoning)
	return used
}

// spent is what a run that was cut off used. claude tells at the end what it cost:
// before that it is what its model's price says, which is marked.
func (r *run) spent() provider.Usage {
	u := r.reply.usage
	if r.dialect.price == nil || u.CostUSD != nil || u.Total() == 0 {
		return u
	}
	u.Output = max(u.Output, r.reply.size/4) // it tells no number before a reply's end
	if price := r.dialect.price(r.Catalog, r.reply.model); price != nil {
		u.CostUSD, u.Estimated = provider.Cost(u, price), true
	}
	return u
}

// remember keeps the session of a run that was cut off, so that the next
// message can resume it.
func (r *run) remember(p plan) {
	if r.reply.session == "" || !r.reply.heard {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = map[string]broken{}
	}
	s := session{ID: r.reply.session, Of: r.req.SessionID, Total: p.session.Total}
	r.broken[r.req.SessionID] = broken{s, p.heard}
}

// stoppedText stands for the answer of a run that was stopped before there was
// one: its message was heard, and must not be sent again.
const stoppedText = "(stopped before an answer)"

// kept adds to the error of a run that was cut off the session that knows of it,
// so that the history has it too.
func (r *run) kept(p plan, err error) error {
	e := provider.AsError(err)
	if e == nil || r.reply.session == "" || !r.reply.heard {
		return err
	}
	part, failed := r.sessionAfter(p).part()
	if failed != nil {
		return err // the message is then sent once more
	}
	e.Keep = []provider.Part{part, provider.Text{Text: stoppedText}}
	return err
}

// sessionAfter is the tool's session as it is after a run.
func (r *run) sessionAfter(p plan) session {
	return session{ID: r.reply.session, Of: r.req.SessionID, Total: cmp.Or(r.reply.total, p.session.Total)}
}

// passed is the error of a run that is whole, and used more than a cap allows
// that the tool cannot keep; nil where there is none.
func (r *run) passed(p plan) error {
	caps, used, program := r.caps(), r.usage(p), r.dialect.program
	steps := r.reply.requests + 1
	var why string
	switch {
	case caps.Tokens > 0 && used.Total() > caps.Tokens:
		why = fmt.Sprintf("%s used %d tokens, of %d that were left", program, used.Total(), caps.Tokens)
	case caps.Steps > 0 && !r.dialect.keepsCaps && steps > caps.Steps:
		why = fmt.Sprintf("%s took about %d steps, of %d that it may", program, steps, caps.Steps)
	default:
		return nil
	}
	e := r.failed(&failure{text: why, kind: provider.KindCap}, "")
	e.Usage = used
	return e
}

// stopped is the error of a run that ctx ended; nil when nobody listens.
func (r *run) stopped() error {
	if r.left {
		return nil
	}
	e := r.canceled(r.ctx)
	e.Usage = r.spent()
	return e
}

func (r *run) timeout(why, hint string) error {
	e := r.fault(provider.KindTimeout, why, hint, nil)
	e.Usage = r.spent()
	return e
}
