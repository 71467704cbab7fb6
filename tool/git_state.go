package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

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
	if err := runGit(ctx, environ, p.Root, p.Root, state.take,
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
			s.files = append(s.files, piece[:2]+" "+printable(filepath.ToSlash(piece[3:])))
		}
	}
	return nil
}

// String is the state in words.
func (s *gitState) String() string {
	state := printable(s.branch)
	if s.count == 0 {
		return state + ", nothing changed"
	}
	state = fmt.Sprintf("%s, %s:\n%s", state, counted(s.count, "file changed", "files changed"), strings.Join(s.files, "\n"))
	if s.count > maxGitState {
		state += fmt.Sprintf("\nand %d more", s.count-maxGitState)
	}
	return state
}
