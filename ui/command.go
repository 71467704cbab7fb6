package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errLeave is returned by the commands that end the conversation.
var errLeave = errors.New("leave")

// command is one slash command.
type command struct {
	name    string
	aliases []string
	args    string // as the help shows them
	help    string
	// run carries the command out; its error is shown. nil: the command is
	// known, and comes with a later version.
	run func(ctx context.Context, t *Terminal, arg string) error
}

// commands is every command there is. Their names are those people know from
// other agents; no known name means something else here.
func commands() []command {
	return []command{
		{"help", []string{"?"}, "[keys|approvals]", "this page", runHelp},
		{"quit", []string{"exit", "bye"}, "", "leave (so do quit, exit and Ctrl-D)", runQuit},
		{"clear", []string{"new", "reset"}, "", "new session; the old one stays", runClear},
		{"model", nil, "[NAME]", "show or change the model", runModel},
		{"tools", nil, "", "list the tools", runTools},
		{"context", nil, "", "how full the context is", runContext},
		{"cost", []string{"usage", "tokens", "stats"}, "", "tokens and money so far", runCost},
		{"sessions", nil, "", "list the sessions of this directory", runSessions},
		{"resume", []string{"continue"}, "[ID|NUMBER]", "go on with an earlier session", runResume},
		{"permissions", []string{"approvals"}, "", "the approval mode and the rules", runPermissions},
		{"config", []string{"settings"}, "", "the settings and their origins", runConfig},
		{"debug", nil, "[on|off]", "show what is sent and received", runDebug},

		{name: "provider"}, {name: "effort"}, {name: "approval"}, {name: "plan"},
		{name: "compact", aliases: []string{"compress"}}, {name: "uncompact"},
		{name: "undo", aliases: []string{"rewind", "restore"}}, {name: "redo"}, {name: "diff"},
		{name: "status", aliases: []string{"session"}}, {name: "fork"},
		{name: "export", aliases: []string{"save"}}, {name: "edit", aliases: []string{"editor", "e"}},
		{name: "copy"}, {name: "out", aliases: []string{"log"}}, {name: "queue"}, {name: "init"}, {name: "doctor"},
		{name: "run"}, {name: "mcp"}, {name: "skills"}, {name: "hooks"},
	}
}

// findCommand looks a name or alias up.
func findCommand(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name || slices.Contains(c.aliases, name) {
			return c, true
		}
	}
	return command{}, false
}

// runCommand carries out a line that begins with a slash. A name that is not
// known is never guessed at and never sent to the model.
func (t *Terminal) runCommand(ctx context.Context, text string) error {
	name, arg, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "/"), " ")
	c, ok := findCommand(name)
	switch {
	case !ok:
		t.Note(fmt.Sprintf("unknown command /%s; did you mean /%s? Nothing was sent (/help lists the commands)", oneLine(name), nearestCommand(name)))
		return nil
	case c.run == nil:
		t.Note(fmt.Sprintf("/%s comes with a later version", c.name))
		return nil
	}
	err := c.run(ctx, t, strings.TrimSpace(arg))
	if err != nil && !errors.Is(err, errLeave) {
		t.Note(fmt.Sprintf("/%s: %s", c.name, oneLine(err.Error())))
		return nil
	}
	return err
}

// nearestCommand is the command whose name or alias is least far away.
func nearestCommand(name string) string {
	best, least := "help", len(name)+1
	for _, c := range commands() {
		for _, known := range append([]string{c.name}, c.aliases...) {
			if d := distance(name, known); d < least {
				best, least = known, d
			}
		}
	}
	return best
}

// distance counts the characters to insert, delete, change or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, row := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next := make([]int, len(y)+1)
		next[0] = i
		for j := 1; j <= len(y); j++ {
			change := row[j-1]
			if x[i-1] != y[j-1] {
				change++
			}
			next[j] = min(row[j]+1, next[j-1]+1, change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}

var errNotHere = errors.New("not to be had here")

func runQuit(context.Context, *Terminal, string) error { return errLeave }

func runClear(ctx context.Context, t *Terminal, _ string) error {
	if t.opt.Deps.Clear == nil {
		return errNotHere
	}
	old, err := t.opt.Deps.Clear(ctx)
	if err != nil {
		return err
	}
	if old == "" {
		t.Note("a new session begins")
	} else {
		t.Note("a new session begins; /resume " + oneLine(old) + " goes back")
	}
	return nil
}

func runModel(ctx context.Context, t *Terminal, name string) error {
	if name == "" {
		if t.opt.Deps.Model == nil {
			return errNotHere
		}
		t.Note("" + oneLine(t.opt.Deps.Model()) + " (/model NAME or /model PROVIDER/NAME changes it)")
		return nil
	}
	if t.opt.Deps.SwitchModel == nil {
		return errNotHere
	}
	now, err := t.opt.Deps.SwitchModel(ctx, name)
	if err != nil {
		return err
	}
	t.Note("model: " + oneLine(now))
	return nil
}

func runDebug(_ context.Context, t *Terminal, arg string) error {
	if t.opt.Deps.Debug == nil {
		return errNotHere
	}
	var set *bool
	switch arg {
	case "":
	case "on", "off":
		on := arg == "on"
		set = &on
	default:
		return fmt.Errorf("%q is neither on nor off", arg)
	}
	if t.opt.Deps.Debug(set) {
		t.Note("debug: on, secrets are masked")
	} else {
		t.Note("debug: off")
	}
	return nil
}
