package ui

import (
	"context"
	"fmt"
	"strings"

	"artoo/ui/screen"
)

func runHelp(_ context.Context, t *Terminal, topic string) error {
	switch topic {
	case "":
		t.helpCommands()
	case "keys":
		t.columns(helpKeys())
	case "approvals":
		t.columns(helpApprovals())
	default:
		return fmt.Errorf("no page %q: use keys or approvals", topic)
	}
	return nil
}

// The layout of the page of commands: how wide a command and its arguments
// are, how wide one of two columns, and how wide a terminal must be for two.
const (
	helpUse     = 17
	helpCells   = 39
	helpColumns = 2*helpCells + 2
)

// helpCommands lists the commands, in two columns where they can be seen side
// by side: the page fits 24 rows then. Read aloud, each is a line of its own.
func (t *Terminal) helpCommands() {
	var rows [][]string
	for _, c := range commands() {
		if c.run != nil {
			rows = append(rows, []string{strings.TrimSpace("/" + c.name + " " + c.args), c.help})
		}
	}
	if cols, _ := t.opt.Size(); t.opt.Profile == screen.Spoken || cols < helpColumns {
		t.columns(rows)
	} else {
		half := (len(rows) + 1) / 2
		for i, row := range rows[:half] {
			text := helpCell(row)
			if half+i < len(rows) {
				text += strings.Repeat(" ", max(helpCells-len(text), 1)) + helpCell(rows[half+i])
			}
			t.Line("  " + text)
		}
	}
	t.Text("!CMD runs a command and shows the model its output; !!CMD just runs it")
	t.Text(`@FILE names a file; \ at a line's end, Ctrl-J and """ write several lines`)
	t.Text("Input during a turn is queued; /queue now sends it at the next step")
	t.Text("#TEXT adds a line to AGENTS.md. More: /help keys, /help approvals")
}

func helpCell(row []string) string {
	return row[0] + strings.Repeat(" ", max(helpUse-len(row[0]), 0)+1) + row[1]
}

func helpKeys() [][]string {
	return [][]string{
		{"Enter", "send; during a turn: queue"},
		{`\ Enter, Ctrl-J, Alt-Enter`, "a new line; where reported, Shift-Enter"},
		{"Esc, Ctrl-C", "stop the turn; Ctrl-C clears, twice leaves"},
		{"Esc Esc", "clear the line; if empty, same as /undo"},
		{"Ctrl-D", "leave, on an empty line"},
		{"Ctrl-Z", "suspend; fg comes back"},
		{"Tab", "complete a /command, its arguments, an @file"},
		{"Shift-Tab", "the next approval mode, as /approval next"},
		{"Ctrl-O", "last call's output (/out); while it runs, the output so far"},
		{"Ctrl-G, Ctrl-X Ctrl-E", "write the message in the editor, as /edit"},
		{"Up, Down, Ctrl-P, Ctrl-N", "history; within several lines: move"},
		{"Ctrl-R", "search the history backwards"},
		{"Ctrl-A, Ctrl-E", "start and end of the line"},
		{"Alt-B, Alt-F, Ctrl-arrows", "by words"},
		{"Ctrl-W, Ctrl-U, Ctrl-K", "delete a word, to the start, to the end"},
		{"Ctrl-Y, Alt-.", "put back what was deleted; an older last word"},
		{"Ctrl-L", "a clear screen; the scrollback stays"},
		{"ARTOO_EDIT_MODE=vi", "vi's keys: Esc for its commands, i to type again"},
	}
}

func helpApprovals() [][]string {
	return [][]string{
		{"y", "yes, this once"},
		{"n [reason]", "no; the reason goes to the model (Enter alone means no too)"},
		{"n! [reason]", "no, after a command: the model does not get its output either"},
		{"a [rule]", "always this session: exactly this call, or the rule"},
		{"A [rule]", "permanently, in your own file, for this project"},
		{"e", "edit it first; artoo then asks again"},
		{"p", "show all of it in the pager"},
		{"q", "no, and stop the turn"},
		{"?", "the same, with the rule it suggests"},
		{"words", "yes, no, always, forever, edit, page and quit do too"},
		{"rules", "bash(git status:*)  write(docs/**)  web_fetch(go.dev)"},
		{"/approval", "the mode: ask, edits (writes run), auto, plan (read-only)"},
		{"/permissions", "lists the rules; rm N drops one of this session"},
	}
}
