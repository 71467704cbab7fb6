package cli

// Who answers in a session that is gone on with.

import (
	"slices"
	"strings"

	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/demo"
)

// goOnWith lets the provider and model of a session answer in it again, unless a
// flag says otherwise: a session with a coding CLI must not go over to an API
// that is paid for. An address or key of the settings is not given to another
// provider than they mean.
func (a *app) goOnWith(s *conversation.Session) {
	last := lastChoice(s)
	if a.choice.Provider != "" || a.cfg.FromFlag("provider") ||
		last.Provider == demo.Name || !a.cfg.IsProvider(last.Provider) {
		return
	}
	if a.cfg.FromFlag("model") {
		first, _, named := strings.Cut(a.cfg.Model, "/")
		if !isProgram(last.Provider) || named && a.cfg.IsProvider(first) {
			return
		}
		last.Model = a.cfg.Model
	}
	tied := a.cfg.BaseURL != "" || !a.cfg.APIKey.IsZero() || a.cfg.APIKeyFile != ""
	if tied && !isProgram(last.Provider) && a.cfg.Provider != last.Provider {
		return
	}
	a.cfg = a.cfg.With(last)
}

// lastChoice is who answered last in a session, or was to: a coding CLI tells the
// model it took itself, which is not asked for again.
func lastChoice(s *conversation.Session) config.Choice {
	head := s.Header()
	last := config.Choice{Provider: head.Provider, Model: head.Model}
	for _, m := range slices.Backward(s.Messages()) {
		if m.Provider == "" || m.Model == "" {
			continue
		}
		switch f, _ := provider.FactsOf(m.Provider); {
		case f.Program == "":
			return config.Choice{Provider: m.Provider, Model: m.Model}
		case m.Provider != head.Provider:
			return config.Choice{Provider: m.Provider, Model: f.AnyModel}
		}
		return last
	}
	return last
}
