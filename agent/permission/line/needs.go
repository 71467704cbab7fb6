package line

import (
	"path"
	"slices"
	"strings"
)

// Need is what a command needs that a sandbox does not have.
type Need string

// The needs.
const (
	Network Need = "network"
	Keys    Need = "keys"
	Home    Need = "home"
	Service Need = "another program's service"
)

// needs are the commands that are known not to work in a sandbox, with the
// subcommands, and those of subcommands, where it is only for some.
var needs = []struct {
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

// Needs says what a command needs that a sandbox does not have, as its words show, "" for
// nothing. A package runner needs the network unless the package's program is installed.
func (c Command) Needs() (need Need, run Package) {
	if c.Elevated {
		return Service, run
	}
	name, words := c.Program()
	sub, next := Subcommand(words)
	offline := HaveOption(words, "--offline --no-index") || sub == "init" && next == ""
	if runner, program := packageRunner(name, sub, words); runner && !offline {
		return Network, Package{name, program}
	}
	for _, row := range needs {
		if In(row.programs, name) && !(offline && row.need == Network) && (row.subcommands == "" ||
			In(row.subcommands, sub) || In(row.subcommands, sub+"/"+next)) {
			return row.need, run
		}
	}
	switch {
	case name == "yarn" && sub == "" && !slices.ContainsFunc(words, IsOption),
		name == "go" && sub == "install" && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "@") }),
		In("curl wget http https xh nc ncat telnet ping", name) && !onlyLoopback(words):
		return Network, run
	}
	return "", run
}

// Package is a program that a package runner is asked for.
type Package struct{ Runner, Program string }

// packageRunner reports whether a command fetches and runs a package's program, and which one.
func packageRunner(name, sub string, words []string) (runner bool, program string) {
	switch {
	case In("npx bunx uvx", name):
		return true, sub
	case name == "npm" && In("exec x", sub), name == "bun" && sub == "x":
		rest := words[slices.Index(words, sub)+1:]
		program, _ = Subcommand(slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "--" }))
		return true, program
	}
	return false, ""
}

// Program is the program that a command stands for, without its directory, and
// the words it is given: for python -m pip that is pip.
func (c Command) Program() (name string, words []string) {
	name, words = c.Base(), c.Args()
	if name == "git" {
		return name, Texts(c.Git())
	}
	if Interprets(name) && len(words) > 1 && words[0] == "-m" {
		return words[1], words[2:]
	}
	return name, words
}

// Interprets reports whether a program runs a script whose file it is given.
func Interprets(name string) bool {
	name = strings.TrimRight(path.Base(name), "0123456789.")
	return name == "" || In(`sh bash dash zsh ksh ash fish source python pypy node nodejs perl ruby php lua Rscript
		tclsh expect osascript pwsh deno bun tsx`, name)
}

// Subcommand is the first word that is no option, nor the value of one that says
// where to work, and the one after it.
func Subcommand(words []string) (sub, next string) {
	var found []string
	for i := 0; i < len(words) && len(found) < 2; i++ {
		switch {
		case In("--prefix -C --cwd --dir --filter -F -w --workspace --manifest-path --directory --project", words[i]):
			i++
		case !IsOption(words[i]) && !strings.HasPrefix(words[i], "+"):
			found = append(found, words[i])
		}
	}
	found = append(found, "", "")
	return found[0], found[1]
}

// onlyLoopback reports whether a command names an address of the machine's own loopback
// and none elsewhere. A word without a scheme beside such an address is a value of an option:
// a wrong guess fails inside, and is asked about then.
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
		case named && In("http https ftp ws wss", scheme):
			return false
		}
	}
	return found
}
