package ui

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/tool/extension"
	"artoo/tool/skill"
	"artoo/tool/spelling"
	sizes "artoo/tool/text"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// slashCommand is a command as /help lists it.
type slashCommand struct {
	name    string
	aliases []string
	args    string // the help shows them
	help    string
	// run carries the command out; its error is shown. It is nil for a command of another agent;
	// instead then names the command to use here.
	run     func(ctx context.Context, t *Terminal, arg string) error
	instead string
	// complete proposes whole arguments for one that begins as arg; nil proposes none. The
	// prompt's goroutine calls it: it must be quick.
	complete func(t *Terminal, arg string) []prompt.Candidate
	// program says that a program can carry the command out: it needs no keys, no pager and no yes.
	program bool
	// moves says that another session is the present one afterwards: an editor's tab shows one only.
	moves bool
}

// commands is every command there is. Their names are those people know from
// other agents; no known name means something else here.
func commands() []slashCommand {
	const block = `write """, the lines, and """ again`
	return []slashCommand{
		{name: "help", aliases: []string{"?"}, args: "[TOPIC]", help: "what to type",
			run: runHelp, complete: oneOf(helpTopics()...)},
		{name: "quit", aliases: []string{"exit", "bye"}, help: "exit", run: runQuit},
		{name: "clear", aliases: []string{"new", "reset"}, help: "new session", run: runClear, program: true, moves: true},
		{name: "sessions", args: "[all]", help: "list them", run: runSessions, complete: oneOf(allSessions), program: true},
		{name: "resume", aliases: []string{"continue"}, args: "[NAME]", help: "choose one",
			run: runResume, complete: completeSessions, program: true, moves: true},
		{name: "rename", args: "[NAME]", help: "name the session", run: runRename, program: true},
		{name: "fork", args: "[N]", help: "continue in a copy", run: runFork, program: true, moves: true},
		{name: "export", aliases: []string{"save"}, args: "[FILE]", help: "write it to a file", run: runExportFile, program: true},

		{name: "model", args: "[NAME]", help: "show or change it", run: runModel, complete: completeModels, program: true},
		{name: "provider", args: "[NAME]", help: "show or change it", run: runProvider, complete: completeProviders, program: true},
		{name: "effort", args: "[LEVEL]", help: "how hard it thinks", run: runEffort, complete: oneOf(efforts()...), program: true},
		{name: "context", help: "what uses the window", run: runContext, program: true},
		{name: "cost", aliases: []string{"usage", "tokens", "stats"}, help: "tokens and money", run: runCost, program: true},
		{name: "status", aliases: []string{"session"}, help: "model and limits", run: runStatus, program: true},

		{name: "approval", args: "[MODE]", help: "ask edits auto plan",
			run: runApproval, complete: oneOf("ask", "edits", "auto", "plan", "next"), program: true},
		{name: "plan", args: "[off]", help: "only look", run: runPlan, complete: oneOf("off"), program: true},
		{name: "until", args: "CMD [N]", help: "repeat until CMD passes", run: runUntil, complete: oneOf("off"), program: true},
		{name: "permissions", aliases: []string{"approvals"}, args: "[rm]", help: "list or drop rules",
			run: runPermissions, complete: completeRules, program: true},

		{name: "undo", aliases: []string{"restore"}, args: "[N]", help: "undo N turns",
			run: runUndo, complete: completeCount},
		{name: "rewind", args: "[N]", help: "back to a message", run: runRewind, complete: completeRewind},
		{name: "btw", args: "TEXT", help: "a side question", run: runAside, program: true},
		{name: "redo", args: "[N]", help: "redo undone turns", run: runRedo},
		{name: "diff", args: "[TURN]", help: "the changes", run: runDiff, complete: completeTurns, program: true},
		{name: "review", args: "[RANGE|--staged] [-- PATH]", help: "look for problems", run: runReview, complete: oneOf("--staged", "-- "),
			program: true},
		{name: "edit", aliases: []string{"editor", "e"}, args: "[TEXT]", help: "write in an editor", run: runEdit},
		{name: "copy", args: "[N|osc52]", help: "the last answer", run: runCopy, complete: oneOf("osc52")},
		{name: "out", aliases: []string{"log"}, args: "[N|list]", help: "a call's output",
			run: runOut, complete: completeOutputs},
		{name: "queue", args: "[now N]", help: "queued lines",
			run: runQueue, complete: oneOf("now ", "now all", "drop ", "drop all", "edit ")},
		{name: "run", args: "COMMAND", help: "same as !COMMAND", run: runRun},

		{name: "tools", help: "the model's tools", run: runTools, program: true},
		{name: "hooks", help: "commands at events", run: runHooks, program: true},
		{name: "skills", help: "skills and commands", run: runSkills, program: true},
		{name: "mcp", args: "[NAME]", help: "servers; start one", run: runMCP, complete: completeServers, program: true},
		{name: "init", help: "write AGENTS.md", run: runInit, program: true},
		{name: "memory", args: "[edit]", help: "project memory", run: runMemory, complete: oneOf("edit")},
		{name: "config", aliases: []string{"settings", "set"}, args: "[all]", help: "the settings", run: runConfig,
			complete: oneOf("all"), program: true},
		{name: "doctor", help: "check the setup", run: runDoctor},
		{name: "debug", args: "[on|off]", help: "log requests", run: runDebug, complete: oneOf("on", "off")},
		{name: "compact", aliases: []string{"compress"}, args: "[KEEP]", help: "summarise history", run: runCompact, program: true},
		{name: "uncompact", help: "undo /compact", run: runUncompact, program: true},
		{name: "add", aliases: []string{"read-only", "drop", "ls"},
			instead: "write @PATH in a message; the model reads the file then"},
		{name: "add-dir", aliases: []string{"directory"},
			instead: "start artoo with --add-dir DIR, or DIR:rw to let it write there"},
		{name: "paste", aliases: []string{"multiline-mode"}, instead: block},
		{name: "vim", aliases: []string{"vi", "editor-mode"}, instead: "start artoo with ARTOO_EDIT_MODE=vi"},
		{name: "theme", aliases: []string{"colors", "color", "output-style"},
			instead: "set ARTOO_COLORS to default, light, colorblind or styles such as error=31; --color and --ui choose the form"},
		{name: "statusline", instead: "set ARTOO_STATUS to full, short, off or a command whose first line is shown"},
		{name: "agents", aliases: []string{"agent", "subagents"},
			instead: "name one in a message; [agents.NAME] in config.toml or .artoo/agents/NAME.md makes one (artoo help sub-agents)"},
		{name: "todos", aliases: []string{"todo", "tasks", "bashes"},
			instead: "the plan of a long task is shown as it changes; /status lists background commands"},
		{name: "terminal-setup", aliases: []string{"keybindings"}, instead: `/help keys lists them; """ begins a message of several lines`},
		{name: "bug", aliases: []string{"feedback"}, instead: "run artoo doctor --report in another terminal"},
		{name: "upgrade", aliases: []string{"update"}, instead: "install a newer artoo as you installed this one; artoo never checks for one"},
		{name: "release-notes", aliases: []string{"version", "about"}, instead: "run artoo version; CHANGELOG.md comes with the program"},
		{name: "plugin", aliases: []string{"plugins", "extensions", "marketplace", "bundle"}, instead: "run artoo bundle add URL in another terminal"},
		{name: "trust", instead: "run artoo trust in another terminal"},
		{name: "sandbox", instead: "/status shows it; start artoo with ARTOO_SANDBOX=auto, on or off"},
		{name: "yolo", aliases: []string{"auto", "permission-mode"}, instead: "/approval auto runs what the sandbox can confine without asking"},
		{name: "privacy-settings", aliases: []string{"privacy"}, instead: "artoo sends no telemetry; artoo help privacy says what leaves the machine"},
		{name: "ide", instead: "artoo acp serves an editor (artoo help acp)"},
		{name: "web", aliases: []string{"search"}, instead: "write the address or the question in a message; the model has tools for the web"},
		{name: "login", aliases: []string{"logout"},
			instead: "run artoo login, or artoo logout, in another terminal; a key it stores is found with your next message"},
		{name: "commit", aliases: []string{"test", "lint"},
			instead: "write what you want as a message, such as: commit what git diff shows"},
	}
}

func oneOf(list ...string) func(*Terminal, string) []prompt.Candidate {
	return func(*Terminal, string) []prompt.Candidate {
		all := make([]prompt.Candidate, 0, len(list))
		for _, w := range list {
			all = append(all, prompt.Candidate{Text: w})
		}
		return all
	}
}

func findCommand(name string) (slashCommand, bool) {
	for _, c := range commands() {
		if c.name == name || slices.Contains(c.aliases, name) {
			return c, true
		}
	}
	return slashCommand{}, false
}

// Own are the skills and commands that a user can call, with the names that call them.
func Own(library *skill.Library) (items []skill.Item) {
	for _, i := range slices.Concat(library.Items(extension.KindCommand), library.Items(extension.KindSkill)) {
		if i.NoUser {
			continue
		}
		if c, builtIn := findCommand(i.Name); builtIn && c.run != nil || slices.ContainsFunc(items, func(o skill.Item) bool { return o.Name == i.Name }) {
			if i.Kind != extension.KindSkill {
				continue
			}
			i.Name = explicit + i.Name
		}
		items = append(items, i)
	}
	return items
}

// IsBuiltIn reports whether a name is that of a command of artoo's own, which conversations have.
func IsBuiltIn(name string) bool {
	c, ok := findCommand(name)
	return ok && c.run != nil
}

// runCommand carries out a line that begins with a slash. An unknown name is never guessed at
// and never sent to the model.
func (t *Terminal) runCommand(ctx context.Context, text string) error {
	name, arg := cutWord(strings.TrimPrefix(strings.TrimSpace(text), "/"))
	c, ok := findCommand(name)
	if server, prompt, is := mcpPrompt(name); is {
		c, ok = slashCommand{name: name, args: "[NAME=VALUE]", program: true, run: func(ctx context.Context, t *Terminal, arg string) error {
			return t.runServerPrompt(ctx, server, prompt, arg)
		}}, true
	}
	switch {
	case t.program != nil && (!ok || !c.program):
		return fmt.Errorf("/%s cannot be sent by a program", name)
	case !ok:
		mean := "."
		if near := cmp.Or(nearestCommand(strings.ToLower(name)), NearestOwn(t.opt.Agent.Skills(), name)); near != "" {
			mean = "; did you mean /" + near + "?"
		}
		t.screen.Trouble(fmt.Sprintf("unknown command /%s%s Nothing was sent. "+
			"/help lists commands; start with a space to send it as text", oneLine(name), mean))
		if wrong := t.opt.Agent.Skills().Skipped(extension.KindCommand); wrong != nil {
			t.screen.Note("skipped: " + oneLine(sizes.UpTo(3, wrong)))
		}
		return nil
	case c.run == nil:
		t.screen.Note(fmt.Sprintf("/%s: %s", name, c.instead))
		return nil
	case c.args == "" && arg != "" && t.program != nil:
		return fmt.Errorf("/%s takes no arguments", name)
	case c.args == "" && arg != "":
		// It may have been meant as a message: /clear would take the session away.
		t.screen.Note(fmt.Sprintf("/%s takes no arguments; nothing was done (start with a space to send it as text)",
			name))
		return nil
	}
	if err := t.followUp(ctx); err != nil {
		return err
	}
	err := c.run(ctx, t, arg)
	if err != nil && t.program == nil && !errors.Is(err, errLeave) && !errors.Is(err, errStuck) && !prompt.IsSignal(err) {
		t.screen.Trouble(fmt.Sprintf("/%s: %s", c.name, oneLine(err.Error())))
		return nil
	}
	return err
}

// nearestCommand is the command whose name or alias is near, or "".
func nearestCommand(name string) string {
	var names, aliases []string
	for _, c := range commands() {
		names, aliases = append(names, c.name), append(aliases, c.aliases...)
	}
	return spelling.Nearest(name, append(names, aliases...))
}

// NearestOwn is the skill or command whose name is near, or "".
func NearestOwn(library *skill.Library, name string) string {
	var names []string
	for _, i := range Own(library) {
		names = append(names, i.Name)
	}
	return spelling.Nearest(name, names)
}

func runQuit(context.Context, *Terminal, string) error { return errLeave }

func runDebug(_ context.Context, t *Terminal, arg string) error {
	var set *bool
	switch arg {
	case "":
	case "on", "off":
		on := arg == "on"
		set = &on
	default:
		return fmt.Errorf("%q is neither on nor off", arg)
	}
	state := "debug: off"
	if t.opt.Program.Debug(set) {
		state = "debug: on, secrets are masked"
	}
	t.screen.Note(state)
	for _, row := range t.opt.Program.Confined() {
		t.screen.Note(oneLine(row))
	}
	return nil
}

//go:embed init.md
var initPrompt string

func runInit(ctx context.Context, t *Terminal, _ string) error {
	return t.turn(ctx, initPrompt, t.takeShared())
}

func runEdit(ctx context.Context, t *Terminal, text string) error { return t.editMessage(ctx, text) }

// editMessage lets the user write a message in their editor, beginning with text. A saved
// message is sent, and is never a command; otherwise text comes back.
func (t *Terminal) editMessage(ctx context.Context, text string) error {
	written, saved, err := t.children.composeText(ctx, text)
	why := ""
	switch {
	case err != nil:
		why = "nothing was sent: " + err.Error()
	case !saved:
		why = "not saved, so nothing was sent"
	case strings.TrimSpace(written) == "":
		why = "the text is empty, so nothing was sent"
	default:
		t.screen.Said(t.you(), written)
		return t.turn(ctx, written, t.takeShared())
	}
	t.screen.Note(why)
	t.giveBack(text)
	return nil
}

func runHelp(_ context.Context, t *Terminal, topic string) error {
	for _, p := range helpPages() {
		if p[0] != topic {
			continue
		}
		t.columns(helpRows()[topic])
		var rows [][]string
		for _, name := range strings.Fields(p[1] + p[2]) {
			c, _ := findCommand(name)
			rows = append(rows, []string{strings.TrimSpace("/" + c.name + " " + c.args), c.help})
		}
		t.columns(rows)
		return nil
	}
	if topic != "" {
		return fmt.Errorf("no topic %q: use %s", topic, strings.Join(helpTopics(), ", "))
	}
	t.helpCommands()
	return nil
}

// helpPages are the topics of help, each with its usual commands and with those that stand on its own page only.
func helpPages() [][3]string {
	return [][3]string{
		{"ask", "btw edit queue", " run init until"},
		{"changes", "diff review undo redo rewind out copy"},
		{"approvals", "approval plan permissions"},
		{"session", "clear resume sessions rename fork export compact quit", " uncompact help"},
		{"model", "model effort context cost status provider"},
		{"setup", "config memory mcp skills tools doctor", " hooks debug"},
		{"keys"},
	}
}

func helpTopics() (names []string) {
	for _, p := range helpPages() {
		names = append(names, p[0])
	}
	return names
}

// runSkills lists skills and commands, with the tokens that each takes once it is used.
func runSkills(_ context.Context, t *Terminal, _ string) error {
	library := t.opt.Agent.Skills()
	var rows [][]string
	for _, i := range Own(library) {
		tokens := "cannot be read"
		if body, err := i.Body(); err == nil {
			tokens = sizes.Count(t.opt.Agent.Conversation().TextTokens(body), "token")
		}
		use := string(i.Kind)
		if i.NoModel {
			use += ", run by you only"
		}
		rows = append(rows, []string{"/" + oneLine(i.Name), use, tokens, oneLine(i.Source())})
	}
	for _, i := range library.Items(extension.KindSkill) {
		if i.NoUser {
			rows = append(rows, []string{oneLine(i.Name), "skill, used by the model only", "", oneLine(i.Source())})
		}
	}
	if rows == nil {
		t.screen.Note("no skills or commands; artoo help skills says where they go")
	}
	t.columns(rows)
	for _, kind := range extension.FileKinds() {
		for _, line := range library.Skipped(kind) {
			t.screen.Note("skipped: " + oneLine(line))
		}
		for _, line := range library.Shadowed(kind) {
			t.screen.Note(oneLine(line))
		}
	}
	return nil
}

// helpColumns is the width of a terminal that shows the page of commands in two columns, which makes it 22 rows long.
const helpColumns = 80

// helpCommands lists the usual commands by topic, in two columns where they fit.
func (t *Terminal) helpCommands() {
	cells := [][]string{
		{"@FILE", "a file to read"}, {"!CMD", "run, show the model"}, {"#TEXT", "add to AGENTS.md"}, {"!!CMD", "just run it"},
	}
	cols, _ := t.opt.Size()
	wide := t.opt.Profile != screen.Spoken && cols >= helpColumns
	var rows [][]string
	for _, p := range helpPages() {
		for _, name := range strings.Fields(p[1]) {
			c, _ := findCommand(name)
			cells = append(cells, []string{"/" + name, c.help})
		}
		if !wide && cells != nil {
			rows = append(append(rows, []string{p[0] + ":"}), cells...)
		}
		for i := 0; wide && i < len(cells); i += 2 {
			rows = append(rows, append([]string{p[0]}, slices.Concat(cells[i:min(i+2, len(cells))]...)...))
			p[0] = ""
		}
		cells = nil
	}
	t.columns(rows)
	t.screen.Text("More: /help " + strings.Join(helpTopics(), ", "))
}

// helpRows are what a topic of help has besides commands.
func helpRows() map[string][][]string {
	return map[string][][]string{
		"ask": {
			{"@FILE", "a file or directory that the message is about; Tab completes it"},
			{"!CMD", "runs a command and shows the model its output"},
			{"!!CMD", "just runs a command"},
			{"#TEXT", "adds what later sessions should know to AGENTS.md"},
			{`"""`, "begins and ends a message of several lines"},
		},
		"approvals": helpApprovals(),
		"keys":      helpKeys(),
	}
}

func helpKeys() [][]string {
	return [][]string{
		{"Enter", "send; during a turn: queue (/queue now: at the next step)"},
		{`\ Enter, Ctrl-J, Alt-Enter`, `new line; Shift-Enter too, where reported`},
		{"Esc, Ctrl-C", "stop the turn; else Ctrl-C clears, twice exits"},
		{"Esc Esc", "clear the line; if empty, same as /rewind"},
		{"Ctrl-D", "exit, on an empty line"},
		{"Ctrl-Z", "suspend; fg resumes"},
		{"Tab", "complete a /command, its arguments, an @file"},
		{"Shift-Tab", "the next approval mode, as /approval next"},
		{"Ctrl-O", "last call's output (/out); while it runs, the output so far"},
		{"Ctrl-G, Ctrl-X Ctrl-E", "write the message in the editor, as /edit"},
		{"Up, Down, Ctrl-P, Ctrl-N", "history; in a message of several lines: move"},
		{"Ctrl-R", "search the history backwards"},
		{"Ctrl-A, Ctrl-E", "start and end of the line"},
		{"Alt-B, Alt-F, Ctrl-arrows", "move by words"},
		{"Ctrl-W, Ctrl-U, Ctrl-K", "delete a word, to the start, to the end"},
		{"Ctrl-Y, Alt-.", "paste deleted text; repeat an earlier last word"},
		{"Ctrl-L", "clear the screen; the scrollback stays"},
		{"ARTOO_EDIT_MODE=vi", "vi's keys: Esc for its commands, i to type again"},
	}
}

func helpApprovals() [][]string {
	return [][]string{
		{"y", "yes, this once"},
		{"n [reason]", "no; the reason goes to the model (Enter alone means no too)"},
		{"n! [reason]", "no; after a command, the model does not get its output either"},
		{"a [rule]", "always this session: exactly this call, or the rule"},
		{"A [rule]", "permanently, in your own file, for this project"},
		{"e", "edit it first; artoo then asks again"},
		{"p", "show all of it in the pager"},
		{"q", "no, and stop the turn"},
		{"?", "this list, with a suggested rule"},
		{"words", "yes, no, always, forever, edit, page and quit also work"},
		{"rules", "bash(git status:*)  write(docs/**)  web_fetch(go.dev)"},
		{"modes", "ask, edits (writes run), auto, plan (read-only)"},
	}
}
