package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/shell"
	"artoo/tool/text"
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

func (s commandShell) isBash() bool { return shell.IsBash(s.Path) }

func (s commandShell) description() string {
	how, warning := "bash -c", ""
	if !s.isBash() {
		how, warning = "sh -c", " There is no bash here: write POSIX sh."
	}
	// A command that only reads does not go on, where nothing watches it in the background. What confines commands
	// stands with the rights in the prompt.
	reading := map[bool]string{true: " (a read-only one is stopped)"}[s.Confined]
	return "Run a command with " + how + ": output (stdout and stderr together) and exit status." + warning +
		" Each call is a new shell: directories and variables do not carry over; use cwd." +
		" No input, no terminal: pass flags such as -y; no editors, pagers or prompts." +
		" Processes started with & end with the call (a server and its client fit into one): else use background, without &. A command is stopped after" +
		" its timeout; without one it continues in the background after " +
		trimNumber(cmp.Or(max(s.Timeout, 0), defaultShellTimeout).Seconds()) + "s" + reading + "." +
		" Use read, grep, glob and edit rather than cat, grep, find and sed." +
		map[bool]string{true: " A call with unconfined and a reason asks the user for more."}[s.unconfines()]
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
	dir := cmp.Or(in.Cwd, env.Dir, ".")
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
		remark := fmt.Sprintf("[timeout counts seconds; %s was taken for milliseconds, so it was %s seconds]\n",
			trimNumber(in.Timeout), trimNumber(ms))
		return time.Duration(in.Timeout * float64(time.Millisecond)), remark
	}
	if tooLong {
		return most, fmt.Sprintf("[a timeout of %s seconds is more than the maximum, so it was %s seconds]\n",
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
	c := shell.Command{Cmd: cmd, Start: env.Start, Limit: limit, Waits: s.waits, Live: out, Kill: env.Kill,
		Pipeline: shell.LastPipeline(in.Command, s.Path)}
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

func startError(err error) error {
	switch {
	case errors.Is(err, syscall.E2BIG):
		return errors.New("the command is too long for the system: write it to a script and run that")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("no process can be started just now: %w", err)
	}
	return err
}

// howItEnded is how a command ended, for the model and for the user.
func howItEnded(e shell.Result) (words, summary string, failed bool) {
	took, limit := seconds(e.Took), trimNumber(e.Limit.Seconds())+"s"
	signal := e.Exit.Signal
	switch {
	case e.Stop == shell.StopTimeout:
		return fmt.Sprintf("stopped: it was not done after %s (raise timeout, in seconds)", limit),
			"timed out after " + limit, true
	case e.Stop == shell.StopCanceled:
		return "interrupted after " + took, "interrupted after " + took, true
	case e.Stop == shell.StopAsked:
		return "killed after " + took, "killed after " + took, false
	case signal != "":
		return "killed by signal " + signal, "killed by " + signal + " in " + took, true
	}
	code := e.Exit.Code
	of, others := shell.OfPipe(e.Pipe, meaning)
	return fmt.Sprintf("exit status %d%s%s%s", code, of, meaning(code), others),
		fmt.Sprintf("exit %d%s%s in %s", code, of, others, took), code != 0
}

// HowItEnded is how a command ended, in a few words for the user.
func HowItEnded(e shell.Result) string {
	_, summary, _ := howItEnded(e)
	return summary
}

// Failed reports whether a command failed, one that was killed on request not included.
func Failed(e shell.Result) bool {
	_, _, failed := howItEnded(e)
	return failed
}

func commandResult(e shell.Result, line, remark string, withheld []string) tool.Result {
	words, summary, failed := howItEnded(e)
	output, printed := e.Output, len(e.Output)
	switch {
	case printed == 0:
		output = []byte("[no output]\n")
	case output[len(output)-1] != '\n':
		output = append(output, '\n')
	}
	var b strings.Builder
	if e.Stopped > 0 && e.Stop == shell.StopNone {
		fmt.Fprintf(&b, "[%s still running in the background and stopped with the call]\n",
			text.Counted(e.Stopped, "process was", "processes were"))
	}
	if e.Left > 0 {
		fmt.Fprintf(&b, "[%s still running and could not be stopped: they may belong to another user]\n",
			text.Counted(e.Left, "process is", "processes are"))
	} else if e.Held {
		b.WriteString("[a process that detached itself still runs and could not be stopped; its further output is lost]\n")
	}
	b.WriteString(remark)
	if failed {
		b.WriteString(withheldNote(withheld, line, string(output[max(0, len(output)-Heard):])))
	}
	fmt.Fprintf(&b, "[%s]\n", words)
	text := textOf(append(output, b.String()...))
	return tool.Result{Text: text, Printed: new(text[:printed]), Summary: summary, IsError: failed, Stopped: e.Stop != shell.StopNone}
}

// textOf shares the memory of output, which may be long and must not be changed any more.
func textOf(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

func seconds(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// meaning explains the exit codes by which shells report that a command could not run.
func meaning(code int) string {
	switch {
	case code == 126:
		return ", found but not executable"
	case code == 127:
		return ", command not found"
	case code > 128:
		if name := shell.SignalName(code - 128); name != "" {
			return ", which is how shells report " + name
		}
	}
	return ""
}

// maxWithheld is how many withheld variables a failing command names.
const maxWithheld = 20

// Heard is how much of the end of a failed command's output is searched for missing files, in bytes.
const Heard = 64 << 10

// withheldNote names the withheld variables that a failed line may have missed: those that it or the end of its output
// names, and those of a program or word of it, as npm is of NPM_TOKEN.
func withheldNote(withheld []string, line, output string) string {
	if len(withheld) == 0 {
		return ""
	}
	words := map[string]bool{}
	for word := range Words(line) {
		words[strings.ToUpper(word)] = true
	}
	missed := slices.DeleteFunc(slices.Clone(withheld), func(name string) bool {
		first, _, _ := strings.Cut(strings.ToUpper(name), "_")
		return !words[first] && !namesVariable(line, name) && !namesVariable(output, name)
	})
	if len(missed) == 0 {
		return ""
	}
	return fmt.Sprintf("[variables withheld from commands: %s; the user can pass them with ARTOO_PASS_ENV, but "+
		"never keys of model providers]\n", text.UpTo(maxWithheld, missed))
}

// namesVariable reports whether the name of a variable stands in a text as a word.
func namesVariable(text, name string) bool {
	inWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for {
		before, after, found := strings.Cut(text, name)
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		if !found || !inWord(last) && !inWord(next) {
			return found
		}
		text = after
	}
}

// Words are the words of a text that may name a file, a program or a variable.
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("\"'`‘’“”()[]{}<>|&;=,:*?!$", r)
		}) {
			if trimmed := strings.TrimRight(word, "."); trimmed != "" && !yield(trimmed) {
				return
			}
		}
	}
}

// atOnce is how long a call waits for the first output of a background command.
const atOnce = time.Second

// startJob starts a command in the background. limited says that its limit holds there.
func startJob(ctx context.Context, env *tool.Env, c *shell.Command, limited bool, remark string) (tool.Result, error) {
	limit := c.Limit
	if !limited {
		c.Limit, limit = 0, 0
	}
	job, err := env.Jobs.Start(c)
	if err != nil {
		return tool.Result{}, fmt.Errorf("bash: %w", startError(err))
	}
	job.WaitForOutput(ctx, 0, atOnce)
	said := job.Read()
	if !job.Runs() {
		return endedResult(job, said+job.Read(), remark, env.Withheld), nil
	}
	text := lines(said) + remark + "[it runs in the background as " + job.ID
	if limit > 0 {
		text += ", for at most " + seconds(limit)
	}
	return tool.Result{Text: text + ": use shell with this id" + inFile(job) + "]\n", Summary: "in the background as " + job.ID,
		Job: job}, nil
}

// lateResult is of a command whose time was up, and which goes on in the background.
func lateResult(end shell.Result, most time.Duration) tool.Result {
	id := end.Job.ID
	return tool.Result{Job: end.Job,
		Summary: fmt.Sprintf("after %s it continues in the background as %s", seconds(end.Took), id),
		Text: fmt.Sprintf("%s[not done after %s: it continues in the background as %s, until %s at most: use shell with this "+
			"id%s]\n", lines(string(end.Output)), seconds(end.Took), id, seconds(most), inFile(end.Job))}
}

// endedResult is of a background command that has ended; said is its unread output.
func endedResult(job *shell.Job, said, remark string, withheld []string) tool.Result {
	job.Reported()
	end := job.Result()
	end.Output = []byte(said)
	r := commandResult(end, job.Line, remark, withheld)
	if said == "" {
		r.Text = strings.TrimPrefix(r.Text, "[no output]\n")
	}
	return r
}

func lines(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}

// inFile says where the whole output of a background command is.
func inFile(job *shell.Job) string {
	name, err := job.File()
	switch {
	case err != nil:
		return "; its whole output is not kept: " + err.Error()
	case name == "":
		return ""
	}
	return "; its whole output is in " + name
}
