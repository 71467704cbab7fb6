package agent

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	"artoo/agent/instructions"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/builtin"
	"artoo/tool/environ"
	"artoo/tool/mcp"
	"artoo/tool/text"
)

// modelNotes is all that the model knows of its rights and its place. A note with the next message corrects changed
// facts.
type modelNotes struct {
	settings     settings
	known        string        // the settings as the model knows them, see settings.key; "" where they are others
	instructions []instruction // The model knows these.
	found        []instruction // all files that were found, those that are not used too
	nested       []instruction // those of directories that were touched later
	git          <-chan string // It gives the state that git reports as the session begins; nil once the model has it.
}

// key distinguishes settings. The mode counts also where no line names it.
func (s settings) key() string { return string(s.Rights.Mode) + "\n" + s.String() }

func (s settings) in(mode permission.Mode) settings {
	s.Rights = s.Rights.In(mode)
	return s
}

func (n *modelNotes) begin(s *session, now settings, found []instruction, resumed bool) {
	*n = modelNotes{settings: now, found: found}
	w := s.opt.Workspace
	if w == nil || now.knownFrom(s.system, s.conv.Messages()) {
		n.known = now.key()
	}
	if w == nil {
		return
	}
	if !resumed {
		n.git = w.gitState(s.opt.Env.Environ)
	}
	n.instructions = inForce(found)
	for i, f := range n.instructions {
		if !strings.Contains(s.system, strings.TrimSpace(f.Text)) {
			n.instructions[i].Text = "" // a resumed session began with another text
		}
	}
	s.guide = w.guide(s.opt.Env.Files, n.instructions, func(nested []instruction) {
		n.nested = append(n.nested, nested...)
		s.report(slices.Concat(n.found, n.nested))
	})
}

// files are those that were found. A rule that waited at the beginning is listed once.
func (n *modelNotes) files() []instruction {
	return slices.DeleteFunc(slices.Concat(n.found, n.nested), func(f instruction) bool {
		sent := func(nested instruction) bool { return nested.Path == f.Path }
		return f.Why == instructions.Waiting && slices.ContainsFunc(n.nested, sent)
	})
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

func (n *modelNotes) next(s *session) (notes []provider.Part) {
	tell := func(note provider.Note, text string) {
		if text != "" {
			notes = append(notes, provider.Text{Note: note, Text: text})
		}
	}
	b, w := n, s.opt.Workspace
	// A provider that runs tools of its own has its own rules.
	now := b.settings
	now.Rights = s.opt.Policy.Rights(now.Rights.Headless) // trust and the sandbox may have changed too
	if now.key() != b.known && s.foreignRules() == "" {
		if now.inSomeMode(func(then settings) bool { return then.key() == b.known }) {
			tell(provider.NoteMode, now.modeNote())
		} else {
			tell(provider.NoteSettings, now.note())
		}
		b.known = now.key()
	}
	tell(provider.NoteServers, s.serversChanged())
	if w == nil {
		return notes
	}
	if b.git != nil {
		if said := <-b.git; said != "" {
			tell(provider.NoteGit, "(Git, as the session begins: "+w.masked(said)+")")
		}
		b.git = nil
	}
	found, _, err := w.instructions(s.opt.Env.Files)
	if err != nil {
		tell(provider.NoteInstructions, fmt.Sprintf("(The instruction files can no longer be read: %v.)", err))
		return notes
	}
	texts := inForce(found)
	tell(provider.NoteInstructions, instructionsChanged(b.instructions, texts))
	b.instructions, b.found = texts, found
	s.report(slices.Concat(found, n.nested))
	return notes
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
	now.ReadDirs, now.WriteDirs = w.AddedDirs()
	return now
}

// gitState asks git meanwhile: neither the first message nor the prompt waits for it.
func (w *Workspace) gitState(environ []string) <-chan string {
	state := make(chan string, 1)
	go func() {
		said, err := guard(func() (string, error) { return w.Project.GitState(context.Background(), environ), nil })
		if err != nil {
			said = err.Error()
		}
		state <- said
	}()
	return state
}

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

// promptInfo holds the values in the system prompt. It never changes: the prompt is the prefix of
// every request.
type promptInfo struct {
	Dir, Root    string    // the working directory and the project root, absolute
	Platform     string    // such as "linux/amd64"
	Date         time.Time // The model learns the day, not the hour.
	Shell        string    // the shell commands run in, "" without a shell
	Programs     string    // Programs names the usual programs that PATH has and lacks; "" where no command can run.
	Superuser    bool      // commands run as root
	Tests        string    // the command that runs the project's tests, "" where no manifest names one
	Git          bool      // the project root is a git work tree
	Branch       string    // the branch that is checked out, "" for none
	Replace      string    // the user's own system prompt instead of artoo's first part; "" for none
	Append       string    // the user's addition; "" for none
	Settings     settings
	Instructions []instruction // the AGENTS.md texts, already read
}

// promptText is the prompt with places for values that differ.
//
//go:embed prompt.md
var promptText string

func systemPrompt(info promptInfo) string {
	if !info.Settings.offers("bash") {
		info.Shell, info.Programs, info.Superuser, info.Tests = "", "", false, ""
	}
	parsed := template.Must(template.New("prompt").Funcs(template.FuncMap{"trim": strings.TrimSpace}).Parse(promptText))
	var b strings.Builder
	if err := parsed.Execute(&b, info); err != nil {
		panic("prompt.md: " + err.Error()) // a mistake in the file, which every test would find
	}
	return b.String()
}

// systemPrompt is the prompt of a session that begins.
func (w *Workspace) systemPrompt(now settings, instructions []instruction, environ []string) string {
	return systemPrompt(promptInfo{
		Dir: w.Project.Dir, Root: w.Project.Root, Git: w.Project.Git, Branch: w.Project.Branch(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Programs: usualPrograms(environ),
		Superuser: os.Geteuid() == 0, Tests: testCommand(w.Project.Root),
		Date: w.Began, Shell: w.Shell, Replace: w.Replace, Append: w.Append, Settings: now, Instructions: instructions,
	})
}

// usualPrograms lists which of the usual programs PATH has and which not: a model that knows need not try.
func usualPrograms(variables []string) string {
	var has, lacks []string
	dirs := filepath.SplitList(environ.Vars(variables).Get("PATH"))
	for _, name := range []string{"python3", "node", "go", "cargo", "rg"} {
		if slices.ContainsFunc(dirs, func(dir string) bool { return executable(filepath.Join(dir, name)) }) {
			has = append(has, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		has = append(has, "no "+strings.Join(lacks, ", no "))
	}
	return strings.Join(has, ", ")
}

// serversChanged describes for the model the tools that came and went since the last such note; "" where nothing
// changed. Those of a server that was not listed before are no news: the model listed it.
func (s *session) serversChanged() string {
	m := s.opt.Env.MCP
	if m == nil || s.parent != nil {
		return ""
	}
	var said []string
	for _, server := range m.Servers() {
		before, now := s.catalogues[server.Name], toolNamesOf(m, server.Name)
		s.catalogues[server.Name] = now
		if before == nil {
			continue
		}
		for _, list := range []struct {
			what         string
			those, other []string
		}{{"new", now, before}, {"gone", before, now}} {
			names := slices.DeleteFunc(slices.Clone(list.those), func(n string) bool { return slices.Contains(list.other, n) })
			if len(names) > 0 {
				said = append(said, list.what+": "+text.UpTo(mostNamed, names))
			}
		}
	}
	if said == nil {
		return ""
	}
	return "(Tools of MCP servers have changed. " + strings.Join(said, "; ") + ". mcp_find, where you have it, shows them; call them by these names.)"
}

// toolNamesOf are the whole names of a server's tools as they are known; nil where none are.
func toolNamesOf(m *mcp.Manager, server string) (names []string) {
	tools, _ := m.Outlines(server)
	for _, t := range tools {
		names = append(names, t.Full)
	}
	return names
}

// mostNamed is how many of the changes are named in a line of text.
const mostNamed = 20
