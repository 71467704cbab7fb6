package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/shell"
)

// Limits of a command where the environment names none.
const (
	defaultShellTimeout    = 120 * time.Second
	defaultShellTimeoutMax = 30 * time.Minute
	// leastMillis is the least timeout, in seconds, that is taken for milliseconds if it is round.
	leastMillis = 10_000
)

type bashInput struct {
	Command string  `json:"command" jsonschema:"may have several lines"`
	Timeout float64 `json:"timeout,omitempty" jsonschema:"seconds; for long builds and tests"`
	Cwd     string  `json:"cwd,omitempty" jsonschema:"default: the working directory"`
	// Background leaves the command running when the call ends.
	Background bool `json:"background,omitempty" jsonschema:"for servers and watchers: goes on after the call, see shell"`
	// These two are offered where BashOptions.Ask is set.
	Unconfined bool   `json:"unconfined,omitempty" jsonschema:"ask the user to run it with network, keys and home"`
	Reason     string `json:"reason,omitempty" jsonschema:"why, for the user"`
}

// BashOptions are those of the commands of a session.
type BashOptions struct {
	Path     string // shell.Find gives it; with "" every call fails
	Confined bool   // commands run confined
	// Ask says that someone can answer when a call asks to run unconfined.
	Ask bool
	// Timeout is how long a call without a timeout waits, as Env.ShellTimeout; the tool's description names it. 0
	// stands for the default.
	Timeout time.Duration
}

// Bash makes the tool that runs shell commands.
func Bash(o BashOptions) tool.Tool {
	s := commandShell{BashOptions: o, waits: shell.DefaultWaits()}
	def := tool.Def{Name: "bash", Kind: tool.KindRun, Description: s.description()}
	if !s.unconfines() {
		def.Unoffered = []string{"unconfined", "reason"}
	}
	return tool.New(def, s.plan, s.run)
}

type commandShell struct {
	BashOptions
	waits shell.Waits
}

// unconfines reports whether a call may ask to run unconfined.
func (s commandShell) unconfines() bool { return s.Confined && s.Ask }

func (s commandShell) isBash() bool {
	return strings.HasPrefix(strings.ToLower(filepath.Base(s.Path)), "bash")
}

func (s commandShell) description() string {
	how, warning := "bash -c", ""
	if !s.isBash() {
		how, warning = "sh -c", " There is no bash here: write POSIX sh."
	}
	return "Run a command with " + how + ": output (stdout and stderr together) and exit status." + warning +
		" Each call is a new shell: directories and variables do not carry over; use cwd." +
		" No input and no terminal: pass flags such as -y, never start editors, pagers or prompts." +
		" Processes started with & are stopped when the call ends: use background, without &. A command is stopped after" +
		" its timeout; without one it continues in the background after " +
		trimNumber(cmp.Or(max(s.Timeout, 0), defaultShellTimeout).Seconds()) + "s." +
		" Use read, grep, glob and edit rather than cat, grep, find and sed." + s.limits()
}

// limits describes for the model the limits of a confined command.
func (s commandShell) limits() string {
	if !s.Confined {
		return ""
	}
	text := " A read-only one is stopped then, too. Commands run confined: the project and a temporary directory, no home, no network except their own loopback."
	if s.Ask {
		text += " A call with unconfined and a reason asks the user for more."
	}
	return text
}

func (s commandShell) args(command string) []string {
	if s.isBash() {
		return []string{"--noprofile", "--norc", "-c", "--", command}
	}
	return []string{"-c", "--", command}
}

func (s commandShell) plan(_ context.Context, env *tool.Env, in bashInput) (tool.Access, error) {
	place, err := s.check(env, in)
	if err != nil {
		return tool.Access{}, err
	}
	a := tool.Access{
		Kind: tool.KindRun, Command: in.Command, Dir: place.Abs,
		Outside: place.Outside, Denied: place.Denied, Why: place.Why,
		Verb: "run", Object: in.Command,
	}
	a.Background = in.Background
	if s.unconfines() && in.Unconfined {
		a.Unconfined = cmp.Or(strings.TrimSpace(in.Reason), "no reason given")
	}
	return a, nil
}

// check reports an invalid call, and where it would run.
func (s commandShell) check(env *tool.Env, in bashInput) (files.Place, error) {
	switch {
	case s.Path == "":
		return files.Place{}, errors.New("bash: there is neither bash nor sh on this machine; use the other tools")
	case strings.TrimSpace(in.Command) == "":
		return files.Place{}, errors.New("bash: the command is empty")
	case strings.ContainsRune(in.Command, 0):
		return files.Place{}, errors.New("bash: the command has a NUL byte in it; write it as an escape, as in printf '\\0'")
	case in.Background && env.Jobs == nil:
		return files.Place{}, errors.New("bash: nothing can run in the background here; start it with & in the command that needs it")
	case in.Timeout < 0:
		return files.Place{}, errors.New("bash: timeout counts seconds: it cannot be negative")
	}
	dir := cmp.Or(in.Cwd, orDot(env.Dir))
	place, err := env.Files.Resolve(dir, false)
	if err != nil {
		return files.Place{}, fmt.Errorf("bash: cwd: %w", err)
	}
	if info, err := os.Stat(place.Abs); err != nil || !info.IsDir() {
		return files.Place{}, fmt.Errorf("bash: cwd: there is no directory %s", place.Display)
	}
	return place, nil
}

// limit is how long the call may run, and a remark if that differs from the request.
func (in bashInput) limit(env *tool.Env) (time.Duration, string) {
	limit, most := env.ShellTimeout, env.ShellTimeoutMax
	if limit <= 0 {
		limit = defaultShellTimeout
	}
	if most <= 0 {
		most = defaultShellTimeoutMax
	}
	if in.Timeout == 0 {
		return limit, ""
	}
	tooLong := in.Timeout > most.Seconds()
	if ms := in.Timeout / 1000; tooLong && in.Timeout >= leastMillis && math.Mod(in.Timeout, 100) == 0 &&
		ms <= most.Seconds() {
		remark := fmt.Sprintf("[timeout counts seconds; %s was taken for milliseconds, so %s seconds it was]\n",
			trimNumber(in.Timeout), trimNumber(ms))
		return time.Duration(in.Timeout * float64(time.Millisecond)), remark
	}
	if tooLong {
		return most, fmt.Sprintf("[a timeout of %s seconds is more than the most allowed: %s seconds it was]\n",
			trimNumber(in.Timeout), trimNumber(most.Seconds()))
	}
	return time.Duration(in.Timeout * float64(time.Second)), ""
}

func trimNumber(f float64) string {
	if f >= 1e15 {
		return fmt.Sprintf("%g", f)
	}
	if f == math.Trunc(f) {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.1f", f)
}

func (s commandShell) run(ctx context.Context, env *tool.Env, in bashInput, out io.Writer) (tool.Result, error) {
	place, err := s.check(env, in)
	if err != nil {
		return tool.Result{}, err
	}
	if place.Outside || place.Denied {
		return tool.Result{}, fmt.Errorf("bash: cwd: %s", place.Why)
	}
	limit, remark := in.limit(env)
	cmd := exec.Command(s.Path, s.args(in.Command)...)
	cmd.Dir = place.Abs
	cmd.Env = append(env.Environ[:len(env.Environ):len(env.Environ)], "PWD="+place.Abs)
	c := shell.Command{Cmd: cmd, Start: env.Start, Limit: limit, Waits: s.waits, Live: out, Kill: env.Kill}
	if in.Background {
		return startJob(ctx, env, &c, in.Timeout != 0, remark)
	}
	if in.Timeout == 0 {
		c.Late, c.LateLimit = env.Jobs, cmp.Or(max(env.ShellTimeoutMax, 0), defaultShellTimeoutMax)
	}
	end, err := c.Run(ctx)
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf("bash: %w", startError(err))
	case end.Job != nil:
		return lateResult(end, c.LateLimit), nil
	}
	return commandResult(end, in.Command, remark, env.Withheld), nil
}
