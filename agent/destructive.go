package agent

import (
	"path"
	"slices"
	"strings"
)

// destructive names commands that throw work away, and output that goes into
// git's own files; they are asked whatever the mode, unless a rule names the
// very command.
func destructive(s simple) (what string, yes bool) {
	for _, to := range s.outputs {
		if inGit(to.text) {
			return "it writes into .git", true
		}
	}
	name, args := path.Base(s.name()), plain(s.words[min(1, len(s.words)):])
	if name == "rm" {
		if slices.ContainsFunc(args, func(a string) bool { return hasOption(a, "-r -R --recursive") }) {
			return "rm -r", true
		}
		return "", false
	}
	if name != "git" || len(s.words) < 2 {
		return "", false
	}
	words := plain(gitCommand(s.words[1:]))
	if len(words) == 0 {
		return "", false
	}
	return destroysInGit(words[0], words[1:])
}

// alwaysAsked is the reason of a question that no mode spares.
func alwaysAsked(what string) string { return "asked whatever the mode: " + what }

func destroysInGit(sub string, args []string) (what string, yes bool) {
	has := func(options string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return hasOption(a, options) })
	}
	switch {
	case sub == "clean", sub == "restore", sub == "rebase":
		return "git " + sub, true
	case sub == "reset" && has("--hard --merge"):
		return "git reset --hard", true
	case sub == "checkout" && (slices.Contains(args, "--") || has("-f --force") || slices.Contains(args, ".")):
		return "git checkout --", true
	case sub == "switch" && has("-f --force --discard-changes"):
		return "git switch --force", true
	case sub == "stash" && len(args) > 0 && (args[0] == "drop" || args[0] == "clear"):
		return "git stash " + args[0], true
	case sub == "branch" && (has("-D") || has("--force -f") && has("-d --delete")):
		return "git branch -D", true
	case sub == "push" && (has("--force -f --force-with-lease --mirror --delete -d") ||
		slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "+") || strings.HasPrefix(a, ":") })):
		return "git push --force", true
	}
	return "", false
}

// hasOption reports whether a word is, or holds in a cluster, one of the
// options. GNU programs take any unambiguous beginning of a long option, so a
// beginning counts too.
func hasOption(w, options string) bool {
	if !isOption(w) {
		return false
	}
	name, _, _ := strings.Cut(w, "=")
	for _, o := range strings.Fields(options) {
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

// gitCommand skips git's own options.
func gitCommand(words []word) []word {
	for i := 0; i < len(words); i++ {
		switch a := words[i].text; {
		case a == "-C" || a == "-c" || a == "--git-dir" || a == "--work-tree" || a == "--namespace" || a == "--exec-path" || a == "--config-env":
			i++
		case isOption(a):
		default:
			return words[i:]
		}
	}
	return nil
}

// inGit reports whether a path lies in a git directory.
func inGit(path string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }), func(part string) bool {
		return strings.EqualFold(part, ".git")
	})
}
