// Package line reads a shell line: which simple commands it runs and could run, with which
// words, in which directories, and their reads and writes. It looks at the text alone, never
// at files or at the environment.
package line

import (
	"cmp"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	return strings.TrimSuffix(strings.ToLower(cmp.Or(s.Name, "bash")), ".exe")
}

// Parse reads a line that shell runs in dir, "" where that is not known.
func Parse(text, dir string, shell Shell) Line {
	commands, ok := read(text, dir, shell.Kind(), 0)
	switch {
	case !In("bash sh dash ash", shell.Kind()):
		return Line{commands, "artoo cannot tell how " + shell.Kind() + " parses this line"}
	case !ok:
		return Line{commands, "the line could not be parsed"}
	case shell.Locale != "":
		return Line{commands, "the shell may read the line differently in the locale " + shell.Locale +
			", which is neither ASCII nor UTF-8"}
	}
	return Line{commands, ""}
}

// read reads a line for a kind of shell, which lies so deep in other scripts. ok is false where the shell may see other
// commands: a plain sh differs from system to system, so it has to be the same line in both languages.
func read(text, dir, kind string, depth int) (commands []Command, ok bool) {
	if depth > mostScripts || !legible(text) {
		return nil, false
	}
	in := func(language syntax.LangVariant) ([]Command, bool) {
		w := walker{text: text, kind: kind, depth: depth, ok: true}
		file, err := syntax.NewParser(syntax.Variant(language)).Parse(strings.NewReader(text), "")
		if err != nil {
			return nil, false
		}
		w.list(file.Stmts, dir)
		return w.commands, w.ok
	}
	commands, ok = in(syntax.LangBash)
	if kind != "bash" {
		others, same := in(syntax.LangPOSIX)
		ok = ok && same && reflect.DeepEqual(commands, others)
	}
	return commands, ok
}

// legible reports whether the parser surely reads a line as shells do.
func legible(line string) bool {
	// The parser skips a carriage return, the shell takes it for a part of the
	// word; other control characters are not worth finding out.
	control := func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD' }
	// The parser lets a backslash continue a comment, the shell does not.
	continued := func(physical string) bool {
		return strings.HasSuffix(physical, "\\\n") && strings.Contains(physical, "#")
	}
	return len(line) <= longestLine && strings.Count(line, "(") <= mostParens && !strings.HasSuffix(line, `\`) &&
		!strings.ContainsFunc(line, control) && plainlySpaced(line) &&
		!slices.ContainsFunc(strings.SplitAfter(line, "\n"), continued)
}

// plainlySpaced reports whether only ASCII can count as blank space: systems differ.
func plainlySpaced(line string) bool {
	blank := func(c rune) bool {
		return c >= utf8.RuneSelf && (unicode.IsSpace(c) || unicode.In(c, unicode.Z, unicode.Cf))
	}
	// macOS asks of single bytes whether they are blank.
	bytes := runtime.GOOS != "darwin" || strings.IndexByte(line, 0x85) < 0 && strings.IndexByte(line, 0xa0) < 0
	return bytes && !strings.ContainsFunc(line, blank)
}

// Word is one word of a command as far as it is known before the command runs.
type Word struct {
	Text  string // its value; the source text of a word that is not known
	Known bool   // it holds no expansion except globs
	Glob  bool   // it holds an unquoted glob
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

	Wrappers [][]Word // the words of the commands it was found in, outermost first
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
		words = append(words, " (by "+c.Wrappers[n-1][0].Text+")")
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

// Words are the words of a text as a shell parts them, without their quotes: those of the first simple command in it.
// ok means that it is all of the text; without words the text cannot be parsed.
func Words(text string) (words []string, ok bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, false
	}
	w := walker{text: text}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, found := n.(*syntax.CallExpr)
		if found && words == nil {
			words = Texts(Each(call.Args, w.literal))
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
	name, _, _ := strings.Cut(w, "=")
	long := strings.HasPrefix(name, "--")
	return IsOption(w) && slices.ContainsFunc(strings.Fields(options), func(o string) bool {
		return name == o || long && len(name) > 2 && strings.HasPrefix(o, name) ||
			!long && len(o) == 2 && strings.IndexByte(w[1:], o[1]) >= 0
	})
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
	const valued = "-C -c --git-dir --work-tree --namespace --exec-path --config-env"
	return words[plainAt(Texts(words), valued):]
}

// plainAt is the place of the first word that is no option, nor the value of one of the valued.
func plainAt(words []string, valued string) int {
	for i := 0; i < len(words); i++ {
		switch {
		case In(valued, words[i]):
			i++
		case !IsOption(words[i]):
			return i
		}
	}
	return len(words)
}

// Git are the words of a git command from its subcommand on; nil for other commands.
func (c Command) Git() []Word {
	if !strings.EqualFold(c.Base(), "git") {
		return nil
	}
	return GitWords(c.Words[1:])
}

const force = " -f --force "

// destroyers throw work away by their words alone. kept means that nothing is lost where the files that the words name
// are kept somewhere.
var destroyers = []struct {
	program, sub, first, options, what string
	kept                               bool
}{
	{"rm", "", "", "-r -R --recursive", "rm -r", true},
	{"find", "", "", "-delete", "find -delete", true},
	{"shred", "", "", "", "shred", true},
	{"truncate", "", "", "", "truncate", true},
	{"mv", "", "", "", "mv", true},
	{"git", "clean", "", "", "git clean", false},
	{"git", "restore", "", "", "git restore", false},
	{"git", "rebase", "", "", "git rebase", false},
	{"git", "filter-branch", "", "", "git filter-branch", false},
	{"git", "reset", "", "--hard --merge", "git reset --hard", false},
	{"git", "checkout", "", force + "--pathspec-from-file --", "git checkout --", false},
	{"git", "switch", "", force + "--discard-changes", "git switch --force", false},
	{"git", "stash", "drop", "", "git stash drop", false},
	{"git", "stash", "clear", "", "git stash clear", false},
	{"git", "reflog", "expire", "", "git reflog expire", false},
	{"git", "branch", "", force + "-D", "git branch -D", false},
	{"git", "update-ref", "", "-d --delete --stdin", "git update-ref -d", false},
	{"git", "gc", "", "--prune", "git gc --prune", false},
	{"git", "worktree", "remove", force, "git worktree remove --force", false},
	{"git", "push", "", force + "--force-with-lease --force-if-includes --mirror --delete -d --prune", "git push --force",
		false},
}

// Destroys names a command that throws work away by its words alone, "" for others. kept means that it loses nothing
// where the files that its words name are kept somewhere.
func (c Command) Destroys() (what string, kept bool) {
	sub, args := "", c.Args()
	if git := Texts(c.Git()); len(git) > 0 {
		sub, args = git[0], git[1:]
	}
	for _, row := range destroyers {
		if strings.EqualFold(row.program, c.Base()) && row.sub == sub && (row.first == "" || len(args) > 0 && row.first == args[0]) &&
			(row.options == "" || HaveOption(args, row.options)) {
			return row.what, row.kept
		}
	}
	switch {
	case sub == "checkout" && slices.Contains(args, "."):
		return "git checkout --", false
	case sub == "push" && slices.ContainsFunc(args, func(a string) bool { return strings.IndexAny(a, "+:") == 0 }):
		return "git push --force", false
	}
	return "", false
}

// Guesses are the commands that may be hidden in a text whose commands are not all seen: whatever words follow each
// other in it, without their quotes. Git's plumbing counts as the command that it serves, and where an alias stands,
// each word may be one of git's commands.
func Guesses(text string) (commands []Command) {
	text = strings.NewReplacer("\\", "", "'", "", `"`, "", "git-", "git ", "send-pack", "push", "http-push", "push",
		"fetch-pack", "fetch", "http-fetch", "fetch", "commit-tree", "commit",
		"subtree", "").Replace(text)
	aliases := strings.Contains(strings.ToLower(text), "alias") || strings.Contains(text, "for-each-repo")
	ends := func(c rune) bool { return strings.ContainsRune(";|&\n<>(){}`=:,!", c) }
	for part := range strings.FieldsFuncSeq(text, ends) {
		words := Each(strings.Fields(part), func(w string) Word { return Word{Text: w, Known: true} })
		for i := range words {
			commands = append(commands, Command{Words: words[i:]})
			if aliases {
				commands = append(commands, Command{Words: append([]Word{{Text: "git", Known: true}}, words[i:]...)})
			}
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
	switch {
	case In("npx bunx uvx", name):
		run = Package{name, sub}
	case name == "npm" && In("exec x", sub), name == "bun" && sub == "x":
		run = Package{name, next}
	}
	if run.Runner != "" && !offline {
		return Network, run
	}
	for _, row := range needs {
		if In(row.programs, name) && !(offline && row.need == Network) && (row.subcommands == "" ||
			In(row.subcommands, sub) || In(row.subcommands, sub+"/"+next)) {
			return row.need, Package{}
		}
	}
	switch {
	case name == "yarn" && sub == "" && !slices.ContainsFunc(words, IsOption),
		name == "go" && sub == "install" && slices.ContainsFunc(words,
			func(w string) bool { return strings.Contains(w, "@") }),
		In("curl wget http https xh nc ncat telnet ping", name) && !onlyLoopback(words):
		return Network, Package{}
	}
	return "", Package{}
}

// Package is a program that a package runner is asked for.
type Package struct{ Runner, Program string }

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
	const valued = "--prefix -C --cwd --dir --filter -F -w --workspace --manifest-path --directory --project"
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "+") })
	words = append(words[plainAt(words, valued):], "", "")
	rest := words[1:]
	return words[0], rest[min(plainAt(rest, valued), len(rest)-1)]
}

// loopback matches an address of the loopback, with or without a scheme, also in the source of a word that is not
// known.
var loopback = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^"?(\w+://)?(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(:[^/?#@]*)?([/?#"]|$)`)
})

// onlyLoopback reports whether a command names an address of the loopback and none elsewhere. A wrong
// guess fails inside, and is asked about then.
func onlyLoopback(words []string) bool {
	elsewhere := func(w string) bool {
		scheme, _, named := strings.Cut(strings.Trim(w, `"`), "://")
		return named && In("http https ftp ws wss", scheme) && !loopback().MatchString(w)
	}
	return slices.ContainsFunc(words, loopback().MatchString) && !slices.ContainsFunc(words, elsewhere)
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
	wrapsText             // something that its words tell
	wrapsUnseen           // something that cannot be seen
)

// unwrap opens one wrapper.
func unwrap(s Command) (inner Command, script string, how wrapping) {
	inner, name := s, s.Base()
	inner.Wrappers = append(slices.Clip(s.Wrappers), s.Words)
	i := slices.IndexFunc(wrappers, func(w wrapper) bool { return In(w.names, name) })
	switch {
	case name == "command" && (slices.Contains(s.Args(), "-v") || slices.Contains(s.Args(),
		"-V")): // It only prints where the command is.
	case IsShell(name):
		script, how = shellScript(s.Words[1:])
	case name == "eval" && len(s.Words) > 1 && s.Known() && !s.Globs():
		script, how = strings.Join(s.Args(), " "), wrapsScript
	case name == "eval", i >= 0 && wrappers[i].skip < 0:
		how = wrapsUnseen
	case i >= 0:
		inner.Compound = s.Compound || name == "busybox" // its commands are not those of the system
		how = inner.open(s.Words[1:], wrappers[i])
	}
	return inner, script, how
}

// open makes the command the inner one behind a wrapper's own words.
func (c *Command) open(words []Word, w wrapper) wrapping {
	skip, replaced := w.skip, "" // xargs replaces that text by its input
	for i := 0; i < len(words); i++ {
		at := words[i].Text
		option, value, valued := strings.Cut(at, "=")
		if !strings.HasPrefix(at, "--") && len(at) > 2 && In(w.valued, at[:2]) {
			option, value, valued = at[:2], at[2:], true
		}
		takes := In(w.valued, option)
		switch {
		case !words[i].Known || words[i].Glob:
			return wrapsUnseen
		case at == "--":
		case strings.HasPrefix(at, "-"):
			if !takes && (valued || slices.ContainsFunc(Letters(at), func(flag string) bool {
				return !In(w.flags,
					flag)
			})) {
				return wrapsUnseen
			}
			c.SetsVariables = c.SetsVariables || w.env && !w.raises // -i, -u
			if takes && !valued && !In(w.flags, at) {
				i++
				value = words[min(i, len(words)-1)].Text
			}
			if In("-I -J -R", option) {
				replaced = value
			}
		case w.env && valued:
			c.SetsVariables = true
		case skip > 0:
			skip--
		default:
			c.Elevated, c.TakesArgs = c.Elevated || w.raises, c.TakesArgs || w.feeds
			c.Words = Each(words[i:], func(w Word) Word {
				w.Known = w.Known && (replaced == "" || !strings.Contains(w.Text, replaced))
				return w
			})
			return wrapsCommand
		}
	}
	return wrapsNothing // no inner command: judged by its own name
}

// IsShell reports whether a program takes lines as shells do.
func IsShell(name string) bool { return In("sh bash dash ash zsh ksh ksh93 mksh yash rbash", name) }

// shellScript is the line of sh -c 'line'. Options that only say when the shell gives up let it keep its meaning;
// others may not. A script in a file is judged by its own name, also one in the home: no value of HOME makes an option
// of it.
func shellScript(words []Word) (script string, how wrapping) {
	plain := true
	for i, w := range words {
		isLine := !strings.HasPrefix(w.Text, "--") && HasOption(w.Text, "-c")
		plain = plain && In("--noprofile --norc -e -u -eu -o -eo -euo pipefail -c -ec -uc -euc", w.Text)
		switch {
		case isLine && plain && i+1 < len(words) && words[i+1].Known && !words[i+1].Glob && !IsOption(words[i+1].Text):
			return words[i+1].Text, wrapsScript
		case isLine, w.Glob, !w.Known && !strings.HasPrefix(w.Text, "~/"):
			return "", wrapsUnseen
		case !IsOption(w.Text) && !strings.HasPrefix(w.Text, "+") && (i == 0 || !In("o O",
			strings.TrimLeft(words[i-1].Text, "-+eu"))):
			return "", wrapsNothing
		}
	}
	return "", wrapsNothing
}
