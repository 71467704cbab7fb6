package permission

import (
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"artoo/tool"
)

// needsOutside are the commands that are known not to work confined, with the
// subcommands where it is only for some: they need the network, the user's agents
// or credentials, or write into .git, which is read-only in the sandbox.
var needsOutside = []struct{ programs, subcommands, what string }{
	{"git", "fetch pull push clone ls-remote submodule lfs svn send-email", "it needs the network"},
	{"git", "commit merge rebase cherry-pick revert am", "it writes into .git, and may run hooks and sign with your keys"},
	{"npm pnpm yarn bun", `install ci i in add update upgrade up publish login logout audit outdated exec x dlx create init
		view info show search pack whoami link dedupe uninstall remove rm un rebuild`, "it needs the network"},
	{"npx bunx pipx uvx corepack", "", "it needs the network"},
	{"pip pip3 poetry gem bundle composer conda mamba pdm", `install download add sync update upgrade lock require publish
		uninstall remove create`, "it needs the network"},
	{"uv", "pip tool add remove sync lock publish self python", "it needs the network"},
	{"cargo", "install fetch add update publish login search", "it needs the network"},
	{"go", "get install", "it needs the network"}, {"go mod", "download", "it needs the network"},
	{"brew apt apt-get dnf yum apk pacman snap flatpak port nix-env", "", "it changes the machine"},
	{`gh glab aws gcloud az kubectl helm terraform tofu heroku flyctl fly vercel netlify wrangler firebase doctl stripe
		aider`, "", "it needs the network and your credentials"},
	{"docker docker-compose podman nerdctl buildah vagrant minikube tmux screen", "", "it needs a service of the machine"},
	{`ssh scp sftp rsync ftp telnet nc ncat socat ping dig nslookup host traceroute whois http https xh aria2c lynx w3m
		rclone`, "", "it needs the network"},
	{"openssl", "s_client", "it needs the network"},
	{"gpg gpg2 ssh-add ssh-agent ssh-copy-id pass security", "", "it needs your keys"},
	{"systemctl service journalctl launchctl crontab loginctl", "", "it speaks to a service of the machine"},
	{"kill pkill killall", "", "it is about processes of the machine, of which nothing is seen inside"},
	{"open xdg-open code subl pbcopy pbpaste xclip xsel wl-copy wl-paste notify-send osascript", "",
		"it speaks to your desktop"},
}

// outside says why a line has to run on the host, "" when it need not. offLayer is
// why it cannot run on a layer.
func (p *Policy) outside(access tool.Access, commands []simple, offLayer string) (why string) {
	if access.Unconfined != "" {
		return "the model says: " + access.Unconfined
	}
	for _, s := range commands {
		if why := p.known(s); why != "" {
			return why
		}
	}
	if offLayer != "" && slices.ContainsFunc(commands, p.writesGit) {
		return "it writes into .git, which is read-only inside"
	}
	return ""
}

// known says why one command is known not to work confined.
func (p *Policy) known(s simple) (why string) {
	if s.raised {
		return "it asks for more rights than yours"
	}
	name, words := programOf(s)
	if name == "git" && p.tracksSecrets() {
		if reads, _ := p.onlyReads(s); !reads {
			return "git tracks a denied file, or did, and finds no object store inside"
		}
	}
	if aboutMachine(s) {
		if reads, _ := p.onlyReads(s); !reads || !listed("df free id groups whoami hostname uptime", name) {
			return "it tells of the machine, of which nothing is seen inside"
		}
	}
	sub, next := subcommand(words)
	for _, row := range needsOutside {
		if listed(row.programs, name) && (row.subcommands == "" || listed(row.subcommands, sub)) ||
			row.programs == name+" "+sub && listed(row.subcommands, next) {
			return row.what
		}
	}
	if name == "git" && sub == "mv" && p.movesDirectory(s) {
		return "it renames a directory, which no layer can, and writes into .git"
	}
	if name == "yarn" && sub == "" && !slices.ContainsFunc(words, isOption) {
		return "it needs the network"
	}
	if (name == "curl" || name == "wget") && !onlyLoopback(words) {
		return "it needs the network"
	}
	return ""
}

// movesDirectory reports whether a git mv is given a directory to move: what renames
// one of the project's on a layer is told that it is on another file system. mv then
// copies, and git gives up.
func (p *Policy) movesDirectory(s simple) bool {
	operands := operandsOf(simple{words: gitCommand(s.words[1:])}, "")
	for i, w := range operands {
		for _, at := range p.places(s, w.text) {
			if info, err := os.Stat(at); i+1 < len(operands) && err == nil && info.IsDir() {
				return true
			}
		}
	}
	return false
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

// writesGit reports whether a command is one of git's that does more than read: it
// writes the index, refs or objects.
func (p *Policy) writesGit(s simple) bool {
	if path.Base(s.name()) != "git" {
		return false
	}
	words := plain(gitCommand(s.words[1:]))
	if len(words) == 0 || slices.Contains(gitCommands(), words[0]) && gitMayWrite(words[0], words[1:]) == "" {
		return false
	}
	reads, _ := p.onlyReads(s)
	return !reads
}

// onlyLoopback reports whether all addresses among the words of curl or wget are the
// machine's own loopback: of the session's own network, that is.
func onlyLoopback(words []string) bool {
	const valued = `-o --output -w --write-out -H --header -d --data --data-raw --data-binary --json -X --request -u --user
		-A --user-agent -m --max-time --connect-timeout --retry --retry-delay -F --form -T --upload-file -O
		--output-document -P`
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
	return listed(`ps pgrep pidof top htop uptime who w users last lastlog ss netstat lsof fuser ip ifconfig df free id
		whoami groups hostname mount lsblk lscpu vmstat iostat dmesg nvidia-smi`, path.Base(s.name()))
}
