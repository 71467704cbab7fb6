package cli

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/config"
)

// Columns at which the texts of the tables begin.
const (
	flagColumn     = 28
	variableColumn = 31
	commandColumn  = 16
)

// help writes the page for a command.
func (p *program) help(cmd *cobra.Command) error {
	text := p.mainPage()
	if cmd.HasParent() {
		text = p.commandPage(cmd)
	} else if slices.Equal(cmd.Flags().Args(), []string{"environment"}) {
		text = p.environmentPage()
	}
	_, err := io.WriteString(p.deps.Out, text)
	return err
}

// helpCommand is `artoo help [environment|COMMAND]`.
func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [environment|command]", Short: "this page, the variables, or a command",
		ValidArgs: append([]string{"environment"}, commandNames()...), SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, words []string) error {
			root := cmd.Root()
			text := p.mainPage()
			switch {
			case len(words) == 0:
			case len(words) == 1 && words[0] == "environment":
				text = p.environmentPage()
			case len(words) == 1 && slices.Contains(commandNames(), words[0]):
				of, _, err := root.Find(words)
				if err != nil {
					return err
				}
				text = p.commandPage(of)
			default:
				return p.cannotTake(subcommand{name: "help"}, words)
			}
			_, err := io.WriteString(p.deps.Out, text)
			return err
		},
	}
}

// mainPage is `artoo --help`.
func (p *program) mainPage() string {
	var b page
	b.heading("Usage:")
	for _, u := range usages() {
		b.row(u[0], 31, u[1])
	}
	for _, group := range p.groups() {
		var inGroup []config.Option
		for _, o := range p.deps.Options {
			if o.Group == group && o.Flag != "" {
				inGroup = append(inGroup, o)
			}
		}
		if len(inGroup) == 0 {
			continue
		}
		b.heading(group + ":")
		for _, o := range inGroup {
			b.row(flagColumnText(o.Short, o.Flag, o.Arg), flagColumn, describe(o))
		}
	}
	b.heading("Help:")
	b.row(flagColumnText("h", "help", ""), flagColumn, "this page")
	b.row(flagColumnText("", "version", ""), flagColumn, "name and version")
	b.row("artoo help environment", flagColumn, "settings as variables, and the variables of others that are honoured")
	p.commandList(&b)
	b.heading("Exit codes:")
	for _, e := range p.deps.Exits {
		b.row(strconv.Itoa(e.Code), 5, e.Meaning)
	}
	b.heading("Examples:")
	for _, e := range examples() {
		b.WriteString("  " + e.Word + "\n")
	}
	return b.String()
}

// usages are the ways to call artoo, with what each does.
func usages() [][2]string {
	return [][2]string{
		{"artoo [flags] [prompt ...]", "talk; a prompt is the first message"},
		{"artoo -p \"prompt\"", "print the answer and leave; never asks"},
		{"command | artoo \"prompt\"", "the same; the input follows the prompt"},
		{"artoo COMMAND", "see Commands; artoo -- WORDS is always a prompt"},
	}
}

// examples are command lines to begin with.
func examples() []Candidate {
	return []Candidate{
		{"artoo \"why does the login test fail?\"", "A conversation that begins with a question:"},
		{"git diff | artoo -p \"review this change\" > review.md", "A stage of a pipeline; the answer is Markdown:"},
		{"artoo -p --approval edits --allow 'bash(go test:*)' \"make the tests pass\"", "Work without a person there, within what is allowed:"},
	}
}

// commandList names the subcommands, those to come in one line.
func (p *program) commandList(b *page) {
	b.heading("Commands:")
	var later []string
	for _, c := range p.commands() {
		if c.run == nil {
			later = append(later, c.name)
			continue
		}
		b.row(c.name, commandColumn, c.short)
	}
	if len(later) > 0 {
		b.para("With a later version: " + strings.Join(later, ", ") + ".")
	}
}

// commandPage is `artoo COMMAND --help`.
func (p *program) commandPage(cmd *cobra.Command) string {
	var b page
	b.heading("Usage:")
	b.row("artoo "+cmd.Use, width, "")
	b.WriteByte('\n')
	b.para(strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + ".")
	if cmd.Hidden {
		b.para("It comes with a later version.")
	}
	heading := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		if !heading {
			b.heading("Flags:")
			heading = true
		}
		arg := ""
		if f.NoOptDefVal == "" {
			arg = argName(f)
		}
		b.row(flagColumnText(f.Shorthand, f.Name, arg), flagColumn, f.Usage)
	})
	return b.String()
}

const environmentIntro = "Each setting is a variable, and a key of config.toml: the name without ARTOO_, in lower case. Flags win over variables, variables over the file. An empty variable counts as not set."

// environmentPage is `artoo help environment`.
func (p *program) environmentPage() string {
	var b page
	b.para(environmentIntro)
	for _, group := range p.groups() {
		first := true
		for _, o := range p.deps.Options {
			if o.Group != group || o.Env == "" {
				continue
			}
			if first {
				b.heading(group + ":")
				first = false
			}
			b.row(o.Env, variableColumn, describe(o))
		}
	}
	b.heading("Variables of others that are honoured:")
	for _, v := range p.deps.Variables {
		b.row(v.Name, variableColumn, v.Meaning)
	}
	b.heading("Files:")
	for _, f := range p.deps.Files {
		b.row(f.Name, variableColumn, f.Meaning)
	}
	return b.String()
}

// groups are the headings in the order of the options.
func (p *program) groups() []string {
	var groups []string
	for _, o := range p.deps.Options {
		if !slices.Contains(groups, o.Group) {
			groups = append(groups, o.Group)
		}
	}
	return groups
}

func flagColumnText(short, long, arg string) string {
	text := "    "
	if short != "" {
		text = "-" + short + ", "
	}
	return strings.TrimRight(text+"--"+long+" "+arg, " ")
}

// describe is an option's meaning with its choices, unless the meaning names
// them all, and its default.
func describe(o config.Option) string {
	var more []string
	if !namesAll(o.Meaning, o.Choices) {
		more = append(more, strings.Join(o.Choices, ", "))
	}
	if shown := o.Shown(); shown != "" && !(o.Kind == config.KindBool && shown == "false") {
		more = append(more, "default: "+shown)
	}
	if len(more) == 0 {
		return o.Meaning
	}
	return o.Meaning + " (" + strings.Join(more, "; ") + ")"
}

// namesAll reports whether each word stands in the text, followed by a colon.
func namesAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w+":") {
			return false
		}
	}
	return true
}
