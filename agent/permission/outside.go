package permission

import (
	"path"
	"slices"
	"strings"

	"artoo/tool"
)

// needsOutside are the commands that are known not to work in the sandbox, with the
// subcommands, and those of subcommands, where it is only for some.
var needsOutside = []struct {
	programs, subcommands string
	need                  Need
}{
	{"git", "fetch pull push clone ls-remote lfs svn send-email submodule/add submodule/update", Network},
	{"git", "worktree/add worktree/move worktree/remove worktree/repair", Home},
	{"npm pnpm yarn bun", `install ci i in add update upgrade up publish login logout audit outdated dlx create init
		view info show search pack whoami link dedupe uninstall remove rm un rebuild`, Network},
	{"corepack pipx", "", Network},
	{"pip pip3 poetry gem bundle composer conda mamba pdm", `install download add sync update upgrade lock require publish
		uninstall remove create`, Network},
	{"uv", "pip tool add remove sync lock publish self python", Network},
	{"cargo", "install fetch add update publish login search", Network},
	{"go", "get mod/download", Network},
	{"brew apt apt-get dnf yum apk pacman snap flatpak port nix-env", "", Home},
	{`gh glab aws gcloud az kubectl helm terraform tofu heroku flyctl fly vercel netlify wrangler firebase doctl stripe
		aider`, "", Keys},
	{"docker docker-compose podman nerdctl buildah vagrant minikube tmux screen", "", Service},
	{"ssh scp sftp rsync ftp socat dig nslookup host traceroute whois aria2c lynx w3m rclone", "", Network},
	{"openssl", "s_client", Network},
	{"gpg gpg2 ssh-add ssh-agent ssh-copy-id pass security", "", Keys},
	{"systemctl service journalctl launchctl crontab loginctl", "", Service},
	{"open xdg-open code subl pbcopy pbpaste xclip xsel wl-copy wl-paste notify-send osascript", "", Service},
}

// leaves reports whether a line has to run on the host, and notes in the decision why.
func (p *Policy) leaves(d *Decision, l parsed, access tool.Access) bool {
	if access.Unconfined != "" {
		d.Reasons = []Reason{{Code: Outside, Object: "the model says: " + access.Unconfined}}
		return true
	}
	for _, s := range l.commands {
		need, why := p.needs(s)
		if need == "" {
			continue
		}
		d.Needs = append(d.Needs, need)
		d.Reasons = append(d.Reasons, Reason{Code: Outside, Object: why, Part: s.shown()})
	}
	return len(d.Needs) > 0
}

// needs says what a command needs that the sandbox does not have, "" for nothing, and
// why in words.
func (p *Policy) needs(s simple) (need Need, why string) {
	if s.raised {
		return Service, s.shown() + " asks for more rights than yours"
	}
	name, words := programOf(s)
	sub, next := subcommand(words)
	if name == "git" && sub != "" {
		if reads, _ := p.onlyReads(s); !reads {
			if denied := p.TrackedSecret(); denied != "" {
				return Home, "git tracks " + denied + ", which is hidden inside"
			}
			if program := p.signs(s, sub, words); program != "" {
				return Keys, "git signs with " + program
			}
		}
	}
	offline := haveOption(words, "--offline --no-index") || sub == "init" && next == ""
	if runner, asked := runs(name, sub, words); runner && !offline {
		if p.installed(s, asked) {
			return "", ""
		}
		return Network, strings.TrimSpace(name+" "+asked) + " is not installed in the project, so it needs the network"
	}
	for _, row := range needsOutside {
		if listed(row.programs, name) && !(offline && row.need == Network) && (row.subcommands == "" ||
			listed(row.subcommands, sub) || listed(row.subcommands, sub+"/"+next)) {
			return row.need, "it needs " + needWords[row.need]
		}
	}
	switch {
	case name == "yarn" && sub == "" && !slices.ContainsFunc(words, isOption),
		name == "go" && sub == "install" && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "@") }),
		listed("curl wget http https xh nc ncat telnet ping", name) && !onlyLoopback(words):
		return Network, "it needs " + needWords[Network]
	}
	return "", ""
}

// needWords are the needs as a question words them.
var needWords = map[Need]string{Network: "the network", Keys: "your keys or credentials",
	Home: "the machine outside the project", Service: "a service of the machine"}

// runs reports whether a command fetches and runs a package's program, and which one.
func runs(name, sub string, words []string) (runner bool, program string) {
	switch {
	case listed("npx bunx uvx", name):
		return true, sub
	case name == "npm" && listed("exec x", sub), name == "bun" && sub == "x":
		rest := words[slices.Index(words, sub)+1:]
		program, _ = subcommand(slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "--" }))
		return true, program
	}
	return false, ""
}

// TrackedSecret is a denied file that git in the project could show, "" for none; where
// that is not known, that counts as one.
func (p *Policy) TrackedSecret() string {
	names, err := p.World.gitSecrets(p.Root)
	switch {
	case err != nil:
		return "an unknown file"
	case len(names) > 0:
		return p.below(names[0])
	}
	return ""
}

// signs names the program by which a git command would sign what it makes, "" for none.
func (p *Policy) signs(s simple, sub string, words []string) string {
	if !listed("commit merge rebase cherry-pick revert am tag stash", sub) || haveOption(words, "--no-gpg-sign --no-sign") {
		return ""
	}
	if haveOption(words, "-S --gpg-sign") || sub == "tag" && haveOption(words, "-s -u --sign --local-user") {
		return "gpg"
	}
	for _, dir := range s.dirs {
		if program := p.World.gitSigns(dir); program != "" {
			return program
		}
	}
	return ""
}

// programOf is the program that a command stands for, without its directory, and
// what it is given: for python -m pip that is pip.
func programOf(s simple) (name string, words []string) {
	name, words = path.Base(s.name()), plain(s.words[min(1, len(s.words)):])
	if name == "git" {
		return name, plain(gitCommand(s.words[1:]))
	}
	if interprets(name) && len(words) > 1 && words[0] == "-m" {
		return words[1], words[2:]
	}
	return name, words
}

// subcommand is the first word that is no option, nor the value of one that says
// where to work, and the one after it.
func subcommand(words []string) (sub, next string) {
	var found []string
	for i := 0; i < len(words) && len(found) < 2; i++ {
		switch {
		case listed("--prefix -C --cwd --dir --filter -F -w --workspace --manifest-path --directory --project", words[i]):
			i++
		case !isOption(words[i]) && !strings.HasPrefix(words[i], "+"):
			found = append(found, words[i])
		}
	}
	found = append(found, "", "")
	return found[0], found[1]
}

// onlyLoopback reports whether a command names an address of the machine's own loopback,
// of the session's own network that is, and none elsewhere. A word without a scheme beside
// such an address is a value of an option: a wrong guess fails inside, and is asked about then.
func onlyLoopback(words []string) bool {
	found := false
	for _, w := range words {
		w = strings.Trim(w, `"`) // the source of a word that is not known
		scheme, host, named := strings.Cut(w, "://")
		if !named {
			host = w
		}
		host = host[:strings.IndexAny(host+"/", "/?#")]
		switch {
		case slices.ContainsFunc(strings.Fields("localhost 127.0.0.1 [::1] 0.0.0.0"), func(own string) bool {
			return host == own || strings.HasPrefix(host, own+":")
		}):
			found = true
		case named && listed("http https ftp ws wss", scheme):
			return false
		}
	}
	return found
}

// coveredOutside reports whether rules for outside cover every command of a line
// that needs a rule.
func (p *Policy) coveredOutside(l parsed) bool {
	rules := slices.DeleteFunc(p.allowing(), func(r Rule) bool { return !r.Outside })
	if len(rules) == 0 {
		return false
	}
	if _, ok := p.exactly(rules, l.tool, l.text, l.dir); ok {
		return true
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }) {
		return true
	}
	return len(l.rest) > 0 && !slices.ContainsFunc(l.rest, func(s simple) bool { return !p.commandCovered(rules, l.tool, s) })
}
