package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/agent"
	"artoo/tool/shell"
	"artoo/tool/spelling"
)

// arguments are those of the process, for cobra. It finds the first word, which decides on
// the command, only where each flag before it has the form --NAME=VALUE, and takes a dash
// for a flag. Where the first word is no subcommand, all words stand behind the flags.
func (a *app) arguments(root *cobra.Command) ([]string, error) {
	given := a.process.Args
	if a.completing() {
		return given, nil
	}
	if err := singleDash(root, given); err != nil {
		return nil, err
	}
	flags := pflag.NewFlagSet("artoo", pflag.ContinueOnError)
	flags.AddFlagSet(root.Flags())
	var args []string
	for _, whole := range []bool{false, true} {
		args = []string{}
		flags.SetInterspersed(whole)
		err := flags.ParseAll(given, func(f *pflag.Flag, value string) error {
			args = append(args, "--"+f.Name+"="+value)
			return nil
		})
		if err != nil {
			return nil, a.flagError(root, err)
		}
		isCommand := func(c *cobra.Command) bool { return c.Name() == flags.Arg(0) }
		if !whole && flags.ArgsLenAtDash() != 0 && slices.ContainsFunc(root.Commands(), isCommand) {
			return append(args, flags.Args()...), nil
		}
	}
	if flags.ArgsLenAtDash() != 0 {
		root.Args = a.refuseSlip
	}
	return append(append(args, "--"), flags.Args()...), nil
}

// singleDash refuses a long flag written with one dash: it would be taken for
// a cluster of short ones, -model for -m odel.
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
// a subcommand, or a name that is kept free: sent as a prompt, it would cost a request.
// With --print it is a prompt.
func (a *app) refuseSlip(root *cobra.Command, words []string) error {
	if len(words) != 1 || len(a.flags["print"]) > 0 {
		return nil
	}
	word := words[0]
	asPrompt := a.asPrompt(root) + " to send it as a prompt"
	for _, near := range root.SuggestionsFor(word) {
		if len(word) >= 4 && spelling.Distance(word, near, 1) == 1 {
			return usage(word, "no such subcommand, did you mean "+near+"?", "artoo "+near+", or "+asPrompt)
		}
	}
	if slices.Contains([]string{"mcp", "acp"}, word) {
		return usage(word, "no such subcommand", "artoo --help, or "+asPrompt)
	}
	return nil
}

// cannotTake refuses words that a subcommand does not take: they are most often the
// beginning of a prompt.
func (a *app) cannotTake(c *cobra.Command, name string, words []string, hint string) error {
	return usage(name, `cannot take "`+strings.Join(words, " ")+`"`, hint+a.asPrompt(c.Root()))
}

// asPrompt is the command line that sends the words instead of running the subcommand.
func (a *app) asPrompt(root *cobra.Command) string {
	flags := pflag.NewFlagSet("artoo", pflag.ContinueOnError)
	flags.AddFlagSet(root.Flags())
	words := []string{"artoo"}
	err := flags.ParseAll(a.process.Args, func(f *pflag.Flag, value string) error {
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
		return "artoo -- " + shell.Quote(a.process.Args...)
	}
	return shell.Quote(append(append(words, "--"), flags.Args()...)...)
}

const dashHint = "artoo --help, or artoo -- WORDS for words that begin with a dash"

// flagError puts what pflag found into words.
func (a *app) flagError(c *cobra.Command, err error) error {
	switch e := err.(type) {
	case *pflag.NotExistError:
		return a.unknownFlag(c, e)
	case *pflag.ValueRequiredError:
		flag := e.GetFlag()
		return usage("--"+flag.Name, "needs a value", "--"+flag.Name+" "+flag.Value.Type())
	case *pflag.InvalidSyntaxError:
		return usage(e.GetSpecifiedFlag(), "is no flag", dashHint)
	case *pflag.InvalidValueError:
		return usage("--"+e.GetFlag().Name, "takes true or false", "--"+e.GetFlag().Name)
	}
	return usage("artoo", err.Error(), "artoo --help")
}

// unknownFlag is the error for a flag that the command does not have. One of the
// conversation's was most often meant as part of a prompt.
func (a *app) unknownFlag(c *cobra.Command, unknown *pflag.NotExistError) error {
	name, root := unknown.GetSpecifiedName(), c.Root()
	flag, shown, why := root.Flag(name), "--"+name, "unknown flag"
	if unknown.GetSpecifiedShortnames() != "" {
		flag, shown = root.Flags().ShorthandLookup(name), "-"+name
	}
	if flag != nil && c != root {
		return usage(topCommand(c).Name(), "does not take --"+flag.Name, a.asPrompt(root))
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

// usage says what is wrong with the command line: where, why (lower case, no full
// stop), and what to write instead.
func usage(where, why, hint string) *agent.Failure {
	return fail(agent.KindUsage, where, errors.New(why), hint)
}
