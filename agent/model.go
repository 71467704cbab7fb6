package agent

import (
	"context"

	"artoo/provider"
)

// String is the provider and the model.
func (m Model) String() string { return m.Name + "/" + m.Defaults.Model }

// Model is who answers now, with what was learned of it.
func (a *Agent) Model() Model { return a.model }

// SwitchModel makes another model answer from the next message on. It is called
// between turns.
func (a *Agent) SwitchModel(m Model) {
	a.take(m)
	a.conv.SetBudget(a.budget())
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
