package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
)

// Sessions lists the sessions of the agent's directory, newest first.
func (a *Agent) Sessions() ([]conversation.Info, error) {
	all, err := a.opt.Sessions.Store.List()
	return slices.DeleteFunc(all, func(i conversation.Info) bool { return i.CWD != a.opt.Env.Dir }), err
}

// FindSessions are those of the agent's directory in which a message holds all of the
// words, newest first; First is what stands around the first word in it.
func (a *Agent) FindSessions(words []string) (found []conversation.Info, err error) {
	here := func(i conversation.Info) bool { return i.CWD == a.opt.Env.Dir }
	err = a.opt.Sessions.Store.Grep(words, here, func(m conversation.Match) bool {
		m.Session.First = m.Text
		found = append(found, m.Session)
		return false
	})
	return found, err
}

// Rename gives the present session a name, "" for none.
func (a *Agent) Rename(name string) error {
	s := a.conv.Session()
	switch {
	case s == nil:
		return errors.New("no session is kept, so it cannot be found by a name")
	case a.conv.MessageCount() == 0:
		return errors.New("nothing was said yet, so there is nothing to name")
	}
	return s.Rename(name)
}

// Saved is the present session as its file has it, nil where none is kept. It is
// the one it was copied from for a copy that nothing was added to.
func (a *Agent) Saved() (*conversation.Session, error) {
	s := a.conv.Session()
	if s == nil {
		return nil, nil
	}
	return a.opt.Sessions.Store.Read(source(s))
}

// Resume goes on with another session; the present one is closed. The mode is
// the default again: what was allowed there does not hold here.
func (a *Agent) Resume(id string) (*Resumed, error) {
	s, err := a.opt.Sessions.Store.Open(id)
	if err != nil {
		return nil, err
	}
	// The present session is in use, by this very artoo: Open gave a copy of it.
	if now := a.conv.Session(); now != nil && source(s) == now.ID() {
		return nil, errors.Join(errors.New("it is the session you are in; /fork goes on in a copy"), s.Close())
	}
	policy := a.opt.Policy
	mode := policy.Mode
	policy.Mode = a.startMode
	if err := a.change(s); err != nil {
		policy.Mode = mode
		return nil, err
	}
	policy.ForgetSession()
	a.EndBackground()
	return a.resumed(s), nil
}

// Clear begins a new session, and returns the id of the old one, "" if it was not
// kept. The mode stays: the prompt of the new one tells it.
func (a *Agent) Clear() (old string, err error) {
	if s := a.conv.Session(); s != nil && a.conv.MessageCount() > 0 {
		old = source(s)
	}
	if err := a.change(nil); err != nil {
		return "", err
	}
	a.opt.Policy.ForgetSession()
	a.EndBackground()
	return old, nil
}

// Fork goes on in a copy of the present session, which stays as it is, and returns
// the ids of the two. back is how many of the user's last messages the copy lacks, with
// what followed them.
func (a *Agent) Fork(back int) (old, now string, err error) {
	s := a.conv.Session()
	switch {
	case s == nil:
		return "", "", errors.New("no session is kept, so there is nothing to copy")
	case a.conv.MessageCount() == 0:
		return "", "", errors.New("nothing was said yet, so there is nothing to copy")
	}
	if err := a.conv.Sync(); err != nil {
		return "", "", err
	}
	known := a.briefing
	from := source(s)
	forked, err := a.opt.Sessions.Store.Fork(from, back)
	if err != nil {
		return "", "", err
	}
	if err := a.change(forked); err != nil {
		return "", "", err
	}
	if back == 0 {
		a.briefing = known // the history is the same, and so is what the model knows
	}
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

func (a *Agent) change(s *conversation.Session) error {
	before := a.conv.Session()
	if err := a.open(s); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	return before.Close()
}

// SetMode changes the approval mode; the error says why it cannot hold here. The
// model is told with the next message.
func (a *Agent) SetMode(mode permission.Mode) error {
	policy := a.opt.Policy
	before := policy.Mode
	policy.Mode = mode
	if err := policy.CheckMode(); err != nil {
		policy.Mode = before
		return err
	}
	if mode == permission.ModePlan && before != mode {
		a.beforePlan = before
	}
	return nil
}

// Answer is the last text of the model before the n-th message from the end, or
// before the end for the first; "" when there is none.
func (a *Agent) Answer(n int) string {
	text := ""
	for _, m := range slices.Backward(a.conv.Messages()) {
		switch {
		case m.Role == provider.RoleAssistant && text == "":
			text = m.Text()
		case m.Role == provider.RoleUser && text != "" && n == 1:
			return text
		case m.Role == provider.RoleUser && text != "":
			n, text = n-1, ""
		}
	}
	if n > 1 {
		return ""
	}
	return text
}

// Approval is what the approval mode means with a provider that runs tools of its
// own, "" where the agent's rules hold.
func (a *Agent) Approval() string { return a.model.rules(a.opt.Policy.Mode) }

func (m Model) rules(mode permission.Mode) string {
	if m.Rules == nil {
		return ""
	}
	return m.Rules(string(mode))
}

// Rules are the rules in force, in the order in which they count.
func (a *Agent) Rules() []permission.RuleInForce {
	rules := a.opt.Policy.InForce()
	for i := range rules {
		if r := &rules[i]; r.Origin == "" {
			r.Origin = "settings"
			if r.Session {
				r.Origin = "this session"
			}
		}
	}
	return rules
}

// DropRule takes back a rule that was allowed in this session.
func (a *Agent) DropRule(rule string) error {
	if !a.opt.Policy.DropInSession(rule) {
		return fmt.Errorf("%s was not allowed in this session", rule)
	}
	return nil
}

// open puts a session into the agent: conversation, system prompt, files. A
// nil session begins a new one.
func (a *Agent) open(s *conversation.Session) error {
	if begin := a.opt.Secrets.Begin; begin != nil {
		if err := begin(s); err != nil {
			return err
		}
	}
	w := a.opt.Workspace
	if w != nil && a.opt.Env.Files == nil { // what denied files there are decides about the rights
		if err := w.openFiles(a.opt.Env, a.opt.Policy, nil); err != nil {
			return err
		}
	}
	system, settings, instructions := a.opt.System, a.settingsNow(), []instruction(nil)
	if w != nil {
		var cut bool
		var err error
		if instructions, cut, err = w.instructions(); err != nil {
			return err
		}
		if cut {
			a.notify("the instruction files are longer than 32 KB together; the rest was left out")
		}
		system = w.systemPrompt(settings, instructions, a.opt.Env.Environ)
	}
	if s == nil && !a.opt.Sessions.Ephemeral {
		s = a.opt.Sessions.Store.Create(conversation.Header{
			CWD: a.opt.Env.Dir, Version: a.opt.Sessions.Version, Provider: a.model.Name, Model: a.model.Defaults.Model,
			System: system, Headless: w != nil && w.Headless,
		})
	}
	if s != nil {
		if begun := a.opt.Secrets.Begun; begun != nil {
			begun(s)
		}
		for _, n := range s.Notices() {
			a.notify(n)
		}
		if s.Header().System != "" {
			// The session began with this prompt, and the provider's cache with it.
			system = s.Header().System
		}
	}
	output, read, err := a.outputs(s)
	if err != nil {
		return err
	}
	if w != nil {
		if err := w.openFiles(a.opt.Env, a.opt.Policy, read); err != nil {
			return err
		}
	}
	a.lookForKinds()
	a.opt.Env.PageMax = a.pageMax
	a.turns = nil
	a.compaction, a.unsummed = "", 0
	a.todo = nil
	if s != nil {
		a.todo = a.todoOf(s.Messages())
	}
	a.conv = conversation.New(conversation.Config{
		MaxContextTokens: a.budget(), ToolResultMaxChars: a.opt.ToolResultMaxChars, OutputDir: output,
		Mask: a.opt.Secrets.Mask,
	}, s)
	a.system = system
	a.sessionID = ""
	if s != nil {
		a.sessionID = s.ID()
	}
	a.conv.SetOverhead(a.system, a.specs)
	a.brief(settings, instructions, s != nil && s.Resumed())
	return a.openJournal()
}

func (a *Agent) notify(text string) {
	if a.opt.Notice != nil {
		a.opt.Notice(text)
	}
}
