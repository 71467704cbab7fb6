package ui

import (
	"context"
	"strings"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
)

// Desk is where the sessions of a conversation change hands: it holds the agent
// and its present session, and gives the slash commands what they need of both.
// Its methods are called between turns, by the goroutine that runs
// Terminal.Run.
type Desk struct {
	Agent *agent.Agent
	Store conversation.Store
	Dir   string // the directory whose sessions are listed
	// Begin puts a session into the agent: conversation, system prompt, files.
	// A nil session begins a new one.
	Begin func(s *conversation.Session) error
	// Switch makes the named model answer, and returns its provider and id.
	Switch func(ctx context.Context, name string) (string, error)
}

// SendMessage implements Sender with the present session's agent.
func (d *Desk) SendMessage(ctx context.Context, text string, cb agent.Callbacks, attachments ...provider.Part) (*agent.Response, error) {
	return d.Agent.SendMessage(ctx, text, cb, attachments...)
}

// Deps fills what the desk knows; the rest is main's.
func (d *Desk) Deps() Deps {
	return Deps{
		Sessions: d.sessions, Resume: d.resume, Clear: d.clear, Model: d.model, SwitchModel: d.Switch,
		Tools: d.tools, Permissions: d.permissions, Context: d.context, Cost: d.cost,
	}
}

func (d *Desk) model() string { return d.Agent.ProviderName + "/" + d.Agent.Defaults.Model }

func (d *Desk) sessions() ([]SessionRow, error) {
	infos, err := d.Store.List()
	if err != nil {
		return nil, err
	}
	var rows []SessionRow
	for _, i := range infos {
		if i.CWD == d.Dir {
			rows = append(rows, SessionRow{ID: i.ID, When: i.Updated, Messages: i.Messages, Title: i.First})
		}
	}
	return rows, nil
}

// resume goes on with another session; the present one is closed. The mode is
// the default again: what was allowed there does not hold here.
func (d *Desk) resume(_ context.Context, id string) (*Resumed, error) {
	s, err := d.Store.Open(id)
	if err != nil {
		return nil, err
	}
	if err := d.change(s); err != nil {
		return nil, err
	}
	return d.Resumed(s), nil
}

// clear begins a new session.
func (d *Desk) clear(context.Context) (old string, err error) {
	if s := d.Agent.Conversation.Session(); s != nil && d.Agent.Conversation.MessageCount() > 0 {
		old = s.ID()
	}
	return old, d.change(nil)
}

func (d *Desk) change(s *conversation.Session) error {
	before := d.Agent.Conversation.Session()
	if err := d.Begin(s); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	return before.Close()
}

// Resumed is what a person should see again of the session s, which the agent
// has already begun to go on with.
func (d *Desk) Resumed(s *conversation.Session) *Resumed {
	r := &Resumed{ID: s.ID(), When: s.Updated(), Model: d.model(), Mode: d.Agent.Policy.Mode}
	for _, m := range d.Agent.Conversation.Messages() {
		switch {
		case m.Role == provider.RoleUser:
			r.User, r.Answer, r.Cut = m.Text(), "", true // until an answer to it is there
		case m.Role == provider.RoleAssistant && m.Text() != "":
			r.Answer, r.Cut = m.Text(), m.Partial || len(m.Calls()) > 0
		}
	}
	return r
}

func (d *Desk) tools() []ToolRow {
	var rows []ToolRow
	for _, t := range d.Agent.Tools {
		about, _, _ := strings.Cut(t.Description, "\n")
		if first, _, ok := strings.Cut(about, ". "); ok {
			about = first
		}
		rows = append(rows, ToolRow{Name: t.Name, Kind: string(t.Kind), About: about})
	}
	return rows
}

func (d *Desk) permissions() Permissions {
	p := Permissions{Mode: d.Agent.Policy.Mode}
	add := func(effect agent.Effect, rules []agent.Rule, origin string) {
		for _, r := range rules {
			p.Rules = append(p.Rules, RuleRow{Effect: effect, Rule: r.String(), Origin: origin})
		}
	}
	add(agent.Deny, d.Agent.Policy.DenyRules, "settings")
	add(agent.Allow, d.Agent.Policy.SessionRules(), "this session")
	add(agent.Ask, d.Agent.Policy.AskRules, "settings")
	add(agent.Allow, d.Agent.Policy.AllowRules, "settings")
	return p
}

func (d *Desk) context() ContextInfo {
	c := d.Agent.Conversation
	return ContextInfo{Used: c.EstimatedTokens(), Budget: c.Budget(), Window: d.Agent.Info.Context, Messages: c.MessageCount()}
}

// cost counts the whole session where there is a file, else this run.
func (d *Desk) cost() CostInfo {
	if s := d.Agent.Conversation.Session(); s != nil {
		t := s.Totals()
		return CostInfo{Requests: t.Requests, Usage: t.Usage, CostUSD: t.CostUSD}
	}
	usage, cost := d.Agent.Spent()
	return CostInfo{Usage: usage, CostUSD: cost}
}
