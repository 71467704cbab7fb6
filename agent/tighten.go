package agent

import (
	"artoo/agent/permission"
	"artoo/tool"
)

// Tighten puts rules that ask and deny in the place of those there are, and offers
// these tools only, from the next message on. A session without a message is begun
// anew, so that its prompt says so; else the model is told with the next message.
// To be called between turns.
func (a *Agent) Tighten(ask, deny []permission.Rule, tools []tool.Tool) error {
	a.opt.Policy.AskRules, a.opt.Policy.DenyRules, a.opt.Tools = ask, deny, tools
	if s := a.conv.Session(); len(a.conv.Messages()) == 0 && (s == nil || !s.Resumed()) {
		return a.change(nil)
	}
	a.briefing.settings = a.settingsNow()
	a.conv.SetOverhead(a.overhead())
	return nil
}
