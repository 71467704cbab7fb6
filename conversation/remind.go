package conversation

import (
	"slices"
	"strings"

	"artoo/provider"
)

// Remind appends what the program itself has to tell the model, as a message that
// counts as none of the user's. An earlier one is no longer sent: they do not pile
// up. Errors are those of Append.
func (c *Conversation) Remind(text string) error {
	return c.Append(provider.Message{Role: provider.RoleUser,
		Parts: []provider.Part{provider.Text{Note: provider.NoteReminder, Text: "[Not from the user: " + text + "]"}}})
}

func isReminder(m provider.Message) bool {
	if m.Role != provider.RoleUser || len(m.Parts) != 1 {
		return false
	}
	t, _ := m.Parts[0].(provider.Text)
	return t.Note == provider.NoteReminder
}

// dropReminders leaves earlier reminders out of what is sent.
func (c *Conversation) dropReminders() {
	left := slices.DeleteFunc(slices.Clone(c.items), func(it item) bool { return isReminder(it.msg) })
	if len(left) < len(c.items) {
		c.shrunk(left, sizeOfAll(left))
	}
}

// unmarkedReminder begins the reminders of files in which notes have no mark.
const unmarkedReminder = "[Not from the user: "

// markNotes marks the notes of a message from a file whose writer marked none, which are
// known by their first words. Those behind the user's message follow its own words.
func markNotes(m *provider.Message) {
	if m.Role != provider.RoleUser {
		return
	}
	for i, p := range m.Parts {
		t, ok := p.(provider.Text)
		if !ok || t.Note != "" {
			continue
		}
		if t.Note = unmarkedNote(t.Text, i == 0); t.Note != "" {
			m.Parts[i] = t
		}
	}
}

func unmarkedNote(text string, first bool) provider.Note {
	if first {
		if strings.HasPrefix(text, unmarkedReminder) {
			return provider.NoteReminder
		}
		return ""
	}
	for _, old := range []struct {
		begins string
		note   provider.Note
	}{
		{"(The approval mode is now ", provider.NoteMode},
		{"(The settings are not those that this session began with. Now they are:\n", provider.NoteSettings},
		{"(The instruction", provider.NoteInstructions}, {"(Git, as the session begins: ", provider.NoteGit},
		{"(In the background: ", provider.NoteBackground}, {"(The user undid changes of yours: ", provider.NoteUndo},
		{"(The user redid changes of yours: ", provider.NoteUndo},
	} {
		if strings.HasPrefix(text, old.begins) {
			return old.note
		}
	}
	return ""
}
