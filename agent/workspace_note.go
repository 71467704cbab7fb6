package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
)

// settings is what the model is told of what it may do. A directory that cannot
// be named is left out: opening it fails with a better word.
func (w *Workspace) settings(a *Agent) Settings {
	s := Settings{
		Mode: a.opt.Policy.Mode, Headless: w.Headless, NoProject: a.opt.Policy.NoProject,
		Allow: a.opt.Policy.AllowRules, Ask: a.opt.Policy.AskRules, Deny: a.opt.Policy.DenyRules,
	}
	for _, t := range a.opt.Tools {
		s.Tools = append(s.Tools, t.Name)
	}
	for _, o := range tool.BuiltIn(w.Shell) {
		if o.Default && !slices.Contains(s.Tools, o.Tool.Name) {
			s.Without = append(s.Without, o.Tool.Name)
		}
	}
	s.ReadDirs, s.WriteDirs, _ = w.addedDirs()
	return s
}

// joinNotes is a note of what several say.
func joinNotes(notes ...func() string) func() string {
	return func() string {
		var said []string
		for _, note := range notes {
			if text := note(); text != "" {
				said = append(said, text)
			}
		}
		return strings.Join(said, "\n")
	}
}

// settingsNote tells the model once of settings that are not those it knows: of
// the prompt its session began with, or of the newest note in its history.
func (w *Workspace) settingsNote(system string, history []provider.Message, now Settings) func() string {
	note := settingsNote + strings.TrimSuffix(now.String(), "\n") + ")"
	told := strings.Contains(system, now.String())
	switch last := lastNote(history); {
	case strings.HasPrefix(last, settingsNote):
		told = last == note
	case strings.HasPrefix(last, modeNote): // the mode is told; is all else as in the prompt?
		told = false
		for _, m := range []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModeAuto, permission.ModePlan} {
			then := now
			then.Mode = m
			told = told || strings.HasPrefix(last, modeNote+string(now.Mode)+": ") && strings.Contains(system, then.String())
		}
	}
	return func() string {
		if told {
			return ""
		}
		told = true
		return note
	}
}

// lastNote is the newest note of the mode or the settings in a history, or "".
func lastNote(history []provider.Message) string {
	for _, m := range slices.Backward(history) {
		for _, p := range m.Parts {
			text, ok := p.(provider.Text)
			if ok && (strings.HasPrefix(text.Text, modeNote) || strings.HasPrefix(text.Text, settingsNote)) {
				return text.Text
			}
		}
	}
	return ""
}

// gitNote tells the model once what git says as the session begins. git is asked
// meanwhile: the first message need not wait for it, nor the prompt.
func (w *Workspace) gitNote(environ []string) func() string {
	state := make(chan string, 1)
	go func() { state <- w.Project.GitState(context.Background(), environ) }()
	told := false
	return func() string {
		if told {
			return ""
		}
		told = true
		if said := <-state; said != "" {
			return gitNote + w.masked(said) + ")"
		}
		return ""
	}
}

func (w *Workspace) masked(text string) string {
	if w.mask == nil {
		return text
	}
	return w.mask(text)
}

func (w *Workspace) instructions() ([]Instruction, bool, error) {
	root, dir := w.Project.Root, w.Project.Dir
	if w.NoProject {
		root, dir = "", ""
	}
	list, cut, err := Instructions(w.ConfigDir, root, dir)
	for i := range list {
		list[i].Text = w.masked(list[i].Text)
	}
	return list, cut, err
}

// note tells the model once of instructions that are not those of its prompt.
func (w *Workspace) note(system string, known []Instruction) func() string {
	for i := range known {
		if !strings.Contains(system, strings.TrimSpace(known[i].Text)) {
			known[i].Text = "" // a resumed session began with another text
		}
	}
	return func() string {
		now, _, err := w.instructions()
		if err != nil {
			return fmt.Sprintf("(The instruction files can no longer be read: %v.)", err)
		}
		note := InstructionsNote(known, now)
		known = now
		return note
	}
}

// guide gives the instructions of the project's subdirectories, each when a file
// there is touched for the first time; known are those of the prompt.
func (w *Workspace) guide(known []Instruction) func(touched []string) string {
	if w.NoProject {
		return nil
	}
	given := map[string]bool{}
	for _, i := range known {
		given[i.Path] = true
	}
	left := instructionsLimit
	return func(touched []string) string {
		var b strings.Builder
		for _, path := range touched {
			rel, err := filepath.Rel(w.Project.Root, path)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			for _, dir := range downTo(w.Project.Root, path) {
				text, at, err := firstInstruction(w.Project.Root, dir, left)
				// The last part may be a file, and what cannot be read says nothing.
				if err != nil || given[at] || strings.TrimSpace(text) == "" {
					continue
				}
				given[at] = true
				left -= len(text)
				fmt.Fprintf(&b, "\n(Instructions from %s hold for what is in its directory:\n%s)", at, w.masked(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))))
			}
		}
		return b.String()
	}
}
