package doctor

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"artoo/agent/instructions"
	"artoo/provider"
	"artoo/tool/environ"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// Terminal has artoo's assumptions about its terminal.
type Terminal struct {
	Input, Output bool   // stdin and stderr are terminals
	Profile       string // rich, plain, spoken
	Why           string // why it is not rich; may be ""
	Color, UTF8   bool
	Columns       int
	Environ       environ.Vars
}

// CheckTerminal looks at a terminal and, with run, at the tmux around it.
func CheckTerminal(t Terminal, run Exec) Check {
	if !t.Output {
		return found(ok("terminal", "stderr is not a terminal: no conversation, artoo -p works"))
	}
	if !t.Input {
		return found(ok("terminal", "stdin is not a terminal: it is read as data"))
	}
	return func(ctx context.Context) []Finding { return append(t.check(), checkTmux(ctx, t.Environ, run)...) }
}

// check looks at the abilities of the terminal.
func (t Terminal) check() []Finding {
	const topic = "terminal"
	words := []string{"TERM=" + t.Environ.Get("TERM"), strconv.Itoa(t.Columns) + " columns", t.Profile}
	if t.Why != "" {
		words[2] += " (" + t.Why + ")"
	}
	words = append(words, map[bool]string{true: "colour", false: "no colour"}[t.Color],
		map[bool]string{true: "UTF-8", false: "ASCII"}[t.UTF8])
	found := []Finding{ok(topic, "%s", strings.Join(words, ", "))}
	if t.Environ.Get("TERM") == "" {
		found = append(found, warn(topic, "TERM=xterm-256color, or your terminal's own name", "TERM is not set"))
	}
	if !t.UTF8 {
		found = append(found, warn(topic, "LANG=C.UTF-8, or a locale of your language that ends in UTF-8",
			"the locale is not UTF-8: letters outside ASCII show as codes"))
	}
	if t.Columns > 0 && t.Columns < 40 {
		found = append(found, warn(topic, "make the window wider", "only %d columns", t.Columns))
	}
	return found
}

// checkTmux looks at the two settings of tmux that spoil keys and colours.
func checkTmux(ctx context.Context, vars environ.Vars, run Exec) []Finding {
	const topic = "tmux"
	if vars.Get("TMUX") == "" {
		return nil
	}
	var found []Finding
	if term := vars.Get("TERM"); !strings.HasPrefix(term, "tmux") && !strings.HasPrefix(term, "screen") {
		fix := `set -g default-terminal "tmux-256color" in ~/.tmux.conf, and unset TERM in the shell's own files`
		found = append(found, warn(topic, fix, "TERM is %s inside tmux", term))
	}
	_, out, err := run.limited(ctx, "tmux", "show-options", "-sv", "escape-time")
	if ms, e := strconv.Atoi(strings.TrimSpace(out)); err == nil && e == nil && ms > 100 {
		found = append(found, warn(topic, "set -sg escape-time 10 in ~/.tmux.conf", "the Escape key waits %d ms", ms))
	}
	if found == nil {
		found = []Finding{ok(topic, "set up well")}
	}
	return found
}

// CheckShell looks at the shell for commands; path is "" for none.
func CheckShell(path string) Check {
	switch {
	case path == "":
		return found(fail("shell", "install bash, or put it on PATH",
			"neither bash nor sh is installed: the tool bash cannot work"))
	case !strings.Contains(path, "bash"):
		return found(warn("shell", "install bash, which models write for", "%s runs commands, since there is no bash",
			path))
	}
	return found(ok("shell", "%s runs commands", path))
}

// CheckGit asks git for its version.
func CheckGit(run Exec) Check {
	const without = "install git: artoo finds files, branches and changes with it"
	return func(ctx context.Context) []Finding {
		switch path, out, err := run.limited(ctx, "git", "--version"); {
		case path == "":
			return []Finding{warn("git", without, "git is not installed")}
		case err != nil:
			return []Finding{warn("git", without, "git --version: %v", err)}
		default:
			return []Finding{ok("git", "%s", text.FirstLine(out))}
		}
	}
}

// CheckProject looks at the root of the project; problem says why there is none.
func CheckProject(root, problem string) Check {
	switch {
	case problem != "":
		return found(warn("project", "start artoo in a project's directory",
			"%s: artoo asks before every change and command", problem))
	case root != "":
		return found(ok("project", "%s", root))
	}
	return found()
}

// CheckRepository reports what is wrong with the repository of the project. look returns the problem, in git's own
// words, and its fix, each in a line; "" for none.
func CheckRepository(look func(ctx context.Context) (problem, fix string)) Check {
	return func(ctx context.Context) []Finding {
		if problem, fix := look(ctx); problem != "" {
			return []Finding{warn("repository", cmp.Or(fix, "git status and git fsck say more"), "%s", problem)}
		}
		return nil
	}
}

// CheckCLIs asks the coding CLIs that can stand in for a provider for their versions, side
// by side. chosen is the program of the chosen provider, "" where it needs none. If the
// program's version, said, is older than needed, tooOld returns the least version needed
// and the command that updates the program.
func CheckCLIs(chosen string, offline bool, run Exec, tooOld func(name, said string) (least, update string)) Check {
	return func(ctx context.Context) []Finding {
		var names []string
		for _, f := range provider.Known() {
			if f.Program != "" {
				names = append(names, f.Program)
			}
		}
		all := make([]Finding, len(names))
		var asked sync.WaitGroup
		for i, name := range names {
			asked.Go(func() {
				path, out, err := run.limited(ctx, name, "--version")
				version := cmp.Or(text.FirstLine(out), "no version")
				least, update := tooOld(name, version)
				broken := warn(name, "run "+path+" --version by hand", "%s does not work: %v", path, err)
				old := warn(name, update, "%s is too old: %s or newer is needed", version, least)
				if name == chosen {
					broken.Level, old.Level = Fail, Fail
				}
				switch {
				case path == "" && name == chosen:
					all[i] = fail(name, "install it, or choose another provider with --provider",
						"the chosen provider's program is not on PATH")
				case path == "":
					all[i] = ok(name, "not installed (optional)")
				case err != nil:
					all[i] = broken
				case name == chosen && offline:
					all[i] = fail(name, unsetOffline, "it connects to its vendor, which ARTOO_OFFLINE forbids")
				case least != "":
					all[i] = old
				default:
					all[i] = ok(name, "%s", version)
				}
			})
		}
		asked.Wait()
		return all
	}
}

// SandboxText names the sandbox of commands, or the reason why there is none. setting is that
// of ARTOO_SANDBOX.
func SandboxText(facts sandbox.Facts, setting string) string {
	switch {
	case setting == "off":
		return "off, as ARTOO_SANDBOX says: nothing confines commands but your answers and rules"
	case setting == "external" && unconfined(facts):
		return "external, as ARTOO_SANDBOX says: this machine is the sandbox; commands reach its network and hidden files"
	case unconfined(facts):
		return "none here: nothing confines commands but your answers and rules"
	}
	return facts.String()
}

func unconfined(facts sandbox.Facts) bool {
	return facts.Mechanism == "" || facts.Mechanism == sandbox.None
}

// CheckSandbox names the sandbox of commands. For each missing part it gives the reason and the cure.
func CheckSandbox(facts sandbox.Facts, setting string) Check {
	var all []Finding
	if !unconfined(facts) || len(facts.Missing) == 0 {
		all = append(all, ok("sandbox", "%s", SandboxText(facts, setting)))
	}
	for _, lack := range facts.Missing {
		f := warn("sandbox", cmp.Or(lack.Cure, "no fix known; without it artoo asks before calls that need it"), "no %s: %s", lack.What, lack.Why)
		if setting == "on" && unconfined(facts) {
			f.Level, f.Fix = Fail, cmp.Or(lack.Cure, "ARTOO_SANDBOX=auto asks before it runs commands unconfined")
		}
		all = append(all, f)
	}
	return found(all...)
}

// CheckVariables names the variables that commands do not get.
func CheckVariables(withheld []string) Check {
	if len(withheld) == 0 {
		return found()
	}
	return found(ok("variables", "withheld from commands: %s (ARTOO_PASS_ENV passes names)", strings.Join(withheld, ", ")))
}

// CheckConfig looks at the settings. file is "" where there is none; err says that they
// cannot be used.
func CheckConfig(file string, warnings []string, err error) Check {
	const topic = "config"
	if err != nil {
		return found(failure(topic, err))
	}
	all := []Finding{ok(topic, "%s", cmp.Or(file, "no config file (optional)"))}
	for _, line := range warnings {
		all = append(all, warn(topic, "fix the setting that it names", "%s", line))
	}
	return found(all...)
}

// CheckPolicy names the system's policy, in a line; "" finds nothing.
func CheckPolicy(policy string) Check {
	if policy == "" {
		return found()
	}
	return found(ok("policy", "%s", policy))
}

// Hook is a hook with the problem of its program, if it has one.
type Hook struct {
	Text  string // one line
	Wrong string // why its program cannot be started; "" for nothing
}

// CheckHooks looks whether the programs of hooks are there.
func CheckHooks(hooks []Hook) Check {
	var list []Finding
	for _, h := range hooks {
		if h.Wrong != "" {
			list = append(list, warn("hooks", "fix its command, or remove it: it denies every call it guards", "%s: %s", h.Text, h.Wrong))
			continue
		}
		list = append(list, ok("hooks", "%s", h.Text))
	}
	return found(list...)
}

// Place is a file or directory that artoo wrote, or would write to.
type Place struct {
	Path   string `json:"path"`   // absolute
	What   string `json:"what"`   // "sessions, history", a few words
	Exists bool   `json:"exists"` // false: nothing was written there yet
	Files  int    `json:"files"`  // counts subdirectories
	Bytes  int64  `json:"bytes"`
	Left   bool   `json:"left"` // another run made it, and may still go on
	Err    error  `json:"-"`    // it cannot be written, or looked at
}

// CheckSkills reports the files of skills, commands and agents that cannot be used, a line each.
func CheckSkills(skipped []string) Check {
	const topic = "skills"
	var all []Finding
	for _, line := range skipped {
		all = append(all, warn(topic, "fix the file, or remove it", "%s", line))
	}
	return found(all...)
}

// CheckFiles looks at the places that artoo writes to.
func CheckFiles(places []Place) Check {
	const topic = "files"
	var all []Finding
	var left Place
	for _, p := range places {
		switch {
		case p.Left:
			left.Path, left.Files, left.Bytes = filepath.Dir(p.Path), left.Files+p.Files, left.Bytes+p.Bytes
		case p.Err != nil:
			all = append(all, fail(topic, "check the owner and mode of "+p.Path, "%s (%s): %v", p.Path, p.What, p.Err))
		case p.Exists:
			all = append(all, ok(topic, "%s: %s, %s", p.Path, p.What, p.Size()))
		}
	}
	if left.Path != "" {
		all = append(all, ok(topic, "%s: left by earlier runs: %s (artoo doctor --paths lists them)", left.Path,
			left.Size()))
	}
	if all == nil {
		all = []Finding{ok(topic, "nothing is written yet")}
	}
	return found(all...)
}

// Size is how much is there, for people.
func (p Place) Size() string {
	return text.Count(p.Files, "file") + ", " + text.Bytes(p.Bytes)
}

// Keys are the places that hold a provider's key, the one that counts first.
type Keys struct {
	Provider string
	Places   []string
	Err      error // a place that cannot be used
}

// CheckKeys looks at the keys of each provider.
func CheckKeys(keys []Keys) Check {
	const topic = "keys"
	var all []Finding
	var said []string // one file that cannot be read is many providers' trouble
	for _, k := range keys {
		switch {
		case k.Err != nil && slices.Contains(said, k.Err.Error()):
		case k.Err != nil:
			said = append(said, k.Err.Error())
			all = append(all, failure(topic, k.Err))
		case len(k.Places) > 1:
			all = append(all, ok(topic, "%s: from %s, which comes before %s", k.Provider, k.Places[0],
				strings.Join(k.Places[1:], ", ")))
		case len(k.Places) == 1:
			all = append(all, ok(topic, "%s: from %s", k.Provider, k.Places[0]))
		}
	}
	if all == nil {
		all = []Finding{ok(topic, "none set")}
	}
	return found(all...)
}

// CheckProxy looks at the variables net/http takes proxies from; offline is ARTOO_OFFLINE.
func CheckProxy(vars environ.Vars, offline bool) Check {
	return func(context.Context) []Finding {
		const topic = "proxy"
		var all []Finding
		for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
			name, text := either(vars, name)
			if text == "" {
				continue
			}
			u, err := url.Parse(text)
			if err == nil && u.Host == "" {
				u, err = url.Parse("http://" + text)
			}
			if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
				// Its text may hold a password: it is not shown.
				all = append(all, fail(topic, name+"=http://host:port", "%s is not an address of a proxy", name))
				continue
			}
			with := ""
			if u.User != nil {
				with = ", with a user and password"
			}
			all = append(all, ok(topic, "%s: %s%s", name, u.Host, with))
		}
		if all == nil {
			all = append(all, ok(topic, "none"))
		} else {
			all = append(all, ok(topic,
				"installs: the proxy resolves host names, so artoo cannot check their addresses"))
		}
		if name, text := either(vars, "NO_PROXY"); text != "" {
			all = append(all, ok(topic, "%s: no proxy for %s", name, text))
		}
		if offline {
			all = append(all,
				ok("offline", "ARTOO_OFFLINE is set: artoo connects only to this machine and network"))
		}
		return all
	}
}

// either is a variable in capitals or, if that is empty, in small letters.
func either(vars environ.Vars, name string) (spelling, text string) {
	if text := vars.Get(name); text != "" {
		return name, text
	}
	name = strings.ToLower(name)
	return name, vars.Get(name)
}

// CheckCertificates looks at the files of trusted certificates: caFile is ARTOO_CA_FILE, and
// err says why there is no HTTP client.
func CheckCertificates(vars environ.Vars, caFile string, err error) Check {
	return func(context.Context) []Finding {
		const topic = "certificates"
		var all []Finding
		if err != nil {
			all = append(all, failure(topic, err))
		} else if caFile != "" {
			all = append(all, ok(topic, "ARTOO_CA_FILE: those of %s are trusted too", caFile))
		}
		if path := vars.Get("SSL_CERT_FILE"); path != "" {
			if f, err := os.Open(path); err != nil {
				all = append(all, fail(topic, "unset SSL_CERT_FILE, or name a file of certificates",
					"SSL_CERT_FILE: %v", err))
			} else {
				_ = f.Close() // it was only read
				all = append(all, ok(topic, "SSL_CERT_FILE: %s in place of the system's", path))
			}
		}
		return all
	}
}

// MCPServer has the facts about an MCP server that are known without starting it.
type MCPServer struct {
	Name, Address string // Address is its command line or its address
	Required      bool
	NoProgram     bool     // its program is not on PATH
	Missing       []string // variables that it is to get and that are not set
	Loose         bool     // it must run confined, but this machine has no sandbox
}

// CheckServers looks at the MCP servers. It starts none and asks none.
func CheckServers(servers []MCPServer) Check {
	return func(context.Context) (list []Finding) {
		for _, s := range servers {
			bad := warn
			if s.Required {
				bad = fail
			}
			switch {
			case s.NoProgram:
				list = append(list, bad("mcp", "install it, or remove the server: artoo mcp list names its place", "%s: its program is not on PATH: %s", s.Name, s.Address))
			case s.Loose:
				list = append(list, bad("mcp", "see the line on the sandbox", "%s: it must run confined, but this machine has no sandbox", s.Name))
			case len(s.Missing) > 0:
				list = append(list, bad("mcp", "export "+strings.Join(s.Missing, " "), "%s: not set: %s", s.Name, strings.Join(s.Missing, ", ")))
			default:
				list = append(list, ok("mcp", "%s: %s", s.Name, s.Address))
			}
		}
		return list
	}
}

// CheckInstructions lists the instruction files that are there, used or not.
func CheckInstructions(list []instructions.File, err error) Check {
	if err != nil {
		return found(Finding{Level: Warn, Topic: "instructions", Text: err.Error(), Fix: "correct the setting"})
	}
	var all []Finding
	for _, f := range list {
		finding := ok("instructions", "%s: %s", f.Name, f.Said)
		if f.Wrong() {
			finding.Level, finding.Fix = Warn, f.Try
		}
		finding.Instructions = &f
		all = append(all, finding)
	}
	if all == nil {
		all = []Finding{ok("instructions", "none: there is no AGENTS.md for this directory")}
	}
	return found(all...)
}
