package cli

import (
	"slices"

	"artoo/config"
	"artoo/provider/demo"
)

// subcommand is a row of the table of subcommands.
type subcommand struct {
	name  string
	args  string // after the name, for the usage line
	short string
	verbs []verb // what its first word can be; nil where there are none
	most  int    // words that it takes without a verb, -1 for any
	// missing says what is asked of somebody who wrote too few words behind a verb.
	missing string
	options []string        // keys of the settings it takes as flags; nil for all
	own     []config.Option // flags that no setting has, with the tags of one
	of      string          // key of the setting whose values its word can be; "" for none
	// page makes the text that is all it is for; nil where there is more to do.
	page func(l line, inv Invocation) (string, error)
}

// verb is what the first word of a subcommand can be, with how many words follow.
type verb struct {
	name        string
	least, most int    // -1 for any
	example     string // of those words
	session     bool   // they are sessions, the first at least
	file        bool   // the first of them is a file
	missing     string // as the subcommand's, where it is another
}

// root is what artoo does without a subcommand: any words, all settings.
func root() subcommand {
	version := config.Option{Flag: "version", Kind: config.KindBool, Meaning: "name and version"}
	return subcommand{most: -1, own: []config.Option{version}}
}

// commands is the table of subcommands, in the order of the help.
func commands() []subcommand {
	asJSON := config.Option{Flag: "json", Kind: config.KindBool, Meaning: "as JSON, a line each"}
	format := config.Option{
		Flag: "format", Arg: "FORMAT", Choices: []string{"md", "json", "html"},
		Meaning: "of export to stdout: md, json or html",
	}
	with := func(keys ...string) []string { return append(keys, "ui", "color", "quiet", "debug", "config") }
	own := func(name, meaning string) config.Option {
		return config.Option{Flag: name, Kind: config.KindBool, Meaning: meaning}
	}
	return []subcommand{
		{
			name: "sessions", args: "[list|show|export|grep|rm|import]", short: "the sessions kept so far",
			missing: "which session?",
			verbs: []verb{
				{name: "list"}, {name: "show", least: 1, most: 1, example: "ID", session: true},
				{name: "export", least: 1, most: 2, example: "ID [FILE]", session: true},
				{name: "grep", least: 1, most: -1, example: "WORD ...", missing: "which words?"},
				{name: "rm", most: -1, example: "ID ...", session: true},
				{name: "import", least: 1, most: 1, example: "FILE", file: true, missing: "which file?"},
			},
			options: with(), own: []config.Option{asJSON, format,
				{Flag: "older", Arg: "AGE", Meaning: "of rm: all not written for so long, as 30d or 12h"}},
		},
		{
			name: "models", args: "[provider] | --update [FILE|URL]", most: 1,
			short: "the models a provider has, with windows and prices; --update: newer ones",
			of:    "provider", options: with("provider", "models_url"), own: []config.Option{asJSON,
				own("update", "take the facts of FILE or URL, else of models_url")},
		},
		{
			name: "login", args: "[provider] [--stdin]", short: "store a key", most: 1, of: "provider", options: with(),
			own: []config.Option{own("no-check", "store the key without trying it"),
				own("stdin", "the key is the first line of a pipe or file")},
		},
		{name: "logout", args: "[provider]", short: "forget a stored key", most: 1, of: "provider", options: with()},
		{
			name: "rules", args: "[list|explain 'COMMAND']", short: "the rules in force, and which one decides over a call",
			verbs:   []verb{{name: "list"}, {name: "explain", least: 1, most: -1, example: "'git push'"}},
			missing: "which command?",
			options: with("approval", "allow", "ask", "deny", "no_project"), own: []config.Option{asJSON},
		},
		{
			name: "trust", args: "[list|rm] [--run] [--yes] [DIR]", most: 1,
			short:   "trust the settings that a repository brings, as they are now; with --run, its own programs",
			verbs:   []verb{{name: "list"}, {name: "rm", most: 1, example: "DIR"}},
			options: with(), own: []config.Option{asJSON,
				own("run", "let the project's own programs run in the sandbox without a question"),
				own("yes", "trust it without a question"), own("list", "as list"), own("revoke", "as rm")},
		},
		{
			name: "undo", args: "[ID] [-n N] [--redo] [--list] [--yes]", most: 1,
			short:   "take back what the last session here changed, or that of an ID, without a model",
			options: with(), own: []config.Option{asJSON,
				{Flag: "turns", Short: "n", Arg: "N", Kind: config.KindInt, Meaning: "how many turns; 1 unless given"},
				own("redo", "bring back what was taken back"), own("list", "list what each session changed"),
				own("yes", "without a question; twice where the repository has moved since")},
		},
		{
			name: "usage", args: "[--days N] [--json]", short: "what all runs spent, by day, model and directory",
			options: with(), own: []config.Option{asJSON,
				{Flag: "days", Arg: "N", Kind: config.KindInt, Meaning: "how many days, today's the last; 7 unless given"}},
		},
		{
			name: "doctor", args: "[--offline] [--paths]", short: "check what artoo needs",
			options: with("model", "provider"),
			own: []config.Option{asJSON, own("offline", "ask no server"),
				own("paths", "list what artoo wrote, and nothing else")},
		},
		{
			name: demo.Name, args: "[--yes]", short: "see artoo work, without key or network",
			options: with("print", "interactive", "output", "tools", "approval", "allow", "ask", "deny", "max_turns"),
			own:     []config.Option{own("yes", "approve its calls")},
		},
		{
			name: "completion", args: "bash|zsh|fish", short: "completion script for a shell", options: []string{},
			verbs: []verb{{name: "bash"}, {name: "zsh"}, {name: "fish"}}, page: completionScript,
		},
		{name: "version", short: "version, commit, date, Go, platform", options: []string{}},
		{name: "help", args: "[environment|COMMAND]", short: "a page of help", most: 1, options: []string{},
			page: helpPage},
	}
}

// findCommand is the subcommand of that name.
func findCommand(name string) (subcommand, bool) {
	list := commands()
	if at := slices.IndexFunc(list, func(c subcommand) bool { return c.name == name }); at >= 0 {
		return list[at], true
	}
	return subcommand{}, false
}

// takes are the flags of a command: those of its settings, and its own.
func (c subcommand) takes() []config.Option {
	list := []config.Option{{Flag: "help", Short: "h", Kind: config.KindBool, Meaning: "this page"}}
	for _, o := range config.Options() {
		if o.Flag != "" && (c.options == nil || slices.Contains(c.options, o.Key)) {
			list = append(list, o)
		}
	}
	return append(list, c.own...)
}
