package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// git is how git is run.
type git struct {
	path string
	dir  string
	env  []string
}

func findGit(dir string) (git, error) {
	path, err := exec.LookPath("git")
	return git{path: path, dir: dir}, err
}

// cleanEnviron leaves out every GIT_ variable: they could point git at another
// repository or make it write traces. Replace refs are off, so that an object is what
// its id says.
func cleanEnviron(environ []string) []string {
	env := make([]string, 0, len(environ)+12)
	for _, kv := range environ {
		if !strings.HasPrefix(strings.ToUpper(kv), "GIT_") {
			env = append(env, kv)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_ADVICE=0", "LC_ALL=C")
}

// flags turn off what a configuration could make git run.
func flags() []string {
	return []string{"--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.allow=never", "-c", "gc.auto=0",
		"-c", "maintenance.auto=false", "-c", "core.splitIndex=false", "-c", "log.showSignature=false"}
}

// with is git with further variables.
func (g git) with(env ...string) git {
	g.env = append(g.env[:len(g.env):len(g.env)], env...)
	return g
}

func (g git) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, g.path, append(flags(), args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	// Git removes its lock files when it is asked to end, and could not when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 500 * time.Millisecond
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// run runs git with an input, which may be nil, and hands each piece of its output that
// ends with sep to each, which may be nil. An error of each ends git and is returned.
func (g git) run(ctx context.Context, stdin io.Reader, sep byte, each func(piece string) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, stderr := g.command(ctx, args...)
	cmd.Stdin = stdin
	if each == nil {
		return said(args, cmd.Run(), stderr)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := pieces(out, sep, each)
	if read != nil {
		cancel()
	}
	err = cmd.Wait()
	if read != nil {
		return read
	}
	return said(args, err, stderr)
}

func said(args []string, err error, stderr *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
}

func pieces(r io.Reader, sep byte, each func(piece string) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		piece, err := br.ReadString(sep)
		if errors.Is(err, io.EOF) && piece == "" {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := each(strings.TrimSuffix(piece, string(sep))); err != nil {
			return err
		}
	}
}

// refused reports whether git ended with the exit code 1, which says no.
func refused(err error) bool {
	exit := (*exec.ExitError)(nil)
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

// exited reports whether git ran and failed.
func exited(err error) bool { return errors.As(err, new(*exec.ExitError)) }
