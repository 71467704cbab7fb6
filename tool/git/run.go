// Package git runs git so that it executes nothing which a repository names, and reads its files.
package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"artoo/tool/environ"
)

// Timeout is how long git may take to list the files it tracks.
const Timeout = 10 * time.Second

// UserConfig runs git config in dir with the user's own settings, and returns the
// NUL-terminated pieces of its answer. Where there are no such settings it returns none. The settings of another owner's
// repository count: reading them runs nothing. Git is looked up by artoo's own variables, and gets vars.
func UserConfig(own environ.Vars, vars []string, dir string, args ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	cmd := own.Command(ctx, "git", append([]string{"-c", "safe.directory=*", "config", "--null"}, args...)...)
	cmd.Dir, cmd.Env = dir, vars
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil, nil
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), err
}

// Here leaves out the variables that name another repository or file of settings than git finds by itself.
func Here(vars environ.Vars) environ.Vars {
	return slices.DeleteFunc(slices.Clone(vars), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CONFIG"}, name)
	})
}

// Run runs git in dir, of the work tree top, and hands every NUL-terminated piece of its output to each. An
// error of each ends it. Git is looked up by artoo's own variables, and gets vars. A repository can say that its files are somewhere else: they are at top.
func Run(ctx context.Context, own environ.Vars, vars []string, top, dir string, each func(string) error, args ...string) error {
	g := Git{Own: own, Dir: dir, Env: append(SafeEnviron(vars), "GIT_WORK_TREE="+top)}
	return g.Run(ctx, nil, 0, func(name string) error {
		if name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) {
			return fmt.Errorf("git names a file outside the directory: %q", name)
		}
		return each(name)
	}, args...)
}

// Git is how git is run.
type Git struct {
	Own   environ.Vars // They are artoo's, on whose PATH git is: commands may write to directories of the user's.
	Dir   string
	Env   []string // See SafeEnviron.
	Flags []string // They are added to SafeFlags.
}

// With is git with further variables.
func (g Git) With(env ...string) Git {
	g.Env = append(g.Env[:len(g.Env):len(g.Env)], env...)
	return g
}

// Do runs git for its effect alone.
func (g Git) Do(ctx context.Context, args ...string) error { return g.Run(ctx, nil, 0, nil, args...) }

// Run runs git with an input, which may be nil, and hands each piece of its output that
// ends with sep to each, which may be nil. An error of each ends git and is returned.
func (g Git) Run(ctx context.Context, stdin io.Reader, sep byte, each func(piece string) error, args ...string) error {
	return g.Pipe(ctx, stdin, func(out io.Reader) error {
		if each == nil {
			_, err := io.Copy(io.Discard, out)
			return err
		}
		br := bufio.NewReaderSize(out, 64<<10)
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
	}, args...)
}

// Pipe runs git with an input, which may be nil, while take reads its output. An error of
// take ends git and is returned, as is that of ctx; an error of git's has the text that it wrote to stderr.
func (g Git) Pipe(ctx context.Context, stdin io.Reader, take func(out io.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := g.Own.Command(ctx, "git", slices.Concat(SafeFlags(), g.Flags, args)...)
	cmd.Dir, cmd.Env, cmd.Stdin = g.Dir, g.Env, stdin
	// Git removes its lock files when it is asked to end, and could not when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
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
	taken := take(out)
	if taken != nil {
		cancel()
	}
	err = cmd.Wait()
	if over := ctx.Err(); taken == nil && over != nil {
		return fmt.Errorf("git %s: %w", args[0], over)
	}
	if taken == nil && err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return taken
}

// SafeFlags turns off the programs that a repository's own configuration could make git run: a file-system
// monitor, hooks, a pager, a transport that fetches missing objects of a partial clone, a repository that hides
// among the files of another. It takes no lock either.
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
func SafeEnviron(vars []string) []string {
	env := make([]string, 0, len(vars)+5)
	for _, kv := range vars {
		if !strings.HasPrefix(strings.ToUpper(kv), "GIT_") {
			env = append(env, kv)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "LC_ALL=C")
}

// ObjectID is the name that git gives an object of a kind, such as blob, by its hash.
func ObjectID(sum hash.Hash, kind string, data []byte) string {
	fmt.Fprintf(sum, "%s %d\x00", kind, len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}

// Quote is a name as git writes it in a patch: in quotes where it has a control character, a quote, a
// backslash or bytes that are not UTF-8; and where a space ends a directory's name, since git does not
// find such a name in the first line of a change.
func Quote(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, " /") && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || r == '"' || r == '\\'
	}) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 7 && c <= 13:
			b.WriteByte('\\')
			b.WriteByte("abtnvfr"[c-7])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
