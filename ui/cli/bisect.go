package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/tool/journal"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/sanitize"
)

func newBisect(l commandLine) *cobra.Command {
	c := l.command("bisect [-r ID] 'COMMAND'", "find the step of a session that broke a command, on throwaway copies; needs no model",
		common("no_project"))
	c.Args = l.words(1, 1, "which command?")
	session := &flagValue{arg: "ID"}
	c.PersistentFlags().VarP(session, "resume", "r", "session to search (default: the one that changed the project last)")
	b := bisectCommand{l.app, &session.text}
	l.offer(c, "resume", l.offerKnown(-1, "resume"))
	c.RunE = func(c *cobra.Command, words []string) error { return b.run(c.Context(), words[0]) }
	return c
}

// bisectCommand is `artoo bisect`.
type bisectCommand struct {
	app     *app
	session *string // an ID, or ""
}

// run searches the states of a session's journal for the step that broke the command.
func (c bisectCommand) run(ctx context.Context, command string) (err error) {
	if err := c.app.load(false, true); err != nil {
		return err
	}
	session, j, err := c.app.workspace.openJournal("bisect", *c.session, "end it first")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	dir, err := tempdir.Make(c.app.process.Environ.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	opt, err := c.app.workspace.options(ctx)
	if err != nil {
		return err
	}
	opt.Workspace.ReadDirs = append(opt.Workspace.ReadDirs, dir.Path)
	trials, err := agent.NewTrials(opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trials.Close()) }()
	ctx, c.app.outcome.signals = headless.Watch(ctx)
	defer func() { c.app.outcome.signals.End() }()
	bash, err := c.app.process.Environ.LookPath("bash")
	if err != nil {
		return fail(agent.KindConfig, "bash", err, "install it")
	}
	environ, _ := c.app.childEnviron()
	search, err := trials.Bisect(ctx, j.Journal, exec.Cmd{Path: bash, Args: []string{bash, "-c", command}, Env: environ, Dir: c.app.project.Dir,
		Stdout: c.app.process.Err, Stderr: c.app.process.Err}, dir.Path)
	if err != nil {
		return ownFailure("bisect", err)
	}
	if left := append(search.Apart, journal.Named(search.History.Left)...); len(left) > 0 {
		c.app.screen.Note(sanitize.Text("the same in every state: "+text.UpTo(20, left), sanitize.Line))
	}
	if err := search.Find(ctx); err != nil {
		return ownFailure("bisect", err)
	}
	return c.printBroken(search, session.ID, j.Journal, command)
}

// printBroken prints the step that broke the command, with its diff.
func (c bisectCommand) printBroken(search *agent.Bisection, session string, j *journal.Journal, command string) error {
	step := search.History.Steps[search.Broken]
	said := of(c.app.said(session), step.Turn)
	diff := ui.Undo{Journal: j, Root: c.app.project.Root, Screen: c.app.screen, Environ: c.app.process.Environ}.Diff(search.History.Changes[search.Broken])
	head := fmt.Sprintf("step %d of %d broke %s (%s)", search.Broken+1, len(search.History.Steps), shell.Quote(command), text.Count(search.Runs, "run"))
	_, err := fmt.Fprintf(c.app.process.Out, "%s\nturn %d: %s\ncall: %s\n%s\n", sanitize.Text(head, sanitize.Line), step.Turn,
		sanitize.Text(text.Head(said), sanitize.Line), sanitize.Text(text.Head(step.What), sanitize.Line), sanitize.Text(strings.TrimRight(diff, "\n"), sanitize.Code))
	return err
}
