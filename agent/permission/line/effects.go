package line

import (
	"path"
	"slices"
	"strings"
)

// GitWords are the words of a git command from its subcommand on, without git's own options.
func GitWords(words []Word) []Word {
	for i := 0; i < len(words); i++ {
		switch a := words[i].Text; {
		case In("-C -c --git-dir --work-tree --namespace --exec-path --config-env", a):
			i++
		case IsOption(a):
		default:
			return words[i:]
		}
	}
	return nil
}

// Git are the words of a git command from its subcommand on; nil for other commands.
func (c Command) Git() []Word {
	if !strings.EqualFold(c.Base(), "git") {
		return nil
	}
	return GitWords(c.Words[1:])
}

// Destroys names a command that throws work away by its words alone, "" for others.
func (c Command) Destroys() (what string) {
	name, args := strings.ToLower(c.Base()), c.Args()
	switch name {
	case "rm":
		if HaveOption(args, "-r -R --recursive") {
			return "rm -r"
		}
	case "find":
		if slices.Contains(args, "-delete") {
			return "find -delete"
		}
	case "shred", "truncate", "mv":
		return name
	case "git":
		if words := Texts(c.Git()); len(words) > 0 {
			return destroysInGit(words[0], words[1:])
		}
	}
	return ""
}

func destroysInGit(sub string, args []string) (what string) {
	const force = "-f --force"
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	for _, row := range []struct{ subs, first, options, what string }{
		{"clean restore rebase filter-branch", "", "", "git " + sub},
		{"reset", "", "--hard --merge", "git reset --hard"},
		{"checkout", "", force + " --pathspec-from-file", "git checkout --"},
		{"switch", "", force + " --discard-changes", "git switch --force"},
		{"stash", "drop clear", "", "git stash " + first},
		{"reflog", "expire", "", "git reflog expire"},
		{"branch", "", force + " -D", "git branch -D"},
		{"update-ref", "", "-d --delete --stdin", "git update-ref -d"},
		{"gc", "", "--prune", "git gc --prune"},
		{"worktree", "remove", force, "git worktree remove --force"},
		{"push", "", force + " --force-with-lease --force-if-includes --mirror --delete -d --prune", "git push --force"},
	} {
		if In(row.subs, sub) && (row.first == "" || In(row.first, first)) &&
			(row.options == "" || HaveOption(args, row.options)) {
			return row.what
		}
	}
	switch {
	case sub == "checkout" && (slices.Contains(args, "--") || slices.Contains(args, ".")):
		return "git checkout --"
	case sub == "push" && slices.ContainsFunc(args, func(a string) bool { return strings.IndexAny(a, "+:") == 0 }):
		return "git push --force"
	}
	return ""
}

// MentionsDestructive looks for Destroys and output into files in a text that is not understood.
func MentionsDestructive(line string) bool {
	line = strings.ToLower(strings.NewReplacer("\\", "", "'", "", `"`, "").Replace(line))
	words := strings.FieldsFunc(line, func(c rune) bool { return c < 'a' || c > 'z' })
	return strings.ContainsAny(line, ">`$") || slices.ContainsFunc(words, func(word string) bool {
		return In("git rm find shred truncate mv tee cp sed dd install ln", word)
	})
}

// Replaces are the files whose contents a command replaces: those that it moves something
// onto, those that its output goes into, and those that git takes from the index.
func (c Command) Replaces() (files []Word) {
	files = slices.Clip(c.Overwrites)
	switch c.Base() {
	case "mv":
		files = append(files, moved(c.Operands("-t -S --suffix --target-directory"))...)
	case "git":
		files = append(files, checkedOut(c.Git())...)
	}
	return slices.DeleteFunc(files, func(w Word) bool { return !w.Known })
}

// Loses are the files and directories that a command which throws work away could remove or
// overwrite; nil where they are not known.
func (c Command) Loses() []Word {
	files := c.Operands("-s --size -n --iterations -S --suffix")
	if c.Base() == "mv" {
		files = append(files, moved(c.Operands("-t -S --suffix --target-directory"))...)
	}
	files = append(files, c.Overwrites...)
	unknown := slices.ContainsFunc(files, func(w Word) bool { return !w.Known || w.Glob })
	if c.Base() == "find" || len(c.Dirs) == 0 || unknown {
		return nil
	}
	return files
}

// moved are the files that a mv of these operands would replace.
func moved(operands []Word) (targets []Word) {
	if len(operands) < 2 {
		return nil
	}
	to := operands[len(operands)-1]
	targets = append(targets, to)
	for _, from := range operands[:len(operands)-1] {
		if from.Known {
			targets = append(targets, Word{Text: path.Join(to.Text, path.Base(from.Text)), Known: to.Known, Glob: from.Glob})
		}
	}
	return targets
}

// checkedOut are the plain words of git checkout, which may be files.
func checkedOut(words []Word) (files []Word) {
	if len(words) == 0 || words[0].Text != "checkout" {
		return nil
	}
	for _, w := range words[1:] {
		if HasOption(w.Text, "-b -B --orphan --track -t") {
			return nil // a branch is made
		}
		if !IsOption(w.Text) {
			files = append(files, w)
		}
	}
	return files
}

// Writes are the files that a command may write, as its words and redirections name them.
func (c Command) Writes() []Word {
	return append(slices.Clip(c.Outputs), c.writtenBy(strings.ToLower(c.Base()))...)
}

func (c Command) writtenBy(name string) (files []Word) {
	args := c.Args()
	const nameless = "-S --suffix" // options whose value is no file
	switch name {
	case "tee", "touch", "rm", "unlink", "chmod", "chown", "truncate", "shred", "mkdir", "rmdir", "patch", "ed", "ex",
		"vi", "vim", "nano", "sponge", "split", "csplit":
		return c.Operands("")
	case "git":
		if words := c.Git(); len(words) > 0 && (words[0].Text == "mv" || words[0].Text == "rm") {
			operands := Command{Words: words}.Operands("")
			return append(operands, moved(operands)...)
		}
	case "find":
		for i, w := range c.Words[:len(c.Words)-1] {
			if In("-fprint -fprint0 -fprintf -fls", w.Text) {
				files = append(files, c.Words[i+1])
			}
		}
	case "mv", "ln", "link", "rename":
		operands := c.Operands(nameless)
		return append(operands, moved(operands)...)
	case "cp", "install", "rsync", "scp":
		operands := c.Operands(nameless + " -m -o -g --mode")
		// A link of cp's is another name for its first operand.
		if HaveOption(args, "-t --target-directory") || name == "cp" && HaveOption(args, "-l --link -s --symbolic-link") {
			return operands
		}
		return moved(operands)
	case "sed", "gsed", "perl":
		if HaveOption(args, "-i --in-place") {
			return c.Operands("")
		}
	case "awk", "gawk":
		if slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "inplace") }) {
			return c.Words[1:]
		}
	case "dd", "sort", "curl", "wget", "tar", "unzip", "tree", "jq", "yq", "uniq", "xxd", "base64", "gpg", "openssl":
		return c.Words[1:] // of=, -o FILE and the like
	}
	return files
}

// Operands are the words of a command without options, and the values of those in valued.
func (c Command) Operands(valued string) (operands []Word) {
	for i := 1; i < len(c.Words); i++ {
		w := c.Words[i]
		switch {
		case In(valued, w.Text):
			i++
			if i < len(c.Words) && (w.Text == "-t" || w.Text == "--target-directory") {
				operands = append(operands, c.Words[i])
			}
		case IsOption(w.Text):
			if _, value, ok := strings.Cut(w.Text, "="); ok { // --target-directory=.git/hooks
				operands = append(operands, Word{Text: value, Known: w.Known, Glob: w.Glob})
			}
		default:
			operands = append(operands, w)
		}
	}
	return operands
}

// Need is a need of a command that a sandbox does not meet.
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

// Needs names the need of a command that a sandbox does not meet, as its words show, "" for
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

// onlyLoopback reports whether a command names an address of the loopback and none elsewhere. A wrong
// guess fails inside, and is asked about then.
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
