// Package git runs git so that it executes nothing which a repository names, and reads its files.
package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"
)

// Timeout is how long git may take to list what it tracks.
const Timeout = 10 * time.Second

// UserConfig runs git config in dir with the user's own settings, and returns the
// NUL-terminated pieces of its answer. Where there are no such settings it returns none.
func UserConfig(environ []string, dir string, args ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"config", "--null"}, args...)...)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil, nil
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), err
}

// Run runs git in dir, of the work tree top, and hands every NUL-terminated
// piece of its output to each. What each returns ends it. A repository can say that
// its files are somewhere else: they are at top.
func Run(ctx context.Context, environ []string, top, dir string, each func(string) error, args ...string) error {
	return RunWith(ctx, append(SafeEnviron(environ), "GIT_WORK_TREE="+top), dir, each, args...)
}

// RunWith is runGit in an environment that is safe and tells where the files are.
func RunWith(ctx context.Context, environ []string, dir string, each func(string) error, args ...string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, append(SafeFlags(), args...)...)
	cmd.Dir = dir
	cmd.Env = environ
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := readPieces(out, each)
	if read != nil {
		cancel()
	}
	if err := cmd.Wait(); read == nil && err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return read
}

func readPieces(r io.Reader, each func(string) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		piece, err := br.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(piece, "\x00")
		if name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) {
			return fmt.Errorf("git names a file outside the directory: %q", name)
		}
		if err := each(name); err != nil {
			return err
		}
	}
}

// SafeFlags turns off what a repository's own configuration could make git
// run: a file-system monitor, hooks, a pager, a transport that fetches what a
// partial clone lacks, a repository that hides among the files of another. It
// takes no lock either.
func SafeFlags() []string {
	return []string{
		"--no-pager", "--no-optional-locks",
		"-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
		"-c", "core.hooksPath=" + os.DevNull,
		"-c", "protocol.allow=never",
		"-c", "safe.bareRepository=explicit",
	}
}

// SafeEnviron leaves out every GIT_ variable: they could point git at
// another repository, or make it write traces.
func SafeEnviron(environ []string) []string {
	env := make([]string, 0, len(environ)+5)
	for _, kv := range environ {
		if !strings.HasPrefix(strings.ToUpper(kv), "GIT_") {
			env = append(env, kv)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "LC_ALL=C")
}
