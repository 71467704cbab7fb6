package conversation

import (
	"os"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

// notesOf are the notes of the parts of a message.
func notesOf(m provider.Message) (notes []provider.Note) {
	for _, p := range m.Parts {
		t, _ := p.(provider.Text)
		notes = append(notes, t.Note)
	}
	return notes
}

// Artoo's own texts are marked in the session file; the user's are not, whatever their words. In files without marks it
// is known by how it begins.
func TestNotesAreMarkedInTheSessionFile(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		st := Store{Dir: t.TempDir()}
		s := st.Create(Header{CWD: "/p"})
		c := New(Config{}, s)
		said := []provider.Message{
			provider.UserText("(Git, as the session begins: my own words)",
				provider.Text{Note: provider.NoteGit, Text: "(Git, as the session begins: clean)"},
				provider.Text{Note: provider.NoteMode, Text: "(The approval mode is now edits: so)"}),
			provider.UserText("on", provider.Text{Note: provider.NoteBackground, Text: "(In the background: it ended)"},
				provider.Text{Note: provider.NoteUndo, Text: "(The user undid changes of yours: a)"},
				provider.Text{Note: provider.NoteInstructions, Text: "(The instructions in a have changed)"},
				provider.Text{Note: provider.NoteSettings,
					Text: "(The settings are not those that this session began with. Now they are:\nnone)"}),
		}
		for _, m := range said {
			must(t, c.Append(m))
			must(t, c.Append(provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "m",
				Parts: []provider.Part{provider.Text{Text: "(Git, as the session begins: says the model)"}}}))
		}
		must(t, c.Remind("hurry"))
		must(t, s.Close())
		if old {
			data, err := os.ReadFile(s.Path())
			must(t, err)
			for _, n := range []provider.Note{provider.NoteGit, provider.NoteMode, provider.NoteBackground, provider.NoteUndo,
				provider.NoteInstructions, provider.NoteSettings, provider.NoteReminder} {
				with := `"note":"` + string(n) + `",`
				if strings.Count(string(data), with) != 1 {
					t.Errorf("%s stands %d times in %s", with, strings.Count(string(data), with), data)
				}
				data = []byte(strings.ReplaceAll(string(data), with, ""))
			}
			must(t, os.WriteFile(s.Path(), data, 0o600))
		}
		again, err := st.Open(s.ID())
		must(t, err)
		got := again.Messages()
		for i, m := range said {
			if !slices.Equal(notesOf(got[2*i]), notesOf(m)) || got[2*i].Own() {
				t.Errorf("old %v: message %d has the notes %q", old, i, notesOf(got[2*i]))
			}
			if notesOf(got[2*i+1])[0] != "" {
				t.Error("the model's words count as a note")
			}
		}
		if last := got[len(got)-1]; !last.Own() || again.UserCount() != len(said) {
			t.Errorf("old %v: %q, %d messages of the user", old, last.Text(), again.UserCount())
		}
		must(t, again.Close())
	}
}
