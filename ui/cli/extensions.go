package cli

import (
	"errors"
	"sync"

	"artoo/agent/instructions"
	"artoo/config/bundle"
	"artoo/tool/skill"
)

// extensions are what the user, the repository and bundles add to a session: rules, hooks, MCP servers and skills. Those of
// the repository count as far as the user trusts them.
type extensions struct {
	*session
	repoSettings repoSettings
	skills       *skill.Library // skills, commands and agents
	rules        ruleSet
	forPaths     instructions.Rules
	bundled      []bundle.Bundle
	bundlesOnce  sync.Once  // guards bundled
	answering    sync.Mutex // guards repoSettings.approvals once servers may start
	approving    sync.Mutex // one question about a server of the editor's at a time
}

// read reads them once the settings are read, with trust also those of a trusted project and of bundles.
func (x *extensions) read(trust bool) (err error) {
	if trust {
		if err := errors.Join(x.findTrust(), x.applyTrust()); err != nil {
			return err
		}
		x.useBundles()
		if left := x.cfg.Policy.LeavesOut(x.cfg.Hooks); left != "" {
			x.warn(left)
		}
	}
	x.skills = skill.New(x.skillPlaces())
	x.rules, err = x.readRules()
	return err
}

// unanswered reports whether questions get no answer in this session.
func (x *extensions) unanswered() bool {
	return x.streams.headless && !x.canAsk() && !x.answersAll() && x.outcome.approve == nil && !x.hooksAnswer()
}
