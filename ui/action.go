package ui

import "context"

// action is what a key asks for besides sending a line. The front finishes the
// wanted line with it: the conversation carries it out between turns and shows
// the prompt again with the text as it was. During a turn and at a question
// these keys only beep, but for Ctrl-O while a call runs: see screen.SoFar.
type action uint8

const (
	actSend   action = iota // Enter: the line is a message
	actEdit                 // Ctrl-G, Ctrl-X Ctrl-E: compose the text in the editor
	actMode                 // Shift-Tab: the next approval mode
	actOutput               // Ctrl-O: the last tool's whole output, as /out
	actRewind               // Esc Esc on an empty line: what /undo is for
)

// act carries out what a key asked for; the text it stood in comes back with
// the next prompt.
func (t *Terminal) act(ctx context.Context, l line) error {
	if l.action == actEdit {
		return t.editMessage(ctx, l.text) // it gives the text back itself
	}
	t.initial = draft{l.text, l.spans}
	switch l.action {
	case actMode:
		return t.runCommand(ctx, "/approval next")
	case actOutput:
		return t.runCommand(ctx, "/out")
	case actRewind:
		return t.runCommand(ctx, "/undo")
	}
	return nil
}
