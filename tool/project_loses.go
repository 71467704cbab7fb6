package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Loses says in words what is lost when the file at an absolute path is
// replaced: it is there, and no commit has it as it is. "" for nothing. environ
// is the environment that commands get. Git is asked only where its own
// programs are off; what it cannot tell within two seconds counts as lost.
func Loses(environ []string, path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return "" // nothing there, or a device, or a directory that is not replaced
	}
	lost := "it replaces " + path + ", which is not committed"
	repository, err := Repository(filepath.Dir(path))
	if err != nil || !repository.Git || repository.GitRuns() != nil {
		return lost
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	changed := errors.New("changed")
	err = runGit(ctx, environ, repository.Root, filepath.Dir(path), func(string) error { return changed },
		"--literal-pathspecs", "status", "--porcelain", "-z", "--ignored", "--untracked-files=all", "--", filepath.Base(path))
	if err != nil {
		return lost
	}
	return ""
}
