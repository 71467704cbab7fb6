package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// gitCommands are git's commands of the @read group, in the order of their
// documentation.
func gitCommands() []string {
	return strings.Split(`status|log|diff|show|blame|grep|ls-files|ls-tree|cat-file|rev-parse|rev-list|merge-base|`+
		`describe|shortlog|name-rev|cherry|branch|tag|remote|stash list|stash show|reflog|reflog show|config|`+
		`show-ref|for-each-ref|symbolic-ref|count-objects|check-ignore|worktree list|version`, "|")
}

// gitMayWrite finds the word that makes a git command of the reading kind do
// more than read, "" when there is none.
func gitMayWrite(sub string, words []string) (bad string) {
	const listing = ` list contains= no-contains= merged= no-merged= points-at= sort= format= ignore-case column? no-column
		color? no-color`
	r, operands := readOnly{}, -1 // how many plain words it may have, -1 for any
	switch sub {
	case "branch":
		r, operands = readOnly{flags: "arv", long: "all remotes verbose show-current abbrev? no-abbrev" + listing}, 0
		words = gitRevisionOptions(words)
	case "tag":
		r, operands = readOnly{flags: "lin0123456789", long: listing}, 0
		words = gitRevisionOptions(words)
	case "remote":
		if len(words) == 2 && words[0] == "get-url" && !line.IsOption(words[1]) {
			return ""
		}
		r, operands = readOnly{flags: "v", long: "verbose"}, 0
	case "config":
		return gitConfigWrites(words)
	case "symbolic-ref":
		r, operands = readOnly{flags: "q", long: "quiet short"}, 1
	case "cat-file":
		r = readOnly{flags: "tsep"}
	case "reflog":
		for i, w := range words {
			if i == 0 && !line.IsOption(w) || line.In("expire delete drop write migrate", w) {
				return w // another command: git reflog expire
			}
		}
		return ""
	case "grep":
		r = readOnly{flags: "niIwvhHEFGPlLzcpWqoaruv", values: "eABCm", is: numbers, long: `line-number ignore-case
			word-regexp invert-match extended-regexp basic-regexp fixed-strings perl-regexp files-with-matches
			files-without-match name-only count cached text break heading show-function function-context
			after-context= before-context= context= max-count= quiet all-match and or not full-name null column
			only-matching color? no-color max-depth= threads=`}
		words = without(words, "( )")
	default:
		return ""
	}
	o, bad := r.options(words)
	if bad != "" {
		return bad
	}
	lists := slices.ContainsFunc(o.used, func(u string) bool {
		name, _, _ := strings.Cut(u, "=")
		return line.In("list contains no-contains merged no-merged points-at", name) || name == "l" && sub == "tag"
	})
	if operands >= 0 && len(o.operands) > operands && !lists {
		return o.operands[operands]
	}
	return ""
}

// gitRevisionOptions gives the options whose commit may be left out the one they
// take then.
func gitRevisionOptions(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		switch last := i+1 == len(words) || line.IsOption(words[i+1]); {
		case last && line.In("--contains --no-contains --merged --no-merged --points-at", w):
			words[i] = w + "=HEAD"
		case line.In("-vv -avv -vva -rvv", w):
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
	r := readOnly{flags: "z", long: `get get-all local global system worktree show-origin show-scope null name-only bool
		int path type= includes no-includes all`}
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
	private := slices.ContainsFunc(strings.Fields("token secret extraheader credential pass key cookie auth"),
		func(part string) bool { return strings.Contains(key, part) })
	if private && key != "user.signingkey" || !strings.Contains(key, ".") || strings.HasPrefix(key, "url.") {
		return o.operands[0]
	}
	return ""
}

// gitOnlyNamed reports whether every plain word names a file of a commit.
func gitOnlyNamed(words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool {
		_, path, _ := strings.Cut(w, ":")
		return line.IsOption(w) || path == ""
	})
}

// secretShown says which file of the deny list a command would show, that looks
// at all that its pathspecs do not leave out.
func (p reader) secretShown(dir string, words []string) (why string) {
	names, err := p.World.gitSecrets(dir)
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
			return "it can show " + rel + ", which the repository holds and which may hold secrets (-- . ':!" +
				filepath.ToSlash(rel) + "' leaves it out)"
		}
	}
	return ""
}

// pathspecs are the places that a git command is for, and those it leaves out,
// absolute; a star in one stands for any characters. Only what stands behind
// -- is surely one.
func pathspecs(dir string, words []string) (include, exclude []string) {
	if at := slices.Index(words, "--"); at >= 0 {
		for _, w := range words[at+1:] {
			if out, ok := leavesOut(w); ok {
				exclude = append(exclude, filepath.Join(dir, out))
			} else {
				include = append(include, line.PathsFrom([]string{dir}, w)...)
			}
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
			return rest, rest != "" && strings.Trim(rest, line.WordCharacters+"*") == "" &&
				!strings.ContainsAny(rest[:1], "/:!^") && !strings.Contains(rest, "..")
		}
	}
	return "", false
}

// covers reports whether one of the places is a path, holds it, or may fit it:
// patterns with more than stars are not followed. leavesOut lets none of those
// through.
func covers(places []string, path string) bool {
	const slash = string(filepath.Separator)
	return slices.ContainsFunc(places, func(place string) bool {
		fits := patternWord{Text: strings.ReplaceAll(place, "*", wildcard)}
		return place == path || strings.HasPrefix(path, strings.TrimSuffix(place, slash)+slash) ||
			strings.ContainsAny(place, "?[") || fits.matches(path, true)
	})
}
