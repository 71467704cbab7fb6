package agent

import (
	"path"
	"slices"
	"strings"
)

// Reach tells whether a command may read what its argument names without being
// asked: the path (or glob) as the shell would see it in dir, recursive when
// the command descends into directories. The error says why not: outside the
// project, or a secret. Options that take no file may be passed too; what does
// not exist is no reason.
type Reach func(dir, arg string, recursive bool) error

// reading describes a command of the @read group.
type reading struct {
	// bad are options that write, execute, or read a list of files; an option
	// of one letter also counts inside a cluster (-xo), a long one with =value.
	bad string
	// recursive are options that make it descend; "*" when it always does.
	recursive string
	// operands is how many plain words it may have, 0 for any: a further one
	// would be an output file.
	operands int
	// pathless marks commands whose words are no files.
	pathless bool
}

func readingOf(name string) (reading, bool) {
	switch name {
	case "ls", "cat", "head", "tail", "stat", "pwd", "cut":
		return reading{}, true
	case "wc":
		return reading{bad: "--files0-from"}, true
	case "file":
		return reading{bad: "-C --compile -m --magic-file -f --files-from -z -Z --uncompress --uncompress-noreport"}, true
	case "grep":
		return reading{recursive: "-r -R --recursive --dereference-recursive -d --directories"}, true
	case "rg":
		return reading{bad: "--pre --pre-glob --hostname-bin -z --search-zip -f --file --ignore-file", recursive: "*"}, true
	case "find":
		return reading{bad: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from"}, true
	case "sort":
		return reading{bad: "-o --output -T --temporary-directory --compress-program --files0-from"}, true
	case "uniq":
		return reading{operands: 1}, true
	case "diff":
		return reading{recursive: "-r --recursive"}, true
	case "echo", "printf", "true", "false", "cd":
		return reading{pathless: name != "cd"}, true
	}
	return reading{}, false
}

// onlyReads reports whether a simple command is one of the reading commands,
// used without options that write or execute, on files it may read. why says
// what is in the way, "" when it is not such a command at all.
func (p *Policy) onlyReads(s simple) (ok bool, why string) {
	if len(s.words) == 0 {
		return false, ""
	}
	name := s.words[0]
	r, known := readingOf(name)
	if name == "git" {
		known = true
	}
	switch {
	case !known:
		return false, ""
	case s.unknown:
		return false, "it holds an expansion whose value is not known beforehand"
	case s.writes:
		return false, "its output goes into a file"
	case s.assigns:
		return false, "variables are set for it"
	case s.raised, s.fed:
		return false, "it is started by another command"
	case s.dir == "":
		return false, "the directory it runs in is not known beforehand"
	}
	for _, input := range s.inputs {
		if err := p.reach(s.dir, input, false); err != nil {
			return false, err.Error()
		}
	}
	if name == "git" {
		return p.gitReads(s)
	}
	return p.wordsRead(s, r, s.words[1:])
}

func (p *Policy) wordsRead(s simple, r reading, words []string) (bool, string) {
	if r.pathless {
		return true, ""
	}
	recursive := r.recursive == "*"
	operands, ended := 0, false
	for _, w := range words {
		if ended || !isOption(w) {
			operands++
			continue
		}
		ended = w == "--"
		if hasOption(w, r.bad) {
			return false, "option " + w + " can write or execute"
		}
		recursive = recursive || hasOption(w, r.recursive)
	}
	if r.operands > 0 && operands > r.operands {
		return false, "its second word is a file it writes"
	}
	for _, w := range words {
		if err := p.reach(s.dir, optionValue(w), recursive); err != nil {
			return false, err.Error()
		}
	}
	if recursive && operands <= 1 {
		if err := p.reach(s.dir, ".", true); err != nil {
			return false, err.Error()
		}
	}
	return true, ""
}

func (p *Policy) reach(dir, arg string, recursive bool) error {
	if arg == "" || p.Reach == nil {
		return nil
	}
	return p.Reach(dir, arg, recursive)
}

// gitReads knows the subcommands of git that only read.
func (p *Policy) gitReads(s simple) (bool, string) {
	const bad = "--output --ext-diff --textconv --open-files-in-pager --exec --upload-pack --paginate -p --contents --no-index -O"
	if len(s.words) < 2 || isOption(s.words[1]) {
		return false, "git's own options come before its command"
	}
	sub := s.words[1]
	switch sub {
	case "status", "log", "diff", "show", "blame", "ls-files", "rev-parse":
	default:
		return false, ""
	}
	for _, w := range s.words[2:] {
		if isOption(w) && hasOption(w, bad) && !(w == "-p" && sub != "rev-parse") {
			return false, "option " + w + " can write or execute"
		}
		if err := p.reach(s.dir, optionValue(w), false); err != nil {
			return false, err.Error()
		}
	}
	if p.GitRuns != nil {
		if err := p.GitRuns(s.dir); err != nil {
			return false, err.Error()
		}
	}
	return true, ""
}

func isOption(w string) bool { return len(w) > 1 && w[0] == '-' }

// optionValue is the part of a word that may name a file.
func optionValue(w string) string {
	if !isOption(w) {
		return w
	}
	if _, value, ok := strings.Cut(w, "="); ok {
		return value
	}
	if len(w) > 2 && w[1] != '-' && strings.ContainsAny(w, "/.") {
		return w[2:] // -f/etc/passwd
	}
	return ""
}

// hasOption reports whether a word is, or holds in a cluster, one of the
// options. GNU programs take any unambiguous beginning of a long option, so a
// beginning counts too.
func hasOption(w, options string) bool {
	name, _, _ := strings.Cut(w, "=")
	for _, o := range strings.Fields(options) {
		switch {
		case name == o:
			return true
		case strings.HasPrefix(o, "--") && strings.HasPrefix(name, "--") && len(name) > 3 && strings.HasPrefix(o, name):
			return true
		case len(o) == 2 && len(w) > 2 && w[1] != '-' && strings.IndexByte(w[1:], o[1]) >= 0:
			return true
		}
	}
	return false
}

// destructive names commands that throw work away; they are asked whatever the
// mode, unless a rule names the very command.
func destructive(s simple) (what string, yes bool) {
	if len(s.words) == 0 {
		return "", false
	}
	name, args := path.Base(s.words[0]), s.words[1:]
	if name == "rm" {
		for _, a := range args {
			if isOption(a) && hasOption(a, "-r -R --recursive") {
				return "rm -r", true
			}
		}
		return "", false
	}
	if name != "git" {
		return "", false
	}
	args = gitCommand(args)
	if len(args) == 0 {
		return "", false
	}
	has := func(options string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool { return isOption(a) && hasOption(a, options) })
	}
	switch sub := args[0]; {
	case sub == "clean", sub == "restore", sub == "rebase":
		return "git " + sub, true
	case sub == "reset" && has("--hard --merge"):
		return "git reset --hard", true
	case sub == "checkout" && (slices.Contains(args, "--") || has("-f --force") || slices.Contains(args, ".")):
		return "git checkout --", true
	case sub == "switch" && has("-f --force --discard-changes"):
		return "git switch --force", true
	case sub == "stash" && len(args) > 1 && (args[1] == "drop" || args[1] == "clear"):
		return "git stash " + args[1], true
	case sub == "branch" && (has("-D") || has("--force -f") && has("-d --delete")):
		return "git branch -D", true
	case sub == "push" && (has("--force -f --force-with-lease --mirror --delete -d") || slices.ContainsFunc(args[1:], func(a string) bool { return strings.HasPrefix(a, "+") })):
		return "git push --force", true
	}
	return "", false
}

// gitCommand skips git's own options.
func gitCommand(args []string) []string {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c" || a == "--git-dir" || a == "--work-tree" || a == "--namespace":
			i++
		case isOption(a):
		default:
			return args[i:]
		}
	}
	return nil
}
