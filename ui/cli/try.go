package cli

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/conversation"
	"artoo/tool/shell"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

func newTry(a *app) *cobra.Command {
	c := a.command("try -- COMMAND…", "run a command on a throwaway layer, show its changes and ask whether to keep them; needs no model",
		common("no_project"))
	c.Args = a.words(1, -1, "which command?")
	c.Flags().SetInterspersed(false)
	c.RunE = func(c *cobra.Command, words []string) error { return a.try(c.Context(), words) }
	return c
}

// trials makes the runner of commands on layers. The session is that of the journal for kept changes.
func (a *app) trials(ctx context.Context, session string) (*agent.Trials, error) {
	opt, err := a.place(ctx)
	if err != nil {
		return nil, err
	}
	return agent.NewTrials(opt, session)
}

// try runs a command on a layer. Its status is artoo's.
func (a *app) try(ctx context.Context, words []string) (err error) {
	if err := a.load(false, true); err != nil {
		return err
	}
	path, err := exec.LookPath(words[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return usage(words[0], cmp.Or(errors.Unwrap(err), err).Error(), "artoo try -- COMMAND…; a shell line: artoo try -- bash -c 'LINE'")
	}
	environ, _ := a.childEnviron()
	a.recover(environ)
	trials, err := a.trials(ctx, conversation.NewID())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trials.Close()) }()
	watched, signals := headless.Watch(ctx)
	a.outcome.signals = signals
	defer func() { a.outcome.signals.End() }()
	run, err := trials.Run(watched, &exec.Cmd{Path: path, Args: words, Env: environ, Dir: a.project.Dir,
		Stdin: a.process.In, Stdout: a.process.Out, Stderr: a.process.Err})
	if err != nil {
		return ownFailure("try", err)
	}
	if signals.Caught() != nil { // The command took the signal, and ended by itself.
		signals.End()
		watched, a.outcome.signals = headless.Watch(ctx)
	}
	ctx, kept := watched, false
	defer func() { err = errors.Join(err, run.Close(kept)) }()
	if err := run.Judge(ctx); err != nil {
		return ownFailure("try", err)
	}
	if run.Limit != "" {
		a.warn("the command was ended by a limit: " + run.Limit)
	}
	if len(run.Never) > 0 {
		a.warn("never kept: " + text.UpTo(20, run.Never))
	}
	if run.Changed() {
		if kept, err = a.offerChanges(ctx, run, shell.Quote(words...)); err != nil {
			return err
		}
	}
	if code := exitCode(run.Exit); code != 0 {
		return exitStatus(code)
	}
	return nil
}

// offerChanges asks whether to keep changes, and keeps them. Where no one can answer it prints them as a patch.
func (a *app) offerChanges(ctx context.Context, run *agent.Trial, command string) (kept bool, err error) {
	if !a.streams.watched || a.streams.headless {
		left, err := run.Patch(ctx, a.process.Out)
		if err != nil {
			return false, ownFailure("patch", err)
		}
		if len(left) > 0 {
			a.screen.Note(sanitize.Text("not in the patch: "+screen.Count(len(left), "path")+" ("+text.UpTo(5, left)+")", sanitize.Line))
		}
		return false, nil
	}
	q := screen.TryQuestion{Command: command, Rows: run.Rows(), Diff: run.Diff}
	yes, err := ui.ConfirmOnTTY(ctx, a.screen, q)
	if err != nil || !yes {
		return false, err
	}
	if run.Stopped != nil {
		return false, fail(agent.KindConflict, "nothing was kept", run.Stopped, "")
	}
	left, err := run.Keep(ctx)
	if err != nil {
		return false, ownFailure("nothing was kept", err)
	}
	if len(left) > 0 {
		a.warn("not kept: " + text.UpTo(20, left))
	}
	return true, nil
}

// ownFailure is a failure of artoo's own, so that its exit code is not taken for that of a command; an
// error that has a kind keeps it.
func ownFailure(what string, err error) error {
	var failure *agent.Failure
	var signal *headless.SignalError
	if errors.As(err, &failure) || errors.As(err, &signal) {
		return err
	}
	return fail(agent.KindConfig, what, err, "")
}

// exitCode is the status of a command as shells have it.
func exitCode(e shell.Exit) int {
	if e.Signal != "" {
		return 128 + shell.SignalNumber(e.Signal)
	}
	return e.Code
}
