package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"artoo/ui/screen"
)

// runEdit composes a message in the editor.
func runEdit(ctx context.Context, t *Terminal, text string) error { return t.editMessage(ctx, text) }

// editMessage lets the person write a message in their editor, beginning with text.
// What they save is sent, and is never a command. What they do not save, an
// empty file, and a failing editor send nothing; text comes back.
func (t *Terminal) editMessage(ctx context.Context, text string) error {
	written, saved, err := t.writeMessage(text)
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case !saved:
		why = "it was not saved"
	case strings.TrimSpace(written) == "":
		why = "it is empty"
	default:
		t.Block(t.opt.Prompt + indent(written, lineIndent)) // as if it had been typed
		return t.turn(ctx, written, t.takeShared())
	}
	t.Note("nothing was sent: " + why)
	t.giveBack(text)
	return nil
}

// giveBack puts text into the next prompt; where a prompt cannot begin with
// one, it is shown.
func (t *Terminal) giveBack(text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case t.console.modes != nil:
		t.initial = text
	default:
		t.Note("not sent: " + text)
	}
}

// writeMessage runs the editor on text. saved says whether the file was
// written, changed or not.
func (t *Terminal) writeMessage(text string) (written string, saved bool, err error) {
	command, err := t.messageEditor()
	if err != nil {
		return "", false, err
	}
	dir, err := os.MkdirTemp("", "artoo-edit-*") // made 0700
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "message.md")
	if text != "" {
		text += "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", false, err
	}
	// A time that no editor leaves: whoever saves changes it.
	before := time.Unix(1, 0)
	if err := os.Chtimes(path, before, before); err != nil {
		return "", false, err
	}
	if err := t.child(shellArgv(command, path), t.opt.Environ, nil); err != nil {
		return "", false, fmt.Errorf("%s: %w", command, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", false, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false, err
	}
	written = strings.TrimRight(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	return strings.ToValidUTF8(written, "\ufffd"), !info.ModTime().Equal(before), nil
}

// messageEditor is the command line of the editor: VISUAL, EDITOR, else vi. On a
// simple terminal only EDITOR counts, as for git.
func (t *Terminal) messageEditor() (string, error) {
	if !t.hasTerminal() {
		return "", errors.New(`there is no terminal for an editor; write """, the lines, and """ again`)
	}
	visual, editor := getenv(t.opt.Environ, "VISUAL"), getenv(t.opt.Environ, "EDITOR")
	switch {
	case t.opt.Profile == screen.Plain && editor == "":
		return "", errors.New("the terminal is a simple one and EDITOR is not set; set it to an editor that can use it, such as ed")
	case t.opt.Profile == screen.Plain:
		return editor, nil
	case visual != "":
		return visual, nil
	case editor != "":
		return editor, nil
	}
	return "vi", nil
}
