package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/agent"
	"artoo/config"
	"artoo/provider/demo"
	"artoo/tool/shell"
	"artoo/tool/spelling"
)

// commandLine parses the arguments of its app's process, and has the help and the completion of them.
type commandLine struct{ app *app }

// run parses the arguments with cobra and runs the command that they name.
func (l commandLine) run(ctx context.Context) error {
	return l.execute(ctx, l.commands(), l.app.process.Out)
}

func (l commandLine) execute(ctx context.Context, root *cobra.Command, w io.Writer) error {
	args, err := l.arguments(root)
	if err != nil {
		return err
	}
	out := &checkedWriter{Writer: w} // cobra ignores the error of a page's writer
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

// inOrder has cobra list commands in the order in which they are added, in the whole process.
var inOrder = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

// commands are artoo itself and its subcommands, in the order of the help.
func (l commandLine) commands() *cobra.Command {
	inOrder()
	l.app.flags = map[string][]string{}
	root := l.command("artoo", "", nil)
	version := root.Flags().Bool("version", false, "name and version")
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(c *cobra.Command, words []string) error {
		if *version {
			_, err := io.WriteString(c.OutOrStdout(), "artoo "+l.app.process.build().Version+"\n")
			return err
		}
		return l.app.talk(c.Context(), words)
	}
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { printHelp(c.OutOrStdout(), pageOf(c)) })
	root.SetFlagErrorFunc(l.flagError)
	root.AddCommand(newSessions(l), newModels(l), newLogin(l), newLogout(l), newRules(l), newTrust(l), newMCP(l), newBundle(l), newACP(l), newUndo(l), newReview(l), newTry(l), newBisect(l),
		newUsage(l), newDoctor(l), newDemo(l), newCompletion(l), newVersion(l))
	help := newHelp(l, root)
	root.SetHelpCommand(help)
	root.AddCommand(help)
	return root
}

// noSettings is for a command that reads none.
var noSettings = []string{}

// common are the settings that most subcommands take as flags, beside others.
func common(keys ...string) []string {
	return append(keys, "ui", "color", "quiet", "debug", "config", "profile")
}

// command is one with the settings of these keys as flags, all of them for nil. Words are
// refused unless its Args are set.
func (l commandLine) command(use, short string, keys []string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: l.words(0, 0, ""), DisableFlagsInUseLine: true,
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
		// If a func held o, each option would be allocated for each command at the start.
		key := o.Key
		set := func(text string) { l.app.flags[key] = append(l.app.flags[key], text) }
		flag := flags.VarPF(&flagValue{arg: o.Arg, set: set}, o.Flag, o.Short, o.Meaning)
		if o.Kind == config.KindBool {
			flag.NoOptDefVal = "true"
		} else {
			l.offer(c, o.Flag, l.completeValue(o))
		}
	}
	return c
}

// verb adds a subcommand to one that has several; its flags are those of c.
func (l commandLine) verb(c *cobra.Command, use string, run func(ctx context.Context, words []string) error) *cobra.Command {
	v := &cobra.Command{Use: use, Args: l.words(0, 0, ""), DisableFlagsInUseLine: true, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, words []string) error { return run(c.Context(), words) }}
	v.Flags().BoolP("help", "h", false, "this page")
	c.AddCommand(v)
	return v
}

func jsonFlag(c *cobra.Command) *bool {
	return c.PersistentFlags().Bool("json", false, "print JSON, one object per line")
}

// textFlag adds a flag with a value, for which the shell offers the choices.
func (l commandLine) textFlag(c *cobra.Command, name, short, arg, meaning string, choices ...string) *string {
	value := &flagValue{arg: arg}
	c.PersistentFlags().VarP(value, name, short, meaning)
	l.offer(c, name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
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
func (l commandLine) words(least, most int, missing string) cobra.PositionalArgs {
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
			return l.cannotTake(c, name, extra, hint)
		case len(words) < least, least > 0 && strings.TrimSpace(strings.Join(words, " ")) == "":
			return usage(name, missing, c.UseLine())
		}
		return nil
	}
}

func first(words []string) string { return strings.Join(words[:min(1, len(words))], "") }

func newDemo(l commandLine) *cobra.Command {
	c := l.command(demo.Name+" [--yes]", "see artoo work, without a key or network",
		common("print", "interactive", "output", "tools", "approval", "allow", "ask", "deny", "hide", "hosts", "max_turns"))
	yes := c.Flags().Bool("yes", false, "approve all calls")
	c.RunE = func(c *cobra.Command, _ []string) error { return l.app.demo(c.Context(), *yes) }
	return c
}

func newVersion(l commandLine) *cobra.Command {
	c := l.command("version [--json]", "version, commit, date, Go, platform", noSettings)
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return printOne(c.OutOrStdout(), l.app.process.build(), *asJSON, build.String)
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

// arguments are those of the process, for cobra. It finds the first word, which decides on
// the command, only where each flag before it has the form --NAME=VALUE, and takes a dash
// for a flag. Where the first word is no subcommand, all words stand behind the flags.
func (l commandLine) arguments(root *cobra.Command) ([]string, error) {
	given := l.app.process.Args
	if l.completing() {
		return given, nil
	}
	if err := singleDash(root, given); err != nil {
		return nil, err
	}
	var args []string
	var flags *pflag.FlagSet
	for _, whole := range []bool{false, true} {
		args = []string{}
		var err error
		flags, err = l.eachFlag(root, whole, func(f *pflag.Flag, value string) { args = append(args, "--"+f.Name+"="+value) })
		if err != nil {
			return nil, l.flagError(root, err)
		}
		isCommand := func(c *cobra.Command) bool { return c.Name() == flags.Arg(0) }
		if !whole && flags.ArgsLenAtDash() != 0 && slices.ContainsFunc(root.Commands(), isCommand) {
			return append(args, flags.Args()...), nil
		}
	}
	if flags.ArgsLenAtDash() != 0 {
		root.Args = l.refuseSlip
	}
	return append(append(args, "--"), flags.Args()...), nil
}

// eachFlag goes through the flags of the process, up to the first word or between all words.
func (l commandLine) eachFlag(root *cobra.Command, whole bool, do func(f *pflag.Flag, value string)) (*pflag.FlagSet, error) {
	flags := pflag.NewFlagSet("artoo", pflag.ContinueOnError)
	flags.AddFlagSet(root.Flags())
	flags.SetInterspersed(whole)
	return flags, flags.ParseAll(l.app.process.Args, func(f *pflag.Flag, value string) error { do(f, value); return nil })
}

// singleDash refuses -model, which would be taken for -m odel.
func singleDash(root *cobra.Command, args []string) error {
	for _, arg := range args {
		if arg == "--" {
			return nil
		}
		if len(arg) < 3 || arg[0] != '-' || arg[1] == '-' {
			continue
		}
		name, _, _ := strings.Cut(arg[1:], "=")
		if root.Flag(name) != nil {
			return usage("-"+name, "long flags have two dashes, did you mean --"+name+"?", dashHint)
		}
	}
	return nil
}

// refuseSlip refuses a command line whose only word is one slip of the fingers away from
// a subcommand: sent as a prompt, it would cost a request.
// With --print it is a prompt.
func (l commandLine) refuseSlip(root *cobra.Command, words []string) error {
	if len(words) != 1 || len(l.app.flags["print"]) > 0 {
		return nil
	}
	word := words[0]
	asPrompt := l.asPrompt(root) + " to send it as a prompt"
	for _, near := range root.SuggestionsFor(word) {
		if len(word) >= 4 && spelling.Distance(word, near, 1) == 1 {
			return usage(word, "no such subcommand, did you mean "+near+"?", "artoo "+near+", or "+asPrompt)
		}
	}
	return nil
}

// cannotTake refuses words that a subcommand does not take: most often a prompt.
func (l commandLine) cannotTake(c *cobra.Command, name string, words []string, hint string) error {
	return usage(name, `unexpected argument "`+strings.Join(words, " ")+`"`, hint+l.asPrompt(c.Root()))
}

// asPrompt is the command line that sends the words instead of running the subcommand.
func (l commandLine) asPrompt(root *cobra.Command) string {
	words := []string{"artoo"}
	flags, err := l.eachFlag(root, true, func(f *pflag.Flag, value string) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		words = append(words, name)
		if f.NoOptDefVal == "" {
			words = append(words, value)
		}
	})
	if err != nil {
		return "artoo -- " + shell.Quote(l.app.process.Args...)
	}
	return shell.Quote(append(append(words, "--"), flags.Args()...)...)
}

const dashHint = "artoo --help, or artoo -- WORDS for words that begin with a dash"

// flagError puts an error of pflag into words.
func (l commandLine) flagError(c *cobra.Command, err error) error {
	switch e := err.(type) {
	case *pflag.NotExistError:
		return l.unknownFlag(c, e)
	case *pflag.ValueRequiredError:
		flag := e.GetFlag()
		return usage("--"+flag.Name, "needs a value", "--"+flag.Name+" "+flag.Value.Type())
	case *pflag.InvalidSyntaxError:
		return usage(e.GetSpecifiedFlag(), "is not a flag", dashHint)
	case *pflag.InvalidValueError:
		return usage("--"+e.GetFlag().Name, "takes true or false", "--"+e.GetFlag().Name)
	}
	return usage("artoo", err.Error(), "artoo --help")
}

// unknownFlag is the error for a flag that the command does not have. One of the
// conversation's was most often meant as part of a prompt.
func (l commandLine) unknownFlag(c *cobra.Command, unknown *pflag.NotExistError) error {
	name, root := unknown.GetSpecifiedName(), c.Root()
	flag, shown, why := root.Flag(name), "--"+name, "unknown flag"
	if unknown.GetSpecifiedShortnames() != "" {
		flag, shown = root.Flags().ShorthandLookup(name), "-"+name
	}
	if flag != nil && c != root {
		return usage(topCommand(c).Name(), "does not take --"+flag.Name, l.asPrompt(root))
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := spelling.Nearest(name, names); near != "" && shown == "--"+name {
		why += ", did you mean --" + near + "?"
	}
	return usage(shown, why, dashHint)
}

// topCommand is the subcommand of artoo that a verb belongs to, or the root.
func topCommand(c *cobra.Command) *cobra.Command {
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}

// promptOf is the words as one text. A single dash that stands first or last
// asks for stdin and is left out; anywhere else it is a word.
func promptOf(words []string) (text string, stdin bool) {
	if len(words) > 0 && words[0] == "-" {
		words, stdin = words[1:], true
	}
	if n := len(words); n > 0 && words[n-1] == "-" {
		words, stdin = words[:n-1], true
	}
	return strings.Join(words, " "), stdin
}

// usage is a wrong command line: where, why in lower case, and a correct one.
func usage(where, why, hint string) *agent.Failure {
	return fail(agent.KindUsage, where, errors.New(why), hint)
}
