package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// gitReads reports whether a git command only reads; why is for one of the read-only kind that
// does not.
func (p *Policy) gitReads(dirs, words []string) (ok bool, why string) {
	dirs, words, why = p.gitGlobals(dirs, words)
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
		why = p.gitRepository(dirs, "help", nil)
		return why == "", why
	}
	if bad := gitMayWrite(sub, words); bad != "" {
		return false, "git " + sub + " " + bad + " may do more than read"
	}
	if why = p.gitWords(dirs, words); why == "" {
		why = p.gitRepository(dirs, sub, words)
	}
	return why == "", why
}

// gitWords checks the words of a git command that may be options or paths.
func (p *Policy) gitWords(dirs, words []string) (why string) {
	ended := false
	for _, w := range words {
		option := line.IsOption(w) && !ended
		// Git runs a program for a signature; what a ref leads to may be any file's content.
		format := slices.ContainsFunc([]string{"%G", "%(signature", "%(contents:sig", "%(raw", "%(*raw"},
			func(field string) bool { return strings.Contains(w, field) })
		if option && badGitOption(w) || format {
			return "the option " + w + " of git can write, execute or leave the repository"
		}
		if _, leaves := leavesOut(w); leaves && ended {
			continue
		}
		if why := p.gitWord(dirs, w, option); why != "" {
			return why
		}
		ended = ended || w == "--"
	}
	return ""
}

// gitGlobals takes git's own options off, which come before its command.
func (p *Policy) gitGlobals(dirs, words []string) (in, rest []string, why string) {
	for len(words) > 0 && line.IsOption(words[0]) {
		switch {
		case line.In("--no-pager -P --no-optional-locks --literal-pathspecs", words[0]):
			words = words[1:]
		case words[0] == "-C" && len(words) > 1 && words[1] != "":
			if why := p.mayRead(dirs, words[1], false); why != "" {
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
func (p *Policy) gitRepository(dirs []string, sub string, words []string) (why string) {
	broad := gitShowsMuch(sub, words)
	for _, dir := range dirs {
		if why := p.gitRuns(dir); why != "" {
			return why
		}
		if !broad {
			continue
		}
		if why := p.secretShown(dir, words); why != "" {
			return why
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

// gitWord checks what may be a path in a word: the word itself, or what follows
// a colon, as in HEAD:a.go and -L1,5:a.go.
func (p *Policy) gitWord(dirs []string, w string, option bool) (why string) {
	if !option && len(w) > 1 && w[0] == ':' && strings.IndexByte("(/!^", w[1]) >= 0 {
		return w + " is a pattern of git's own"
	}
	path := w
	if option {
		path = optionValue(w)
	}
	if why := p.mayRead(dirs, path, false); why != "" {
		return why
	}
	for rest, found := w, true; found; {
		// A path in a revision starts at the root of the repository.
		if _, rest, found = strings.Cut(rest, ":"); found {
			if why := p.mayRead(append(slices.Clip(dirs), p.Root), rest, false); why != "" {
				return why
			}
		}
	}
	return ""
}

// gitShowsMuch reports whether the command shows content of files that its words do not name.
func gitShowsMuch(sub string, words []string) bool {
	var counts, more bool // there are options that only count, and others than those of summaries
	for _, w := range words {
		patchless := sub == "show" && line.In("-s --no-patch", w)
		counts = counts || patchless || diffSummary(w)
		more = more || line.IsOption(w) && !patchless && !summary(w)
	}
	switch sub {
	case "grep", "cat-file", "stash show":
		return true
	case "show": // one file each is looked at by its name
		return !gitOnlyNamed(words) && (!counts || more || slices.ContainsFunc(words, hasObjectID))
	case "status":
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.HasPrefix(w, "--v") || line.IsOption(w) && w[1] != '-' && strings.Contains(w, "v")
		})
	case "log", "reflog", "reflog show", "stash list":
		return more
	case "diff":
		return !counts || more
	}
	return false
}

// diffSummary reports whether an option makes diff print names or counts, no content.
func diffSummary(w string) bool {
	name, _, _ := strings.Cut(w, "=")
	return line.In(`--stat --shortstat --numstat --name-only --name-status --summary --dirstat --compact-summary
		--quiet`, name)
}

// summary names options with which log still shows no content of files.
func summary(w string) bool {
	name, _, _ := strings.Cut(w, "=")
	return strings.Trim(w, "-0123456789") == "" || diffSummary(w) || strings.HasPrefix(w, "-n") ||
		strings.HasPrefix(w, "-S") || strings.HasPrefix(w, "-G") ||
		line.In(`--oneline --graph --all --decorate --no-decorate --format --pretty --abbrev-commit --since --until
			--after --before --author --committer --grep --max-count --no-merges --merges --reverse --date
			--follow --tags --branches --remotes --first-parent --cached --staged -i -E -F -- --topo-order
			--date-order --diff-filter --no-color --color --skip --left-right --cherry-pick --ancestry-path
			--full-history`, name)
}
