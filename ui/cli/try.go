package cli

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/conversation"
	"artoo/tool/journal"
	"artoo/tool/shell"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

func newTry(l commandLine) *cobra.Command {
	c := l.command("try -- COMMAND…", "run a command on a throwaway copy, show its changes and ask whether to keep them; needs no model",
		common("no_project"))
	c.Args = l.words(1, -1, "which command?")
	c.Flags().SetInterspersed(false)
	a := l.app
	c.RunE = func(c *cobra.Command, words []string) error { return tryCommand{a}.run(c.Context(), words) }
	return c
}

// tryCommand is `artoo try`.
type tryCommand struct{ app *app }

// run runs a command on a layer. Its status is artoo's.
func (c tryCommand) run(ctx context.Context, words []string) (err error) {
	if err := c.app.load(false, true); err != nil {
		return err
	}
	path := words[0]
	if strings.Contains(path, "/") {
		path = c.app.abs(path)
	}
	path, err = c.app.process.Environ.LookPath(path)
	if err != nil {
		return usage(words[0], cmp.Or(errors.Unwrap(err), err).Error(), "artoo try -- COMMAND…; a shell line: artoo try -- bash -c 'LINE'")
	}
	environ, _ := c.app.childEnviron()
	c.app.workspace.recover(environ)
	opt, err := c.app.workspace.options(ctx)
	if err != nil {
		return err
	}
	trials, err := agent.NewTrials(opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trials.Close()) }()
	if err = trials.KeepIn(conversation.NewID(), 1); err != nil {
		return err
	}
	watched, signals := headless.Watch(ctx)
	c.app.outcome.signals = signals
	defer func() { c.app.outcome.signals.End() }()
	run, err := trials.Run(watched, &exec.Cmd{Path: path, Args: words, Env: environ, Dir: c.app.project.Dir,
		Stdin: c.app.process.In, Stdout: c.app.process.Out, Stderr: c.app.process.Err})
	if err != nil {
		return ownFailure("try", err)
	}
	if signals.Caught() != nil { // The command took the signal, and ended by itself.
		signals.End()
		watched, c.app.outcome.signals = headless.Watch(ctx)
	}
	ctx, kept := watched, false
	defer func() { err = errors.Join(err, run.Close(kept)) }()
	if err := run.Judge(ctx); err != nil {
		return ownFailure("try", err)
	}
	c.warnOf(run)
	if run.Changed() {
		if kept, err = c.offerChanges(ctx, run, shell.Quote(words...)); err != nil {
			return err
		}
	}
	if code := exitCode(run.Exit); code != 0 {
		return exitStatus(code)
	}
	return nil
}

// warnOf names what the command could not see, what ended it, and changes that are never kept.
func (c tryCommand) warnOf(run *agent.Trial) {
	if len(run.Hidden) > 0 {
		c.app.warn(strings.Join(run.Hidden, "; "))
	}
	if run.Limit != "" {
		c.app.warn("the command was stopped at a limit: " + run.Limit)
	}
	if len(run.Never) > 0 {
		c.app.warn("never kept: " + text.UpTo(20, run.Never))
	}
}

// offerChanges asks whether to keep changes, and keeps them. Where no one can answer it prints them as a patch.
func (c tryCommand) offerChanges(ctx context.Context, run *agent.Trial, command string) (kept bool, err error) {
	if !c.app.streams.watched || c.app.streams.headless {
		left, err := run.Patch(ctx, c.app.process.Out)
		if err != nil {
			return false, ownFailure("patch", err)
		}
		if len(left) > 0 {
			c.app.screen.Note(sanitize.Text(notInPatch(left), sanitize.Line))
		}
		return false, nil
	}
	q := screen.TryQuestion{Command: command, Effects: run.Effects, Diff: run.Diff}
	yes, err := ui.ConfirmOnTTY(ctx, c.app.screen, q)
	if err != nil || !yes {
		return false, err
	}
	if run.Stopped != nil {
		return false, fail(agent.KindConflict, "nothing was kept", run.Stopped, "")
	}
	report, err := run.Keep(ctx, "try "+command)
	if err != nil {
		return false, ownFailure("nothing was kept", err)
	}
	if len(report.Left) > 0 {
		c.app.warn("not kept: " + text.UpTo(20, journal.Named(report.Left)))
	}
	return true, nil
}

func notInPatch(left []string) string {
	return "not in the patch: " + screen.Count(len(left), "path") + " (" + text.UpTo(5, left) + ")"
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
