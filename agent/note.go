package agent

import (
	"strings"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
)

// How the notes begin that artoo itself puts before a user's message.
const (
	modeNote         = "(The approval mode is now "
	instructionsNote = "(The instruction"
	settingsNote     = "(The settings are not those that this session began with. Now they are:\n"
	gitNote          = "(Git, as the session begins: "
)

// ModeNote tells the model that the approval mode is another one now than its
// prompt says; it goes along with the user's next message.
func ModeNote(m permission.Mode, headless bool) string {
	now := Settings{Mode: m, Headless: headless, Tools: everyTool()}.approval()
	if m != permission.ModePlan {
		now += " The user's rules hold as before."
	}
	return modeNote + string(m) + ": " + now + ")"
}

// notesOf are the parts that are notes.
func notesOf(parts []provider.Part) (notes []provider.Part) {
	for _, p := range parts {
		if text, ok := p.(provider.Text); ok && IsNote(text.Text) {
			notes = append(notes, p)
		}
	}
	return notes
}

// IsNote reports whether a part of a user's message is a note of artoo's own,
// not the user's words.
func IsNote(text string) bool {
	for _, start := range []string{modeNote, instructionsNote, settingsNote, gitNote} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return conversation.IsReminder(text)
}
