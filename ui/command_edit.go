package ui

import (
	"context"
	"strings"
)

// runEdit composes a message in the editor.
func runEdit(ctx context.Context, t *Terminal, text string) error { return t.editMessage(ctx, text) }

// editMessage lets the person write a message in their editor, beginning with text.
// What they save is sent, and is never a command. What they do not save, an
// empty file, and a failing editor send nothing; text comes back.
func (t *Terminal) editMessage(ctx context.Context, text string) error {
	written, saved, err := t.composeText(ctx, text)
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case !saved:
		why = "it was not saved"
	case strings.TrimSpace(written) == "":
		why = "it is empty"
	default:
		t.Said(written)
		return t.turn(ctx, written, t.takeShared())
	}
	t.Note("nothing was sent: " + why)
	t.giveBack(text)
	return nil
}

// giveBack puts text into the next prompt, as text and no command; where a prompt
// cannot begin with one, it is shown.
func (t *Terminal) giveBack(text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case t.console.modes != nil:
		t.initial = allPasted(text)
	default:
		t.Note("not sent: " + text)
	}
}
