package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/git"
	"artoo/tool/names"
)

// Ignored lists what git ignores in the project's work tree, relative to its root
// with slashes; a directory, of which all is ignored, ends in a slash. It is empty
// where git would run programs of the repository's. environ is the environment git
// gets.
func (p Project) Ignored(ctx context.Context, environ []string) (paths []string, err error) {
	if !p.Git || p.GitRuns() != nil {
		return nil, nil
	}
	err = git.Run(ctx, environ, p.Root, p.Root, func(name string) error {
		paths = append(paths, name)
		return nil
	}, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
	return paths, err
}

// underWay are the files and directories in a repository's directory that say what
// is under way in it.
var underWay = []struct{ name, what string }{
	{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
}

// Head says where the project's repository stands, as the branch and the commit,
// and what is under way in it, "" for nothing. It runs nothing; both are "" where
// there is no repository that can be read.
func (p Project) Head() (head, busy string) {
	if !p.Git {
		return "", ""
	}
	dir, common, err := git.Dirs(p.Root)
	if err != nil {
		return "", ""
	}
	for _, w := range underWay {
		if _, err := os.Lstat(filepath.Join(dir, w.name)); err == nil {
			busy = w.what
			break
		}
	}
	data, err := git.ReadSome(filepath.Join(dir, "HEAD"))
	if err != nil {
		return "", busy
	}
	head = strings.TrimSpace(string(data))
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return head, busy
	}
	if data, err := git.ReadSome(filepath.Join(common, filepath.FromSlash(ref))); err == nil {
		return ref + " " + strings.TrimSpace(string(data)), busy
	}
	data, err = git.ReadSome(filepath.Join(common, "packed-refs"))
	if err == nil {
		for line := range strings.Lines(string(data)) {
			if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
				return ref + " " + commit, busy
			}
		}
	}
	return ref, busy
}

// GitData reports whether a path, with slashes, is data in a .git that git reads and
// checks, not what it runs or obeys: its objects, refs, index and logs.
func GitData(path string) bool {
	_, rest, ok := SplitGit(path)
	if !ok {
		return false
	}
	for _, data := range []string{"objects", "refs", "logs"} {
		if rest == data || strings.HasPrefix(rest, data+"/") {
			return true
		}
	}
	return rest == "" || strings.Contains(" HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD index ORIG_HEAD FETCH_HEAD "+
		"COMMIT_EDITMSG packed-refs ", " "+rest+" ")
}

// SplitGit parts a path behind its first element .git, in whatever case.
func SplitGit(path string) (dir, rest string, ok bool) {
	parts := strings.Split(path, "/")
	i := slices.IndexFunc(parts, func(part string) bool { return names.Fold(part) == ".git" })
	if i < 0 {
		return "", "", false
	}
	return strings.Join(parts[:i+1], "/"), strings.Join(parts[i+1:], "/"), true
}
