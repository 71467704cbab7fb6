package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/tool/git"
	"artoo/tool/text"
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
	err = repository.status(ctx, environ, filepath.Dir(path), func(string, string) error { return changed },
		"--ignored", "--untracked-files=all", "--", filepath.Base(path))
	if err != nil {
		return lost
	}
	return ""
}

// gitStateTimeout is how long git may take to tell its state: a note is not
// worth a pause that a user feels.
const gitStateTimeout = time.Second

// maxGitState is how many changed files a state names.
const maxGitState = 20

// GitState is the branch of the project's work tree and which files differ from
// the last commit, in a few lines; "" outside of git, and where git does not say
// in time or would run programs of the repository's. environ is the environment
// git gets.
func (p Project) GitState(ctx context.Context, environ []string) string {
	if !p.Git || p.GitRuns() != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, gitStateTimeout)
	defer cancel()
	var files []string
	branch, count := "", 0
	if err := p.status(ctx, environ, p.Root, func(letters, name string) error {
		if letters == "##" {
			branch = text.Printable(name)
		} else if count++; count <= maxGitState {
			files = append(files, letters+" "+text.Printable(name))
		}
		return nil
	}, "--branch", "--ignore-submodules=all"); err != nil {
		return ""
	}
	if count == 0 {
		return branch + ", nothing changed"
	}
	state := fmt.Sprintf("%s, %s:\n%s", branch, text.Counted(count, "file changed", "files changed"), strings.Join(files, "\n"))
	if count > maxGitState {
		state += fmt.Sprintf("\nand %d more", count-maxGitState)
	}
	return state
}

// status hands each path that git status names, with its two letters; those of the branch
// are ##.
func (p Project) status(ctx context.Context, environ []string, dir string, each func(letters, name string) error, args ...string) error {
	from := false // The next piece is the name that a file had before.
	return git.Run(ctx, environ, p.Root, dir, func(piece string) error {
		if from || len(piece) < 4 {
			from = false
			return nil
		}
		from = piece[0] == 'R' || piece[0] == 'C'
		return each(piece[:2], piece[3:])
	}, slices.Concat([]string{"--literal-pathspecs", "status", "--porcelain", "-z"}, args)...)
}
