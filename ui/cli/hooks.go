package cli

import (
	"os"
	"slices"

	"artoo/agent"
	"artoo/tool/environ"
	"artoo/tool/extension"
)

// hooks are the hooks of a session.
func (a *app) hooks() agent.Hooks {
	return agent.Hooks{List: a.cfg.Hooks, Environ: environ.WithoutKeys(os.Environ(), a.cfg.KeyVariables()...)}
}

// hooksAnswer reports whether hooks may answer questions in the user's place.
func (a *app) hooksAnswer() bool {
	return slices.ContainsFunc(a.cfg.Hooks, func(h extension.Hook) bool { return h.On == extension.OnQuestion && h.MayAnswer })
}
