package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// gitCommands are git's commands of the @read group, in the order of their
// documentation.
func gitCommands() []string {
	return []string{"status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "cat-file", "rev-parse", "rev-list", "merge-base",
		"describe", "shortlog", "name-rev", "cherry", "branch", "tag", "remote", "stash list", "stash show", "reflog", "reflog show", "config",
		"show-ref", "for-each-ref", "symbolic-ref", "count-objects", "check-ignore", "worktree list", "version"}
}

// gitListed reports whether a command of git is one of them.
func gitListed(sub string) bool { return slices.Contains(gitCommands(), sub) }

// gitMayWrite finds the word that makes a git command of the reading kind do
// more than read, "" when there is none.
func gitMayWrite(sub string, words []string) (bad string) {
	r, operands := reading{}, -1 // how many plain words it may have, -1 for any
	switch sub {
	case "branch":
		r, operands = reading{flags: "arv", long: "all remotes verbose list show-current contains= no-contains= merged= no-merged= points-at= sort= " +
			"format= ignore-case column? no-column color? no-color abbrev? no-abbrev"}, 0
		words = gitRevisionOptions(words)
	case "tag":
		r, operands = reading{flags: "lin0123456789", long: "list contains= no-contains= merged= no-merged= points-at= sort= format= ignore-case " +
			"column? no-column color? no-color"}, 0
		words = gitRevisionOptions(words)
	case "remote":
		if len(words) == 2 && words[0] == "get-url" && !isOption(words[1]) {
			return ""
		}
		r, operands = reading{flags: "v", long: "verbose"}, 0
	case "config":
		return gitConfigWrites(words)
	case "symbolic-ref":
		r, operands = reading{flags: "q", long: "quiet short"}, 1
	case "cat-file":
		r = reading{flags: "tsep"}
	case "reflog":
		if len(words) > 0 && !isOption(words[0]) {
			return words[0] // another command: git reflog expire
		}
		at := slices.IndexFunc(words, func(w string) bool {
			return slices.Contains([]string{"expire", "delete", "drop", "write", "migrate"}, w)
		})
		if at >= 0 {
			return words[at]
		}
		return ""
	case "grep":
		r = reading{flags: "niIwvhHEFGPlLzcpWqoaruv", values: "eABCm", numbers: true, long: "line-number ignore-case word-regexp invert-match " +
			"extended-regexp basic-regexp fixed-strings perl-regexp files-with-matches files-without-match name-only count cached text break heading " +
			"show-function function-context after-context= before-context= context= max-count= quiet all-match and or not full-name null column " +
			"only-matching color? no-color max-depth= threads="}
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "(" || w == ")" })
	default:
		return ""
	}
	o, bad := r.options(words)
	listing := slices.ContainsFunc(o.used, func(u string) bool {
		name, _, _ := strings.Cut(u, "=")
		return slices.Contains([]string{"list", "l", "contains", "no-contains", "merged", "no-merged", "points-at"}, name) && (name != "l" || sub == "tag")
	})
	switch {
	case bad != "":
		return bad
	case operands >= 0 && len(o.operands) > operands && !listing:
		return o.operands[operands]
	}
	return ""
}

// gitRevisionOptions gives the options whose commit may be left out the one they
// take then.
func gitRevisionOptions(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		switch w {
		case "--contains", "--no-contains", "--merged", "--no-merged", "--points-at":
			if i+1 == len(words) || isOption(words[i+1]) {
				words[i] = w + "=HEAD"
			}
		case "-vv", "-avv", "-vva", "-rvv":
			words[i] = "-v"
		}
	}
	return words
}

// gitConfigWrites finds the word by which git config does more than tell the
// value of a key that holds nothing to hide.
func gitConfigWrites(words []string) (bad string) {
	if len(words) > 0 && words[0] == "get" {
		words = words[1:]
	}
	r := reading{flags: "z", long: "get get-all local global system worktree show-origin show-scope null name-only bool int path type= includes no-includes all"}
	o, bad := r.options(words)
	switch {
	case bad != "":
		return bad
	case len(o.operands) == 0:
		return "without a key"
	case len(o.operands) > 1:
		return o.operands[1]
	}
	key := strings.ToLower(o.operands[0])
	for _, part := range []string{"token", "password", "secret", "extraheader", "credential", "oauth", "pass", "key", "cookie", "auth"} {
		if strings.Contains(key, part) && key != "user.signingkey" {
			return o.operands[0]
		}
	}
	if !strings.Contains(key, ".") || strings.HasPrefix(key, "url.") {
		return o.operands[0]
	}
	return ""
}

// gitOnlyNamed reports whether every plain word names a file of a commit.
func gitOnlyNamed(words []string) bool {
	named := 0
	for _, w := range words {
		_, path, ok := strings.Cut(w, ":")
		if isOption(w) || !ok || path == "" {
			return false
		}
		named++
	}
	return named > 0
}

// gitSecrets says which file of the deny list a command would show, that looks
// at all that its pathspecs do not leave out.
func (p *Policy) gitSecrets(dir string, words []string) (why string) {
	if p.GitSecrets == nil {
		return ""
	}
	names, err := p.GitSecrets(dir)
	if err != nil {
		return err.Error()
	}
	include, exclude := pathspecs(dir, words)
	for _, name := range names {
		if covers(include, name) && !covers(exclude, name) {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				rel = name
			}
			return "it can show " + rel + ", which the repository holds and which may hold secrets (-- . ':!" + filepath.ToSlash(rel) + "' leaves it out)"
		}
	}
	return ""
}

// pathspecs are the places that a git command is for, and those it leaves out,
// absolute; a star in one stands for any characters. Only what stands behind
// -- is surely one.
func pathspecs(dir string, words []string) (include, exclude []string) {
	at := slices.Index(words, "--")
	if at >= 0 {
		for _, w := range words[at+1:] {
			if out, ok := leavesOut(w); ok {
				exclude = append(exclude, filepath.Join(dir, out))
				continue
			}
			if !filepath.IsAbs(w) {
				w = filepath.Join(dir, w)
			}
			include = append(include, filepath.Clean(w))
		}
	}
	if len(include) == 0 {
		include = []string{"*"}
	}
	return include, exclude
}

// leavesOut is what a pathspec leaves out, as far as it is a plain one.
func leavesOut(w string) (what string, ok bool) {
	for _, magic := range []string{":(exclude)", ":!", ":^"} {
		if rest, cut := strings.CutPrefix(w, magic); cut {
			plain := rest != "" && strings.Trim(rest, wordCharacters+"*") == "" && !strings.ContainsAny(rest[:1], "/:!^") && !strings.Contains(rest, "..")
			return rest, plain
		}
	}
	return "", false
}

// covers reports whether one of the places is a path, holds it, or may fit it.
func covers(places []string, path string) bool {
	return slices.ContainsFunc(places, func(place string) bool {
		if place == path || strings.HasPrefix(path, strings.TrimSuffix(place, string(filepath.Separator))+string(filepath.Separator)) {
			return true
		}
		return strings.ContainsAny(place, "*?[") && starFits(place, path)
	})
}

// starFits reports whether a pattern in which stars stand for any characters
// fits a path. Other patterns are not followed: they fit everything in an
// include, and leavesOut lets none through.
func starFits(pattern, path string) bool {
	if strings.ContainsAny(pattern, "?[") {
		return true
	}
	pieces := strings.Split(pattern, "*")
	path, ok := strings.CutPrefix(path, pieces[0])
	if !ok {
		return false
	}
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		_, after, found := strings.Cut(path, piece)
		if !found {
			return false
		}
		path = after
	}
	return strings.HasSuffix(path, pieces[last])
}
