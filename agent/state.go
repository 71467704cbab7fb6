package agent

import (
	"strings"
	"time"

	"artoo/agent/instructions"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
)

// AnsweredBy is the name, by its server, of the model that answered last, that of a fallback with its provider; ""
// before one did.
func (a *Agent) AnsweredBy() string {
	if a.session.fellBack != "" {
		return a.session.fellBack
	}
	if a.session.answered[0] != a.session.model.Name+"/"+a.session.model.Defaults.Model {
		return ""
	}
	return a.session.answered[1]
}

// Shown is a call as front ends get it, with marks in place of keys: for one of the history, which no turn reports.
func (a *Agent) Shown(c Call) Call { return a.session.shown(c) }

// Conversation is that of the present session.
func (a *Agent) Conversation() *conversation.Conversation { return a.session.conv }

// SessionID is the id of the present session, "" where none is kept.
func (a *Agent) SessionID() string { return a.session.sessionID }

// TurnNumber is that of the last turn, as the journal has it: how many messages the user wrote in the session.
func (a *Agent) TurnNumber() int { return a.session.turnNumber() }

// System is the system prompt of the present session.
func (a *Agent) System() string { return a.session.system }

// Env is the environment of the tools; never nil.
func (a *Agent) Env() *tool.Env { return a.session.opt.Env }

// Limits are the hard caps.
func (a *Agent) Limits() Limits { return a.session.opt.Limits }

// Branch is the branch of the Workspace's project that is checked out, "" for none.
func (a *Agent) Branch() string {
	if a.session.opt.Workspace == nil {
		return ""
	}
	return a.session.opt.Workspace.Project.Branch()
}

// Sandbox confines commands; nil where nothing does.
func (a *Agent) Sandbox() Sandbox { return a.session.opt.Sandbox }

// Policy decides over the calls; never nil.
func (a *Agent) Policy() *permission.Policy { return a.session.opt.Policy }

// HiddenTracked names the files of the project that git tracks and that commands cannot see: none where that takes longer than
// within, or where commands see them.
func (a *Agent) HiddenTracked(within time.Duration) []string {
	if can := a.session.opt.Policy.Confinement; !can.Layer && !can.ByEntry {
		return nil
	}
	found := make(chan []string, 1)
	go func() { found <- a.session.hiddenTracked() }()
	select {
	case paths := <-found:
		return a.session.namesOf(paths)
	case <-time.After(within):
		return nil
	}
}

// Tools are those that the present model is offered.
func (a *Agent) Tools() []tool.Tool {
	a.session.takeFound()
	return a.session.offered()
}

// OutputDir is the directory for long outputs of the present session, "" for none.
func (a *Agent) OutputDir() string { return a.session.outputDir() }

// Todo is the model's plan of a long task in the present session; nil for none.
func (a *Agent) Todo() []TodoItem { return a.session.todo }

// BackgroundCommand is a command that goes on after its call.
type BackgroundCommand struct {
	ID, Line string
	Began    time.Time
	Runs     bool
	End      string // how it ended, in words; "" while it runs
}

// Background lists the background commands of the present session, the oldest first.
func (a *Agent) Background() (list []BackgroundCommand) {
	if a.session.opt.Env.Jobs == nil {
		return nil
	}
	for _, j := range a.session.opt.Env.Jobs.List() {
		c := BackgroundCommand{ID: j.ID, Line: a.session.masked(j.Line), Began: j.Begun, Runs: j.Runs()}
		if !c.Runs {
			c.End = builtin.HowItEnded(j.Result())
		}
		list = append(list, c)
	}
	return list
}

// HasEnded reports whether a background command has ended that was not looked at yet, or files of servers moved away
// about which the user was not asked.
func (a *Agent) HasEnded() bool { return a.background.hasEnded() || a.confined.moved() }

// ContextUse counts tokens.
type ContextUse struct {
	Used     int // Used is an estimate for the next request.
	Budget   int // Budget bounds the history; 0 for unlimited.
	Window   int // Window is 0 when unknown.
	Free     int
	Messages int
	Parts    []ContextPart // Their sum is about Used.
	// Files are the instruction files that were found, those that are not used too.
	Files []instructions.File
}

// ContextPart is a part of the request to the model.
type ContextPart struct {
	Name   string
	Tokens int
}

// Context reports how full the context is.
func (a *Agent) Context() ContextUse {
	a.session.takeFound()
	c := a.session.conv
	info := ContextUse{Used: c.EstimatedTokens(), Budget: c.Budget(), Window: a.session.model.Info.Context,
		Messages: c.MessageCount(), Files: a.notes.files()}
	sizes, sum := a.contextSizes(), 0
	for _, n := range sizes {
		sum += n
	}
	for _, name := range []string{"system prompt", "instructions", "memory", "tools", "skills", "MCP servers", "your messages", "summary", "answers and reasoning",
		"tool calls", "tool results", "images"} {
		if n := sizes[name]; n > 0 {
			info.Parts = append(info.Parts, ContextPart{name, int(int64(n) * int64(info.Used) / int64(max(sum, 1)))})
		}
	}
	info.Free = max(info.Budget-info.Used, 0)
	return info
}

// contextSizes estimates the parts of the next request one by one, by name.
func (a *Agent) contextSizes() map[string]int {
	conv, sizes := a.session.conv, map[string]int{}
	for _, spec := range a.session.specs() {
		part := "tools"
		switch {
		case ofServers(spec.Name):
			part = "MCP servers"
		case spec.Name == Skill:
			part = "skills"
		}
		sizes[part] += conv.ToolTokens(spec)
	}
	for _, i := range a.notes.instructions {
		part := "instructions"
		if i.Path == a.session.opt.Workspace.Memory {
			part = "memory"
		}
		if strings.Contains(a.session.system, strings.TrimSpace(i.Text)) {
			sizes[part] += conv.TextTokens(i.Text)
		}
	}
	sizes["system prompt"] = max(conv.TextTokens(a.session.system)-sizes["instructions"]-sizes["memory"], 0)
	for _, m := range conv.Messages() {
		for _, p := range m.Parts {
			kind := "answers and reasoning"
			if m.Role == provider.RoleUser {
				kind = "your messages"
			}
			switch p := p.(type) {
			case provider.ToolCall:
				kind = "tool calls"
			case provider.ToolResult:
				kind = "images"
				text := p
				text.Images = nil
				sizes["tool results"] += conv.PartTokens(text)
				sizes[kind] -= conv.PartTokens(text)
			case provider.Image:
				kind = "images"
			case provider.Text:
				if p.Note == provider.NoteSummary {
					kind = "summary"
				}
			}
			sizes[kind] += conv.PartTokens(p)
		}
	}
	return sizes
}
