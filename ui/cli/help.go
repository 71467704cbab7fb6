package cli

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"artoo/agent"
	"artoo/config"
)

// width is the widest line of the help: what every terminal has.
const width = 80

// Columns at which the texts of the tables begin.
const (
	flagColumn     = 28
	variableColumn = 31
	commandColumn  = 16
)

// helpPage is `artoo help [environment|COMMAND]`.
func helpPage(l line, inv Invocation) (string, error) {
	c, isCommand := findCommand(inv.word())
	switch {
	case len(inv.Words) == 0:
		return mainPage(), nil
	case inv.word() == "environment":
		return environmentPage(), nil
	case isCommand:
		return commandPage(c), nil
	}
	return "", l.cannotTake("help", inv.Words, "")
}

// mainPage is `artoo --help`.
func mainPage() string {
	var b page
	b.heading("Usage:")
	for _, u := range usages() {
		b.row(u[0], variableColumn, u[1])
	}
	for _, g := range groups(func(o config.Option) bool { return o.Flag != "" }) {
		b.heading(g.name + ":")
		for _, o := range g.options {
			b.row(flagText(o), flagColumn, describe(o))
		}
	}
	b.heading("Help:")
	b.row("-h, --help", flagColumn, "this page")
	b.row("    --version", flagColumn, "name and version")
	b.row("artoo help environment", flagColumn, "settings as variables, and the variables of others that are honoured")
	b.heading("Commands:")
	for _, c := range commands() {
		b.row(c.name, commandColumn, c.short)
	}
	b.heading("Exit codes:")
	for _, e := range agent.Exits {
		b.row(strconv.Itoa(e.Code), 5, e.Meaning)
	}
	b.heading("Examples:")
	for _, e := range examples() {
		b.WriteString("  " + e[0] + "\n")
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

// examples are command lines to begin with, and what each is.
func examples() [][2]string {
	return [][2]string{
		{"artoo \"why does the login test fail?\"", "A conversation that begins with a question:"},
		{"git diff | artoo -p \"review this change\" > review.md", "A stage of a pipeline; the answer is Markdown:"},
		{
			"artoo -p --approval edits --allow 'bash(go test:*)' \"make the tests pass\"",
			"Work without anyone to ask, within what is allowed:",
		},
	}
}

// commandPage is `artoo COMMAND --help`.
func commandPage(c subcommand) string {
	var b page
	b.heading("Usage:")
	b.row("artoo "+strings.TrimSpace(c.name+" "+c.args), width, "")
	b.WriteString("\n" + strings.ToUpper(c.short[:1]) + c.short[1:] + ".\n")
	flags := c.takes()[1:] // but for --help
	slices.SortFunc(flags, func(a, b config.Option) int { return strings.Compare(a.Flag, b.Flag) })
	if len(flags) > 0 {
		b.heading("Flags:")
	}
	for _, o := range flags {
		b.row(flagText(o), flagColumn, o.Meaning)
	}
	return b.String()
}

const environmentIntro = "" +
	"Each setting is a variable, and a key of config.toml: the name without ARTOO_, in lower case, " +
	"in the section that its heading names. A key in another section is an error. " +
	"Flags win over variables, variables over the file. An empty variable counts as not set."

// environmentPage is `artoo help environment`.
func environmentPage() string {
	var b page
	for _, line := range wrap(environmentIntro, width) {
		b.WriteString(line + "\n")
	}
	for _, g := range groups(func(o config.Option) bool { return o.Env != "" }) {
		b.heading(g.inFile() + ":")
		for _, o := range g.options {
			b.row(o.Env, variableColumn, describe(o))
		}
	}
	b.heading("Variables of others that are honoured:")
	for _, v := range config.ForeignVariables() {
		b.row(v.Name, variableColumn, v.Meaning)
	}
	b.heading("Files:")
	for _, f := range config.Files() {
		b.row(f.Name, variableColumn, f.Meaning)
	}
	return b.String()
}

// group are the settings under one heading.
type group struct {
	name    string
	options []config.Option
}

// inFile is the heading with the section of config.toml that has the keys.
func (g group) inFile() string { return g.name + ", [" + g.options[0].Section + "]" }

// groups are the settings that are kept, by their headings.
func groups(keep func(config.Option) bool) (all []group) {
	for _, o := range config.Options() {
		if !keep(o) {
			continue
		}
		if n := len(all); n == 0 || all[n-1].name != o.Group {
			all = append(all, group{name: o.Group})
		}
		last := &all[len(all)-1]
		last.options = append(last.options, o)
	}
	return all
}

// flagText is a flag as the help shows it, its long form below that of the others.
func flagText(o config.Option) string {
	text := "    "
	if o.Short != "" {
		text = "-" + o.Short + ", "
	}
	return strings.TrimRight(text+"--"+o.Flag+" "+o.Arg, " ")
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
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w+":") })
}

// page is a help page in the making.
type page struct{ strings.Builder }

// heading starts a part of the page.
func (b *page) heading(text string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(text + "\n")
}

// row writes left at the margin and text beside it from column at, broken at
// blanks; when left is too long, text begins on the next line.
func (b *page) row(left string, at int, text string) {
	left = "  " + left
	lines := wrap(text, width-at)
	if utf8.RuneCountInString(left) > at-2 || len(lines) == 0 {
		b.WriteString(left + "\n")
		left = ""
	}
	for _, l := range lines {
		b.WriteString(left + strings.Repeat(" ", at-utf8.RuneCountInString(left)) + l + "\n")
		left = ""
	}
}

// wrap breaks text at blanks into lines of at most n characters; a word that
// is longer stands alone.
func wrap(text string, n int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
