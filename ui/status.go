package ui

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"artoo/agent"
)

// status are the rows of /status.
func status(a *agent.Agent) [][]string {
	model := a.Model()
	dir := a.Env().Dir
	if branch := a.Branch(); branch != "" {
		dir += " (" + branch + ")"
	}
	session := "not kept"
	if s := a.Conversation().Session(); s != nil {
		session = s.ID() + ", " + filepath.Base(s.Path())
	}
	name := model.String()
	if by := a.AnsweredBy(); by != "" && by != model.Defaults.Model {
		name += ", answered by " + by
	}
	mode := a.Policy().Mode
	return [][]string{
		{"model", name + ", effort " + cmp.Or(string(model.Defaults.Effort), "the model's own")},
		{"directory", dir},
		{"approval", string(mode) + ": " + cmp.Or(a.Approval(), modeText(mode))},
		{"sandbox", "none, commands are not confined"},
		{"session", session},
		{"context", contextText(a.Context())},
		{"cost", costText(a.Cost())},
		{"limits", limits(a.Limits())},
	}
}

// limits are the hard caps in words.
func limits(l agent.Limits) string {
	var set []string
	if l.MaxTurns > 0 {
		set = append(set, count(l.MaxTurns, "step")+" a turn")
	}
	if l.MaxCost > 0 {
		set = append(set, fmt.Sprintf("$%.2f a run", l.MaxCost))
	}
	if l.MaxTotalTokens > 0 {
		set = append(set, tokens(l.MaxTotalTokens)+" tokens a run")
	}
	if l.MaxTime > 0 {
		set = append(set, l.MaxTime.String()+" a run")
	}
	return cmp.Or(strings.Join(set, ", "), "none")
}
