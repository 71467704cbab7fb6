package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// mostUnchanged is how many rounds without a change end a run.
const mostUnchanged = 3

// mostSaid bounds the output of the command that the model gets, in bytes: its end counts most.
const mostSaid = 10_000

// SetUntil has a command decide from the next reply on whether the model is done, which goes on at most so many rounds
// in a turn; a command of "" takes the model's word again. It must not be called while a turn runs. The error says what
// the command lacks here.
func (a *Agent) SetUntil(command string, rounds int) error {
	opt := &a.session.opt
	switch {
	case command == "":
		opt.Until = nil
		return nil
	case opt.Sandbox == nil || !opt.Policy.Confinement.Layer:
		return errors.New("it needs a layer, which throws away the command's own changes; artoo doctor says why there is none")
	}
	opt.Until = &Until{Option: "/until", Command: command, Rounds: rounds}
	return nil
}

// Until is the command that decides whether the model is done, "" for none.
func (a *Agent) Until() string {
	if until := a.session.opt.Until; until != nil {
		return until.Command
	}
	return ""
}

// unmet reports whether the model has to go on, since the command of Until failed. The error ends the turn.
func (t *turn) unmet(ctx context.Context) (again bool, err error) {
	s := t.session
	until := s.opt.Until
	if until == nil || s.parent != nil || s.beside || s.opt.Policy.Mode == permission.ModePlan {
		return false, nil
	}
	if until.State == nil {
		t.cb.notice(NoticeStep, until.Option+" runs "+until.Command)
	}
	end, hidden, err := t.calls.runUntil(ctx, until.Command)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	failed := func(kind Kind, why error, hint string) (bool, error) {
		return false, &Failure{Kind: kind, What: until.Option + " " + until.Command, Err: why, Hint: hint}
	}
	how := exitWords(end)
	if end.Stop == shell.StopTimeout {
		how = "timed out after " + end.Limit.String()
	}
	switch {
	case err != nil:
		return failed(KindInternal, err, "")
	case end.Exit.Code == 126 || end.Exit.Code == 127:
		return failed(KindUsage, fmt.Errorf("%s: %s", how, text.FirstLine(strings.TrimSpace(string(end.Output)))),
			cmp.Or(strings.Join(hidden, "; "), "a command that runs in the sandbox"))
	case end.Stop == shell.StopNone && end.Exit == shell.Exit{}:
		if slices.ContainsFunc(end.Pipe, shell.Part.Failed) {
			t.cb.notice(NoticeWarning, until.Option+" "+until.Command+": "+how+
				"; only the last command of a pipeline counts; set -o pipefail counts all")
		} else if until.State == nil {
			t.cb.notice(NoticeStep, until.Command+": "+how)
		}
		return false, nil
	}
	state, most, why := "", until.Rounds+1, "after "+text.Count(until.Rounds, "more round")
	if until.State != nil {
		most, why = mostUnchanged, fmt.Sprintf("and %d rounds changed nothing", mostUnchanged)
		if state, err = until.State(ctx); err != nil {
			return failed(KindInternal, err, "")
		}
	}
	if t.unchanged++; state != t.state {
		t.unchanged, t.state = 0, state
	}
	if t.unchanged == most {
		return failed(KindUnmet, fmt.Errorf("%s, %s", how, why),
			"say more in the prompt, or choose another model with --model")
	}
	t.requests.answer.Reset()
	t.cb.notice(NoticeStep, until.Command+": "+how+"; the model continues")
	words := fmt.Sprintf("The work is not done: `%s` failed (%s).", until.Command, how)
	return true, t.tell(words, string(end.Output), hidden)
}

// tell appends what the command of Until said as the model's next message.
func (t *turn) tell(words, said string, hidden []string) error {
	said = strings.TrimSpace(said)
	if cut := len(said) - mostSaid; cut > 0 {
		said = fmt.Sprintf("[left out before this: %s]\n%s", text.Counted(cut, "byte", "bytes"),
			strings.ToValidUTF8(said[cut:], ""))
	}
	if len(hidden) > 0 {
		said += "\n[confined: " + strings.Join(hidden, "; ") + "]"
	}
	return t.session.conv.Append(provider.UserText(t.session.masked(words + "\n\n" + said)))
}

// runUntil runs a command for its exit status. hidden names what it could not see.
func (c *calls) runUntil(ctx context.Context, line string) (end shell.Result, hidden []string, err error) {
	if c.session.opt.Sandbox == nil {
		return end, nil, errors.New("nothing confines it here")
	}
	path := shell.Find(c.session.own())
	cmd := exec.Command(path, "-c", line)
	cmd.Dir, cmd.Env = c.session.opt.Env.Dir, slices.Clone(c.env.Environ)
	var confined confine.Confined
	run := shell.Command{Cmd: cmd, Limit: c.env.ShellTimeoutMax, Waits: shell.DefaultWaits(), Live: io.Discard, Kill: c.env.Kill,
		Pipeline: shell.LastPipeline(line, path),
		Start: func(cmd *exec.Cmd) (_ shell.Started, err error) {
			confined, err = c.session.opt.Sandbox.Start(cmd, confine.Line{Place: permission.PlaceDiscarded, Exec: true})
			return confined, err
		}}
	if end, err = run.Run(ctx); err != nil {
		return end, hidden, err
	}
	hidden = c.session.hiddenFrom(confined, cmd.Dir, line, string(end.Output), end.Exit != shell.Exit{})
	changes, err := confined.Changes(context.WithoutCancel(ctx))
	if err != nil {
		return end, hidden, err
	}
	return end, hidden, changes.Discard(true)
}
