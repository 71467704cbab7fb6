package agent

import "strings"

// ModeNote tells the model that the approval mode is another one now than its
// prompt says; it goes along with the user's next message.
func ModeNote(m Mode, headless bool) string {
	return "(The approval mode is now " + string(m) + ": " + m.forModel(headless) + ")"
}

// IsNote reports whether a part of a user's message is a note of artoo's own,
// not the user's words.
func IsNote(text string) bool {
	return strings.HasPrefix(text, "(The instruction") || strings.HasPrefix(text, "(The approval mode is now ")
}
