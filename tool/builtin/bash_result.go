package builtin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unsafe"

	"artoo/tool"
	"artoo/tool/shell"
	"artoo/tool/text"
)

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
		return fmt.Sprintf("stopped: it was not done after %s (timeout, in seconds, allows more)", limit),
			"timed out after " + limit, true
	case e.Stop == shell.StopCanceled:
		return "interrupted after " + took, "interrupted after " + took, true
	case e.Stop == shell.StopAsked:
		return "killed after " + took, "killed after " + took, false
	case signal != "":
		return "killed by signal " + signal, "killed by " + signal + " in " + took, true
	}
	code := e.Exit.Code
	return fmt.Sprintf("exit status %d%s", code, meaning(code)), fmt.Sprintf("exit %d in %s", code, took), code != 0
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

// withheldNote names the withheld variables that a failed command may have missed: a text holds
// their first word, as in npm for NPM_TOKEN.
func withheldNote(withheld []string, texts ...string) string {
	if len(withheld) == 0 {
		return ""
	}
	spoken := map[string]bool{}
	first := func(name string) string {
		name, _, _ = strings.Cut(strings.ToUpper(name), "_")
		return name
	}
	for _, text := range texts {
		for word := range Words(text) {
			spoken[first(word)] = true
		}
	}
	missed := slices.DeleteFunc(slices.Clone(withheld), func(name string) bool { return !spoken[first(name)] })
	if len(missed) == 0 {
		return ""
	}
	return fmt.Sprintf("[variables withheld from commands: %s; the user can pass them with ARTOO_PASS_ENV, but "+
		"never keys of model providers]\n", text.UpTo(maxWithheld, missed))
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
	return tool.Result{Job: end.Job, Summary: fmt.Sprintf("after %s it goes on in the background as %s", seconds(end.Took), id),
		Text: fmt.Sprintf("%s[not done after %s: it goes on in the background as %s, until %s at most: use shell with this "+
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
