package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/config"
	"artoo/tool/shell"
	"artoo/tool/spelling"
)

// parse finds out what args, the arguments without the program's name, ask for.
// What is wrong with them is a *agent.Failure. It prints nothing; of the settings it
// reads what a shell wants to be offered, and nothing else.
func parse(args []string) (Invocation, error) {
	l := line{args}
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return l.offer()
	}
	if err := l.singleDash(); err != nil {
		return Invocation{}, err
	}
	first := root().flags()
	first.SetInterspersed(false)
	if err := first.Parse(args); err != nil {
		return Invocation{}, l.flagError(root(), first, err)
	}
	at := len(args) - first.NArg()
	if c, ok := findCommand(first.Arg(0)); ok && first.ArgsLenAtDash() != 0 {
		return l.command(c, slices.Concat(args[:at], args[at+1:]))
	}
	return l.command(root(), args)
}

// line is a command line as it was given.
type line struct{ args []string }

// command takes the arguments of a command apart; its name is not among them.
func (l line) command(c subcommand, args []string) (Invocation, error) {
	fs := c.flags()
	if err := fs.Parse(args); err != nil {
		return Invocation{}, l.flagError(c, fs, err)
	}
	inv := Invocation{Command: c.name, Words: fs.Args(), Flags: map[string][]string{}, Own: map[string][]string{}}
	fs.Visit(func(f *pflag.Flag) {
		if r := f.Value.(*raw); r.key != "" {
			inv.Flags[r.key] = r.values
		} else {
			inv.Own[f.Name] = r.values
		}
	})
	switch help, words := inv.has("help"), inv.Words; {
	case c.name == "" && help && slices.Equal(words, []string{"environment"}):
		inv.Command, inv.Page = "help", environmentPage()
	case c.name == "" && help:
		inv.Command, inv.Page = "help", mainPage()
	case c.name == "" && inv.has("version"):
		inv.Command = "--version"
	case c.name == "":
		return inv, l.slip(inv, fs)
	case help:
		inv.Command, inv.Page = "help", commandPage(c)
	default:
		return l.words(c, inv)
	}
	return inv, nil
}

// words refuses words that a subcommand cannot take: they are most often the
// beginning of a prompt. Its verb, if it has some, is the first one.
func (l line) words(c subcommand, inv Invocation) (_ Invocation, err error) {
	name, least, most, example, missing := c.name, 0, c.most, "", c.missing
	if len(c.verbs) > 0 && len(inv.Words) > 0 {
		at := slices.IndexFunc(c.verbs, func(v verb) bool { return v.name == inv.Words[0] })
		switch {
		case at >= 0:
			v := c.verbs[at]
			inv.Verb, inv.Words = v.name, inv.Words[1:]
			name, least, most, example = name+" "+v.name, v.least, v.most, v.example
			missing = cmp.Or(v.missing, missing)
		case c.most == 0:
			return inv, l.unknownVerb(c, inv.Words)
		}
	}
	switch {
	case most >= 0 && len(inv.Words) > most:
		extra := inv.Words
		if inv.Verb != "" {
			extra = extra[most:]
		}
		return inv, l.cannotTake(name, extra, "")
	case len(inv.Words) < least || least > 0 && strings.TrimSpace(strings.Join(inv.Words, " ")) == "":
		return inv, usage(name, missing, "artoo "+name+" "+example)
	case c.page != nil:
		inv.Page, err = c.page(l, inv)
	}
	return inv, err
}

// unknownVerb is the error for a first word that is none of the command's verbs.
func (l line) unknownVerb(c subcommand, words []string) error {
	hint := ""
	if len(words) == 1 { // more likely a slip than a prompt
		hint = "artoo " + c.name + " " + c.args + ", or "
	}
	return l.cannotTake(c.name, words, hint)
}

func (l line) cannotTake(name string, words []string, hint string) error {
	return usage(name, `cannot take "`+strings.Join(words, " ")+`"`, hint+l.asPrompt())
}

// slip refuses a command line whose only word is one slip of the fingers away
// from a subcommand, or is to be one: sent as a prompt, it would cost a request.
// With --print or behind -- it is a prompt.
func (l line) slip(inv Invocation, fs *pflag.FlagSet) error {
	if len(inv.Words) != 1 || fs.ArgsLenAtDash() == 0 || len(inv.Flags["print"]) > 0 {
		return nil
	}
	word := inv.Words[0]
	asPrompt := l.asPrompt() + " to send it as a prompt"
	for _, c := range commands() {
		if len(word) >= 4 && spelling.Distance(word, c.name, 1) == 1 {
			return usage(word, "no such subcommand, did you mean "+c.name+"?", "artoo "+c.name+", or "+asPrompt)
		}
	}
	if slices.Contains([]string{"mcp", "acp"}, word) { // names that are kept free
		return usage(word, "no such subcommand", "artoo --help, or "+asPrompt)
	}
	return nil
}

// asPrompt is the command line that sends the words instead of running the
// subcommand.
func (l line) asPrompt() string {
	fs := root().flags()
	words := []string{"artoo"}
	err := fs.ParseAll(l.args, func(f *pflag.Flag, value string) error {
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
		return "artoo -- " + shell.Quote(l.args...)
	}
	return shell.Quote(append(append(words, "--"), fs.Args()...)...)
}

// raw keeps what was written after a flag, every time it was given.
type raw struct {
	key    string // of its setting; "" for a flag of the command's own
	arg    string // what stands for the value in the help
	values []string
}

// Set implements pflag.Value.
func (r *raw) Set(text string) error {
	r.values = append(r.values, text)
	return nil
}

// String implements pflag.Value; there are no defaults here.
func (r *raw) String() string { return "" }

// Type implements pflag.Value.
func (r *raw) Type() string { return r.arg }

// flags is a fresh set of the flags that a command takes.
func (c subcommand) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	for _, o := range c.takes() {
		flag := fs.VarPF(&raw{key: o.Key, arg: o.Arg}, o.Flag, o.Short, o.Meaning)
		if o.Kind == config.KindBool {
			flag.NoOptDefVal = "true"
		}
	}
	return fs
}

const dashHint = "artoo --help, or artoo -- WORDS for words that begin with a dash"

// flagError puts what pflag found into words.
func (l line) flagError(c subcommand, fs *pflag.FlagSet, err error) error {
	switch e := err.(type) {
	case *pflag.NotExistError:
		return l.unknownFlag(c, fs, e)
	case *pflag.ValueRequiredError:
		flag := e.GetFlag()
		return usage("--"+flag.Name, "needs a value", "--"+flag.Name+" "+flag.Value.Type())
	case *pflag.InvalidSyntaxError:
		return usage(e.GetSpecifiedFlag(), "is no flag", dashHint)
	}
	return usage("artoo", err.Error(), "artoo --help")
}

// unknownFlag is the error for a flag that the command does not have. One of the
// conversation's was most often meant as part of a prompt.
func (l line) unknownFlag(c subcommand, fs *pflag.FlagSet, unknown *pflag.NotExistError) error {
	name, all := unknown.GetSpecifiedName(), root().flags()
	flag, shown, why := all.Lookup(name), "--"+name, "unknown flag"
	if unknown.GetSpecifiedShortnames() != "" {
		flag, shown = all.ShorthandLookup(name), "-"+name
	}
	if flag != nil && c.name != "" {
		return usage(c.name, "does not take --"+flag.Name, l.asPrompt())
	}
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := spelling.Nearest(name, names); near != "" && shown == "--"+name {
		why += ", did you mean --" + near + "?"
	}
	return usage(shown, why, dashHint)
}

// singleDash refuses a long flag written with one dash: it would be taken for
// a cluster of short ones, -model for -m odel.
func (l line) singleDash() error {
	for _, arg := range l.args {
		if arg == "--" {
			return nil
		}
		if len(arg) < 3 || arg[0] != '-' || arg[1] == '-' {
			continue
		}
		name, _, _ := strings.Cut(arg[1:], "=")
		if root().flags().Lookup(name) != nil {
			return usage("-"+name, "long flags have two dashes, did you mean --"+name+"?", dashHint)
		}
	}
	return nil
}
