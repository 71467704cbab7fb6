package agent

import (
	"fmt"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/builtin"
	"artoo/tool/mcp"
	"artoo/tool/text"
)

type settings struct {
	Rights  permission.Rights
	Tools   []string // the names of the tools that are offered
	Without []string // those that most sessions have and this one has not
	// ReadDirs and WriteDirs are open besides the project, absolute.
	ReadDirs, WriteDirs []string
	Allow, Ask, Deny    []string
	Caps                string // the caps on effects; "" for none
	// ServersRead means that the user lists tools of MCP servers as reading.
	ServersRead bool
}

// key distinguishes settings. The mode counts also where no line names it.
func (s settings) key() string { return string(s.Rights.Mode) + "\n" + s.String() }

func (s settings) in(mode permission.Mode) settings {
	s.Rights = s.Rights.In(mode)
	return s
}

// knownFrom reports whether the newest note of a history, or else the prompt, has these settings
// word for word.
func (s settings) knownFrom(system string, history []provider.Message) bool {
	for _, m := range slices.Backward(history) {
		for _, p := range m.Parts {
			switch text, _ := p.(provider.Text); text.Note {
			case provider.NoteSettings:
				return text.Text == s.note()
			case provider.NoteMode: // This reports the mode; is everything else as in the prompt?
				return text.Text == s.modeNote() &&
					s.inSomeMode(func(then settings) bool { return strings.Contains(system, then.String()) })
			}
		}
	}
	return strings.Contains(system, s.String())
}

func (s settings) inSomeMode(holds func(settings) bool) bool {
	return slices.ContainsFunc(modes, func(m permission.Mode) bool { return holds(s.in(m)) })
}

// modes are all modes, the strictest first.
var modes = []permission.Mode{permission.ModePlan, permission.ModeAsk, permission.ModeEdits, permission.ModeAuto}

func (s settings) note() string {
	return "(The settings are not those that this session began with. Now they are:\n" + strings.TrimSuffix(s.String(), "\n") + ")"
}

func (s settings) modeNote() string {
	s.Allow = nil
	now := s.approval()
	if s.Rights.Mode != permission.ModePlan {
		now = strings.TrimSpace(now + " The user's rules hold as before.")
	}
	return "(The approval mode is now " + string(s.Rights.Mode) + ": " + now + ")"
}

func (s *session) settingsNow() settings {
	policy := s.opt.Policy
	w := s.opt.Workspace
	now := settings{Rights: policy.Rights(w != nil && w.Headless), Allow: s.ruleTexts(policy.AllowRules), Ask: s.ruleTexts(policy.AskRules),
		Deny: s.ruleTexts(policy.DenyRules), Caps: s.opt.Limits.Effects.String()}
	for _, t := range s.offered() {
		if t.For == "" { // the others come and go with the files that they are for
			now.Tools = append(now.Tools, t.Name)
		}
	}
	if m := s.opt.Env.MCP; m != nil {
		now.ServersRead = slices.ContainsFunc(m.Servers(), func(i mcp.Info) bool { return len(i.Read) > 0 })
	}
	if w == nil {
		return now
	}
	for _, name := range builtin.Usual(w.Shell) {
		if !slices.Contains(now.Tools, name) && !s.replaced(name) {
			now.Without = append(now.Without, name)
		}
	}
	now.ReadDirs, now.WriteDirs = w.Added.Read, w.Added.Write
	return now
}

// ofServers reports whether a tool stands for MCP servers.
func ofServers(name string) bool {
	return name == builtin.FindTool || name == builtin.CallTool || strings.HasPrefix(name, "mcp__")
}

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
	if can := s.Rights.Confinement; can.Sandbox && (can.Layer || can.ByEntry) && s.offers("bash") {
		row("Hidden from commands", "files such as .env and keys look absent there, but exist; git takes those that it tracks for unchanged")
	}
	row("Approval", s.approval())
	if s.Rights.Confinement.Layered {
		row("This run", "all of it works on a layer over the project: its changes are handed over as a patch, or land at the end. Do not commit")
	}
	if s.Caps != "" {
		row("Caps on this run's changes", s.Caps+". A change beyond them is refused whole, and ends the run. Commands work on layers, in the background too")
	}
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

func ruleList(rules []string) string { return text.UpTo(mostRules, rules) }

// ruleTexts are the rules as the model may read them.
func (s *session) ruleTexts(rules []permission.Rule) (texts []string) {
	for _, r := range rules {
		texts = append(texts, s.maskedWords(r.String()))
	}
	return texts
}

// approval describes the fates of calls in clauses: what runs unasked, how other commands run, and what is asked or
// refused; "" without tools.
func (s settings) approval() string {
	r := s.Rights
	plan := r.Mode == permission.ModePlan
	bash, edits := s.offers("bash"), s.offers("write", "edit", "apply_patch")
	var free, rest, that []string
	if s.offers("read", "ls", "glob", "grep") {
		free = append(free, "reading files")
	}
	if bash && r.Reading == permission.Unasked && !r.Confinement.Layer {
		free = append(free, "reading commands in the project (ls, grep, git diff …)")
	}
	if edits && r.Edits == permission.Unasked {
		free = append(free, "edits in the project except auto-executed files (hooks, CI, editor settings)")
	} else if edits && !plan {
		rest = append(rest, "every edit")
	}
	if bash && r.Commands != permission.Unasked && !plan {
		rest = append(rest, "every other command")
	}
	servers := slices.ContainsFunc(s.Tools, ofServers)
	if servers && !plan {
		rest = append(rest, "every call of an MCP server")
	}
	var said []string
	say := func(fate string, of []string) {
		if len(of) > 0 {
			said = append(said, fate+": "+strings.Join(of, ", "))
		}
	}
	say("unasked", free)
	if bash && r.Commands == permission.Unasked {
		said = append(said, s.commands())
		that = s.notFree()
	}
	fate := r.Outside
	if r.Own != permission.Unasked {
		fate = r.Own
	}
	switch {
	case plan && len(free) == 0 && !edits && !(bash && r.Commands != permission.Unasked) && said == nil:
		return ""
	case s.comesTo(fate) == s.comesTo(r.Fetching):
		say(s.comesTo(fate), append(rest, that...))
	default:
		say(s.comesTo(r.Fetching), rest)
		say(s.comesTo(fate), that)
	}
	if servers && s.ServersRead && plan {
		say(s.comesTo(r.Servers), []string{"calls of MCP tools that the user lists as reading"})
	}
	switch text := strings.Join(said, "; "); {
	case plan:
		return "plan mode: " + join(text, "; ") + "everything else is refused. End with a plan."
	case text == "":
		return ""
	default:
		return text + "."
	}
}

// notFree names the commands that do not run unasked where most do.
func (s settings) notFree() (that []string) {
	r := s.Rights
	if r.Own != permission.Unasked {
		that = append(that, "the project's own programs (builds, tests, scripts)")
	}
	if r.Mode == permission.ModePlan {
		return that // It refuses everything else.
	}
	if !r.Confinement.Layer {
		that = append(that, "throwing work away (git reset --hard, rm -r and the like)", "changing auto-executed files")
	}
	if r.Background != permission.Unasked {
		that = append(that, "background commands")
	}
	if r.Outside != permission.Unasked {
		that = append(that, "whatever needs the network, keys, the home or another program's service")
	}
	return that
}

func (s settings) commands() string {
	r := s.Rights
	most, held := "most other commands run in a sandbox", " (loopback only, no keys, no home)"
	if r.Confinement.Layer {
		most = "commands run in a sandbox"
	}
	if r.Confinement.Layer && r.Confinement.Proxy && r.Mode != permission.ModePlan {
		held = " (no keys, no home; network to loopback, package registries and addresses in the line alone)"
	}
	switch {
	case !r.Confinement.Sandbox:
		return "most other commands run on this machine as they are, and their changes stay"
	case r.Confinement.Network:
		return most + " (no keys, no home), and their changes in the project stay"
	case !r.Confinement.Layer:
		return most + held + ", and their changes in the project stay"
	}
	lands, except := "", ""
	switch r.Lands {
	case permission.Bookkeeping:
		lands, except = "build output and git staging land", "other changes"
	case permission.Content:
		lands, except = "their changes land", "losses and auto-executed files"
	case permission.Loss:
		lands, except = "their changes land", "auto-executed files and .git, which is read-only,"
	default:
		return most + held + " on a copy of the project, and their changes are discarded"
	}
	becomes := " are asked about afterwards"
	if r.Beyond == permission.Discarded {
		becomes = " are discarded"
	}
	return most + held + " on a copy of the project: " + lands + ", but " + except + becomes
}

func (s settings) comesTo(fate permission.Fate) string {
	asked := "asked of the user first"
	if fate == permission.Refused {
		asked = "refused"
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
