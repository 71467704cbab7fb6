package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/telemetry"
	"artoo/tool"
)

// observe lets others look at what a call did: the user's checks, language servers, the hooks after a call.
func (c *calls) observe(ctx context.Context, r ran) ran {
	onLayer := r.decision.Place == permission.PlaceLayer
	if r.Job != nil && c.session.once() {
		r.Text += "[your last reply ends it: wait for it with shell before, if its outcome counts]\n"
	}
	switch {
	case r.Job != nil && onLayer:
		r.Text += "[its changes count once it has ended by itself; if it is ended before, they are discarded]\n"
	case r.Job != nil: // it goes on
	case r.late && onLayer: // Its changes are not known before it is killed.
		why := "interrupted; its changes are discarded"
		r.lead(why)
		c.response.Denied = append(c.response.Denied, r.denial(why, false))
	case r.late:
	case r.err != nil:
		c.giveUp(r)
	default:
		if !r.IsError {
			c.part(&r, func() { c.check(ctx, &r) })
		}
		c.part(&r, func() { c.askServers(ctx, &r) })
	}
	if !r.late && r.Job == nil {
		c.part(&r, func() { c.afterTool(ctx, &r) })
	}
	return r
}

// settle makes the outcome of a call that has run.
func (c *calls) settle(ctx context.Context, r ran, span *telemetry.Span) settled {
	c.reached(r)
	r.live.close()
	r.Text = c.session.masked(r.Text)
	if r.Printed != nil {
		r.Printed = new(c.session.masked(*r.Printed))
	}
	s := settled{planned: r.planned, outcome: outcomeOf(ctx, r.Result, r.err, r.took), reads: r.reads, began: true,
		answered: r.answered, by: cmp.Or(r.by, r.program), paged: r.Paged && r.err == nil, printed: r.Printed, span: span, stop: r.stop}
	s.outcome.Todo, s.outcome.Applied, s.outcome.Decision = r.todo, r.applied, r.final
	for _, img := range r.Images {
		s.images = append(s.images, provider.Image{MediaType: img.MediaType, Data: img.Data, Name: img.Name})
	}
	if r.Job != nil {
		c.background.add(r)
	}
	return s
}

// report appends the result of a call to the conversation, and reports it even if it could not be kept.
func (c *calls) report(s *settled) error {
	out := &s.outcome
	if note := c.repeats.count(s); note != "" {
		out.Text += "\n\n" + note
	}
	if touched := s.call.Access.Paths; out.Status == CallOK && len(touched) > 0 {
		c.session.offerFor(c.cb, touched)
		if c.session.guide != nil {
			out.Text += c.session.guide(touched)
		}
	}
	c.afterServer(s.planned)
	if s.edited != "" {
		out.Text = s.edited + "\n\n" + out.Text
	}
	for _, remark := range s.remarks {
		out.Text = strings.TrimRight(out.Text, "\n") + "\n" + remark
	}
	out.Text, out.Summary = c.session.masked(out.Text), c.session.masked(out.Summary)
	if out.Status == CallFailed {
		c.response.ToolErrors++
	}
	result := provider.ToolResult{CallID: s.call.ID, Name: s.wire, Text: out.Text, Images: s.images, By: s.by,
		IsError: out.Status != CallOK, Effect: s.effect(c.session)}
	effect, counted := c.own.conclude(s.call.ID)
	result.Effect = cmp.Or(effect, result.Effect)
	s.endSpan()
	if !c.apart {
		keep := c.session.conv.AppendToolResult
		if s.paged {
			keep = c.session.conv.AppendPage
		}
		kept, err := keep(result)
		counted = errors.Join(err, counted)
		out.Text, out.File = kept.Text, kept.File
	}
	c.cb.OnToolResult(s.call, *out)
	return counted
}

// offerFor offers the tools for files like these from the next request on. They stay: a change of
// the tools costs the provider's cache.
func (s *session) offerFor(cb *serial, paths []string) {
	if s.beside {
		return
	}
	for _, path := range paths {
		kind := strings.ToLower(filepath.Ext(path))
		at := slices.IndexFunc(s.opt.Tools, func(o tool.Tool) bool { return o.For != "" && o.For == kind })
		if at < 0 || slices.Contains(s.kinds, kind) {
			continue
		}
		s.kinds = append(s.kinds, kind)
		s.conv.SetOverhead(s.system, s.specs)
		cb.notice(NoticeInfo, offeredNow(s.opt.Tools[at].Name))
	}
}

func (s *settled) endSpan() {
	out := telemetry.Outcome{Decision: s.outcome.Decision.Answer, DecidedBy: s.outcome.Decision.From}
	if s.outcome.Status != CallOK {
		out.Error = string(s.outcome.Status)
	}
	s.span.Content("gen_ai.tool.call.arguments", func() string { return string(s.call.Input) })
	s.span.Content("gen_ai.tool.call.result", func() string { return s.outcome.Text })
	s.span.End(out)
}

// effect is that of a call, for when the call is no longer sent; nil for none.
func (s *settled) effect(of *session) *provider.Effect {
	if decided := s.decided(of); decided != "" {
		return &provider.Effect{Decided: decided}
	}
	a := s.call.Access
	switch {
	case !s.began:
	case a.Kind == tool.KindRun && a.Command != "" && a.To == "":
		end, _, _ := strings.Cut(s.outcome.Summary, " in ") // how long it took is no longer of use
		return &provider.Effect{Command: of.masked(a.Command), End: end}
	case a.Kind == tool.KindWrite && s.outcome.Status == CallOK && len(a.Paths) > 0:
		return &provider.Effect{Files: of.namesOf(a.Paths)}
	}
	return nil
}

// decided is the user's decision on a call, "" for none.
func (s *settled) decided(of *session) string {
	switch {
	case s.outcome.Status == CallDenied && s.refusal != nil:
		return of.masked(firstLine(s.call.Access.Object)) + " was refused" + because(firstLine(*s.refusal))
	case s.outcome.Status != CallOK:
		return ""
	}
	return of.masked(s.answered)
}

// How often one call may have one result. A failing call that is repeated gets a remark for the
// model first, and ends the turn then. Another one gets the remark once.
const (
	tellRepeats = 3
	stopRepeats = 6
	tellSame    = 5
)

// A call that takes so long, or is made again after so long, waits for something.
const (
	waitsItself  = time.Second
	waitsBetween = 20 * time.Second
)

func (p planned) key() string { return p.call.Name + "\x00" + string(p.call.Input) + p.call.Raw }

// sumOf is the checksum of a text, which is not copied for it: it may be very long.
func sumOf(text string) (sum [sha256.Size]byte) {
	h := sha256.New()
	// Write of a hash cannot fail. The wrapper hides WriteTo, which would copy the text.
	_, _ = io.Copy(h, struct{ io.Reader }{strings.NewReader(text)})
	h.Sum(sum[:0])
	return sum
}

// count counts a call that ended, and returns the note for the model. A change by another
// call, or another result, starts the count again.
func (r repeats) count(s *settled) string {
	if s.outcome.Status == CallInterrupted {
		return ""
	}
	key, failed, result := s.key(), s.outcome.Status != CallOK, sumOf(s.outcome.Text)
	if !failed && !s.reads {
		for other := range r {
			if other != key {
				delete(r, other)
			}
		}
	}
	this := r[key]
	if this == nil || this.failed != failed || this.result != result {
		this = &repeat{result: result, failed: failed}
		r[key] = this
	}
	this.times++
	waits := s.outcome.Duration >= waitsItself.Seconds() || this.times > 1 && time.Since(this.last) >= waitsBetween
	this.last = time.Now()
	switch {
	case !failed && this.times >= tellSame && !this.notified:
		this.notified = true
		return fmt.Sprintf(
			"This very call has now given the same result %d times. It says nothing new until something changes.",
			this.times)
	case failed && waits && this.times >= tellRepeats:
		n := this.times
		this.times = tellRepeats - 1 // it may be waiting for something: that ends by itself
		if this.notified {
			return ""
		}
		this.notified = true
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"If you are waiting for something, look whether it can still come.", n)
	case failed && this.times >= tellRepeats:
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"Do something else, or say what is in the way; to wait for something, put a sleep before the call.", this.times)
	}
	return ""
}

func (r repeats) over(calls []settled) error {
	for _, p := range calls {
		if this := r[p.key()]; this != nil && this.failed && this.times >= stopRepeats {
			return capFailure(
				fmt.Sprintf("the model made the same call of %s %d times in a row, and it failed in the same way each time",
					p.call.Name, stopRepeats), "another message that says what to do instead")
		}
	}
	return nil
}
