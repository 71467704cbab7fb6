package ui

import (
	"fmt"
	"path/filepath"
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
)

// AgentDeps fills what an agent knows of Deps; the rest is the program's.
func AgentDeps(a *agent.Agent) Deps {
	p := project{a}
	return Deps{
		Sessions: a.Sessions, Resume: a.Resume, Clear: a.Clear, Fork: a.Fork, Answer: a.Answer, Model: func() string { return a.Model().String() }, Tools: a.Tools,
		Mode: func() permission.Mode { return a.Policy().Mode }, SetMode: a.SetMode, Rules: a.Rules, DropRule: a.DropRule,
		Compact: a.Compact, Context: a.Context, Cost: a.Cost, Status: p.status,
		Files: p.completeFiles, Expand: p.expand, Export: p.exportFile, Init: p.initFile,
	}
}

// status are the rows of /status.
func (p project) status() []Choice {
	a := p
	effort := firstText(string(a.Model().Defaults.Effort), "the model's own")
	dir := p.Env().Dir
	if branch := p.Branch(); branch != "" {
		dir += " (" + branch + ")"
	}
	session := "not kept"
	if s := a.Conversation().Session(); s != nil {
		session = s.ID() + ", " + filepath.Base(s.Path())
	}
	model := p.Model().String()
	if by := a.AnsweredBy(); by != "" && by != a.Model().Defaults.Model {
		model += ", answered by " + by
	}
	return []Choice{
		{"model", model + ", effort " + effort},
		{"directory", dir},
		{"approval", p.approval()},
		{"sandbox", "none, commands are not confined"},
		{"session", session},
		{"context", contextText(p.Context())},
		{"cost", costText(p.Cost())},
		{"limits", p.limits()},
	}
}

// approval is the mode, and what it means with this provider.
func (p project) approval() string {
	mode := p.Policy().Mode
	return string(mode) + ": " + firstText(p.Approval(), modeText(mode))
}

// limits are the hard caps in words.
func (p project) limits() string {
	l := p.Limits()
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
	return firstText(strings.Join(set, ", "), "none")
}
