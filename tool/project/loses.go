package project

import (
	"context"
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
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	repository, err := Repository(filepath.Dir(path))
	real := filepath.Join(repository.Dir, filepath.Base(path))
	if err == nil && !repository.Uncommitted(ctx, environ, []string{real})[real] {
		return ""
	}
	return "it replaces " + path + ", which is not committed"
}

// status hands each the two letters and the path, with slashes, of what git status lists;
// of the branch, which --branch asks for, the letters are "##".
func (p Project) status(ctx context.Context, environ []string, each func(letters, path string), args ...string) error {
	from := false // The next piece is where a file was renamed from.
	return git.Run(ctx, environ, p.Root, p.Root, func(piece string) error {
		if from || len(piece) < 4 {
			from = false
			return nil
		}
		from = piece[0] == 'R' || piece[0] == 'C'
		each(piece[:2], piece[3:])
		return nil
	}, slices.Concat([]string{"--literal-pathspecs", "status", "--porcelain", "-z"}, args)...)
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
	branch, count := "", 0
	var files []string // "M  path", the first ones
	if err := p.status(ctx, environ, func(letters, path string) {
		if letters == "##" {
			branch = text.Printable(path)
		} else if count++; count <= maxGitState {
			files = append(files, letters+" "+text.Printable(path))
		}
	}, "--branch", "--ignore-submodules=all"); err != nil {
		return ""
	}
	if count == 0 {
		return branch + ", nothing changed"
	}
	if count > maxGitState {
		files = append(files, fmt.Sprintf("and %d more", count-maxGitState))
	}
	return fmt.Sprintf("%s, %s:\n%s", branch, text.Counted(count, "file changed", "files changed"), strings.Join(files, "\n"))
}
