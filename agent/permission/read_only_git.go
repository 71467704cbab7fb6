package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// gitReads reports whether a git command only reads; why is for one of the read-only kind that
// does not.
func (in inspector) gitReads(dirs, words []string) (ok bool, why string) {
	dirs, words, why = in.gitGlobals(dirs, words)
	if why != "" || len(words) == 0 {
		return false, why
	}
	sub, words := words[0], words[1:]
	help := len(words) == 1 && words[0] == "--help"
	if len(words) > 0 {
		if pair := sub + " " + words[0]; slices.Contains(gitCommands(), pair) {
			sub, words = pair, words[1:]
		}
	}
	switch {
	case !slices.Contains(gitCommands(), sub):
		return false, ""
	case help: // the manual page, in a program that the repository's config may name
		why = in.gitRepository(dirs)
		return why == "", why
	}
	if bad := gitMayWrite(sub, words); bad != "" {
		return false, "git " + sub + " " + bad + " may do more than read"
	}
	if why = in.gitWords(dirs, words); why == "" {
		why = cmp.Or(in.gitRepository(dirs), in.gitShowsHidden(sub, words))
	}
	return why == "", why
}

// gitWords checks the words of a git command that may be options or paths.
func (in inspector) gitWords(dirs, words []string) (why string) {
	ended := false
	for _, w := range words {
		option := line.IsOption(w) && !ended
		// Git runs a program for a signature.
		format := slices.ContainsFunc([]string{"%G", "%(signature", "%(contents:sig"},
			func(field string) bool { return strings.Contains(w, field) })
		if option && badGitOption(w) || format {
			return "the option " + w + " of git can write, execute or leave the repository"
		}
		if _, leaves := leavesOut(w); leaves && ended {
			continue
		}
		if why := in.gitWord(dirs, w, option); why != "" {
			return why
		}
		ended = ended || w == "--"
	}
	return ""
}

// gitGlobals takes git's own options off, which come before its command.
func (in inspector) gitGlobals(dirs, words []string) (at, rest []string, why string) {
	for len(words) > 0 && line.IsOption(words[0]) {
		switch {
		case line.In("--no-pager -P --no-optional-locks --literal-pathspecs", words[0]):
			words = words[1:]
		case words[0] == "-C" && len(words) > 1 && words[1] != "":
			if why := in.mayRead(dirs, words[1], false); why != "" {
				return nil, nil, why
			}
			dirs, words = line.PathsFrom(dirs, words[1]), words[2:]
		default:
			return nil, nil, "git " + words[0] + " is not known to do nothing but read"
		}
	}
	return dirs, words, ""
}

// gitRepository asks about the repository itself.
func (in inspector) gitRepository(dirs []string) (why string) {
	for _, dir := range dirs {
		if err := in.gitRuns(dir); err != nil {
			return err.Error()
		}
	}
	return ""
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

// gitWord checks the parts of a word that may be paths: the word itself, or the part after a colon, as in HEAD:a.go and
// -L1,5:a.go.
func (in inspector) gitWord(dirs []string, w string, option bool) (why string) {
	if !option && len(w) > 1 && w[0] == ':' && strings.IndexByte("(/!^", w[1]) >= 0 {
		return w + " is a pattern of git's own"
	}
	path := w
	if option {
		path = optionValue(w)
	}
	if why := in.mayRead(dirs, path, false); why != "" {
		return why
	}
	for rest, found := w, true; found; {
		// A path in a revision starts at the root of the repository.
		if _, rest, found = strings.Cut(rest, ":"); found {
			if why := in.mayRead(append(slices.Clip(dirs), in.Root), rest, false); why != "" {
				return why
			}
		}
	}
	return ""
}

// gitShowsHidden names a hidden file of the work tree whose content a command would show since git tracks it, "" for none.
func (in inspector) gitShowsHidden(sub string, words []string) (why string) {
	options := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !line.IsOption(w) })
	counts := len(options) > 0 && !slices.ContainsFunc(options, func(w string) bool { return !diffSummary(w) })
	stored := line.HaveOption(options, "--cached --staged")
	inTree := sub == "diff" && !counts && !stored || sub == "grep" && !stored || sub == "status" && slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "--v") || line.IsOption(w) && w[1] != '-' && strings.Contains(w, "v")
	})
	if !inTree || in.World.Files == nil {
		return ""
	}
	hidden, err := in.Denied()
	if err != nil {
		return err.Error()
	}
	if tracked := in.World.Files.TrackedOf(hidden); len(tracked) > 0 {
		return "it can show " + below(in.Root, tracked[0]) + ", which is hidden and tracked"
	}
	return ""
}

// diffSummary reports whether an option makes diff print names or counts, no content.
func diffSummary(w string) bool {
	name, _, _ := strings.Cut(w, "=")
	return line.In(`--stat --shortstat --numstat --name-only --name-status --summary --dirstat --compact-summary
		--quiet`, name)
}

// gitCommands are git's commands of the @read group, in the order of their documentation.
func gitCommands() []string {
	return strings.Split(`status|log|diff|show|blame|grep|ls-files|ls-tree|cat-file|rev-parse|rev-list|merge-base|`+
		`describe|shortlog|name-rev|cherry|branch|tag|remote|stash list|stash show|reflog|reflog show|config|`+
		`show-ref|for-each-ref|symbolic-ref|count-objects|check-ignore|worktree list|version`, "|")
}

// gitWrites are the options by which git's commands of the @read group do more than read.
var gitWrites = map[string]string{
	"branch": `-d -D -m -M -c -C -f -u -t --delete --move --copy --force --set-upstream-to --unset-upstream --track
		--no-track --edit-description --create-reflog --no-list --no-points-at`,
	"tag": `-a -s -u -m -F -e -d -f -v --annotate --sign --local-user --message --file --edit --delete --force --verify
		--cleanup --trailer --create-reflog --no-points-at`,
	"symbolic-ref": "-d -m --delete",
	"grep":         "-f -O",
	"blame":        "-S",
	"ls-files":     "-X",
}

// gitMayWrite finds the word by which a git command does more than read, "" for none.
func gitMayWrite(sub string, words []string) (bad string) {
	for i, w := range words {
		if line.HasOption(w, gitWrites[sub]) || strings.HasPrefix(sub, "reflog") &&
			(i == 0 && !line.IsOption(w) || line.In("expire delete drop write migrate", w)) {
			return w
		}
	}
	operands := slices.DeleteFunc(slices.Clone(words), line.IsOption)
	switch {
	case sub == "config":
		return gitConfigWrites(words)
	case sub == "remote" && len(operands) > 0 && (words[0] != "get-url" || len(operands) != 2),
		(sub == "branch" || sub == "tag") && len(operands) > 0 && !listsRefs(sub, words):
		return operands[0]
	case sub == "symbolic-ref" && len(operands) > 1:
		return operands[1]
	}
	return ""
}

// listsRefs reports whether an option makes git branch or git tag list, and is not the value of
// another.
func listsRefs(sub string, words []string) bool {
	value := false
	for _, w := range words {
		switch {
		case w == "--":
			return false
		case !value && (line.HasOption(w, "--list --contains --no-contains --merged --no-merged --points-at") ||
			sub == "tag" && line.HasOption(w, "-l")):
			return true
		}
		value = line.HasOption(w, "--sort --format") && !strings.Contains(w, "=")
	}
	return false
}

// gitConfigWrites finds the word by which git config does more than print a value without secrets.
func gitConfigWrites(words []string) (bad string) {
	if len(words) > 0 && words[0] == "get" {
		words = words[1:]
	}
	key := ""
	for _, w := range words {
		option, _, _ := strings.Cut(w, "=")
		switch {
		case line.IsOption(w) && !line.In(`-z --get --get-all --local --global --system --worktree --show-origin --show-scope
				--null --name-only --bool --int --path --type --includes --no-includes --all`, option), !line.IsOption(w) && key != "":
			return w
		case !line.IsOption(w):
			key = w
		}
	}
	lower := strings.ToLower(key)
	private := slices.ContainsFunc(strings.Fields("token secret extraheader credential pass key cookie auth"),
		func(part string) bool { return strings.Contains(lower, part) })
	switch {
	case key == "":
		return "without a key"
	case private && lower != "user.signingkey" || !strings.Contains(lower, ".") || strings.HasPrefix(lower, "url."):
		return key
	}
	return ""
}

// leavesOut is the path that a plain pathspec leaves out.
func leavesOut(w string) (what string, ok bool) {
	for _, magic := range []string{":(exclude)", ":!", ":^"} {
		if rest, cut := strings.CutPrefix(w, magic); cut {
			return rest, rest != "" && strings.Trim(rest, line.WordCharacters+"*") == "" &&
				!strings.ContainsAny(rest[:1], "/:!^") && !strings.Contains(rest, "..")
		}
	}
	return "", false
}

// optionValue is the part of an option word that may name a file.
func optionValue(w string) string {
	if _, value, ok := strings.Cut(w, "="); ok {
		return value
	}
	if len(w) > 2 && w[1] != '-' && strings.ContainsAny(w, "/.") {
		return w[2:] // -f/etc/passwd
	}
	return ""
}
