// Package line reads a shell line: which simple commands it runs and could run, with which
// words, in which directories, and their reads and writes. It looks at the text alone, never
// at files or at the environment.
package line

import (
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Longer lines, and those that open more parentheses, are not parsed: the parser is
// recursive, and a model can write a line that takes all memory to follow.
const (
	longestLine = 32 << 10
	mostParens  = 2000
	mostScripts = 4 // levels of sh -c within sh -c
)

// Line is a shell line that was read.
type Line struct {
	// Commands are all simple commands in it, those in substitutions, subshells, functions and
	// wrappers included.
	Commands []Command
	// Problem explains why the shell may take the line in another way than the parser, "" for no
	// reason. Then only rules that deny or ask may look at the commands.
	Problem string
}

// Shell is the dialect of a line. The zero value is bash in a locale of ASCII or UTF-8.
type Shell struct {
	// Name is the base name of the shell's program, such as bash or sh.
	Name string
	// Locale names the locale in force if it is neither ASCII nor UTF-8: in
	// others a byte of a character may mean something to the shell.
	Locale string
}

// Kind is the name of the shell without an ending that systems add.
func (s Shell) Kind() string {
	if s.Name == "" {
		return "bash"
	}
	return strings.TrimSuffix(strings.ToLower(s.Name), ".exe")
}

// Parse reads a line that shell runs in dir, "" where that is not known.
func Parse(text, dir string, shell Shell) Line {
	kind := shell.Kind()
	if languages(kind) == nil {
		commands, _ := read(text, dir, walker{kind: "sh"})
		return Line{commands, "how " + kind + " parses this line is not known"}
	}
	commands, ok := read(text, dir, walker{kind: kind})
	switch {
	case !ok:
		return Line{commands, "the line could not be parsed"}
	case shell.Locale != "":
		return Line{commands, "the locale " + shell.Locale +
			" is neither ASCII nor UTF-8, in which the shell may take the line in another way"}
	}
	return Line{commands, ""}
}

// languages are those that a shell may take a line for: a plain sh differs from system to system, so
// the commands of any reading count.
func languages(kind string) []syntax.LangVariant {
	switch kind {
	case "bash":
		return []syntax.LangVariant{syntax.LangBash}
	case "sh", "dash", "ash":
		return []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}
	}
	return nil
}

// read reads a line in the languages of its shell, with walkers like w. ok is false where the
// shell may see other commands.
func read(text, dir string, w walker) (commands []Command, ok bool) {
	if w.depth > mostScripts || !legible(text) {
		return nil, false
	}
	w.text, ok = text, true
	for i, variant := range languages(w.kind) {
		file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(text), "")
		if err != nil {
			ok = false
			continue
		}
		r := w
		r.ok, r.aliases = true, map[string]string{}
		r.list(file.Stmts, dir)
		ok = ok && r.ok
		if i == 0 || !reflect.DeepEqual(r.commands, commands) {
			commands = append(commands, r.commands...)
		}
	}
	return commands, ok
}

// legible reports whether the parser surely reads a line as shells do.
func legible(line string) bool {
	if len(line) > longestLine || strings.Count(line, "(") > mostParens || strings.HasSuffix(line, `\`) {
		return false
	}
	// The parser skips a carriage return, the shell takes it for a part of the
	// word; other control characters are not worth finding out.
	control := func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD' }
	if strings.ContainsFunc(line, control) || !plainlySpaced(line) {
		return false
	}
	// The parser lets a backslash continue a comment, the shell does not.
	return !slices.ContainsFunc(strings.SplitAfter(line, "\n"), func(physical string) bool {
		return strings.HasSuffix(physical, "\\\n") && strings.Contains(physical, "#")
	})
}

// plainlySpaced reports whether only ASCII can count as blank space: systems differ.
func plainlySpaced(line string) bool {
	if strings.ContainsFunc(line, func(c rune) bool {
		return c >= utf8.RuneSelf && (unicode.IsSpace(c) || unicode.In(c, unicode.Z, unicode.Cf))
	}) {
		return false
	}
	// macOS asks of single bytes whether they are blank.
	return runtime.GOOS != "darwin" || strings.IndexByte(line, 0x85) < 0 && strings.IndexByte(line, 0xa0) < 0
}

// Word is one word of a command as far as it is known before the command runs.
type Word struct {
	Text  string // its value; the source text of a word that is not known
	Known bool   // it holds no expansion except globs
	Glob  bool   // it holds an unquoted glob
	// Harmless is set for a word that is not known, but made only of text, public
	// variables and the output of commands that are looked at themselves.
	Harmless bool
}

// Command is one simple command of a line, with wrappers such as env and timeout opened.
type Command struct {
	Words []Word
	Dir   string // where it runs, as the line's literal cd commands say; "" where that is not known

	Inputs     []Word   // files it reads through redirection
	Texts      []string // here-documents and here-strings it reads, as far as they are known
	Outputs    []Word   // files its output is redirected into
	Overwrites bool     // one of Outputs loses its content

	SetsVariables   bool // variables are set for it
	Elevated        bool // it runs under sudo or doas
	TakesArgs       bool // it gets arguments from xargs or find
	UnknownText     bool // the text it is given to read is not known
	UnsafeExpansion bool // an expansion in it can set variables or run commands that are not seen
	Compound        bool // it is more than a simple command: no rule for its words covers it
	RunsUnknown     bool // it runs a command that cannot be seen

	Wrappers []Wrapper // the commands it was found in, outermost first
}

// Wrapper is a command that runs another one.
type Wrapper struct {
	Words         []Word
	SetsVariables bool // variables are set for it
}

// Name is the command's name, "" where it is not known.
func (c Command) Name() string {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return ""
	}
	return c.Words[0].Text
}

// Base is the command's name without its directory, "." where it is not known.
func (c Command) Base() string { return path.Base(c.Name()) }

// Args are the texts of the words behind the name.
func (c Command) Args() []string { return Texts(c.Words[min(1, len(c.Words)):]) }

// Known reports whether everything the command is given is known.
func (c Command) Known() bool {
	unknown := func(w Word) bool { return !w.Known }
	return !c.UnknownText && !c.UnsafeExpansion && !c.Compound && !c.RunsUnknown &&
		!slices.ContainsFunc(c.Words, unknown) && !slices.ContainsFunc(c.Inputs, unknown)
}

// Globs reports whether the shell expands a glob in one of its words.
func (c Command) Globs() bool {
	return slices.ContainsFunc(c.Words, func(w Word) bool { return w.Glob })
}

// ChangesShell reports whether the command changes the meaning of later commands of the
// same line, or runs text: no rule for its first words covers that.
func (c Command) ChangesShell() bool {
	// test and printf evaluate the subscripts they are given, and commands in them.
	return In(`eval source . exec set shopt alias unalias read mapfile readarray getopts hash enable trap pushd popd
		unset bind complete compgen test [ [[ printf`, c.Name())
}

// String is the command as a line for people.
func (c Command) String() string {
	var words []string
	for _, w := range c.Words {
		text := w.Text
		if w.Known && !w.Glob && (text == "" || strings.ContainsAny(text, " \t\n'\"$&|;<>()*?[`\\")) {
			text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
		words = append(words, text)
	}
	for _, in := range c.Inputs {
		words = append(words, "< "+in.Text)
	}
	for _, out := range c.Outputs {
		words = append(words, "> "+out.Text)
	}
	if n := len(c.Wrappers); n > 0 {
		words = append(words, " (by "+c.Wrappers[n-1].Words[0].Text+")")
	}
	return strings.Join(words, " ")
}

// Path is where a path leads from the command's directory; "" where that is not known and the path is not absolute.
func (c Command) Path(to string) string {
	if filepath.IsAbs(to) {
		return filepath.Clean(to)
	}
	if c.Dir == "" {
		return ""
	}
	return filepath.Join(c.Dir, to)
}

// Words are the words of a text as a shell parts them, without their quotes: those of the first simple command in it. ok
// means that it is all of the text; without words the text cannot be parsed.
func Words(text string) (words []string, ok bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, false
	}
	w := walker{text: text}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, found := n.(*syntax.CallExpr)
		if found && words == nil {
			words = Each(call.Args, func(arg *syntax.Word) string { return w.literal(arg).Text })
			ok = strings.TrimSpace(text[call.Pos().Offset():call.End().Offset()]) == strings.TrimSpace(text)
		}
		return words == nil
	})
	return words, ok
}

// Texts are the texts of words.
func Texts(words []Word) []string { return Each(words, func(w Word) string { return w.Text }) }

// Each applies f to every item of a list.
func Each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = f(item)
	}
	return out
}

// In reports whether a list of words, separated by spaces, holds a word.
func In(list, word string) bool {
	return slices.Contains(strings.Fields(list), word)
}

// IsOption reports whether a word is written as an option.
func IsOption(w string) bool { return len(w) > 1 && w[0] == '-' }

// HasOption reports whether a word is, or holds in a cluster, one of the options. A beginning of a long
// option counts, as to GNU programs.
func HasOption(w, options string) bool {
	if !IsOption(w) {
		return false
	}
	name, _, _ := strings.Cut(w, "=")
	for o := range strings.FieldsSeq(options) {
		switch {
		case name == o:
			return true
		case strings.HasPrefix(o, "--") && strings.HasPrefix(name, "--") && len(name) > 2 && strings.HasPrefix(o, name):
			return true
		case len(o) == 2 && w[1] != '-' && strings.IndexByte(w[1:], o[1]) >= 0:
			return true
		}
	}
	return false
}

// HaveOption reports whether one of the words has one of the options.
func HaveOption(words []string, options string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return HasOption(w, options) })
}

// Letters are the options of a cluster such as -rf, one by one.
func Letters(option string) []string {
	if len(option) < 3 || option[1] == '-' {
		return []string{option}
	}
	return Each([]rune(option[1:]), func(c rune) string { return "-" + string(c) })
}

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

// Destroys names a command that throws work away by its words alone, "" for others. kept means that it loses nothing
// where the files that its words name are kept somewhere.
func (c Command) Destroys() (what string, kept bool) {
	name, args := strings.ToLower(c.Base()), c.Args()
	if git := Texts(c.Git()); len(git) > 0 {
		return destroysInGit(git[0], git[1:]), false
	}
	switch {
	case name == "rm" && HaveOption(args, "-r -R --recursive"):
		return "rm -r", true
	case name == "find" && slices.Contains(args, "-delete"):
		return "find -delete", true
	case In("shred truncate mv", name):
		return name, true
	}
	return "", false
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

// Guesses are the commands that may be hidden in a text whose commands are not all seen: whatever words follow each other
// in it, without their quotes.
func Guesses(text string) (commands []Command) {
	text = strings.NewReplacer("\\", "", "'", "", `"`, "").Replace(text)
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(";|&\n<>(){}`=:,", c) }) {
		words := Each(strings.Fields(part), func(w string) Word { return Word{Text: w, Known: true} })
		for i := range words {
			commands = append(commands, Command{Words: words[i:]})
		}
	}
	return commands
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

// A wrapper is a command that runs another one given in its arguments. Words after an option that is not listed are not
// seen.
type wrapper struct {
	names  string
	flags  string // options without a value; those of one letter may be clustered
	valued string // options with a value, in the same word or the next
	skip   int    // plain words before the inner command; less than 0 for one that is not opened
	raises bool   // the inner command gets more rights
	feeds  bool   // the inner command gets further arguments
	env    bool   // NAME=value words may stand before the inner command
}

var wrappers = []wrapper{
	{names: "sudo doas", raises: true, env: true,
		flags:  "-n -E -H -i -s -S -b -k -A --non-interactive --preserve-env --set-home",
		valued: "-u -g -p -C --user --group --preserve-env"},
	{names: "env", flags: "-i - --ignore-environment -0 --null -v --debug", valued: "-u --unset", env: true},
	{names: "timeout gtimeout", flags: "-v -f -p --foreground --preserve-status --verbose",
		valued: "-k -s --kill-after --signal", skip: 1},
	{names: "nice", flags: "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9", valued: "-n --adjustment"},
	{names: "ionice", flags: "-t", valued: "-c -n --class --classdata"},
	{names: "xargs", flags: "-0 -r -t -x -o --null --no-run-if-empty --verbose --exit", feeds: true,
		valued: "-a -d -E -I -J -R -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars"},
	{names: "time", flags: "-p -v -l"},
	{names: "setsid", flags: "-c -f -w --ctty --fork --wait"},
	{names: "command", flags: "-p"},
	{names: "exec", flags: "-c -l", valued: "-a"},
	{names: "stdbuf", valued: "-i -o -e --input --output --error"},
	{names: "nohup builtin busybox caffeinate"},
	{names: `chrt taskset flock chroot unshare nsenter strace ltrace watch parallel script su runuser pkexec systemd-run
		fakeroot proot firejail bwrap unbuffer rlwrap setarch cpulimit gdb entr toybox fish csh tcsh nu xonsh elvish pwsh`, skip: -1},
}

// How a command runs another one.
type wrapping int

const (
	wrapsNothing wrapping = iota
	wrapsCommand          // inner
	wrapsScript           // a line for a shell; inner surrounds it
	wrapsForeign          // a line for a shell that may take it in another way
	wrapsUnseen           // something that cannot be seen
)

// unwrap opens one wrapper.
func unwrap(s Command) (inner Command, script string, how wrapping) {
	name := path.Base(s.Name())
	if name == "." && s.Name() != "." { // path.Base of an unknown name
		return s, "", wrapsNothing
	}
	inner = s
	inner.Wrappers = append(slices.Clip(s.Wrappers), Wrapper{s.Words, s.SetsVariables})
	if IsShell(name) {
		script, how = shellScript(s.Words[1:])
		return inner, script, how
	}
	if name == "eval" {
		if len(s.Words) > 1 && s.Known() && !s.Globs() {
			return inner, strings.Join(Texts(s.Words[1:]), " "), wrapsScript
		}
		return s, "", wrapsUnseen
	}
	inner.Compound = s.Compound || name == "busybox" // its commands are not those of the system
	switch i := slices.IndexFunc(wrappers, func(w wrapper) bool { return In(w.names, name) }); {
	case i < 0:
		return s, "", wrapsNothing
	case wrappers[i].skip < 0:
		return s, "", wrapsUnseen
	default:
		return open(s, inner, wrappers[i])
	}
}

// open finds the inner command behind a wrapper's own words.
func open(s, inner Command, w wrapper) (Command, string, wrapping) {
	inner.Elevated = s.Elevated || w.raises
	inner.TakesArgs = s.TakesArgs || w.feeds
	words, skip := s.Words[1:], w.skip
	replace := "" // the text that xargs replaces by its input
	for i := 0; i < len(words); i++ {
		at := words[i]
		switch {
		case !at.Known || at.Glob:
			return s, "", wrapsUnseen
		case at.Text == "--":
			continue
		case strings.HasPrefix(at.Text, "-"):
			option, value, valued := optionOf(at.Text, w)
			inner.SetsVariables = inner.SetsVariables || w.env && !w.raises // -i, -u
			switch {
			case option == "":
				if s.Name() == "command" && (at.Text == "-v" || at.Text == "-V") {
					return s, "", wrapsNothing // it only prints where the command is
				}
				return s, "", wrapsUnseen
			case valued && value == "":
				i++
				if i < len(words) {
					value = words[i].Text
				}
			}
			if option == "-I" || option == "-J" || option == "-R" {
				replace = value
			}
		case w.env && strings.Contains(at.Text, "="):
			inner.SetsVariables = true
		case skip > 0:
			skip--
		default:
			inner.Words = slices.Clone(words[i:])
			for j := range inner.Words {
				if replace != "" && strings.Contains(inner.Words[j].Text, replace) {
					inner.Words[j].Known = false
				}
			}
			return inner, "", wrapsCommand
		}
	}
	return s, "", wrapsNothing // no inner command: judged by its own name
}

// optionOf reads an option word: its name, "" when it is none of the wrapper's, and its value.
func optionOf(text string, w wrapper) (name, value string, valued bool) {
	name, value, _ = strings.Cut(text, "=")
	switch {
	case In(w.flags, text):
		return text, "", false
	case In(w.valued, text):
		return text, "", true
	case strings.HasPrefix(text, "--"):
		if In(w.valued, name) && value != "" {
			return name, value, true
		}
	case len(text) > 2 && In(w.valued, text[:2]):
		return text[:2], text[2:], true
	case len(text) > 2 && !slices.ContainsFunc(Letters(text), func(flag string) bool { return !In(w.flags, flag) }):
		return text[:2], "", false
	}
	return "", "", false
}

// IsShell reports whether a program takes lines as shells do.
func IsShell(name string) bool { return In("sh bash dash ash zsh ksh ksh93 mksh yash rbash", name) }

// shellScript is the line of `sh -c 'line'`. With options that only say when
// the shell gives up the line keeps its meaning; with others it may not.
func shellScript(words []Word) (script string, how wrapping) {
	how = wrapsScript
	for i := 0; i < len(words); i++ {
		text, next := words[i].Text, Word{}
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch letters := strings.TrimLeft(text, "-+"); {
		case strings.HasPrefix(text, "~/"):
			return "", wrapsNothing // a script in the home: no value of HOME makes an option of it
		case !words[i].Known || words[i].Glob:
			return "", wrapsUnseen
		case text == "--noprofile", text == "--norc":
		case strings.HasPrefix(text, "--"):
			how = wrapsForeign
		case letters == text:
			return "", wrapsNothing // a script in a file, judged by its own name
		case strings.Trim(letters, "ceuflxaBCEHPTbhkmnprtvoO") != "",
			strings.Contains(letters, "c") && strings.ContainsAny(letters, "oO"):
			return "", wrapsUnseen
		case strings.ContainsAny(letters, "oO"):
			if i++; text[0] == '+' || strings.Trim(letters, "eu") != "o" || !In("pipefail errexit nounset", next.Text) {
				how = wrapsForeign
			}
		case strings.Contains(letters, "c"):
			if strings.Trim(letters, "ceu") != "" || text[0] == '+' {
				how = wrapsForeign
			}
			// Behind -c may stand more options before the line.
			if next.Known && !next.Glob && !strings.HasPrefix(next.Text, "-") {
				return next.Text, how
			}
			return "", wrapsUnseen
		case strings.Trim(letters, "eu") != "" || text[0] == '+':
			how = wrapsForeign
		}
	}
	return "", wrapsNothing
}
