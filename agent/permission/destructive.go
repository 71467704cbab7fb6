package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// alwaysAsked is the reason of a question that no mode spares.
func alwaysAsked(what string) string { return "asked whatever the mode: " + what }

// destroys names commands that throw work away, and those that write what others
// run; they are asked whatever the mode, unless a rule names the very command.
func (p *Policy) destroys(s simple) (what string, yes bool) {
	if why := p.writesWhatOthersRun(s); why != "" {
		return why, true
	}
	if s.name() == "" && len(s.words) > 1 { // $x -rf: the options tell what it may be
		for _, name := range []string{"rm", "git", "find"} {
			named := s
			named.fed = false
			named.words = append([]word{{text: name, known: true}}, s.words[1:]...)
			if what, yes := destructive(named); yes {
				return s.words[0].text + " may stand for " + what, true
			}
		}
	}
	if what, yes := destructive(s); yes && (path.Base(s.name()) != "mv" || len(s.words) < 3) {
		return what, true
	}
	for _, file := range p.overwritten(s) {
		if p.Loses == nil {
			break
		}
		if lost := p.Loses(file); lost != "" {
			return lost, true
		}
	}
	return "", false
}

// destructive is destroys by the command's words alone, which may be those that
// a rule fixes.
func destructive(s simple) (what string, yes bool) {
	name, args := strings.ToLower(path.Base(s.name())), plain(s.words[min(1, len(s.words)):])
	switch name {
	case "rm":
		if slices.ContainsFunc(args, func(a string) bool { return hasOption(a, "-r -R --recursive") }) {
			return "rm -r", true
		}
		if s.fed {
			return "rm of files that are not known beforehand", true
		}
	case "find":
		if slices.Contains(args, "-delete") {
			return "find -delete", true
		}
	case "shred", "truncate", "mv":
		return name, true
	case "patch":
		if !slices.ContainsFunc(args, func(a string) bool { return hasOption(a, "--dry-run --version --help") }) {
			return appliesPatch(name, s)
		}
	case "git":
		if words := plain(gitCommand(s.words[1:])); len(words) > 0 {
			if patchesFiles(words[0], words[1:]) {
				return appliesPatch("git "+words[0], s)
			}
			return destroysInGit(words[0], words[1:])
		}
	}
	return "", false
}

func destroysInGit(sub string, args []string) (what string, yes bool) {
	has := func(options string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return hasOption(a, options) })
	}
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case slices.Contains([]string{"clean", "restore", "rebase", "filter-branch", "filter-repo", "prune"}, sub):
		return "git " + sub, true
	case sub == "reset" && has("--hard --merge"):
		return "git reset --hard", true
	case sub == "checkout" && (slices.Contains(args, "--") || has("-f --force -p --patch --ours --theirs --pathspec-from-file") || slices.Contains(args, ".")):
		return "git checkout --", true
	case sub == "rm" && has("-f --force") && !slices.Contains(args, "--cached"), sub == "mv" && has("-f --force"),
		sub == "checkout-index" && has("-f --force"), sub == "read-tree" && has("--reset"):
		return "git " + sub + " over changes that are not committed", true
	case sub == "switch" && has("-f --force --discard-changes"):
		return "git switch --force", true
	case sub == "stash" && (first == "drop" || first == "clear"), sub == "reflog" && (first == "expire" || first == "delete"):
		return "git " + sub + " " + first, true
	case sub == "branch" && has("-D -f --force -M -C"):
		return "git branch -D", true
	case sub == "update-ref" && has("-d --delete --stdin"):
		return "git update-ref -d", true
	case sub == "gc" && has("--prune"):
		return "git gc --prune", true
	case sub == "worktree" && first == "remove" && has("-f --force"):
		return "git worktree remove --force", true
	case sub == "push" && (has("--force -f --force-with-lease --force-if-includes --mirror --delete -d --prune") ||
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

// overwritten are the files, absolute, whose contents a command replaces: what
// it moves something onto, what its output goes into, and what git takes from
// the index. Where it is not known in which directory it runs, that is the root.
func (p *Policy) overwritten(s simple) (files []string) {
	words := s.overwrites
	switch path.Base(s.name()) {
	case "mv":
		words = append(slices.Clip(words), moved(operandsOf(s, "-t -S --suffix --target-directory"))...)
	case "git":
		words = append(slices.Clip(words), checkedOut(gitCommand(s.words[1:]))...)
	}
	for _, w := range words {
		if w.known {
			files = append(files, p.places(s, w.text)...)
		}
	}
	return files
}

// moved are the files that a mv of these operands would replace.
func moved(operands []word) (targets []word) {
	if len(operands) < 2 {
		return nil
	}
	to := operands[len(operands)-1]
	targets = append(targets, to)
	for _, from := range operands[:len(operands)-1] {
		if from.known {
			targets = append(targets, word{text: path.Join(to.text, path.Base(from.text)), known: to.known, glob: from.glob})
		}
	}
	return targets
}

// checkedOut are the plain words of git checkout, which may be files.
func checkedOut(words []word) (files []word) {
	if len(words) == 0 || words[0].text != "checkout" {
		return nil
	}
	for _, w := range words[1:] {
		if hasOption(w.text, "-b -B --orphan --track -t") {
			return nil // a branch is made
		}
		if !isOption(w.text) {
			files = append(files, w)
		}
	}
	return files
}

// places are where a path of a command may lie, absolute.
func (p *Policy) places(s simple, to string) (files []string) {
	if filepath.IsAbs(to) {
		return []string{filepath.Clean(to)}
	}
	dirs := s.dirs
	if len(dirs) == 0 {
		dirs = []string{p.Root}
	}
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, to))
	}
	return files
}
