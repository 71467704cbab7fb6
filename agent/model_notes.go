package agent

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"artoo/agent/instructions"
	"artoo/provider"
	"artoo/tool/mcp"
	"artoo/tool/text"
)

// modelNotes is all that the model knows of its rights and its place. A note with the next message corrects changed
// facts.
type modelNotes struct {
	settings     settings
	known        string        // the settings as the model knows them, see settings.key; "" where they are others
	instructions []instruction // The model knows these.
	found        []instruction // all files that were found, those that are not used too
	nested       []instruction // those of directories that were touched later
	git          <-chan string // It gives the state that git reports as the session begins; nil once the model has it.
}

func (n *modelNotes) begin(s *session, now settings, found []instruction, resumed bool) {
	*n = modelNotes{settings: now, found: found}
	w := s.opt.Workspace
	if w == nil || now.knownFrom(s.system, s.conv.Messages()) {
		n.known = now.key()
	}
	if w == nil {
		return
	}
	if !resumed {
		n.git = w.gitState(s.opt.Env.Environ)
	}
	n.instructions = inForce(found)
	for i, f := range n.instructions {
		if !strings.Contains(s.system, strings.TrimSpace(f.Text)) {
			n.instructions[i].Text = "" // a resumed session began with another text
		}
	}
	s.guide = w.guide(s.opt.Env.Files, n.instructions, func(nested []instruction) {
		n.nested = append(n.nested, nested...)
		s.report(slices.Concat(n.found, n.nested))
	})
}

// files are those that were found. A rule that waited at the beginning is listed once.
func (n *modelNotes) files() []instruction {
	return slices.DeleteFunc(slices.Concat(n.found, n.nested), func(f instruction) bool {
		sent := func(nested instruction) bool { return nested.Path == f.Path }
		return f.Why == instructions.Waiting && slices.ContainsFunc(n.nested, sent)
	})
}

func (n *modelNotes) next(s *session) (notes []provider.Part) {
	tell := func(note provider.Note, text string) {
		if text != "" {
			notes = append(notes, provider.Text{Note: note, Text: text})
		}
	}
	b, w := n, s.opt.Workspace
	// A provider that runs tools of its own has its own rules.
	now := b.settings
	now.Rights = s.opt.Policy.Rights(now.Rights.Headless) // trust and the sandbox may have changed too
	if now.key() != b.known && s.foreignRules() == "" {
		if now.inSomeMode(func(then settings) bool { return then.key() == b.known }) {
			tell(provider.NoteMode, now.modeNote())
		} else {
			tell(provider.NoteSettings, now.note())
		}
		b.known = now.key()
	}
	tell(provider.NoteServers, s.serversChanged())
	if w == nil {
		return notes
	}
	if b.git != nil {
		if said := <-b.git; said != "" {
			tell(provider.NoteGit, "(Git, as the session begins: "+w.masked(said)+")")
		}
		b.git = nil
	}
	found, _, err := w.instructions(s.opt.Env.Files)
	if err != nil {
		tell(provider.NoteInstructions, fmt.Sprintf("(The instruction files can no longer be read: %v.)", err))
		return notes
	}
	texts := inForce(found)
	tell(provider.NoteInstructions, instructionsChanged(b.instructions, texts))
	b.instructions, b.found = texts, found
	s.report(slices.Concat(found, n.nested))
	return notes
}

// gitState asks git meanwhile: neither the first message nor the prompt waits for it.
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

// serversChanged describes for the model the tools that came and went since the last such note; "" where nothing
// changed. Those of a server that was not listed before are no news: the model listed it.
func (s *session) serversChanged() string {
	m := s.opt.Env.MCP
	if m == nil || s.parent != nil {
		return ""
	}
	var said []string
	for _, server := range m.Servers() {
		before, now := s.catalogues[server.Name], toolNamesOf(m, server.Name)
		s.catalogues[server.Name] = now
		if before == nil {
			continue
		}
		for _, list := range []struct {
			what         string
			those, other []string
		}{{"new", now, before}, {"gone", before, now}} {
			names := slices.DeleteFunc(slices.Clone(list.those), func(n string) bool { return slices.Contains(list.other, n) })
			if len(names) > 0 {
				said = append(said, list.what+": "+text.UpTo(mostNamed, names))
			}
		}
	}
	if said == nil {
		return ""
	}
	return "(Tools of MCP servers have changed. " + strings.Join(said, "; ") + ". mcp_find, where you have it, shows them; call them by these names.)"
}

// toolNamesOf are the whole names of a server's tools as they are known; nil where none are.
func toolNamesOf(m *mcp.Manager, server string) (names []string) {
	tools, _ := m.Outlines(server)
	for _, t := range tools {
		names = append(names, t.Full)
	}
	return names
}

// mostNamed is how many of the changes are named in a line of text.
const mostNamed = 20
