package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/config"
)

// subcommand is a row of the table of subcommands.
type subcommand struct {
	name  string
	args  string // after the name, for the usage line
	short string
	// verbs are the first words it knows; most is how many words it can take
	// besides the verb, -1 for any.
	verbs []string
	most  int
	// coming are those of the verbs that a later version has.
	coming []string
	// options are the keys of the settings it takes as flags, own its flags.
	options []string
	own     func(*pflag.FlagSet)
	// run does it; nil when it comes later, and then hint says what to do now.
	run  func(ctx context.Context, cmd *cobra.Command, words []string) error
	hint string
	of   string // key of the option whose values its word can be; "" for none
}

// commandNames are the words that name a subcommand.
func commandNames() []string {
	return []string{
		"sessions", "models", "login", "logout", "rules", "trust", "undo", "usage", "doctor",
		"demo", "mcp", "acp", "completion", "version", "help",
	}
}

const keysHint = "set the provider's key variable, see artoo help environment"

// commands is the table of subcommands, in the order of the help; help itself
// is apart, since cobra asks for it by another way.
func (p *program) commands() []subcommand {
	screen := []string{"ui", "color", "quiet", "debug", "config"}
	list := []subcommand{
		{name: "sessions", args: "[list|show ID|export ID [FILE]]", short: "the sessions kept so far", most: 0,
			verbs: []string{"list", "show", "export", "rm", "grep", "import"}, coming: []string{"rm", "grep", "import"}, options: screen, own: sessionFlags,
			hint: "artoo -r ID goes on with a session"},
		{name: "models", args: "[provider]", short: "the models a provider has, with windows and prices", most: 1, of: "provider",
			options: append([]string{"provider"}, screen...), own: func(fs *pflag.FlagSet) { fs.Bool("json", false, "as JSON, a line each") }, hint: "artoo -m MODEL, or -m provider/model"},
		{name: "login", args: "[provider]", short: "store a key", most: 1, of: "provider", options: screen, own: loginFlags, hint: keysHint},
		{name: "logout", args: "[provider]", short: "forget a stored key", most: 1, of: "provider", options: screen, hint: keysHint},
		{name: "rules", args: "[list|explain 'COMMAND']", short: "the rules in force, and which one decides over a call", most: -1,
			verbs: []string{"explain", "list", "add", "rm"}, coming: []string{"add", "rm"}, own: ruleFlags,
			options: append([]string{"approval", "allow", "ask", "deny", "no_project"}, screen...),
			hint:    "--allow RULE, or allow = [\"RULE\"] under [permissions] in config.toml"},
		{name: "trust", args: "[directory]", short: "let a project's own settings hold", most: 1, hint: "put the settings into your own config.toml"},
		{name: "undo", args: "[session]", short: "take back what a session changed", most: 1, hint: "git diff, and git restore FILE"},
		{name: "usage", short: "tokens and money spent", hint: "artoo -o json -p ... tells them for one run"},
		{name: "doctor", args: "[--offline] [--paths]", short: "check what artoo needs", options: append([]string{"model", "provider"}, screen...), own: doctorFlags, hint: "artoo help environment"},
		{name: "demo", args: "[--yes]", short: "see artoo work, without key or network", options: append([]string{"print", "interactive", "output", "tools", "approval", "allow", "ask", "deny", "max_turns"}, screen...),
			own: func(fs *pflag.FlagSet) { fs.Bool("yes", false, "approve its calls") }, hint: keysHint},
		{name: "mcp", short: "tools from MCP servers", most: -1, verbs: []string{"list", "add", "rm"}, hint: "artoo --help"},
		{name: "acp", short: "serve an editor", hint: "artoo --interactive"},
		{name: "completion", args: "bash|zsh|fish", short: "completion script for a shell", verbs: []string{"bash", "zsh", "fish"}, run: p.runCompletion},
		{name: "version", short: "version, commit, date, Go, platform", run: func(context.Context, *cobra.Command, []string) error { return p.printBuild() }},
	}
	for i := range list {
		switch c := &list[i]; {
		case c.name == "sessions" && p.deps.Sessions != nil:
			c.run = p.runSessions
		case c.name == "models" && p.deps.Models != nil:
			c.run = p.runModels
		case c.name == "rules" && p.deps.Explain != nil:
			c.run = p.runRules
		case c.name == "demo" && p.deps.Demo != nil:
			c.run = p.runDemo
		case c.name == "login" && p.deps.Login != nil:
			c.run = p.runLogin
		case c.name == "logout" && p.deps.Logout != nil:
			c.run = p.runLogout
		case c.name == "doctor" && p.deps.Doctor != nil && p.deps.Paths != nil:
			c.run = p.runDoctor
		}
	}
	return list
}

// addCommands gives the conversation its subcommands.
func (p *program) addCommands(root *cobra.Command) error {
	for _, c := range p.commands() {
		cmd := &cobra.Command{
			Use: strings.TrimSpace(c.name + " " + c.args), Short: c.short,
			SilenceErrors: true, SilenceUsage: true, Hidden: c.run == nil,
			Args: func(_ *cobra.Command, words []string) error { return p.checkWords(c, words) },
		}
		run := c.run
		if run == nil {
			// Its flags are not known yet, so none is looked at.
			cmd.DisableFlagParsing = true
			cmd.Args = cobra.ArbitraryArgs
			run = func(_ context.Context, cmd *cobra.Command, args []string) error { return p.later(c, cmd, args) }
		}
		cmd.ValidArgsFunction = p.completeWords(c)
		cmd.RunE = func(cmd *cobra.Command, words []string) error { return run(cmd.Context(), cmd, words) }
		addOptions(cmd.Flags(), p.deps.Options, func(o config.Option) bool { return slices.Contains(c.options, o.Key) })
		if c.own != nil {
			c.own(cmd.Flags())
		}
		if c.of != "" {
			cmd.ValidArgsFunction = once(p.known(c.of))
		}
		if err := p.completeFlags(cmd); err != nil {
			return err
		}
		root.AddCommand(cmd)
	}
	return nil
}

// completeWords makes the shell offer the verbs that are there as the first
// word, sessions behind a verb that takes one, and no files.
func (p *program) completeWords(c subcommand) cobra.CompletionFunc {
	return func(cmd *cobra.Command, before []string, begun string) ([]string, cobra.ShellCompDirective) {
		var words []string
		switch {
		case len(before) == 0:
			for _, v := range c.verbs {
				if strings.HasPrefix(v, begun) && !slices.Contains(c.coming, v) {
					words = append(words, v)
				}
			}
		case len(before) == 1 && p.verbTakesWords(c, before):
			return p.known("resume")(cmd, before, begun)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// checkWords refuses words a subcommand cannot take: they are most often the
// beginning of a prompt.
func (p *program) checkWords(c subcommand, words []string) error {
	rest := words
	if len(c.verbs) > 0 && len(words) > 0 {
		if !slices.Contains(c.verbs, words[0]) {
			return p.cannotTake(c, words)
		}
		rest = words[1:]
	}
	if c.most >= 0 && len(rest) > c.most && !p.verbTakesWords(c, words) {
		return p.cannotTake(c, rest)
	}
	return nil
}

func (p *program) cannotTake(c subcommand, words []string) error {
	hint := p.asPrompt()
	if len(words) == 1 && len(c.verbs) > 0 && c.args != "" {
		hint = "artoo " + c.name + " " + c.args + ", or " + hint // more likely a slip than a prompt
	}
	return &UsageError{Where: c.name, Why: fmt.Sprintf("cannot take %q", joinWords(words)), Hint: hint}
}

// later answers for a subcommand that is not there yet.
func (p *program) later(c subcommand, cmd *cobra.Command, args []string) error {
	var words []string
	for _, a := range args {
		switch {
		case a == "-h" || a == "--help":
			return p.help(cmd)
		case a == "-p" || a == "--print":
			return &UsageError{Where: c.name, Why: "does not take --print", Hint: p.asPrompt()}
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		}
	}
	if err := p.checkWords(c, words); err != nil {
		return err
	}
	return notYet(c.name, c.hint)
}

func notYet(what, hint string) error {
	return &UsageError{Where: what, Why: "comes with a later version", Hint: hint}
}

func (p *program) runDemo(ctx context.Context, cmd *cobra.Command, _ []string) error {
	return p.deps.Demo(ctx, Invocation{Flags: given(cmd.Flags())}, cmd.Flags().Changed("yes"))
}

func (p *program) runCompletion(_ context.Context, cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return &UsageError{Where: "completion", Why: "for which shell?", Hint: "artoo completion bash, zsh or fish"}
	}
	switch words[0] {
	case "bash":
		if err := cmd.Root().GenBashCompletionV2(p.deps.Out, true); err != nil {
			return err
		}
		_, err := io.WriteString(p.deps.Out, bashAlone)
		return err
	case "zsh":
		return cmd.Root().GenZshCompletion(p.deps.Out)
	default:
		return cmd.Root().GenFishCompletion(p.deps.Out, true)
	}
}

// bashAlone takes the place of a func of the generated script, which needs the
// package bash-completion: macOS and small images have none.
const bashAlone = `
__artoo_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
    else
        words=("${COMP_WORDS[@]}")
        cword=$COMP_CWORD
        cur=${COMP_WORDS[COMP_CWORD]}
        prev=${COMP_WORDS[COMP_CWORD-1]}
    fi
}
`
