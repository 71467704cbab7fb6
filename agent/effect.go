package agent

import (
	"path/filepath"
	"strings"

	"artoo/provider"
	"artoo/tool"
)

// effectOf is what a call did that ran, for the line that tells it when the call
// is no longer sent; nil for one that did not run, or changed and ran nothing.
func (t *turn) effectOf(p *pending) *provider.Effect {
	if p.settled {
		return nil
	}
	a := p.call.Access
	switch {
	case a.Kind == tool.KindRun && a.Command != "":
		end, _, _ := strings.Cut(p.outcome.Summary, " in ") // how long it took is no longer of use
		return &provider.Effect{Command: t.masked(a.Command), End: end}
	case a.Kind == tool.KindWrite && p.outcome.Status == CallOK && len(a.Paths) > 0:
		e := &provider.Effect{}
		for _, path := range a.Paths {
			if rel, err := filepath.Rel(t.opt.Env.Dir, path); err == nil && filepath.IsLocal(rel) {
				path = rel
			}
			e.Files = append(e.Files, t.masked(path))
		}
		return e
	}
	return nil
}
