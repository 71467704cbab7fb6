package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/config"
	"artoo/provider/demo"
)

// run does what the arguments ask for. cobra parses them, finds the command and runs it,
// prints the help and answers the shells' questions for completion.
func (a *app) run(ctx context.Context) error { return a.execute(ctx, a.commands(), a.process.Out) }

func (a *app) execute(ctx context.Context, root *cobra.Command, w io.Writer) error {
	args, err := a.arguments(root)
	if err != nil {
		return err
	}
	out := &checkedWriter{Writer: w} // cobra ignores what the writer of a page says
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(io.Discard)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return out.err
}

// checkedWriter remembers its first error.
type checkedWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (w *checkedWriter) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// commands is artoo without a subcommand, and below it the subcommands in the order of the
// help.
func (a *app) commands() *cobra.Command {
	cobra.EnableCommandSorting = false
	a.flags = map[string][]string{}
	root := a.command("artoo", "", nil)
	version := root.Flags().Bool("version", false, "name and version")
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(c *cobra.Command, words []string) error {
		if *version {
			_, err := io.WriteString(c.OutOrStdout(), "artoo "+a.process.build().Version+"\n")
			return err
		}
		return a.talk(c.Context(), words)
	}
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { printHelp(c.OutOrStdout(), pageOf(c)) })
	root.SetFlagErrorFunc(a.flagError)
	root.AddCommand(newSessions(a), newModels(a), newLogin(a), newLogout(a), newRules(a), newTrust(a), newUndo(a),
		newUsage(a), newDoctor(a), newDemo(a), newCompletion(a), newVersion(a))
	help := newHelp(a, root)
	root.SetHelpCommand(help)
	root.AddCommand(help)
	return root
}

// noSettings is for a command that reads none.
var noSettings = []string{}

// common are the settings that most subcommands take as flags, beside others.
func common(keys ...string) []string { return append(keys, "ui", "color", "quiet", "debug", "config") }

// command is one with the settings of these keys as flags, all of them for nil. Words are
// refused unless its Args are set.
func (a *app) command(use, short string, keys []string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: a.words(0, 0, ""), DisableFlagsInUseLine: true,
		SilenceErrors: true, SilenceUsage: true, ValidArgsFunction: cobra.NoFileCompletions}
	c.Flags().BoolP("help", "h", false, "this page")
	flags := c.PersistentFlags() // its verbs take them too
	if keys == nil {
		flags = c.Flags()
	}
	for _, o := range config.Options() {
		if o.Flag == "" || keys != nil && !slices.Contains(keys, o.Key) {
			continue
		}
		set := func(text string) { a.flags[o.Key] = append(a.flags[o.Key], text) }
		flag := flags.VarPF(&flagValue{arg: o.Arg, set: set}, o.Flag, o.Short, o.Meaning)
		if o.Kind == config.KindBool {
			flag.NoOptDefVal = "true"
			continue
		}
		a.offer(c, o.Flag, a.completeValue(o))
	}
	return c
}

// verb adds a subcommand to one that has several; its flags are those of c.
func (a *app) verb(c *cobra.Command, use string, run func(ctx context.Context, words []string) error) *cobra.Command {
	v := &cobra.Command{Use: use, Args: a.words(0, 0, ""), DisableFlagsInUseLine: true, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, words []string) error { return run(c.Context(), words) }}
	v.Flags().BoolP("help", "h", false, "this page")
	c.AddCommand(v)
	return v
}

// jsonFlag adds --json.
func jsonFlag(c *cobra.Command) *bool {
	return c.PersistentFlags().Bool("json", false, "as JSON, a line each")
}

// textFlag adds a flag with a value, for which the shell offers the choices.
func (a *app) textFlag(c *cobra.Command, name, short, arg, meaning string, choices ...string) *string {
	value := &flagValue{arg: arg}
	c.PersistentFlags().VarP(value, name, short, meaning)
	a.offer(c, name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	return &value.text
}

// flagValue is the last value that a flag was given; arg stands for it in the help. set takes
// over those of settings, and is nil for others.
type flagValue struct {
	arg, text string
	set       func(text string)
}

// Set implements pflag.Value.
func (v *flagValue) Set(text string) error {
	if v.text = text; v.set != nil {
		v.set(text)
	}
	return nil
}

// String implements pflag.Value.
func (v *flagValue) String() string { return v.text }

// Type implements pflag.Value.
func (v *flagValue) Type() string { return v.arg }

// words allows least to most words, any number for -1. missing asks for those that lack.
func (a *app) words(least, most int, missing string) cobra.PositionalArgs {
	return func(c *cobra.Command, words []string) error {
		name := strings.TrimPrefix(c.CommandPath(), "artoo ")
		switch {
		case most >= 0 && len(words) > most:
			hint, extra := "", words
			if c.HasSubCommands() && most == 0 && len(words) == 1 { // more likely a slip than a prompt
				hint = c.UseLine() + ", or "
			}
			if c.Parent().HasParent() {
				extra = words[most:]
			}
			return a.cannotTake(c, name, extra, hint)
		case len(words) < least, least > 0 && strings.TrimSpace(strings.Join(words, " ")) == "":
			return usage(name, missing, c.UseLine())
		}
		return nil
	}
}

// first is the first word, "" where there is no word.
func first(words []string) string { return strings.Join(words[:min(1, len(words))], "") }

func newDemo(a *app) *cobra.Command {
	c := a.command(demo.Name+" [--yes]", "see artoo work, without key or network",
		common("print", "interactive", "output", "tools", "approval", "allow", "ask", "deny", "max_turns"))
	yes := c.Flags().Bool("yes", false, "approve its calls")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), *yes) }
	return c
}

func newVersion(a *app) *cobra.Command {
	c := a.command("version", "version, commit, date, Go, platform", noSettings)
	c.RunE = func(c *cobra.Command, _ []string) error {
		_, err := io.WriteString(c.OutOrStdout(), a.process.build().String())
		return err
	}
	return c
}

// ownFlags are all flags of a command but --help, by name.
func ownFlags(c *cobra.Command) (flags []*pflag.Flag) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			flags = append(flags, f)
		}
	})
	return flags
}
