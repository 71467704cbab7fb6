package agent

import (
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool"
)

// Model is the model that answers now, with the facts learned about it.
func (a *Agent) Model() Model { return a.session.model }

// override replaces options of the agent until restore is called.
func (s *session) override(o provider.Options) (restore func()) {
	if o == (provider.Options{}) {
		return func() {}
	}
	before, limit, budget := s.model, s.replyLimit, s.conv.Budget()
	other := o.Model != "" && o.Model != before.Defaults.Model
	if o.MaxTokens > 0 {
		s.replyLimit = o.MaxTokens
	}
	s.model.Defaults = o.Or(before.Defaults)
	info := before.Info
	if other {
		if before.Other != nil {
			info = before.Other(o.Model)
		} else {
			info, _ = provider.Lookup(before.Name, o.Model)
		}
		s.model.Describe = nil
	}
	s.know(info)
	if other {
		s.conv.SetBudget(s.budget())
	}
	return func() {
		s.replyLimit = limit
		if other {
			s.model = before
			s.conv.SetBudget(budget)
			return
		}
		s.model.Defaults = before.Defaults
		s.know(s.model.Info)
	}
}

// SwitchModel makes another model answer from the next message on. Call it between turns.
func (a *Agent) SwitchModel(m Model) {
	before := a.session.offered()
	a.session.fellBack = ""
	a.session.setModel(m)
	a.session.conv.SetBudget(a.session.budget())
	a.notes.settings = a.session.settingsNow()
	now := a.session.offered()
	if more, less := missingFrom(before, now), missingFrom(now, before); more != "" || less != "" {
		a.session.notify("this model gets the tools " + more + ", not " + less)
	}
}

// SetEffort sets the reasoning effort; "" leaves it to the model. Call it between turns.
func (a *Agent) SetEffort(e provider.Effort) { a.session.model.Defaults.Effort = e }

func missingFrom(others, tools []tool.Tool) string {
	var names []string
	for _, t := range tools {
		if !slices.ContainsFunc(others, func(o tool.Tool) bool { return o.Name == t.Name }) {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}
