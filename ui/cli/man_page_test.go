package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
)

// manDate is the day the words of the manual page that stand in no table were
// last looked over.
const manDate = "2026-11-21"

// manWidth is the widest line of the page's source, a limit of mails and old tools.
const manWidth = 78

// manPage is artoo.1, in the man macros, made from the same tables as --help. It
// is ASCII.
func manPage() string {
	var m manual
	fmt.Fprintf(&m, ".\\\" Made from the tables of the program. Do not edit: a test compares.\n")
	fmt.Fprintf(&m, ".TH ARTOO 1 \"%s\" \"artoo\" \"User Commands\"\n", manDate)
	m.section("NAME")
	m.text("artoo - a coding agent for the terminal and the pipe")
	m.section("SYNOPSIS")
	for i, u := range usages() {
		if i > 0 {
			m.request(".br")
		}
		m.code(u[0])
	}
	m.section("DESCRIPTION")
	for i, paragraph := range manIntro() {
		if i > 0 {
			m.request(".PP")
		}
		m.text(paragraph)
	}
	m.section("COMMANDS")
	m.text("The first word decides. Words that a command cannot take are most often a prompt: artoo -- WORDS sends them.")
	for _, c := range (commandLine{newApp(new(session))}).commands().Commands() {
		m.item(c.Use, c.Short)
	}
	m.section("OPTIONS")
	manOptions(&m)
	m.section("EXIT STATUS")
	for _, e := range agent.Exits {
		m.item(fmt.Sprint(e.Code), e.Meaning)
	}
	m.request(".PP")
	m.text("A headless run that a signal ended dies of it, so shells show 130, 143, 129 or 141.")
	m.section("ENVIRONMENT")
	m.text(environmentIntro)
	manSettings(&m, variableSections())
	m.request(".SS Variables of others")
	for _, v := range config.ForeignVariables() {
		m.item(v.Name, v.Meaning)
	}
	m.section("FILES")
	for _, f := range config.Files() {
		m.item(f.Name, f.Meaning)
	}
	m.section("EXAMPLES")
	for i, e := range examples() {
		if i > 0 {
			m.request(".PP")
		}
		m.text(e[1])
		m.request(".IP")
		m.code(e[0])
	}
	m.section("SEE ALSO")
	m.text("less(1), git(1)")
	return m.String()
}

// manOptions are the flags under the headings of the help.
func manOptions(m *manual) {
	manSettings(m, flagSections())
	m.request(".SS Help")
	m.item("-h, --help", "a page of help; --help environment lists the variables")
	m.item("--version", "name and version")
}

func manSettings(m *manual, sections []helpSection) {
	for _, s := range sections {
		m.request(".SS " + s.Title)
		for _, row := range s.Rows {
			m.item(strings.TrimLeft(row[0], " "), row[1])
		}
	}
}

func manIntro() []string {
	var names []string
	for _, f := range provider.Known() {
		if f.Key != provider.KeyNever {
			names = append(names, f.Name)
		}
	}
	last := len(names) - 1
	return []string{
		"With terminals on standard input and standard error, artoo holds a conversation: lines scroll, nothing is repainted, " +
			"and a question stands before anything is changed or run. Otherwise, and with -p, it answers one message and leaves, " +
			"as a stage of a pipeline.",
		"The answer goes to standard output, everything else to standard error. Where no one can answer, what would " +
			"need a question is refused, and the exit status says so.",
		"The providers are " + strings.Join(names[:last], ", ") + " and " + names[last] +
			", which is any server with the " +
			"Chat Completions interface. artoo connects only to the chosen one, to the pages and searches of the web tools, " +
			"and to what a setting or command of yours names. It sends no telemetry and never checks for updates.",
	}
}

// manual is a manual page in the making.
type manual struct{ strings.Builder }

// request writes a line of its own, as it is.
func (m *manual) request(line string) { m.WriteString(line + "\n") }

func (m *manual) section(name string) { m.request(".SH " + name) }

// item is a term with its meaning.
func (m *manual) item(term, meaning string) {
	m.request(".TP")
	m.code(term)
	m.text(capital(meaning) + ".")
}

// code writes a line that is typed as it stands, in bold.
func (m *manual) code(text string) { m.request("\\fB" + escape(text) + "\\fP") }

// text writes running text, filled by the formatter.
func (m *manual) text(text string) {
	for _, line := range wrap(text, manWidth-10) { // escapes make it longer
		m.request(escape(line))
	}
}

func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if word, _, _ := strings.Cut(text, " "); word != strings.ToLower(word) || strings.ContainsAny(word, "`+/") {
		return text // a name, or something that is typed
	}
	return strings.ToUpper(string(first)) + text[size:]
}

// escape writes text so that the formatter shows it as it is: hyphens as one
// types them, quotes straight.
func escape(text string) string {
	text = strings.NewReplacer(
		`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, `"`, `\(dq`, "^", `\(ha`, "~", `\(ti`, "…", "...", "–", `\(en`,
	).Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
