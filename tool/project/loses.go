package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	err = git.Run(ctx, environ, repository.Root, filepath.Dir(path), func(string) error { return changed },
		"--literal-pathspecs", "status", "--porcelain", "-z", "--ignored", "--untracked-files=all",
		"--", filepath.Base(path))
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
	var state gitState
	if err := git.Run(ctx, environ, p.Root, p.Root, state.take,
		"status", "--porcelain=v1", "--branch", "-z", "--ignore-submodules=all"); err != nil {
		return ""
	}
	return state.String()
}

// gitState reads what git status says, piece by piece.
type gitState struct {
	branch string
	files  []string // "M  path", the first ones
	count  int
	from   bool // the next piece is where a file was renamed from
}

func (s *gitState) take(piece string) error {
	switch {
	case s.from:
		s.from = false
	case strings.HasPrefix(piece, "## "):
		s.branch = strings.TrimPrefix(piece, "## ")
	case len(piece) > 3:
		s.from = piece[0] == 'R' || piece[0] == 'C'
		if s.count++; s.count <= maxGitState {
			s.files = append(s.files, piece[:2]+" "+text.Printable(filepath.ToSlash(piece[3:])))
		}
	}
	return nil
}

// String is the state in words.
func (s *gitState) String() string {
	state := text.Printable(s.branch)
	if s.count == 0 {
		return state + ", nothing changed"
	}
	state = fmt.Sprintf("%s, %s:\n%s", state, text.Counted(s.count, "file changed", "files changed"),
		strings.Join(s.files, "\n"))
	if s.count > maxGitState {
		state += fmt.Sprintf("\nand %d more", s.count-maxGitState)
	}
	return state
}
