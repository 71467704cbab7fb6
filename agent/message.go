package agent

import (
	"context"
	"fmt"
	"time"

	"artoo/provider"
)

// Message is what the user says, and what its turn does otherwise than the agent.
type Message struct {
	Text        string
	Attachments []provider.Part
	// Options go over Model.Defaults in this turn; what is unset stays. Another
	// model is one of the same provider.
	Options provider.Options
	// Timeout bounds each request of the turn, its tries included; 0 leaves it to
	// the provider.
	Timeout time.Duration
}

// override puts options over those of the agent until restore is called. What was
// learned of the agent's own model meanwhile stays.
func (a *Agent) override(o provider.Options) (restore func()) {
	if o == (provider.Options{}) {
		return func() {}
	}
	before, limit, budget := a.model, a.replyLimit, a.conv.Budget()
	other := o.Model != "" && o.Model != before.Defaults.Model
	if o.MaxTokens > 0 {
		a.replyLimit = o.MaxTokens
	}
	a.model.Defaults = o.Or(before.Defaults)
	info := before.Info
	if other {
		info, _ = provider.Lookup(before.Name, o.Model)
		a.model.Describe = nil
	}
	a.know(info)
	if other {
		a.conv.SetBudget(a.budget())
	}
	return func() {
		a.replyLimit = limit
		if other {
			a.model = before
			a.conv.SetBudget(budget)
			return
		}
		a.model.Defaults = before.Defaults
		a.know(a.model.Info)
	}
}

// timedOut is the error of a request that the message's timeout ended, with what
// the provider told of it.
func (t *turn) timedOut(err error) error {
	late := provider.Error{Provider: t.model.Name}
	if e := provider.AsError(err); e != nil {
		late = *e
	}
	late.Kind, late.Message = provider.KindTimeout, ""
	late.Err = fmt.Errorf("not done after %s: %w", t.timeout, context.DeadlineExceeded)
	return &late
}
