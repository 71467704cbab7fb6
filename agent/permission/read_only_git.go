package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// gitReads reports whether a git command only reads; why is for one of the read-only kind that
// does not. What git has stored is no secret: only the files of the work tree are hidden.
func (in inspector) gitReads(dir string, words []string) (ok bool, why string) {
	for len(words) > 0 && line.IsOption(words[0]) {
		switch {
		case line.In("--no-pager -P --no-optional-locks --literal-pathspecs", words[0]):
			words = words[1:]
		case words[0] == "-C" && len(words) > 1 && words[1] != "":
			if why := in.mayRead(dir, words[1], false); why != "" {
				return false, why
			}
			dir, words = line.Command{Dir: dir}.Path(words[1]), words[2:]
		default:
			return false, "git " + words[0] + " is not known to do nothing but read"
		}
	}
	if len(words) == 0 {
		return false, ""
	}
	sub, words := words[0], words[1:]
	if len(words) > 0 && slices.Contains(gitCommands(), sub+" "+words[0]) {
		sub, words = sub+" "+words[0], words[1:]
	}
	if !slices.Contains(gitCommands(), sub) {
		return false, ""
	}
	if len(words) == 1 && words[0] == "--help" { // the manual page, in a program that the repository's config may name
		words = nil
	}
	if bad := gitMayWrite(sub, words); bad != "" {
		return false, "git " + sub + " " + bad + " may do more than read"
	}
	for _, w := range words {
		// Git runs a program for a signature; a ref may lead to any file's content.
		format := slices.ContainsFunc([]string{"%G", "%(signature", "%(contents:sig", "%(raw", "%(*raw"},
			func(field string) bool { return strings.Contains(w, field) })
		if line.IsOption(w) && badGitOption(w) || format {
			return false, "the option " + w + " of git can write, execute or leave the repository"
		}
		for rest, found := valueOf(w), true; found; _, rest, found = strings.Cut(rest, ":") {
			if why := cmp.Or(in.mayRead(dir, rest, false), in.mayRead(in.Root, rest, false)); why != "" {
				return false, why
			}
		}
	}
	if err := in.gitRuns(dir); err != nil {
		return false, err.Error()
	}
	options := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !line.IsOption(w) })
	counts := len(options) > 0 && !slices.ContainsFunc(options, func(w string) bool {
		return !line.In("--stat --shortstat --numstat --name-only --name-status --cached --staged", w)
	})
	shows := sub == "diff" && !counts || sub == "grep" || sub == "status" && line.HaveOption(options, "-v --verbose")
	if in.Hides || in.Files == nil || !shows || line.HaveOption(options, "--cached --staged") {
		return true, ""
	}
	hidden, err := in.Denied()
	if err == nil && len(hidden) == 0 {
		return true, ""
	}
	if err != nil || len(in.World.Files.TrackedOf(hidden)) > 0 {
		return false, "it can show hidden files of the work tree that git tracks"
	}
	return true, ""
}

// valueOf is the part of a word that may name a file: the value of an option, or all of it.
func valueOf(w string) string {
	if _, value, ok := strings.Cut(w, "="); ok && line.IsOption(w) {
		return value
	}
	if line.IsOption(w) && len(w) > 2 && w[1] != '-' {
		return w[2:]
	}
	return w
}

// badGitOption reports whether an option writes, executes or reads elsewhere. Git takes any unambiguous
// beginning of a long option.
func badGitOption(w string) bool {
	if strings.HasPrefix(w, "-O") {
		return true
	}
	return line.HasOption(w, `--output --ext-diff --textconv --no-index --contents --open-files-in-pager --exec
		--upload-pack --paginate --show-signature --submodule --recurse-submodules --stdin --remerge-diff --help --untracked
		--no-exclude-standard --filters --batch --batch-check --batch-command --batch-all-objects --edit --alternate-refs
		--diff-merges`)
}

// gitCommands are git's commands of the reading table, in the order of their documentation.
func gitCommands() []string {
	return strings.Split(`status|log|diff|show|blame|grep|ls-files|ls-tree|cat-file|rev-parse|rev-list|merge-base|`+
		`describe|shortlog|name-rev|cherry|branch|tag|remote|stash list|stash show|reflog|`+
		`show-ref|for-each-ref|count-objects|check-ignore|worktree list|version`, "|")
}

// gitLists are the options with which git's commands of the reading table that can write do nothing but list. They take
// no other words.
var gitLists = map[string]string{
	"branch": "-a -r -v -vv --all --remotes --list -l --show-current --no-color --merged --no-merged --verbose",
	"tag":    "-l --list -n --merged --no-merged",
	"remote": "-v --verbose",
	"reflog": "-n -5 -10 -20 --oneline",
}

// gitMayWrite finds the word by which a git command does more than read, "" for none.
func gitMayWrite(sub string, words []string) (bad string) {
	lists, narrow := gitLists[sub]
	for _, w := range words {
		if narrow && !line.In(lists, w) || line.HasOption(w, map[string]string{"grep": "-f -O", "blame": "-S", "ls-files": "-X"}[sub]) {
			return w
		}
	}
	return ""
}
