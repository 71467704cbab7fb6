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
	Rights  permission.Rights
	Tools   []string // the names of the tools that are offered
	Without []string // those that most sessions have and this one has not
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
	if can := s.Rights.Confinement; can.Sandbox && !can.Shows && s.offers("bash") {
		row("Hidden from commands", "denied files, such as .env and keys; there they look absent or deleted, and are not")
	}
	row("Approval", s.approval())
	if s.Rights.Mode == permission.ModePlan {
		row("Denied by rule, also for reading", ruleList(s.Deny))
		return b.String()
	}
	row("Allowed by rule", ruleList(s.Allow))
	if s.Rights.Headless {
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

// approval says what runs and lands unasked with the tools there are, and what becomes
// of the rest; "" without tools.
func (s settings) approval() string {
	r := s.Rights
	bash, edits := s.offers("bash"), s.offers("write", "edit", "apply_patch")
	var free, rest []string
	if s.offers("read", "ls", "glob", "grep") {
		free = append(free, "reading files")
	}
	if edits && r.Edits != permission.Unasked {
		rest = append(rest, "every edit")
	}
	if bash && r.Reading == permission.Unasked {
		free = append(free, "plain reading commands (ls, cat, grep, git status, git diff and the like, inside the project)")
	}
	if bash && r.Commands != permission.Unasked {
		rest = append(rest, "every other command")
	}
	var said []string
	say := func(text string) { said = append(said, text) }
	first := ""
	if len(free) > 0 {
		first = strings.Join(free, " and ") + " run unasked"
	}
	if edits && r.Edits == permission.Unasked {
		const inside = "edits inside the project (not of files that others run: hooks, CI, editor settings)"
		if first = join(first, ", and so do ") + inside; len(free) == 0 {
			first += " run unasked"
		}
	}
	switch {
	case r.Mode == permission.ModePlan && len(free) == 0 && len(rest) == 0:
		return ""
	case r.Mode != permission.ModePlan && len(rest) > 0:
		first = join(first, "; ") + strings.Join(rest, " and ") + " " + s.comesTo("is", r.Fetching)
	}
	if first != "" {
		say(first)
	}
	if bash && r.Commands == permission.Unasked {
		say(s.commands())
		var that []string
		fate, background := r.Outside, ""
		if r.Own != permission.Unasked {
			that, fate = append(that, "run the project's own programs (builds, tests, scripts)"), r.Own
		}
		if r.Mode != permission.ModePlan { // which refuses everything else
			if !r.Confinement.Layer && r.Beyond == "" {
				that = append(that, "throw work away (git reset --hard, rm -r and the like)", "change files that others run")
			}
			that = append(that, "need the network, keys, the home or another program's service")
			if r.Background != permission.Unasked {
				background = ", and background commands,"
			}
		}
		if that != nil {
			say("commands that " + strings.Join(that, " or ") + background + " " + s.comesTo("are", fate))
		}
	}
	switch text := strings.Join(said, "; "); {
	case r.Mode == permission.ModePlan:
		return "plan mode: " + join(text, "; ") + "everything else is refused. End with a plan."
	case text == "":
		return ""
	default:
		return text + "."
	}
}

// commands says what becomes of a foreground command that is not asked about.
func (s settings) commands() string {
	r := s.Rights
	const most, held = "most other commands run unasked in a sandbox", " (no network except loopback, no keys, no home)"
	switch {
	case r.Beyond != "" && !r.Confinement.Layer:
		return most + ", read-only (no network, no keys, no home); those that try to write " + s.comesTo("are", r.Beyond)
	case r.Confinement.Network:
		return most + " (no keys, no home); what they change in the project stays"
	case !r.Confinement.Layer:
		return most + held + "; what they change in the project stays"
	}
	lands, except := "", ""
	switch r.Lands {
	case permission.Bookkeeping:
		lands, except = "build output and git staging land in the project", "other changes"
	case permission.Content:
		lands, except = "their changes land in the project", "losses, taking away the user's uncommitted work, and files that others run"
	case permission.Uncommitted:
		lands, except = "their changes land in the project", "losses and files that others run"
	default:
		return most + held + " on a copy of the project; their changes are discarded"
	}
	becomes := " are asked of the user afterwards"
	if r.Beyond == permission.Discarded {
		becomes = " are discarded, since no one can answer"
	}
	return most + held + " on a copy of the project; " + lands + ", but " + except + becomes
}

// comesTo is what becomes of acts that do not run unasked.
func (s settings) comesTo(verb string, fate permission.Fate) string {
	asked := verb + " asked of the user first"
	if fate == permission.Refused {
		asked = verb + " refused"
		if s.Rights.Headless && s.Rights.Mode != permission.ModePlan {
			asked += ", since no one can answer"
		}
	}
	if len(s.Allow) > 0 && s.Rights.Mode != permission.ModePlan {
		asked += ", unless a rule below allows it"
	}
	return asked
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
	Programs     string    // which of the usual programs the user's PATH has, and which not; "" where no command can run
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
		info.Shell, info.Programs = "", ""
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
