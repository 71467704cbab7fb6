package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/provider"
	"artoo/tool"
)

// String is the provider and the model.
func (m Model) String() string { return m.Name + "/" + m.Defaults.Model }

// Model is who answers now, with what was learned of it.
func (a *Agent) Model() Model { return a.model }

// SwitchModel makes another model answer from the next message on. It is called
// between turns.
func (a *Agent) SwitchModel(m Model) {
	before := a.offered()
	a.take(m)
	a.conv.SetBudget(a.budget())
	a.briefing.settings = a.settingsNow()
	now := a.offered()
	if more, less := missingFrom(before, now), missingFrom(now, before); more != "" || less != "" {
		a.notify("this model is offered " + more + " instead of " + less)
	}
}

// missingFrom names the tools that are not among the others.
func missingFrom(others, tools []tool.Tool) string {
	var names []string
	for _, t := range tools {
		if !slices.ContainsFunc(others, func(o tool.Tool) bool { return o.Name == t.Name }) {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}

// SetEffort sets the reasoning effort; "" leaves it to the model. It is called
// between turns.
func (a *Agent) SetEffort(e provider.Effort) { a.model.Defaults.Effort = e }

// take takes a model over.
func (a *Agent) take(m Model) {
	a.model, a.replyLimit, a.guessed = m, m.Defaults.MaxTokens, false
	a.know(m.Info)
}

// know takes over the facts of the model, and what follows from them: a reply has
// a quarter of the window at most.
func (a *Agent) know(info provider.ModelInfo) {
	a.model.Info, a.model.Defaults.MaxTokens = info, tightest(a.replyLimit, info.Context/replyShare, info.MaxOutput)
	if a.conv != nil {
		a.conv.SetOverhead(a.system, a.specs) // the tools depend on the model
	}
}

// describe asks the server for the facts of the model, until it knows; what it
// can only guess at is taken over once, so that it does not undo what the turns
// learn. Where it cannot say it, the request that follows meets the same error and
// tells it.
func (a *Agent) describe(ctx context.Context) {
	if a.model.Describe == nil {
		return
	}
	info, err := a.model.Describe(ctx)
	if err != nil || info.Guess && a.guessed {
		return
	}
	if a.guessed = info.Guess; !a.guessed {
		a.model.Describe = nil
	}
	before := a.budget()
	a.know(info)
	if now := a.budget(); now != before { // else what was learned meanwhile holds
		a.conv.SetBudget(now)
	}
}

// budget is the context budget in tokens: never more than the window less the
// reply; 0 where neither is known.
func (a *Agent) budget() int {
	return tightest(a.opt.MaxContextTokens, a.model.Info.Context-a.model.Defaults.MaxTokens)
}

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
	// Steering gives what the user said while the turn runs, in order: it is appended
	// after the results of the calls, before the next request, and counts as messages of
	// its own. Of these only Text and Attachments count. It is called between steps by
	// the goroutine of Send, not when a reply without calls ends the turn. nil is nothing.
	Steering func() []Message
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
		if before.Other != nil {
			info = before.Other(o.Model)
		} else {
			info, _ = provider.Lookup(before.Name, o.Model)
		}
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
