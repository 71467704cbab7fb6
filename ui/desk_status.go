package ui

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
)

// Resumed is what a person should see again of the session s, which the agent
// has already begun to go on with.
func (d *Desk) Resumed(s *conversation.Session) *Resumed {
	r := &Resumed{ID: s.ID(), When: s.Updated(), Model: d.model(), Mode: d.Agent.Policy().Mode}
	messages := d.Agent.Conversation().Messages()
	for _, m := range messages {
		if m.Provider != "" && m.Model != "" {
			r.Before = m.Provider + "/" + m.Model
		}
		switch {
		case m.Role == provider.RoleUser:
			r.User, r.Answer, r.Cut = typedText(m), "", true // until an answer to it is there
		case m.Role == provider.RoleAssistant && m.Text() != "":
			r.Answer, r.Cut = m.Text(), m.Partial || len(m.Calls()) > 0
		}
	}
	if r.Before == r.Model {
		r.Before = ""
	}
	r.Changed = d.changed(messages, s.Updated())
	return r
}

// typedText is a message as the person wrote it: without notes and what went
// along with it.
func typedText(m provider.Message) string {
	for _, p := range m.Parts {
		if t, ok := p.(provider.Text); ok && !agent.IsNote(t.Text) {
			return t.Text
		}
	}
	return ""
}

// changed are the files that the calls of a history read or wrote and that are
// not now as they were when the session was last used: written since, or gone.
func (d *Desk) changed(messages []provider.Message, since time.Time) []string {
	files := d.Agent.Env().Files
	if files == nil || since.IsZero() {
		return nil
	}
	var names []string
	for _, path := range d.touched(messages) {
		place, err := files.Resolve(path, false)
		if err != nil || place.Outside || place.Denied || slices.Contains(names, place.Display) {
			continue
		}
		info, err := files.Stat(place.Abs)
		// The session's times are whole milliseconds.
		if err != nil || !info.IsDir() && info.ModTime().Truncate(time.Millisecond).After(since) {
			names = append(names, place.Display)
		}
	}
	slices.Sort(names)
	return names
}

// touched are the paths of the calls that read or wrote a file and did not fail.
func (d *Desk) touched(messages []provider.Message) []string {
	failed := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(provider.ToolResult); ok && r.IsError {
				failed[r.CallID] = true
			}
		}
	}
	onFiles := map[string]bool{"read": true}
	for _, t := range d.Agent.Tools() {
		onFiles[t.Name] = onFiles[t.Name] || t.Kind == tool.KindWrite
	}
	var paths []string
	for _, m := range messages {
		for _, c := range m.Calls() {
			var input struct{ Path string }
			if onFiles[c.Name] && !failed[c.ID] && json.Unmarshal(c.Input, &input) == nil && input.Path != "" {
				paths = append(paths, input.Path)
			}
		}
	}
	return paths
}

func (d *Desk) context() ContextInfo {
	c := d.Agent.Conversation()
	info := ContextInfo{Used: c.EstimatedTokens(), Budget: c.Budget(), Window: d.Agent.Model().Info.Context, Messages: c.MessageCount()}
	parts, sum := d.contextBytes()
	for _, p := range parts {
		if p.Tokens > 0 {
			info.Parts = append(info.Parts, ContextPart{p.Name, int(int64(p.Tokens) * int64(info.Used) / int64(sum))})
		}
	}
	return info
}

func (d *Desk) compact() (string, error) {
	trimmed, err := d.Agent.Conversation().Compact()
	return trimmed.String(), err
}

// imageBytes stands for a picture: what it counts in tokens, as text.
func imageBytes(i provider.Image) int { return i.Tokens() * 7 / 2 }

// contextBytes are the parts of the next request, in bytes, and their sum.
func (d *Desk) contextBytes() (parts []ContextPart, sum int) {
	system, tools, user, answers, calls, results, pictures := len(d.Agent.System()), 0, 0, 0, 0, 0, 0
	for _, t := range d.Agent.Tools() {
		tools += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range d.Agent.Conversation().Messages() {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				if m.Role == provider.RoleUser {
					user += len(p.Text)
				} else {
					answers += len(p.Text)
				}
			case provider.Reasoning:
				answers += len(p.Text) + len(p.Opaque)
			case provider.ToolCall:
				calls += len(p.Name) + len(p.Input)
			case provider.ToolResult:
				results += len(p.Text)
				for _, i := range p.Images {
					pictures += imageBytes(i)
				}
			case provider.Image:
				pictures += imageBytes(p)
			}
		}
	}
	parts = []ContextPart{
		{"system prompt and instructions", system}, {"tool descriptions", tools}, {"your messages", user}, {"answers and reasoning", answers},
		{"tool calls", calls}, {"tool results", results}, {"pictures", pictures},
	}
	for _, p := range parts {
		sum += p.Tokens
	}
	return parts, max(sum, 1)
}

// status are the rows of /status.
func (d *Desk) status() []Choice {
	a := d.Agent
	effort := firstText(string(a.Model().Defaults.Effort), "the model's own")
	dir := d.Dir
	if d.Branch != nil {
		if branch := d.Branch(); branch != "" {
			dir += " (" + branch + ")"
		}
	}
	session := "not kept"
	if s := a.Conversation().Session(); s != nil {
		session = s.ID() + ", " + filepath.Base(s.Path())
	}
	model := d.model()
	if by := a.AnsweredBy(); by != "" && by != a.Model().Defaults.Model {
		model += ", answered by " + by
	}
	return []Choice{
		{"model", model + ", effort " + effort},
		{"directory", dir},
		{"approval", d.approval()},
		{"sandbox", firstText(d.Sandbox, "none, commands are not confined")},
		{"session", session},
		{"context", contextText(d.context())},
		{"cost", costText(d.cost())},
		{"limits", d.limits()},
	}
}

// approval is the mode, and what it means with this provider.
func (d *Desk) approval() string {
	mode := d.Agent.Policy().Mode
	if d.Rules != nil {
		if rules := d.Rules(d.Agent.Model().Name, string(mode)); rules != "" {
			return string(mode) + ": " + rules
		}
	}
	return string(mode) + ": " + modeText(mode)
}

// limits are the hard caps in words.
func (d *Desk) limits() string {
	l := d.Agent.Limits()
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
