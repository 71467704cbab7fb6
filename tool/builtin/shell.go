package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"artoo/tool"
	"artoo/tool/shell"
)

// How long the tool waits unless a call says otherwise.
const (
	defaultWait  = 30 * time.Second
	mostWait     = 10 * time.Minute
	afterInput   = 2 * time.Second
	endOfInput   = "\x04" // Ctrl-D types this.
	killPatience = 5 * time.Second
)

type shellInput struct {
	ID      string  `json:"id,omitempty" jsonschema:"of the background command"`
	Action  string  `json:"action,omitempty" jsonschema:"output (default), wait, input or kill"`
	Pattern string  `json:"pattern,omitempty" jsonschema:"regexp: wait for a new line that matches; default: for the end"`
	Timeout float64 `json:"timeout,omitempty" jsonschema:"seconds to wait; default 30"`
	Input   string  `json:"input,omitempty" jsonschema:"line to type; \\u0004 ends the input"`
}

// Shell makes the tool that watches background commands, writes to them and ends
// them. Which there are is Env.Jobs.
func Shell() tool.Tool {
	return tool.New(tool.Def{Name: "shell", Kind: tool.KindRun,
		Description: "Watch a command that bash left in the background: output is what came since last time; " +
			"wait until a line matches or it ends."}, planShell, runShell)
}

// action is the action of a call: its other fields imply it where it is not named.
func (in shellInput) action() string {
	switch {
	case in.Action != "":
		return strings.ToLower(in.Action)
	case in.Input != "":
		return "input"
	case in.Pattern != "" || in.Timeout != 0:
		return "wait"
	}
	return "output"
}

func planShell(_ context.Context, env *tool.Env, in shellInput) (tool.Access, error) {
	job, err := in.job(env)
	if err != nil {
		return tool.Access{}, err
	}
	object := job.ID + " (" + job.Line + ")"
	switch in.action() {
	case "output":
		return tool.Access{Kind: tool.KindNone, Verb: "read", Object: object}, nil
	case "wait":
		if _, err := regexp.Compile(in.Pattern); err != nil {
			return tool.Access{}, fmt.Errorf("shell: pattern: %w", err)
		}
		return tool.Access{Kind: tool.KindNone, Verb: "await", Object: object}, nil
	case "kill":
		return tool.Access{Kind: tool.KindNone, Verb: "kill", Object: object}, nil
	case "input":
		if in.Input == "" || in.Input == endOfInput {
			return tool.Access{Kind: tool.KindNone, Verb: "read", Object: object}, nil
		}
		return tool.Access{Kind: tool.KindRun, Command: in.Input, To: job.Line, Dir: env.Dir, Verb: "type",
			Object: in.Input}, nil
	}
	return tool.Access{}, fmt.Errorf("shell: there is no action %q: use output, wait, input or kill", in.Action)
}

// job is the command that a call means: without an id the only one there is.
func (in shellInput) job(env *tool.Env) (*shell.Job, error) {
	if env.Jobs == nil {
		return nil, errors.New("shell: nothing can run in the background here")
	}
	if job := env.Jobs.Find(strings.TrimSpace(in.ID)); job != nil {
		return job, nil
	}
	var running []*shell.Job
	var names []string
	for _, j := range env.Jobs.List() {
		if j.Runs() {
			running, names = append(running, j), append(names, fmt.Sprintf("%s (%s)", j.ID, j.Line))
		}
	}
	what := "there is no background command " + in.ID
	if in.ID == "" {
		if len(running) == 1 {
			return running[0], nil
		}
		what = "id is missing"
	}
	return nil, fmt.Errorf("shell: %s; running: %s", what, cmp.Or(strings.Join(names, ", "),
		"none (they end with the session; bash with background starts one)"))
}

func runShell(ctx context.Context, env *tool.Env, in shellInput, out io.Writer) (tool.Result, error) {
	job, err := in.job(env)
	if err != nil {
		return tool.Result{}, err
	}
	limit := time.Duration(min(in.Timeout, mostWait.Seconds()) * float64(time.Second))
	note := ""
	if in.action() != "output" {
		defer job.Show(out)()
	}
	switch in.action() {
	case "wait":
		if note, err = in.wait(ctx, job, cmp.Or(limit, defaultWait)); err != nil {
			return tool.Result{}, err
		}
	case "input":
		from := job.Bytes()
		if err := in.write(job); err != nil {
			if job.Runs() {
				return tool.Result{}, fmt.Errorf("shell: %s: %w", job.ID, err)
			}
			note = "[nothing was typed: it has ended]\n"
			break
		}
		job.WaitForOutput(ctx, from, cmp.Or(limit, afterInput))
	case "kill":
		if job.Runs() {
			job.Stop()
			if _, _, err := job.Await(ctx, nil, killPatience); err != nil {
				return tool.Result{}, err
			}
		}
	}
	said := job.Read()
	if !job.Runs() {
		if next := job.Next(); next != "" {
			note += "[it was started again as " + next + "]\n"
		}
		return endedResult(job, said+job.Read(), note, env.Withheld), nil
	}
	if said == "" {
		said = "[no new output]\n"
	}
	ran := seconds(time.Since(job.Begun))
	return tool.Result{Text: lines(said) + note + "[it has run for " + ran + inFile(job) + "]\n", Summary: "runs since " + ran},
		nil
}

// wait waits as the call says. note describes the outcome where the output does not.
func (in shellInput) wait(ctx context.Context, job *shell.Job, limit time.Duration) (note string, err error) {
	var pattern *regexp.Regexp
	if in.Pattern != "" {
		if pattern, err = regexp.Compile(in.Pattern); err != nil {
			return "", fmt.Errorf("shell: pattern: %w", err)
		}
	}
	line, found, err := job.Await(ctx, pattern, limit)
	switch {
	case err != nil:
		return "", err
	case found:
		return "[matched: " + line + "]\n", nil
	case !job.Runs():
		return "", nil
	case pattern != nil:
		return fmt.Sprintf("[no new line matched within %s]\n", seconds(limit)), nil
	}
	return fmt.Sprintf("[it has not ended within %s]\n", seconds(limit)), nil
}

// write types the call's line, or ends the input.
func (in shellInput) write(job *shell.Job) error {
	text, ends := strings.CutSuffix(in.Input, endOfInput)
	if text != "" {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if err := job.Write(text); err != nil {
			return err
		}
	}
	if ends {
		return job.EndInput()
	}
	return nil
}
