// Package agent is the loop: a message goes to the model, the tools it calls
// are run, their results go back, until a reply calls nothing. It reports
// through Callbacks and holds no terminal.
//
// New makes an Agent of a model, tools and a policy; SendMessage is a turn, which
// takes as many requests (steps) as the model needs. ForProject makes the parts for a directory. Options also take
// hooks, skills and a schema of the answers; each has an example. A session is a conversation, in
// its file or in memory; it spans turns, and a run of the program, for which Limits
// hold, may go from one session to another.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/agent/instructions"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/shell"
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

// Kill kills the processes that an interrupted turn left running, at once. It may be called from any goroutine,
// and more than once.
func (a *Agent) Kill() {
	if kill := a.kill.Load(); kill != nil {
		(*kill)()
	}
}

// KillAfter has a turn whose ctx ends killed once it had wait to end by itself. stop is called after the turn.
func (a *Agent) KillAfter(ctx context.Context, wait time.Duration) (stop func()) {
	over := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		select {
		case <-over:
		case <-time.After(wait):
			a.Kill()
		}
	})
	return func() { close(over); forget() }
}

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

// Close waits until the processes of interrupted calls are gone, gives the
// session back and removes the files of a session that is not kept. Call it before
// the program ends.
func (a *Agent) Close() error {
	a.endSession(endExit)
	a.background.abandoned.Wait()
	a.keeper.runs.Wait()
	a.EndBackground()
	if a.session.parent != nil { // The journal belongs to the parent.
		if err := a.keeper.endStep(); err != nil {
			return err
		}
		a.keeper.journal = nil
	}
	errs := []error{a.endServers(), a.keeper.closeJournal()}
	if s := a.session.conv.Session(); s != nil {
		errs = append(errs, s.Close())
	}
	a.session.emptyOutput()
	if a.session.scratch != nil {
		errs = append(errs, a.session.scratch.Remove())
	}
	if files := a.session.opt.Env.Files; files != nil && a.session.opt.Workspace != nil {
		errs = append(errs, files.Close())
	}
	if a.end != nil {
		errs = append(errs, a.end())
	}
	return errors.Join(errs...)
}

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

// New makes an agent and begins its session. The error names the missing part.
func New(opt Options) (*Agent, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Env == nil {
		opt.Env = &tool.Env{}
	}
	if w := opt.Workspace; w != nil {
		w.mask = opt.Secrets.Mask
		opt.Env.Dir = cmp.Or(opt.Env.Dir, w.Project.Dir)
	}
	if opt.Policy == nil {
		opt.Policy = &permission.Policy{Mode: permission.ModeAsk, Root: opt.Env.Dir}
		if w := opt.Workspace; w != nil {
			opt.Policy.Root, opt.Policy.Dir = w.Project.Root, w.Project.Dir
		}
	}
	opt.Policy.Seen = cmp.Or(opt.Policy.Seen, &permission.Seen{})
	hooks, err := newHooks(opt.Hooks)
	if err != nil {
		return nil, err
	}
	tally, err := newTally(opt)
	if err != nil {
		return nil, err
	}
	a := newAgent(&session{opt: opt.withSearch(), hooks: hooks, running: make(chan struct{}, 1)}, &spending{})
	a.tally = tally
	if err := a.open(opt.Sessions.First); err != nil {
		return nil, err
	}
	return a, nil
}

func newAgent(s *session, spent *spending) *Agent {
	policy := s.opt.Policy
	a := &Agent{session: s, keeper: &keeper{session: s, approved: new(madeFiles)}, spent: spent,
		background: &backgroundCalls{seen: policy.Seen}, modes: modesOf{start: policy.Mode}}
	s.setModel(s.opt.Model)
	s.beginBackground()
	return a
}

// override replaces options of the agent until restore is called.
func (s *session) override(o provider.Options) (restore func()) {
	if o == (provider.Options{}) {
		return func() {}
	}
	before, limit, budget := s.model, s.replyLimit, s.conv.Budget()
	other := o.Model != "" && o.Model != before.Defaults.Model
	if o.MaxTokens > 0 {
		s.replyLimit = o.MaxTokens
	}
	s.model.Defaults = o.Or(before.Defaults)
	info := before.Info
	if other {
		if before.Other != nil {
			info = before.Other(o.Model)
		} else {
			info, _ = provider.Lookup(before.Name, o.Model)
		}
		s.model.Describe = nil
	}
	s.know(info)
	if other {
		s.conv.SetBudget(s.budget())
	}
	return func() {
		s.replyLimit = limit
		if other {
			s.model = before
			s.conv.SetBudget(budget)
			return
		}
		s.model.Defaults = before.Defaults
		s.know(s.model.Info)
	}
}

// Model is the model that answers now, with the facts learned about it.
func (a *Agent) Model() Model { return a.session.model }

// SwitchModel makes another model answer from the next message on. Call it between turns.
func (a *Agent) SwitchModel(m Model) {
	before := a.session.offered()
	a.session.fellBack = ""
	a.session.setModel(m)
	a.session.conv.SetBudget(a.session.budget())
	a.notes.settings = a.session.settingsNow()
	now := a.session.offered()
	if more, less := missingFrom(before, now), missingFrom(now, before); more != "" || less != "" {
		a.session.notify("this model gets the tools " + more + ", not " + less)
	}
}

// SetEffort sets the reasoning effort; "" leaves it to the model. Call it between turns.
func (a *Agent) SetEffort(e provider.Effort) { a.session.model.Defaults.Effort = e }

func missingFrom(others, tools []tool.Tool) string {
	var names []string
	for _, t := range tools {
		if !slices.ContainsFunc(others, func(o tool.Tool) bool { return o.Name == t.Name }) {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
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

// EndBackground ends the background commands of the present session, discards the changes on their
// layers, and reports both. It returns the lines of those that still ran.
func (a *Agent) EndBackground() (ended []string) {
	ended, _ = a.endBackground(a.session.notify)
	return ended
}

func (a *Agent) endBackground(notify func(text string)) (ended []string, discarded []Denial) {
	if a.session.opt.Env.Jobs == nil {
		return nil, nil
	}
	var names []string
	for _, j := range a.session.opt.Env.Jobs.Close() {
		ended = append(ended, a.session.masked(j.Line))
		names = append(names, fmt.Sprintf("%s (%s)", j.ID, a.session.masked(firstLine(j.Line))))
	}
	if len(names) > 0 {
		notify("stopped with the session: background command " + strings.Join(names, ", "))
	}
	a.background.watches.Wait()
	for _, b := range a.background.ended() {
		if b.made != nil {
			if err := guarded(func() { b.made.move(true) }); err != nil {
				notify(err.Error())
			}
		}
		lost, err := b.discard(a.session.opt.Policy)
		if err != nil {
			notify(err.Error())
		}
		d, text := discardOf(b.ran, lost, "the session ended before artoo could check them", false)
		if d == nil {
			continue
		}
		notify(a.session.masked(firstLine(b.Job.Line)) + ": " + text)
		discarded = append(discarded, *d)
	}
	a.session.beginBackground()
	return ended, discarded
}

// beginBackground lets commands go on in the background, where the model can watch them.
func (s *session) beginBackground() {
	if slices.ContainsFunc(s.opt.Tools, func(t tool.Tool) bool { return t.Name == "shell" }) {
		s.opt.Env.Jobs = &shell.Jobs{Keep: s.keepOutput}
	}
}

// HasEnded reports whether a background command has ended that was not looked at yet, or files of servers moved away
// about which the user was not asked.
func (a *Agent) HasEnded() bool { return a.background.hasEnded() || a.confined.moved() }

// open makes a session the present one, with its journal. A nil session begins a new one.
func (a *Agent) open(s *conversation.Session) error {
	if err := a.take(s); err != nil {
		return err
	}
	return a.openJournal()
}

// take makes a session the present one: conversation, system prompt and files, not the journal.
func (a *Agent) take(s *conversation.Session) error {
	if begin := a.session.opt.Secrets.Begin; begin != nil {
		if err := begin(s); err != nil {
			return err
		}
	}
	w := a.session.opt.Workspace
	if w != nil && a.session.opt.Env.Files == nil { // The rights depend on the denied files.
		if err := w.openFiles(a.session.opt.Env, a.session.opt.Policy, nil); err != nil {
			return err
		}
	}
	if m := a.session.opt.Env.MCP; m != nil && a.session.parent == nil { // The settings depend on whether there are any.
		a.session.system = ""
		a.session.openServers()
	}
	system, settings, found := a.session.opt.System, a.session.settingsNow(), []instruction(nil)
	if w != nil {
		var cut string
		var err error
		if found, cut, err = w.instructions(a.session.opt.Env.Files); err != nil {
			return err
		}
		a.session.report(found)
		a.session.notifyOnce(cut)
		system = w.systemPrompt(settings, inForce(found), a.session.opt.Env.Environ)
	}
	header := conversation.Header{
		CWD: a.session.opt.Env.Dir, Version: a.session.opt.Sessions.Version, Provider: a.session.model.Name, Model: a.session.model.Defaults.Model,
		System: system, Headless: a.session.opt.Sessions.Headless || w != nil && w.Headless,
	}
	if s == nil && !a.session.opt.Sessions.Ephemeral {
		s = a.session.opt.Sessions.Store.Create(header)
	}
	if s != nil {
		s.Complete(header)
		if begun := a.session.opt.Secrets.Begun; begun != nil {
			begun(s)
		}
		for _, n := range s.Notices() {
			a.session.notify(n)
		}
		if s.Header().System != "" {
			// The session began with this prompt, and the provider's cache with it.
			system = s.Header().System
		}
	}
	output, read, err := a.session.openOutputs(s)
	if err != nil {
		return err
	}
	if w != nil {
		if err := w.openFiles(a.session.opt.Env, a.session.opt.Policy, read); err != nil {
			return err
		}
	}
	a.session.lookForKinds()
	a.session.lookForSkills()
	a.session.opt.Env.PageMax = a.session.pageMax
	a.session.turns = nil
	a.session.compacting = compacting{}
	if a.session.source = "startup"; s != nil && s.Resumed() {
		a.session.source = "resume"
	}
	a.session.todo = nil
	var history []provider.Message
	if s != nil {
		history = s.Messages() // They include messages that are no longer sent.
		a.session.todo = a.session.todoOf(history)
	}
	a.session.conv = conversation.New(conversation.Config{
		MaxContextTokens: a.session.budget(), ToolResultMaxChars: a.session.opt.ToolResultMaxChars, OutputDir: output,
		Mask: a.session.opt.Secrets.Mask,
	}, s)
	a.session.system = system
	a.session.openServers()
	a.session.sessionID = ""
	if s != nil {
		a.session.sessionID = s.ID()
	}
	a.session.conv.SetOverhead(a.session.system, a.session.specs)
	if s != nil && s.Resumed() && a.session.opt.Skills != nil {
		a.session.loaded = a.session.loadedIn(history)
	}
	a.notes.begin(a.session, settings, found, s != nil && s.Resumed())
	return nil
}

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
