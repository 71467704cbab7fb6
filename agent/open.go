package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/shell"
)

func newAgent(s *session, spent *spending) *Agent {
	policy := s.opt.Policy
	a := &Agent{session: s, keeper: &keeper{session: s, approved: new(madeFiles)}, spent: spent,
		background: &backgroundCalls{seen: policy.Seen}, modes: modesOf{start: policy.Mode}}
	s.setModel(s.opt.Model)
	s.beginBackground()
	return a
}

// open makes a session the present one, with its journal. A nil one is new.
func (a *Agent) open(s *conversation.Session) error {
	if err := a.take(s); err != nil {
		return err
	}
	return a.openJournal()
}

// take makes a session the present one: conversation, system prompt and files, not the journal.
func (a *Agent) take(kept *conversation.Session) error {
	s := a.session
	if begin := s.opt.Secrets.Begin; begin != nil {
		if err := begin(kept); err != nil {
			return err
		}
	}
	system, settings, found, err := s.firstPrompt()
	if err != nil {
		return err
	}
	kept = s.fileOf(kept, system)
	output, read, err := s.openOutputs(kept)
	if err != nil {
		return err
	}
	if w := s.opt.Workspace; w != nil {
		if err := w.openFiles(s.opt.Env, s.opt.Policy, read); err != nil {
			return err
		}
	}
	s.lookForKinds()
	s.lookForSkills()
	s.opt.Env.PageMax = s.pageMax
	s.begin(kept, system, output)
	a.notes.begin(s, settings, found, kept != nil && kept.Resumed())
	return nil
}

// firstPrompt is the system prompt of a session that begins now, with the settings and instructions in it.
func (s *session) firstPrompt() (system string, now settings, found []instruction, err error) {
	w := s.opt.Workspace
	if w != nil && s.opt.Env.Files == nil { // The rights depend on the denied files.
		if err := w.openFiles(s.opt.Env, s.opt.Policy, nil); err != nil {
			return "", now, nil, err
		}
	}
	if s.opt.Env.MCP != nil && s.parent == nil { // The settings depend on whether there are any.
		s.system = ""
		s.openServers()
	}
	now = s.settingsNow()
	if w == nil {
		return s.opt.System, now, nil, nil
	}
	found, cut, err := w.instructions(s.opt.Env.Files)
	if err != nil {
		return "", now, nil, err
	}
	s.report(found)
	s.notifyOnce(cut)
	return w.systemPrompt(now, inForce(found), s.opt.Env.Environ), now, found, nil
}

// fileOf is the file of a session: a new one for nil, and nil where none is kept.
func (s *session) fileOf(kept *conversation.Session, system string) *conversation.Session {
	w := s.opt.Workspace
	header := conversation.Header{CWD: s.opt.Env.Dir, Version: s.opt.Sessions.Version, Provider: s.model.Name,
		Model: s.model.Defaults.Model, System: system, Headless: s.opt.Sessions.Headless || w != nil && w.Headless}
	if kept == nil && !s.opt.Sessions.Ephemeral {
		kept = s.opt.Sessions.Store.Create(header)
	}
	if kept == nil {
		return nil
	}
	kept.Complete(header)
	if begun := s.opt.Secrets.Begun; begun != nil {
		begun(kept)
	}
	for _, n := range kept.Notices() {
		s.notify(n)
	}
	return kept
}

// begin makes the conversation of what a session's file holds; nil is no file. One that began with another system prompt
// keeps it, since the provider's cache begins with it.
func (s *session) begin(kept *conversation.Session, system, output string) {
	s.turns, s.todo, s.compacting = nil, nil, compacting{}
	s.source, s.sessionID, s.system = "startup", "", system
	var history []provider.Message
	if kept != nil {
		history = kept.Messages() // They include messages that are no longer sent.
		s.todo, s.sessionID, s.system = s.todoOf(history), kept.ID(), cmp.Or(kept.Header().System, system)
	}
	s.conv = conversation.New(conversation.Config{MaxContextTokens: s.budget(), ToolResultMaxChars: s.opt.ToolResultMaxChars,
		OutputDir: output, Mask: s.opt.Secrets.Mask}, kept)
	s.openServers()
	s.conv.SetOverhead(s.system, s.specs)
	if kept != nil && kept.Resumed() {
		s.source = "resume"
		if s.opt.Skills != nil {
			s.loaded = s.loadedIn(history)
		}
	}
}

// beginBackground lets commands go on in the background, where the model can watch them.
func (s *session) beginBackground() {
	if slices.ContainsFunc(s.opt.Tools, func(t tool.Tool) bool { return t.Name == "shell" }) {
		s.opt.Env.Jobs = &shell.Jobs{Keep: s.keepOutput}
	}
}

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
