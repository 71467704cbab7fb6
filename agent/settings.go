package agent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"artoo/agent/permission"
	"artoo/tool"
)

// settings are what the model is told of what it may do here.
type settings struct {
	Mode      permission.Mode
	Headless  bool     // nobody can be asked
	NoProject bool     // see Policy.NoProject
	Tools     []string // the names of the tools that are offered
	Without   []string // those that most sessions have and this one has not
	// ReadDirs and WriteDirs are open besides the project, absolute.
	ReadDirs, WriteDirs []string
	Allow, Ask, Deny    []permission.Rule
}

// offers reports whether one of the tools is there.
func (s settings) offers(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.Tools, n) })
}

// String is the settings in lines, as the system prompt has them.
func (s settings) String() string {
	var b strings.Builder
	row := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", what, text)
		}
	}
	for _, dir := range s.ReadDirs {
		row("Also open, for reading", dir)
	}
	for _, dir := range s.WriteDirs {
		row("Also open, for reading and writing", dir)
	}
	row("Not offered here", strings.Join(s.Without, ", "))
	row("Approval", s.approval())
	if s.Mode == permission.ModePlan {
		row("Denied by rule, also for reading", ruleList(s.Deny))
		return b.String()
	}
	row("Allowed by rule", ruleList(s.Allow))
	if s.Headless {
		row("Refused by rule, since it would be asked", ruleList(s.Ask))
	} else {
		row("Asked by rule", ruleList(s.Ask))
	}
	row("Denied by rule", ruleList(s.Deny))
	return b.String()
}

// mostRules is how many rules of a kind are named.
const mostRules = 30

func ruleList(rules []permission.Rule) string {
	var words []string
	for _, r := range rules {
		words = append(words, r.String())
	}
	return tool.ListUpTo(mostRules, words)
}

// approval says what runs unasked with the tools there are; "" without tools.
func (s settings) approval() string {
	var free, other []string
	if s.offers("read", "ls", "glob", "grep") {
		free = append(free, "reading files")
	}
	if s.offers("write", "edit", "apply_patch") {
		other = append(other, "every edit")
	}
	if s.offers("bash") {
		free = append(free, "plain reading commands (ls, cat, grep, git status, git diff and the like, inside the project)")
		other = append(other, "every other command")
	}
	if len(free)+len(other) == 0 {
		return ""
	}
	reads := strings.Join(free, " and ")
	if reads != "" {
		reads += " run unasked"
	}
	if s.Mode == permission.ModePlan {
		return "plan mode: " + join(reads, "; ") + "everything else is refused. End with a plan."
	}
	if (s.Mode == permission.ModeEdits || s.Mode == permission.ModeAuto) && s.offers("write", "edit", "apply_patch") && !s.NoProject {
		other = slices.DeleteFunc(other, func(o string) bool { return o == "every edit" })
		reads = join(reads, ", and so do ") +
			"edits inside the project (not of files that others run: hooks, CI, editor settings)"
		if len(free) == 0 {
			reads += " run unasked"
		}
	}
	if len(other) == 0 {
		return reads + "."
	}
	return join(reads, "; ") + strings.Join(other, " and ") + s.asked()
}

// asked is what becomes of the rest.
func (s settings) asked() string {
	asked := " is asked of the user first"
	if s.Headless {
		asked = " is refused, since nobody is there to ask"
	}
	if len(s.Allow) > 0 {
		asked += ", unless a rule below allows it"
	}
	return asked + "."
}

func join(first, then string) string {
	if first == "" {
		return ""
	}
	return first + then
}

// promptInfo is what the system prompt tells the model of where it is. Made at
// the session's start and never changed: the prompt is the prefix of every
// request.
type promptInfo struct {
	Dir, Root    string    // the working directory and the project root, absolute
	Platform     string    // such as "linux/amd64"
	Date         time.Time // the day is told, not the hour
	Shell        string    // the shell commands run in, "" when there is none
	Git          bool      // the project root is a git work tree
	Branch       string    // the branch that is checked out, "" for none
	Replace      string    // the user's own system prompt instead of artoo's first part; "" for none
	Append       string    // the user's addition; "" for none
	Settings     settings
	Instructions []instruction // the AGENTS.md texts, already read
}

// instruction is one instructions file.
type instruction struct{ Path, Text string }

// promptText is the prompt with places for what differs.
//
//go:embed prompt.md
var promptText string

func systemPrompt(info promptInfo) string {
	if !info.Settings.offers("bash") {
		info.Shell = ""
	}
	parsed := template.Must(template.New("prompt").Funcs(template.FuncMap{"trim": strings.TrimSpace}).Parse(promptText))
	var b strings.Builder
	if err := parsed.Execute(&b, info); err != nil {
		panic("prompt.md: " + err.Error()) // a mistake in the file, which every test would find
	}
	return b.String()
}

// SettingsChanged makes rules that were changed in the policy known, and offers these
// tools only, from the next message on. A session without a message is begun anew, so
// that its prompt says so; else the model is told with the next message. To be called
// between turns.
func (a *Agent) SettingsChanged(tools []tool.Tool) error {
	a.opt.Tools = tools
	if s := a.conv.Session(); len(a.conv.Messages()) == 0 && (s == nil || !s.Resumed()) {
		return a.change(nil)
	}
	a.briefing.settings = a.settingsNow()
	a.conv.SetOverhead(a.system, a.specs)
	return nil
}
