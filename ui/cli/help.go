package cli

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config"
	"artoo/tool/spelling"
)

// width is the widest line of the help: every terminal has it.
const width = 80

// Columns at which the texts of the tables begin.
const (
	flagColumn     = 28
	variableColumn = 31
	commandColumn  = 16
	exitColumn     = 6
)

// helpSection is a part of a page of help. Each field may be empty.
type helpSection struct {
	Title, Text string
	Column      int
	Rows        [][2]string
}

// environment is the name of the page of variables.
const environment = "environment"

func pageOf(c *cobra.Command) []helpSection {
	c = topCommand(c)
	if !c.HasParent() {
		if slices.Equal(c.Flags().Args(), []string{environment}) {
			return environmentPage()
		}
		return mainPage(c)
	}
	parts := []helpSection{
		{Title: "Usage", Column: width, Rows: [][2]string{{"artoo " + c.Use}}},
		{Text: strings.Join(wrap(strings.ToUpper(c.Short[:1])+c.Short[1:]+".", width), "\n") + "\n"},
	}
	for i, with := range append([]*cobra.Command{c}, c.Commands()...) {
		flags := helpSection{Title: "Flags", Column: flagColumn}
		if i > 0 {
			flags.Title += " of " + with.Name()
			parts[0].Rows = append(parts[0].Rows, [2]string{with.UseLine()})
		}
		for _, f := range ownFlags(with) {
			arg := f.Value.Type()
			if f.NoOptDefVal != "" {
				arg = ""
			}
			flags.Rows = append(flags.Rows, [2]string{flagText(f.Shorthand, f.Name, arg), f.Usage})
		}
		if len(flags.Rows) > 0 {
			parts = append(parts, flags)
		}
	}
	return parts
}

// printHelp prints a page. checkedWriter remembers the writer's error.
func printHelp(w io.Writer, page []helpSection) {
	for i, s := range page {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if s.Title != "" {
			fmt.Fprintln(w, s.Title+":")
		}
		fmt.Fprint(w, s.Text)
		for _, row := range s.Rows {
			fmt.Fprint(w, helpRow(s.Column, row))
		}
	}
}

func mainPage(root *cobra.Command) []helpSection {
	page := []helpSection{{Title: "Usage", Column: variableColumn, Rows: usages()}}
	page = append(page, flagSections()...)
	page = append(page, helpSection{Title: "Help", Column: flagColumn, Rows: [][2]string{
		{"-h, --help", "this page"},
		{"    --version", "name and version"},
		{"artoo help environment", "settings as variables, and variables of other programs that artoo honours"},
		{"artoo help topics", "the pages of the documentation; artoo help TOPIC prints one"},
	}})
	commands, exits := helpSection{Title: "Commands", Column: commandColumn}, helpSection{Title: "Exit codes", Column: exitColumn}
	for _, c := range root.Commands() {
		if !c.Hidden {
			commands.Rows = append(commands.Rows, [2]string{c.Name(), c.Short})
		}
	}
	for _, e := range agent.Exits {
		exits.Rows = append(exits.Rows, [2]string{strconv.Itoa(e.Code), e.Meaning})
	}
	lines := helpSection{Title: "Examples", Column: width}
	for _, e := range examples() {
		lines.Rows = append(lines.Rows, [2]string{e[0]})
	}
	return append(page, commands, exits, lines)
}

// usages are the ways to call artoo, each with its meaning.
func usages() [][2]string {
	return [][2]string{
		{"artoo [flags] [prompt ...]", "start a conversation; a prompt is its first message"},
		{"artoo -p \"prompt\"", "print the answer and exit; never prompts"},
		{"command | artoo \"prompt\"", "the same; the input follows the prompt"},
		{"artoo COMMAND", "see Commands; artoo -- WORDS is always a prompt"},
	}
}

// examples are command lines to begin with, each with its meaning.
func examples() [][2]string {
	return [][2]string{
		{"artoo \"why does the login test fail?\"", "A conversation that begins with a question:"},
		{"git diff | artoo -p \"review this change\" > review.md", "A stage of a pipeline; the answer is Markdown:"},
		{
			"artoo -p --approval edits --allow 'bash(go test:*)' \"make the tests pass\"",
			"Work unattended, within your rules:",
		},
	}
}

const environmentIntro = "" +
	"Each setting is a variable, and a key of config.toml: the name without ARTOO_, in lower case, " +
	"in the section that its heading names. A key in another section is an error. " +
	"Flags win over variables, variables over the file. An empty variable counts as not set."

func environmentPage() []helpSection {
	page := []helpSection{{Text: strings.Join(wrap(environmentIntro, width), "\n") + "\n"}}
	page = append(page, variableSections()...)
	others := helpSection{Title: "Variables of other programs that artoo honours", Column: variableColumn}
	for _, v := range config.ForeignVariables() {
		others.Rows = append(others.Rows, [2]string{v.Name, v.Meaning})
	}
	files := helpSection{Title: "Files", Column: variableColumn}
	for _, f := range config.Files() {
		files.Rows = append(files.Rows, [2]string{f.Name, f.Meaning})
	}
	return append(page, others, files)
}

// newHelp is `artoo help [TOPIC]`: a command's page, a page of the documentation, or both.
func newHelp(l commandLine, root *cobra.Command) *cobra.Command {
	c := l.command("help [environment|COMMAND|TOPIC]", "print a page of help or documentation", noSettings)
	c.Args = cobra.ArbitraryArgs
	c.ValidArgsFunction = func(_ *cobra.Command, before []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(before) > 0 {
			return cobra.NoFileCompletions(nil, nil, "")
		}
		words := []candidate{{word: environment}}
		for _, c := range root.Commands() {
			if !c.Hidden {
				words = append(words, candidate{c.Name(), c.Short})
			}
		}
		for _, t := range l.topics() {
			words = append(words, candidate{t, ""})
		}
		return offered(words, begun)
	}
	c.RunE = func(c *cobra.Command, words []string) error { return l.help(c, words) }
	return c
}

func (l commandLine) help(c *cobra.Command, words []string) error {
	topic := strings.ToLower(strings.Join(words, " "))
	about, rest, err := c.Root().Find(words)
	page, readErr := fs.ReadFile(l.docs(), path.Join("docs", topic+".md"))
	isCommand := err == nil && about.HasParent() && len(rest) == 0
	switch {
	case len(words) == 0:
		return c.Root().Help()
	case topic == environment:
		printHelp(c.OutOrStdout(), environmentPage())
		return nil
	case topic == "topics":
		page = []byte(strings.Join(l.topics(), "\n") + "\n")
	case isCommand:
		if err := about.Help(); err != nil || readErr != nil {
			return err
		}
		page = append([]byte("\n"), page...)
	case readErr != nil:
		at, found := l.sectionAbout(topic)
		if !found {
			hint := "artoo help topics, or "
			if near := spelling.Nearest(topic, l.topics()); near != "" {
				hint = "artoo help " + near + ", " + hint
			}
			return l.cannotTake(c, "help", words, hint)
		}
		page = []byte(at.text + "\nThe whole page: artoo help " + at.page + "\n")
	}
	return l.showPage(c.OutOrStdout(), string(page), topic == "topics" || isCommand && readErr != nil)
}

// docs are the pages of the documentation; a process may have none.
func (l commandLine) docs() fs.FS {
	if l.app.process.Docs == nil {
		return embed.FS{}
	}
	return l.app.process.Docs
}

// topics are the pages of the documentation, by name.
func (l commandLine) topics() (names []string) {
	found, _ := fs.Glob(l.docs(), "docs/*.md") // the pattern is well formed
	for _, name := range found {
		names = append(names, strings.TrimSuffix(path.Base(name), ".md"))
	}
	return names
}

// flagSections are the settings that have a flag, by heading.
func flagSections() []helpSection {
	return settingSections(flagColumn, func(o config.Option) (heading, name string) {
		if o.Flag == "" {
			return "", ""
		}
		return o.Group, flagText(o.Short, o.Flag, o.Arg)
	})
}

// variableSections are the settings that have a variable, by heading and section of config.toml.
func variableSections() []helpSection {
	return settingSections(variableColumn, func(o config.Option) (heading, name string) {
		return o.Group + ", [" + o.Section + "]", o.Env
	})
}

// settingSections are the settings that place gives a name, by heading.
func settingSections(column int, place func(config.Option) (heading, name string)) (sections []helpSection) {
	for _, o := range config.Options() {
		heading, name := place(o)
		if name == "" {
			continue
		}
		if n := len(sections); n == 0 || sections[n-1].Title != heading {
			sections = append(sections, helpSection{Title: heading, Column: column})
		}
		last := &sections[len(sections)-1]
		last.Rows = append(last.Rows, [2]string{name, describe(o)})
	}
	return sections
}

// flagText is a flag as the help shows it, its long form below that of the others.
func flagText(short, long, arg string) string {
	text := "    "
	if short != "" {
		text = "-" + short + ", "
	}
	return strings.TrimRight(text+"--"+long+" "+arg, " ")
}

// describe is an option's meaning with its choices and its default.
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

// helpRow puts the second text from the column on, on the next line where the first is too long.
func helpRow(column int, texts [2]string) string {
	var b strings.Builder
	left, lines := "  "+texts[0], wrap(texts[1], width-column)
	if utf8.RuneCountInString(left) > column-2 || len(lines) == 0 {
		b.WriteString(left + "\n")
		left = ""
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "%-*s%s\n", column, left, l)
		left = ""
	}
	return b.String()
}

// wrap breaks text at spaces into lines of at most n characters; longer words stand alone.
func wrap(text string, n int) (lines []string) {
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last < 0 || utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) > n {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return lines
}
