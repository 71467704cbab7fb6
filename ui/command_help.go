package ui

import (
	"context"
	"fmt"
	"strings"
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
		return fmt.Errorf("no page %q; there are keys and approvals", topic)
	}
	return nil
}

func (t *Terminal) helpCommands() {
	var rows [][]string
	for _, c := range commands() {
		if c.run == nil {
			continue
		}
		help := c.help
		if len(c.aliases) > 0 && c.name != "quit" {
			help += " (also /" + strings.Join(c.aliases, ", /") + ")"
		}
		rows = append(rows, []string{strings.TrimSpace("/" + c.name + " " + c.args), help})
	}
	t.columns(rows)
	t.Note(`\ at a line's end, Ctrl-J or """ ... """ write several lines`)
	t.Note("Ctrl-C stops a turn, Ctrl-D leaves, what is typed during a turn waits")
}

func helpKeys() [][]string {
	return [][]string{
		{"Enter", "send; during a turn: queue"},
		{`\ Enter, Ctrl-J, Alt-Enter`, "a new line"},
		{"Ctrl-C", "stop the turn; clear the line; twice: leave"},
		{"Ctrl-D", "leave, on an empty line"},
		{"Ctrl-Z", "suspend; fg comes back"},
		{"Up, Down, Ctrl-P, Ctrl-N", "history; within several lines: move"},
		{"Ctrl-A, Ctrl-E", "start and end of the line"},
		{"Alt-B, Alt-F, Ctrl-arrows", "by words"},
		{"Ctrl-W, Ctrl-U, Ctrl-K", "delete a word, to the start, to the end"},
		{"Ctrl-Y", "put back what was deleted"},
		{"Ctrl-L", "a clear screen; the scrollback stays"},
	}
}

func helpApprovals() [][]string {
	return [][]string{
		{"y", "yes, this once"},
		{"n [reason]", "no; the reason goes to the model (Enter alone means no too)"},
		{"a [rule]", "always in this session: this very call, or the rule given"},
		{"A [rule]", "for good, in your own file, for this project"},
		{"e", "edit it first, then it is asked again"},
		{"p", "all of it, in the pager"},
		{"q", "no, and stop the turn"},
		{"?", "the same, with the rule it suggests"},
		{"rules", "bash(git status:*)  write(docs/**)  web_fetch(go.dev)"},
	}
}
