package agent

import "artoo/conversation"

// open puts a session into the agent: conversation, system prompt, files. A
// nil session begins a new one.
func (a *Agent) open(s *conversation.Session) error {
	if begin := a.opt.Secrets.Begin; begin != nil {
		if err := begin(s); err != nil {
			return err
		}
	}
	w := a.opt.Workspace
	system, settings, instructions := a.opt.System, a.settingsNow(), []Instruction(nil)
	if w != nil {
		var cut bool
		var err error
		if instructions, cut, err = w.instructions(); err != nil {
			return err
		}
		if cut {
			a.notify("the instruction files are longer than 32 KB together; the rest was left out")
		}
		system = w.systemPrompt(settings, instructions)
	}
	if s == nil && !a.opt.Sessions.Ephemeral {
		s = a.opt.Sessions.Store.Create(conversation.Header{
			CWD: a.opt.Env.Dir, Version: a.opt.Sessions.Version, Provider: a.model.Name, Model: a.model.Defaults.Model, System: system,
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
		if err := w.openFiles(a.opt.Env, read); err != nil {
			return err
		}
	}
	a.opt.Env.PageMax = a.pageMax
	a.conv = conversation.New(conversation.Config{
		MaxContextTokens: a.budget(), ToolResultMaxChars: a.opt.ToolResultMaxChars, OutputDir: output, Mask: a.opt.Secrets.Mask,
	}, s)
	a.system = system
	if s != nil {
		a.sessionID = s.ID()
	}
	a.conv.SetOverhead(a.overhead())
	a.brief(settings, instructions, s != nil && s.Resumed())
	return nil
}

func (a *Agent) notify(text string) {
	if a.opt.Notice != nil {
		a.opt.Notice(text)
	}
}
