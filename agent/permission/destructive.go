package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// destroys names commands that throw work away, and those that write what others
// run; they are asked whatever the mode, unless a rule names the very command.
func (p *Policy) destroys(s simple) (what string, yes bool) {
	if why := p.writesWhatOthersRun(s); why != "" {
		return why, true
	}
	if s.name() == "" && len(s.words) > 1 { // $x -rf: the options tell what it may be
		for _, name := range []string{"rm", "git", "find"} {
			named := append([]word{{text: name, known: true}}, s.words[1:]...)
			if what, yes := destructive(simple{words: named, texts: s.texts, unsure: s.unsure, inputs: s.inputs}); yes {
				return s.words[0].text + " may stand for " + what, true
			}
		}
	}
	if what, yes := destructive(s); yes && (path.Base(s.name()) != "mv" || len(s.words) < 3) {
		return what, true
	}
	for _, file := range p.overwritten(s) {
		if lost := p.World.loses(file); lost != "" {
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
		if haveOption(args, "-r -R --recursive") {
			return "rm -r", true
		}
	case "find":
		if slices.Contains(args, "-delete") {
			return "find -delete", true
		}
	case "shred", "truncate", "mv":
		return name, true
	case "git":
		if words := plain(gitCommand(s.words[1:])); len(words) > 0 {
			return destroysInGit(words[0], words[1:])
		}
	}
	return "", false
}

func destroysInGit(sub string, args []string) (what string, yes bool) {
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
		if listed(row.subs, sub) && (row.first == "" || listed(row.first, first)) &&
			(row.options == "" || haveOption(args, row.options)) {
			return row.what, true
		}
	}
	switch {
	case sub == "checkout" && (slices.Contains(args, "--") || slices.Contains(args, ".")):
		return "git checkout --", true
	case sub == "push" && slices.ContainsFunc(args, func(a string) bool { return strings.IndexAny(a, "+:") == 0 }):
		return "git push --force", true
	}
	return "", false
}

// gitCommand skips git's own options.
func gitCommand(words []word) []word {
	for i := 0; i < len(words); i++ {
		switch a := words[i].text; {
		case listed("-C -c --git-dir --work-tree --namespace --exec-path --config-env", a):
			i++
		case isOption(a):
		default:
			return words[i:]
		}
	}
	return nil
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
			targets = append(targets, word{text: path.Join(to.text, path.Base(from.text)), known: to.known,
				glob: from.glob})
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
	if len(s.dirs) == 0 {
		return into([]string{p.Root}, to)
	}
	return into(s.dirs, to)
}

// into is where a path leads from each of the directories; one place where it is
// absolute.
func into(dirs []string, to string) []string {
	if filepath.IsAbs(to) {
		return []string{filepath.Clean(to)}
	}
	return each(dirs, func(dir string) string { return filepath.Join(dir, to) })
}

// fileOptions are the values of these options that stand in the next word.
func fileOptions(s simple, options string) (values []word) {
	for i, w := range s.words {
		if listed(options, w.text) && i+1 < len(s.words) {
			values = append(values, s.words[i+1])
		}
	}
	return values
}
