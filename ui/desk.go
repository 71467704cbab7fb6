package ui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
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
	// Switch makes the named model answer, and returns its provider and id.
	Switch func(ctx context.Context, name string) (string, error)
	// Branch is the branch that is checked out, "" outside git; may be nil.
	Branch func() string
	// Sandbox names what confines commands, "" for nothing.
	Sandbox string
	// Rules says whose rules hold with a provider that runs tools of its own, ""
	// where they are artoo's; may be nil.
	Rules func(provider, mode string) string

	mode permission.Mode // the mode artoo was started with, once it was changed
	told permission.Mode // the mode the model was told last, once it was changed
}

// SendMessage implements Sender with the present session's agent.
func (d *Desk) SendMessage(ctx context.Context, text string, cb agent.Callbacks, attachments ...provider.Part) (*agent.Response, error) {
	if now := d.Agent.Policy().Mode; d.told != "" && d.told != now {
		d.told = now
		if d.Rules != nil && d.Rules(d.Agent.Model().Name, string(now)) != "" { // its own tools, by its own rules
			return d.Agent.SendMessage(ctx, text, cb, attachments...)
		}
		attachments = append([]provider.Part{provider.Text{Text: agent.ModeNote(now, false)}}, attachments...)
	}
	return d.Agent.SendMessage(ctx, text, cb, attachments...)
}

// Kill implements Sender with the present session's agent.
func (d *Desk) Kill() { d.Agent.Kill() }

// Deps fills what the desk knows; the rest is main's.
func (d *Desk) Deps() Deps {
	return Deps{
		Sessions: d.sessions, Resume: d.resume, Clear: d.clear, Fork: d.fork, Answer: d.answer,
		Model: d.model, SwitchModel: d.Switch, Tools: d.tools,
		Mode: func() permission.Mode { return d.Agent.Policy().Mode }, SetMode: d.setMode,
		Permissions: d.permissions, DropRule: d.dropRule,
		Compact: d.compact, Context: d.context, Cost: d.cost, Status: d.status,
		Files: d.completeFiles, Expand: d.expand, Export: d.exportFile, Init: d.initFile,
	}
}

func (d *Desk) model() string { return d.Agent.Model().Name + "/" + d.Agent.Model().Defaults.Model }

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
	// The present session is in use, by this very artoo: Open gave a copy of it.
	if now := d.Agent.Conversation().Session(); now != nil && source(s) == now.ID() {
		return nil, errors.Join(errors.New("it is the session you are in; /fork goes on in a copy"), s.Close())
	}
	policy := d.Agent.Policy()
	mode := policy.Mode
	if d.mode != "" {
		policy.Mode = d.mode
	}
	if err := d.change(s); err != nil {
		policy.Mode = mode
		return nil, err
	}
	policy.ForgetSession()
	return d.Resumed(s), nil
}

// clear begins a new session. The mode stays: the prompt of the new one tells
// it.
func (d *Desk) clear(context.Context) (old string, err error) {
	if s := d.Agent.Conversation().Session(); s != nil && d.Agent.Conversation().MessageCount() > 0 {
		old = source(s)
	}
	if err := d.change(nil); err != nil {
		return "", err
	}
	d.Agent.Policy().ForgetSession()
	return old, nil
}

// fork goes on in a copy of the present session, which stays as it is.
func (d *Desk) fork(context.Context) (old, now string, err error) {
	s := d.Agent.Conversation().Session()
	switch {
	case s == nil:
		return "", "", errors.New("no session is kept, so there is nothing to copy")
	case d.Agent.Conversation().MessageCount() == 0:
		return "", "", errors.New("nothing was said yet, so there is nothing to copy")
	}
	if err := d.Agent.Conversation().Sync(); err != nil {
		return "", "", err
	}
	told := d.told
	from := source(s)
	forked, err := d.Store.Fork(from)
	if err != nil {
		return "", "", err
	}
	if err := d.change(forked); err != nil {
		return "", "", err
	}
	d.told = told // the history is the same, and so is what the model knows
	return from, forked.ID(), nil
}

// source is the id of the session whose file holds what was said: it is that of
// the one it was copied from for a copy that nothing was added to, which has no
// file yet.
func source(s *conversation.Session) string {
	from := s.Header().ForkOf
	if _, err := os.Stat(s.Path()); from != "" && errors.Is(err, fs.ErrNotExist) {
		return from
	}
	return s.ID()
}

func (d *Desk) change(s *conversation.Session) error {
	before := d.Agent.Conversation().Session()
	if err := d.Agent.Begin(s); err != nil {
		return err
	}
	d.told = ""
	if before == nil {
		return nil
	}
	return before.Close()
}

func (d *Desk) setMode(mode permission.Mode) error {
	policy := d.Agent.Policy()
	before := policy.Mode
	policy.Mode = mode
	if err := policy.CheckMode(); err != nil {
		policy.Mode = before
		return err
	}
	if d.mode == "" {
		d.mode = before
	}
	if d.told == "" {
		d.told = before
	}
	return nil
}

// answer is the last text of the model before the n-th message from the end, or
// before the end for the first.
func (d *Desk) answer(n int) string {
	text := ""
	messages := d.Agent.Conversation().Messages()
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := messages[i]; m.Role {
		case provider.RoleAssistant:
			if text == "" {
				text = m.Text()
			}
		case provider.RoleUser:
			if text != "" {
				if n--; n == 0 {
					return text
				}
			}
			text = ""
		}
	}
	if n == 1 {
		return text
	}
	return ""
}

func (d *Desk) tools() []ToolRow {
	var rows []ToolRow
	for _, t := range d.Agent.Tools() {
		about, _, _ := strings.Cut(t.Description, "\n")
		if first, _, ok := strings.Cut(about, ". "); ok {
			about = first
		}
		rows = append(rows, ToolRow{Name: t.Name, Kind: string(t.Kind), About: about})
	}
	return rows
}

func (d *Desk) permissions() Permissions {
	p := Permissions{Mode: d.Agent.Policy().Mode, Sandbox: d.Sandbox}
	add := func(effect permission.Effect, rules []permission.Rule, origin string, session bool) {
		for _, r := range rules {
			row := RuleRow{Effect: effect, Rule: r.String(), Origin: r.Origin, Session: session}
			if row.Origin == "" {
				row.Origin = origin
			}
			p.Rules = append(p.Rules, row)
		}
	}
	add(permission.Deny, d.Agent.Policy().DenyRules, "settings", false)
	add(permission.Allow, d.Agent.Policy().SessionRules(), "this session", true)
	add(permission.Ask, d.Agent.Policy().AskRules, "settings", false)
	add(permission.Allow, d.Agent.Policy().AllowRules, "settings", false)
	return p
}

func (d *Desk) dropRule(rule string) error {
	if !d.Agent.Policy().DropInSession(rule) {
		return fmt.Errorf("%s was not allowed in this session", rule)
	}
	return nil
}

// cost counts the whole session where there is a file, else this run.
func (d *Desk) cost() CostInfo {
	if s := d.Agent.Conversation().Session(); s != nil {
		t := s.Totals()
		return CostInfo{Requests: t.Requests, Usage: t.Usage, CostUSD: t.CostUSD}
	}
	usage, cost := d.Agent.Spent()
	return CostInfo{Usage: usage, CostUSD: cost}
}
