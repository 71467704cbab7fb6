package tool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// OthersRun says in words why git runs or obeys the file at an absolute path
// although no name in it tells: it lies in a directory that core.hooksPath of
// the repository or of the user names, in the directory that work trees share,
// or has a place in a bare repository. "" when it does not. Links in the path
// must be resolved.
func (p Project) OthersRun(path string) string {
	path = filepath.Clean(path)
	if p.Common != "" {
		if _, ok := under(p.Common, path); ok {
			return "it writes into git's directory " + p.Common
		}
	}
	for _, dir := range p.HookDirs() {
		if _, ok := under(FoldName(dir), FoldName(path)); ok {
			return "it writes into " + dir + ", from which git runs hooks (core.hooksPath)"
		}
	}
	for at := path; at != filepath.Dir(at) && at != p.Root; at = filepath.Dir(at) {
		if dir, name := filepath.Dir(at), FoldName(filepath.Base(at)); bareShape(dir, name, at == path) {
			return "git would take " + dir + " for a bare repository and obey what is in it"
		}
	}
	return ""
}

// bareShape reports whether a file of this name, or below it, makes a bare
// repository of dir or changes the one that is there.
func bareShape(dir, name string, file bool) bool {
	switch name {
	case "head":
		return file
	case "config", "objects", "refs", "hooks", "commondir", "info", "config.worktree":
		_, err := os.Lstat(filepath.Join(dir, "HEAD"))
		return err == nil
	}
	return false
}

// HookDirs are the directories that core.hooksPath names, in whichever file of
// git's configuration: git itself is asked each time, for 4 ms, since the answer
// must not be an old one. Without git there are none.
func (p Project) HookDirs() (dirs []string) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "config", "--null", "--type=path", "--get-all", "core.hooksPath")
	git.Dir = p.Root
	out, err := git.Output()
	if err != nil {
		return nil
	}
	for to := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		to = seenFrom(p.Root, to)
		if real, err := filepath.EvalSymlinks(to); err == nil {
			dirs = append(dirs, real)
		}
		dirs = append(dirs, filepath.Clean(to))
	}
	return dirs
}
