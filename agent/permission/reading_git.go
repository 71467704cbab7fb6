package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// gitCommandReads is gitReads for a command.
func (p *Policy) gitCommandReads(s simple) (ok bool, why string) {
	return p.gitReads(s.dirs, plain(s.words[1:]))
}

// gitReads reports whether a git command does nothing but read; why is the
// reason when it is of the reading kind and yet does not.
func (p *Policy) gitReads(dirs, words []string) (ok bool, why string) {
	dirs, words, why = p.gitGlobals(dirs, words)
	if why != "" || len(words) == 0 {
		return false, why
	}
	sub, words := words[0], words[1:]
	help := len(words) == 1 && words[0] == "--help"
	switch {
	case sub == "stash" && len(words) > 0 && (words[0] == "list" || words[0] == "show"),
		sub == "reflog" && len(words) > 0 && words[0] == "show", sub == "worktree" && len(words) > 0 && words[0] == "list":
		sub, words = sub+" "+words[0], words[1:]
	}
	switch {
	case !gitListed(sub):
		return false, ""
	case help: // the manual page, in a program that the repository's config may name
		why = p.gitRepository(dirs, "help", nil)
		return why == "", why
	}
	if bad := gitMayWrite(sub, words); bad != "" {
		return false, "git " + sub + " " + bad + " may do more than read"
	}
	if why := p.gitWords(dirs, words); why != "" {
		return false, why
	}
	why = p.gitRepository(dirs, sub, words)
	return why == "", why
}

// gitWords checks the words of a git command that may be options or paths.
func (p *Policy) gitWords(dirs, words []string) (why string) {
	ended := false
	for _, w := range words {
		option := isOption(w) && !ended
		if option && badGitOption(w) || strings.Contains(w, "%G") || strings.Contains(w, "%(signature") || strings.Contains(w, "%(contents:sig") {
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
	for len(words) > 0 && isOption(words[0]) {
		switch {
		case slices.Contains([]string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"}, words[0]):
			words = words[1:]
		case words[0] == "-C" && len(words) > 1 && words[1] != "":
			if why := p.mayReadNames(dirs, words[1]); why != "" {
				return nil, nil, why
			}
			dirs, words = into(dirs, words[1]), words[2:]
		default:
			return nil, nil, "git " + words[0] + " is not known to do nothing but read"
		}
	}
	return dirs, words, ""
}

func into(dirs []string, to string) []string {
	if filepath.IsAbs(to) {
		return []string{filepath.Clean(to)}
	}
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = filepath.Join(d, to)
	}
	return out
}

// gitRepository asks about the repository itself.
func (p *Policy) gitRepository(dirs []string, sub string, words []string) (why string) {
	broad := gitShowsMuch(sub, words)
	for _, dir := range dirs {
		if p.GitRuns != nil {
			if err := p.GitRuns(dir); err != nil {
				return err.Error()
			}
		}
		if !broad {
			continue
		}
		if why := p.gitSecrets(dir, words); why != "" {
			return why
		}
		if r, ok := p.readRule(dir, ".", true); ok {
			return "the rule " + r.String() + " speaks of files it may show"
		}
	}
	return ""
}

// badGitOption reports whether an option writes, executes, reads files that are
// named elsewhere, or enters other repositories. Git takes any unambiguous
// beginning of a long option.
func badGitOption(w string) bool {
	if strings.HasPrefix(w, "-O") {
		return true
	}
	name, _, _ := strings.Cut(w, "=")
	for _, bad := range []string{"--output", "--ext-diff", "--textconv", "--no-index", "--contents", "--open-files-in-pager", "--exec",
		"--upload-pack", "--paginate", "--show-signature", "--submodule", "--recurse-submodules", "--stdin", "--remerge-diff", "--help", "--untracked",
		"--no-exclude-standard", "--filters", "--batch", "--edit", "--alternate-refs"} {
		if strings.HasPrefix(name, "--") && len(name) > 2 && strings.HasPrefix(bad, name) {
			return true
		}
	}
	return false
}

// gitWord checks what may be a path in a word: the word itself, or what follows
// a colon, as in HEAD:a.go and -L1,5:a.go.
func (p *Policy) gitWord(dirs []string, w string, option bool) (why string) {
	if !option && (strings.HasPrefix(w, ":(") || strings.HasPrefix(w, ":/") || strings.HasPrefix(w, ":!") || strings.HasPrefix(w, ":^")) {
		return w + " is a pattern of git's own"
	}
	path := w
	if option {
		path = optionValue(w)
	}
	if why := p.mayRead(dirs, path, false); why != "" {
		return why
	}
	for rest := w; ; {
		_, after, ok := strings.Cut(rest, ":")
		if !ok {
			return ""
		}
		// A path in a revision starts at the root of the repository.
		if why := p.mayRead(append(slices.Clip(dirs), p.Root), after, false); why != "" {
			return why
		}
		rest = after
	}
}

// gitShowsMuch reports whether the command shows what is in files that its
// words do not name one by one.
func gitShowsMuch(sub string, words []string) bool {
	switch sub {
	case "grep", "cat-file", "stash show":
		return true
	case "show":
		if gitOnlyNamed(words) {
			return false // one file each, which is looked at by its name
		}
		return !slices.ContainsFunc(words, func(w string) bool { return w == "-s" || w == "--no-patch" || isOption(w) && diffSummary(w) }) ||
			slices.ContainsFunc(words, func(w string) bool {
				return isOption(w) && w != "-s" && w != "--no-patch" && !diffSummary(w) && !summary(w)
			})
	case "status":
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.HasPrefix(w, "--v") || isOption(w) && w[1] != '-' && strings.Contains(w, "v")
		})
	case "log", "reflog", "reflog show", "stash list":
		if !slices.ContainsFunc(words, func(w string) bool { return isOption(w) && !summary(w) }) {
			return false
		}
	case "diff":
		if slices.ContainsFunc(words, func(w string) bool { return isOption(w) && diffSummary(w) }) &&
			!slices.ContainsFunc(words, func(w string) bool { return isOption(w) && !diffSummary(w) && !summary(w) }) {
			return false
		}
	default:
		return false
	}
	return true
}

// diffSummary names options that make diff tell names or counts, no content.
func diffSummary(w string) bool {
	name, _, _ := strings.Cut(w, "=")
	switch name {
	case "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "--dirstat", "--compact-summary", "--quiet":
		return true
	}
	return false
}

// summary names options with which log still shows no content of files.
func summary(w string) bool {
	if strings.Trim(w, "-0123456789") == "" || diffSummary(w) || strings.HasPrefix(w, "-n") {
		return true
	}
	name, _, _ := strings.Cut(w, "=")
	switch name {
	case "--oneline", "--graph", "--all", "--decorate", "--no-decorate", "--format", "--pretty", "--abbrev-commit", "--since", "--until",
		"--after", "--before", "--author", "--committer", "--grep", "-n", "--max-count", "--no-merges", "--merges", "--reverse", "--date",
		"--follow", "--tags", "--branches", "--remotes", "--first-parent", "--cached", "--staged", "-i", "-E", "-F", "--", "--topo-order",
		"--date-order", "--diff-filter", "--no-color", "--color", "--skip", "--left-right", "--cherry-pick", "--ancestry-path", "--full-history":
		return true
	}
	return strings.HasPrefix(w, "-S") || strings.HasPrefix(w, "-G")
}
