package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/config"
)

// Execute does what args, the arguments without the program's name, ask for.
// What is wrong with them is a *UsageError; nothing is printed for it, and
// nothing but what was asked for goes to deps.Out. Help, versions and
// completions work without configuration.
func Execute(ctx context.Context, args []string, deps Deps) error {
	p := &program{deps: deps, args: args}
	if err := p.singleDash(); err != nil {
		return err
	}
	root, err := p.root()
	if err != nil {
		return err
	}
	routed, isCommand := p.route()
	if err := p.slip(routed); err != nil && !isCommand {
		return err
	}
	if isCommand {
		if err := p.addCommands(root); err != nil {
			return err
		}
	}
	root.SetArgs(routed)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return p.helpErr
}

// program is one run of the command line.
type program struct {
	deps Deps
	args []string // as they were given

	helpErr error // what cobra's help func, which cannot fail, could not write
}

// root is the conversation: any words, the flags of all options.
func (p *program) root() (*cobra.Command, error) {
	root := &cobra.Command{
		Use:               "artoo [flags] [prompt ...]",
		Short:             "a coding agent for the terminal and the pipe",
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, words []string) error {
			if cmd.Flags().Changed("version") {
				return p.printVersion()
			}
			return p.deps.Run(cmd.Context(), Invocation{Words: words, Flags: given(cmd.Flags())})
		},
	}
	addGeneral(root.Flags())
	addOptions(root.Flags(), p.deps.Options, func(config.Option) bool { return true })
	if err := p.completeFlags(root); err != nil {
		return nil, err
	}
	root.SetOut(p.deps.Out)
	root.SetErr(io.Discard)
	root.SetFlagErrorFunc(p.flagError)
	root.SetHelpCommand(p.helpCommand())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { p.helpErr = p.help(cmd) })
	return root, nil
}

// rootFlags is a fresh set of all flags of the conversation.
func (p *program) rootFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("artoo", pflag.ContinueOnError)
	addGeneral(fs)
	addOptions(fs, p.deps.Options, func(config.Option) bool { return true })
	return fs
}

// route finds the first word, the value of no flag, and says whether it is a
// subcommand; if so the subcommand comes first in the arguments returned. The
// search is ours, since cobra's takes the value of a cluster's last flag, and
// the word after an empty one, for the first word. When there are no
// subcommands to find, cobra has only the conversation left.
func (p *program) route() (args []string, isCommand bool) {
	args = append([]string{}, p.args...)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return args, true
	}
	fs := p.rootFlags()
	fs.SetInterspersed(false)
	if err := fs.Parse(args); err != nil || fs.NArg() == 0 || fs.ArgsLenAtDash() == 0 {
		return args, false // cobra meets the same error and reports it
	}
	at := len(args) - fs.NArg()
	if !slices.Contains(commandNames(), args[at]) {
		return args, false
	}
	routed := append([]string{args[at]}, args[:at]...)
	return append(routed, args[at+1:]...), true
}

// slip refuses a command line whose only word is one slip of the fingers away
// from a subcommand: sent as a prompt, it would cost a request. With --print or
// behind -- it is a prompt.
func (p *program) slip(args []string) error {
	fs := p.rootFlags()
	if err := fs.Parse(args); err != nil || fs.NArg() != 1 || fs.ArgsLenAtDash() == 0 || fs.Changed("print") {
		return nil // cobra meets the same error and reports it
	}
	word := fs.Arg(0)
	for _, name := range commandNames() {
		if len(word) >= 4 && oneSlip(word, name) {
			return &UsageError{Where: word, Why: "no such subcommand, did you mean " + name + "?", Hint: "artoo " + name + ", or " + p.asPrompt() + " to send it as a prompt"}
		}
	}
	return nil
}

// oneSlip reports whether one letter more, less or other, or two neighbours
// changed places, make b of a.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch rest := b[i:]; {
	case a == b || len(b)-len(a) > 1:
		return false
	case len(a) < len(b):
		return a[i:] == rest[1:]
	default:
		swapped := len(rest) > 1 && a[i] == rest[1] && a[i+1] == rest[0] && a[i+2:] == rest[2:]
		return a[i+1:] == rest[1:] || swapped
	}
}

// asPrompt is the command line that sends the words instead of running the
// subcommand.
func (p *program) asPrompt() string {
	fs := p.rootFlags()
	words := []string{"artoo"}
	err := fs.ParseAll(p.args, func(f *pflag.Flag, value string) error {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		words = append(words, name)
		if f.NoOptDefVal == "" {
			words = append(words, value)
		}
		return nil
	})
	if err != nil {
		return "artoo -- " + quoteWords(p.args)
	}
	return quoteWords(append(append(words, "--"), fs.Args()...))
}
