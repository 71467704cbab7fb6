package permission

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"artoo/tool"
)

// Place is where a command runs.
type Place string

// The places, from the least to the most confined.
const (
	// PlaceHost is the machine itself, with the rights that artoo has.
	PlaceHost Place = ""
	// PlaceSandbox is confined: what the command writes in the project stays.
	PlaceSandbox Place = "sandbox"
	// PlaceLayer is confined, and what the command writes goes to a layer over the
	// project, which Judge decides about.
	PlaceLayer Place = "layer"
	// PlaceReading is confined, and nothing can be written.
	PlaceReading Place = "read-only"
)

// Confinement is what can hold the commands of a session. The zero value is
// nothing: all run on the host.
type Confinement struct {
	Sandbox bool // commands can be confined
	Layer   bool // and run on a throwaway layer
	// Auto says that a confined command reaches neither denied files nor what others
	// run: the mode auto asks nothing about it.
	Auto bool
	// Trusted says that the user trusts the project: its own programs and scripts run
	// on a layer as the system's do.
	Trusted bool
}

// place says where a line runs that is allowed, or would run if the user said
// yes, and lets pass what a layer or the sandbox holds.
func (p *Policy) place(d Decision, name string, access tool.Access, commands []simple, odd string) Decision {
	can := p.Confinement
	if !can.Sandbox || d.Effect == Deny {
		return d
	}
	reads := strings.HasSuffix(d.Rule, "("+ReadGroup+")")
	if d.Effect == Allow && reads && access.Unconfined == "" {
		if !slices.ContainsFunc(commands, aboutMachine) {
			d.Place = PlaceReading
		}
		return d
	}
	if outside := p.outside(access, commands); outside != "" {
		return p.placeOutside(d, name, access, commands, outside)
	}
	if d.Effect == Allow && p.coveredOutside(name, access, commands) {
		return d
	}
	d.Place = PlaceSandbox
	always := strings.HasPrefix(d.Reason, alwaysAsked(""))
	if d.Effect == Ask && always && odd == "" && !p.NoProject {
		if ok, why := p.undone(name, commands); ok {
			d.Effect, d.Reason = Allow, "it is confined, and can be undone"
		} else if why != "" {
			d.Reason += "; cannot be undone: " + why
		}
	}
	switch {
	case d.Effect == Allow, d.Rule != "", p.NoProject:
	case p.Mode == ModeAuto && can.Auto && !always:
		d.Effect, d.Reason = Allow, "mode auto: it is confined"
	case p.Mode != ModeAuto && p.layerable(access, commands, odd):
		d.Effect, d.Place, d.Reason = Allow, PlaceLayer, "what it changes is asked about afterwards"
	}
	return d
}

// placeOutside decides a line that has to run on the host: it is asked, unless a
// rule for outside covers it.
func (p *Policy) placeOutside(d Decision, name string, access tool.Access, commands []simple, why string) Decision {
	if d.Effect == Allow && p.coveredOutside(name, access, commands) {
		return d
	}
	d.Effect, d.Rule = Ask, ""
	if !strings.HasPrefix(d.Reason, alwaysAsked("")) {
		d.Reason = "outside: network, keys, home; " + why
	}
	d.Narrow = outsideRule(name, trimLine(access.Command)).String()
	d.Suggested = d.Narrow
	if rest, _ := p.unread(name, commands); suggestRun(name, rest) != "" {
		if r, err := ParseRule(suggestRun(name, rest)); err == nil {
			r.Outside = true
			d.Suggested = r.String()
		}
	}
	return d
}

func outsideRule(name, line string) Rule {
	r := lineRule(name, line)
	r.Outside = true
	return r
}

// coveredOutside reports whether rules for outside cover every command of a line
// that needs a rule.
func (p *Policy) coveredOutside(name string, access tool.Access, commands []simple) bool {
	rules := slices.DeleteFunc(p.allowing(), func(r Rule) bool { return !r.Outside })
	if len(rules) == 0 {
		return false
	}
	if _, ok := p.exactly(rules, name, trimLine(access.Command), access.Dir); ok {
		return true
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return !r.HasArg && r.names(name, tool.KindRun) }) {
		return true
	}
	rest, _ := p.unread(name, commands)
	return len(rest) > 0 && !slices.ContainsFunc(rest, func(s simple) bool { return !p.commandCovered(rules, name, s) })
}

// needsOutside are the commands that are known not to work confined, with the
// subcommands where it is only for some: they need the network, the user's agents
// or credentials, or write into .git, which is read-only in the sandbox.
var needsOutside = []struct{ programs, subcommands, what string }{
	{"git", "fetch pull push clone ls-remote submodule", "it needs the network"},
	{"git", "commit merge rebase cherry-pick revert am", "it writes into .git, and may run hooks and sign with your keys"},
	{"npm pnpm yarn bun", "install ci i add update upgrade publish login audit outdated", "it needs the network"},
	{"npx bunx pipx uvx corepack", "", "it needs the network"},
	{"pip pip3 uv poetry gem bundle composer conda mamba", "install download add sync update lock", "it needs the network"},
	{"cargo", "install fetch add update publish login", "it needs the network"},
	{"go", "get install", "it needs the network"},
	{"brew apt apt-get dnf yum apk pacman snap", "", "it changes the machine"},
	{"gh glab aws gcloud az kubectl helm terraform heroku flyctl", "", "it needs the network and your credentials"},
	{"docker docker-compose podman nerdctl buildah", "", "it needs a service of the machine"},
	{"ssh scp sftp rsync ftp telnet nc ncat ping dig nslookup host traceroute whois", "", "it needs the network"},
	{"systemctl journalctl launchctl crontab", "", "it speaks to a service of the machine"},
}

// outside says why a line has to run on the host, "" when it need not.
func (p *Policy) outside(access tool.Access, commands []simple) (why string) {
	if access.Unconfined != "" {
		return "the model says: " + access.Unconfined
	}
	for _, s := range commands {
		name := path.Base(s.name())
		words := plain(s.words[min(1, len(s.words)):])
		if name == "git" {
			words = plain(gitCommand(s.words[1:]))
		}
		sub := ""
		if i := slices.IndexFunc(words, func(w string) bool { return !isOption(w) }); i >= 0 {
			sub = words[i]
		}
		for _, row := range needsOutside {
			if listed(row.programs, name) && (row.subcommands == "" || listed(row.subcommands, sub)) {
				return row.what
			}
		}
		if aboutMachine(s) {
			return "it tells of the machine, of which nothing is seen inside"
		}
		if (name == "curl" || name == "wget") && !onlyLoopback(words) {
			return "it needs the network"
		}
	}
	return ""
}

// onlyLoopback reports whether all addresses among the words of a command are the
// machine's own loopback: of the session's own network, that is.
func onlyLoopback(words []string) bool {
	const valued = `-o --output -w --write-out -H --header -d --data --data-raw --data-binary -X --request -u --user -A
		--user-agent -m --max-time --connect-timeout --retry -F --form -T --upload-file -O --output-document -P`
	found := false
	for i, w := range words {
		if isOption(w) || i > 0 && listed(valued, words[i-1]) || !strings.ContainsAny(w, ".:/") && w != "localhost" {
			continue
		}
		if !strings.Contains(w, "://") {
			w = "http://" + w
		}
		u, err := url.Parse(w)
		if err != nil || !listed("localhost 127.0.0.1 ::1 0.0.0.0", u.Hostname()) {
			return false
		}
		found = true
	}
	return found
}

// aboutMachine reports whether a command tells of the machine, of which a confined
// one sees nothing.
func aboutMachine(s simple) bool {
	return listed(`ps pgrep pidof top uptime who w users last lastlog ss netstat lsof fuser ip ifconfig df free id
		whoami groups hostname mount lsblk lscpu vmstat iostat dmesg nvidia-smi`, path.Base(s.name()))
}

// layerable reports whether a line may run on a layer: its programs are the
// system's, none of them builds or runs what the project brings, and it is not
// expected to take long.
func (p *Policy) layerable(access tool.Access, commands []simple, odd string) bool {
	if !p.Confinement.Layer || p.NoProject || odd != "" || access.Long || len(commands) == 0 ||
		p.outside(access, commands) != "" {
		return false
	}
	_, taken := p.group(p.DenyRules, "bash")
	return !taken && !slices.ContainsFunc(commands, func(s simple) bool { return !p.fitsLayer(s) })
}

// builders are programs that run what the project brings, with the subcommands
// where it is only for some.
var builders = []struct{ programs, subcommands string }{
	{`make gmake bmake ninja cmake ctest meson just task rake gradle gradlew mvn mvnw ant sbt bazel bazelisk buck2 pants
		tox nox pytest py.test unittest nose2 invoke fab scons waf vite webpack rollup esbuild tsc eslint prettier jest
		vitest mocha ava playwright cypress phpunit rspec dotnet msbuild xcodebuild swift gulp grunt turbo nx lerna
		pre-commit lefthook husky watchman entr air`, ""},
	{"npm pnpm yarn bun", ""}, {"node", "--test"},
	{"go", "build test run generate vet tool fix"},
	{"cargo", "build test run bench check clippy doc nextest"},
	{"zig", "build test run"}, {"mix", ""}, {"cabal stack ghc", ""}, {"dune opam", ""}, {"lein clojure clj", ""},
}

// fitsLayer reports whether one command of a line may run on a layer.
func (p *Policy) fitsLayer(s simple) bool {
	if s.raised || s.hides {
		return false
	}
	name := s.name()
	if name == "" { // what surrounds commands that are looked at themselves, or a program that is not known
		return s.opaque
	}
	if shellBuiltin(name) || listed("export local declare typeset readonly set unset shift return exit let wait", name) {
		return true
	}
	base := path.Base(name)
	if base == "git" && p.tracksSecrets() { // it finds no object store there
		return false
	}
	if aboutMachine(s) {
		return false
	}
	own := strings.Contains(name, "/") && !strings.HasPrefix(name, "/usr/") && !strings.HasPrefix(name, "/bin/")
	if ok, _ := p.trusted(base, false); (own || !ok) && !p.Confinement.Trusted {
		return false
	}
	words := plain(s.words[1:])
	for _, b := range builders {
		if listed(b.programs, base) && (b.subcommands == "" || len(words) > 0 && listed(b.subcommands, words[0])) {
			return false
		}
	}
	return p.Confinement.Trusted || !(interprets(base) || base == ".") || !runsProjectCode(s, words)
}

// tracksSecrets reports whether git in the project could show a denied file; where
// that cannot be told it could.
func (p *Policy) tracksSecrets() bool {
	if p.GitSecrets == nil {
		return false
	}
	names, err := p.GitSecrets(p.Root)
	return err != nil || len(names) > 0
}

// runsProjectCode reports whether an interpreter runs more than the text that
// stands in its words: a file, a module or its input.
func runsProjectCode(s simple, words []string) bool {
	if scriptAt(s.words, s.dirs) > 0 && !inlineCode(words) {
		return true
	}
	return !inlineCode(words) && !slices.ContainsFunc(words, func(w string) bool {
		return listed("--version -V -v --help -h", w)
	})
}

// inlineCode reports whether the first option of an interpreter gives it its
// program as text.
func inlineCode(words []string) bool {
	for _, w := range words {
		switch {
		case listed("-c -e -E -r -p -pe -ne -lne -lane -nle -ane --eval --print", w):
			return true
		case w == "-m", !isOption(w):
			return false
		}
	}
	return false
}

// layerKey is the line that an approval of a layer's changes stands for.
func layerKey(access tool.Access) string {
	return cmp.Or(access.Dir, ".") + "\x00" + trimLine(access.Command)
}
