package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/config"
)

// raw keeps what was written after a flag, every time it was given: whether a
// value is right is not the command line's business.
type raw struct {
	key    string
	values []string
	word   string
}

// Set implements pflag.Value.
func (r *raw) Set(text string) error {
	r.values = append(r.values, text)
	return nil
}

// String implements pflag.Value; there are no defaults here.
func (r *raw) String() string { return "" }

// Type implements pflag.Value.
func (r *raw) Type() string { return r.word }

// addOptions registers the flags of the options that keep accepts.
func addOptions(fs *pflag.FlagSet, options []config.Option, keep func(config.Option) bool) {
	for _, o := range options {
		if o.Flag == "" || !keep(o) {
			continue
		}
		flag := fs.VarPF(&raw{key: o.Key, word: o.Arg}, o.Flag, o.Short, o.Meaning)
		if o.Kind == config.KindBool {
			flag.NoOptDefVal = "true"
		}
	}
}

// addGeneral registers the flags that are no settings.
func addGeneral(fs *pflag.FlagSet) {
	fs.BoolP("help", "h", false, "this page")
	fs.Bool("version", false, "name and version")
}

// given collects the options that were set.
func given(fs *pflag.FlagSet) map[string][]string {
	flags := map[string][]string{}
	fs.Visit(func(f *pflag.Flag) {
		if r, ok := f.Value.(*raw); ok {
			flags[r.key] = r.values
		}
	})
	return flags
}

// flagError puts what pflag found into words.
func (p *program) flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown):
		return p.unknownFlag(cmd, unknown)
	case errors.As(err, &missing):
		flag := missing.GetFlag()
		return &UsageError{Where: "--" + flag.Name, Why: "needs a value", Hint: "--" + flag.Name + " " + argName(flag)}
	case errors.As(err, &syntax):
		return &UsageError{Where: syntax.GetSpecifiedFlag(), Why: "is no flag", Hint: dashHint}
	}
	return &UsageError{Where: cmd.Name(), Why: err.Error(), Hint: "artoo --help"}
}

const dashHint = "artoo --help, or artoo -- WORDS for words that begin with a dash"

func (p *program) unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name := unknown.GetSpecifiedName()
	root := p.rootFlags()
	if unknown.GetSpecifiedShortnames() != "" {
		if flag := root.ShorthandLookup(name); flag != nil && cmd.HasParent() {
			return p.notTaken(cmd, flag)
		}
		return &UsageError{Where: "-" + name, Why: "unknown flag", Hint: dashHint}
	}
	if flag := root.Lookup(name); flag != nil && cmd.HasParent() {
		return p.notTaken(cmd, flag)
	}
	why := "unknown flag"
	if near := p.deps.Nearest(name, flagNames(cmd.Flags())); near != "" {
		why += ", did you mean --" + near + "?"
	}
	return &UsageError{Where: "--" + name, Why: why, Hint: dashHint}
}

// notTaken is the error for a flag of the conversation given to a subcommand:
// most often the word was meant as part of a prompt.
func (p *program) notTaken(cmd *cobra.Command, flag *pflag.Flag) error {
	return &UsageError{Where: cmd.Name(), Why: "does not take --" + flag.Name, Hint: p.asPrompt()}
}

// argName is the word that stands for the value of a flag.
func argName(f *pflag.Flag) string {
	if word := f.Value.Type(); word != "string" {
		return word
	}
	return strings.ToUpper(f.Name)
}

func flagNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// singleDash refuses a long flag written with one dash: it would be taken for
// a cluster of short ones, -model for -m odel.
func (p *program) singleDash() error {
	root := p.rootFlags()
	for _, arg := range p.args {
		if arg == "--" {
			return nil
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && root.Lookup(name) != nil {
			return &UsageError{Where: "-" + name, Why: "long flags have two dashes, did you mean --" + name + "?", Hint: dashHint}
		}
	}
	return nil
}
