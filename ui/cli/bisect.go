package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/conversation"
	"artoo/tool/journal"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/sanitize"
)

func newBisect(a *app) *cobra.Command {
	c := a.command("bisect [-r ID] 'COMMAND'", "find the step of a session that broke a command, on throwaway layers; needs no model",
		common("no_project"))
	c.Args = a.words(1, 1, "which command?")
	session := a.textFlag(c, "resume", "r", "ID", "the session; without it the one that changed the project last")
	c.RunE = func(c *cobra.Command, words []string) error { return a.bisect(c.Context(), *session, words[0]) }
	return c
}

// bisect searches the states of a session's journal for the step that broke the command.
func (a *app) bisect(ctx context.Context, id, command string) (err error) {
	if err := a.load(false, true); err != nil {
		return err
	}
	session, j, err := a.openJournal("bisect", id, "end it first")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	dir, err := tempdir.Make("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	opt, err := a.place(ctx)
	if err != nil {
		return err
	}
	opt.Workspace.ReadDirs = append(opt.Workspace.ReadDirs, dir.Path)
	trials, err := agent.NewTrials(opt, conversation.NewID())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trials.Close()) }()
	ctx, a.outcome.signals = headless.Watch(ctx)
	defer func() { a.outcome.signals.End() }()
	bash, err := exec.LookPath("bash")
	if err != nil {
		return fail(agent.KindConfig, "bash", err, "install it")
	}
	environ, _ := a.childEnviron()
	search, err := trials.Bisect(ctx, j.Journal, exec.Cmd{Path: bash, Args: []string{bash, "-c", command}, Env: environ, Dir: a.project.Dir,
		Stdout: a.process.Err, Stderr: a.process.Err}, dir.Path)
	if err != nil {
		return ownFailure("bisect", err)
	}
	left := search.Apart
	for _, l := range search.History.Left {
		left = append(left, l.Path+" ("+string(l.Why)+")")
	}
	if len(left) > 0 {
		a.screen.Note(sanitize.Text("stays as it is in every state: "+text.UpTo(20, left), sanitize.Line))
	}
	if err := search.Find(ctx); err != nil {
		return ownFailure("bisect", err)
	}
	return a.printBroken(search, session.ID, j.Journal, command)
}

// printBroken prints the step that broke the command, with its diff.
func (a *app) printBroken(search *agent.Bisection, session string, j *journal.Journal, command string) error {
	step := search.History.Steps[search.Broken]
	said := of(a.said(session), step.Turn)
	diff := ui.Undo{Journal: j, Root: a.project.Root, Screen: a.screen}.Diff(search.History.Changes[search.Broken])
	head := fmt.Sprintf("step %d of %d broke %s (%s)", search.Broken+1, len(search.History.Steps), shell.Quote(command), text.Count(search.Runs, "run"))
	_, err := fmt.Fprintf(a.process.Out, "%s\nturn %d: %s\ncall: %s\n%s\n", sanitize.Text(head, sanitize.Line), step.Turn,
		sanitize.Text(said, sanitize.Line), sanitize.Text(step.What, sanitize.Line), sanitize.Text(strings.TrimRight(diff, "\n"), sanitize.Code))
	return err
}
