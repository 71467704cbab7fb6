package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/builtin"
)

// briefing is all that the model was told of what it may do and where it works, by
// the prompt and by notes: what is otherwise now it is told with the next message.
type briefing struct {
	settings     settings      // of the session; the mode may change
	known        string        // the settings as the model knows them, see settings.key; "" where they are others
	instructions []instruction // that the model knows
	git          <-chan string // what git says as the session begins; nil once it is told
}

// key tells settings apart. The mode counts also where no line names it.
func (s settings) key() string { return string(s.Rights.Mode) + "\n" + s.String() }

func (s settings) in(mode permission.Mode) settings {
	s.Rights = s.Rights.In(mode)
	return s
}

// brief begins the briefing of the present session.
func (a *Agent) brief(now settings, instructions []instruction, resumed bool) {
	a.briefing = briefing{settings: now}
	w := a.opt.Workspace
	if w == nil || now.toldBy(a.system, a.conv.Messages()) {
		a.briefing.known = now.key()
	}
	if w == nil {
		return
	}
	if !resumed {
		a.briefing.git = w.gitState(a.opt.Env.Environ)
	}
	for i := range instructions {
		if !strings.Contains(a.system, strings.TrimSpace(instructions[i].Text)) {
			instructions[i].Text = "" // a resumed session began with another text
		}
	}
	a.briefing.instructions = instructions
	a.guide = w.guide(instructions)
}

// toldBy reports whether the newest note of a history says that these settings
// hold, or, without one, the prompt: word for word, or the model is told again.
func (s settings) toldBy(system string, history []provider.Message) bool {
	for _, m := range slices.Backward(history) {
		for _, p := range m.Parts {
			switch text, _ := p.(provider.Text); text.Note {
			case provider.NoteSettings:
				return text.Text == s.note()
			case provider.NoteMode: // the mode is told; is all else as in the prompt?
				return text.Text == s.modeNote() &&
					s.inSomeMode(func(then settings) bool { return strings.Contains(system, then.String()) })
			}
		}
	}
	return strings.Contains(system, s.String())
}

func (s settings) inSomeMode(holds func(settings) bool) bool {
	return slices.ContainsFunc(modes(), func(m permission.Mode) bool { return holds(s.in(m)) })
}

// modes are all modes, the strictest first.
func modes() []permission.Mode {
	return []permission.Mode{permission.ModePlan, permission.ModeAsk, permission.ModeEdits, permission.ModeAuto}
}

func (s settings) note() string {
	return "(The settings are not those that this session began with. Now they are:\n" + strings.TrimSuffix(s.String(), "\n") + ")"
}

// newNotes is what the model must be told with the next message.
func (a *Agent) newNotes() (notes []provider.Part) {
	tell := func(note provider.Note, text string) {
		if text != "" {
			notes = append(notes, provider.Text{Note: note, Text: text})
		}
	}
	b, w := &a.briefing, a.opt.Workspace
	// A provider that runs tools of its own has its own rules.
	now := b.settings
	now.Rights = a.opt.Policy.Rights(now.Rights.Headless) // trust and the sandbox may have changed too
	if now.key() != b.known && a.Approval() == "" {
		if now.inSomeMode(func(then settings) bool { return then.key() == b.known }) {
			tell(provider.NoteMode, now.modeNote())
		} else {
			tell(provider.NoteSettings, now.note())
		}
		b.known = now.key()
	}
	if w == nil {
		return notes
	}
	if b.git != nil {
		if said := <-b.git; said != "" {
			tell(provider.NoteGit, "(Git, as the session begins: "+w.masked(said)+")")
		}
		b.git = nil
	}
	texts, _, err := w.instructions()
	if err != nil {
		tell(provider.NoteInstructions, fmt.Sprintf("(The instruction files can no longer be read: %v.)", err))
		return notes
	}
	tell(provider.NoteInstructions, instructionsChanged(b.instructions, texts))
	b.instructions = texts
	return notes
}

// modeNote tells the model that the approval mode is another one now than its prompt
// says.
func (s settings) modeNote() string {
	s.Allow = nil
	now := s.approval()
	if s.Rights.Mode != permission.ModePlan {
		now = strings.TrimSpace(now + " The user's rules hold as before.")
	}
	return "(The approval mode is now " + string(s.Rights.Mode) + ": " + now + ")"
}

// settingsNow is what the model is told of what it may do.
func (a *Agent) settingsNow() settings {
	policy := a.opt.Policy
	w := a.opt.Workspace
	s := settings{Rights: policy.Rights(w != nil && w.Headless), Allow: policy.AllowRules, Ask: policy.AskRules,
		Deny: policy.DenyRules}
	for _, t := range a.offered() {
		if t.For == "" { // the others come and go with the files that they are for
			s.Tools = append(s.Tools, t.Name)
		}
	}
	if w == nil {
		return s
	}
	for _, name := range builtin.Usual(w.Shell) {
		if !slices.Contains(s.Tools, name) && !a.replaced(name) {
			s.Without = append(s.Without, name)
		}
	}
	s.ReadDirs, s.WriteDirs, _ = w.AddedDirs() // one that cannot be named: opening it fails with a better word
	return s
}

// gitState asks git meanwhile: the first message need not wait for it, nor the
// prompt.
func (w *Workspace) gitState(environ []string) <-chan string {
	state := make(chan string, 1)
	go func() {
		said, err := guard(func() (string, error) { return w.Project.GitState(context.Background(), environ), nil })
		if err != nil {
			said = err.Error()
		}
		state <- said
	}()
	return state
}
