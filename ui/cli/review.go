package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/tool/changes"
	"artoo/tool/text"
	"artoo/ui/headless"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// reviewCommand is `artoo review`.
type reviewCommand struct {
	app            *app
	output, failOn *string
	staged         *bool
}

func newReview(l commandLine) *cobra.Command {
	c := l.command("review [RANGE|--staged] [-- PATH…]", "find problems in a change (working tree or git range); only reads",
		common("model", "provider", "effort", "max_turns", "max_cost", "max_time", "no_project"))
	var levels []string
	for _, s := range changes.Severities() {
		levels = append(levels, string(s))
	}
	r := reviewCommand{l.app, l.textFlag(c, "output", "o", "FORMAT", "text: a line per finding, path:line: severity: text; json: one object; sarif: for code scanning",
		string(headless.Text), string(headless.JSON), string(headless.SARIF)),
		l.textFlag(c, "fail-on", "", "LEVEL", "exit 10 if a finding is at or above error, warning or note", levels...),
		c.Flags().Bool("staged", false, "review the index against HEAD")}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, words []string) error {
		scope := changes.Scope{Staged: *r.staged}
		if at := c.ArgsLenAtDash(); at >= 0 {
			words, scope.Paths = words[:at], words[at:]
		}
		if len(words) > 1 {
			return usage("review", "takes one range", "artoo review A..B -- PATH…")
		}
		scope.Range = strings.Join(words, "")
		return r.run(c.Context(), scope)
	}
	return c
}

// run reviews a scope and prints the findings, also if the review did not finish.
func (c reviewCommand) run(ctx context.Context, scope changes.Scope) error {
	if *c.output == "" {
		*c.output = string(headless.Text)
	}
	if formats := []string{string(headless.Text), string(headless.JSON), string(headless.SARIF)}; !slices.Contains(formats, *c.output) {
		return usage("--output", `"`+*c.output+`" is not a format of a review`, strings.Join(formats, ", "))
	}
	if level := changes.Severity(*c.failOn); level != "" && !slices.Contains(changes.Severities(), level) {
		return usage("--fail-on", `"`+*c.failOn+`" is not a level`, "error, warning or note")
	}
	set, review, err := c.review(ctx, scope)
	failure := agent.Classify(err)
	if failure == nil {
		failure = c.failing(review)
	}
	if written := c.write(set, review, failure); written != nil && failure == nil {
		failure = fail(agent.KindInternal, "stdout", written, "check where stdout goes: a full disk, or a reader that left")
	}
	if failure == nil {
		return nil
	}
	return failure
}

// review reviews a scope. The review is nil where none was begun.
func (c reviewCommand) review(ctx context.Context, scope changes.Scope) (set *changes.Set, review *agent.Review, err error) {
	if err := c.app.load(false, true); err != nil {
		return nil, nil, err
	}
	c.app.streams.headless, c.app.reviews = true, true
	c.app.cfg.Print, c.app.cfg.Ephemeral, c.app.cfg.Until, c.app.cfg.Schema, c.app.cfg.MCPServers = true, true, "", "", nil
	if *c.failOn != "" {
		c.app.cfg.SmallModel = "" // What the session's model did not read must not pass.
	}
	c.app.screen = c.app.newScreen()
	ctx, c.app.outcome.signals = c.app.watch(ctx, c.app.process.Out, c.app.process.Err)
	c.app.watchQuit()
	if line := c.app.extensions.ignored(); line != "" {
		c.app.warn(line)
	}
	if set, err = changes.Read(ctx, c.app.project, c.app.process.Environ, scope); err != nil {
		return nil, nil, err
	}
	none := &agent.Review{Response: &agent.Response{}}
	if !set.HasText() {
		for _, f := range set.Files {
			none.Left = append(none.Left, agent.Unreviewed{Path: f.Path, Why: f.Why()})
		}
		c.left(set, none)
		c.app.screen.Note("nothing to review")
		return set, none, nil
	}
	if err := c.app.open(ctx); err != nil {
		return nil, nil, err
	}
	defer c.app.close()
	c.app.agent.Spend(time.Since(c.app.began))
	review, err = c.app.agent.ReviewChange(ctx, set, unasked{c.app.screen})
	c.app.screen.Finish()
	c.left(set, review)
	if err == nil {
		c.app.screen.Note("reviewed " + text.Count(review.Files, "file") + ": " + counted(review.Findings))
	}
	return set, review, err
}

// left names the files that were not reviewed.
func (c reviewCommand) left(set *changes.Set, r *agent.Review) {
	var rows []string
	for _, left := range r.Left {
		rows = append(rows, set.Name(left.Path)+" ("+left.Why+")")
	}
	if len(rows) > 0 {
		c.app.screen.Note(sanitize.Text("not reviewed: "+text.UpTo(10, rows), sanitize.Line))
	}
}

// counted says how many findings of each severity there are.
func counted(findings []changes.Finding) string {
	var counts []string
	for _, s := range changes.Severities() {
		n := 0
		for _, f := range findings {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, screen.Count(n, string(s)))
		}
	}
	if counts == nil {
		return "nothing found"
	}
	return strings.Join(counts, ", ")
}

// failing is the failure of findings that are as bad as the user said; nil for none.
func (c reviewCommand) failing(r *agent.Review) *agent.Failure {
	n := 0
	for _, f := range r.Findings {
		if *c.failOn != "" && f.Severity.AtLeast(changes.Severity(*c.failOn)) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fail(agent.KindFindings, "review", errors.New(text.Count(n, "finding")+" at or above "+*c.failOn), "")
}

// write writes the review to stdout. In SARIF, a review that was not begun is nothing: an empty one would
// say that all is well.
func (c reviewCommand) write(set *changes.Set, r *agent.Review, failure *agent.Failure) error {
	code := 0
	if failure != nil {
		code = failure.Kind.ExitCode()
	}
	if signals := c.app.outcome.signals; signals != nil && signals.Caught() != nil {
		code = signals.Code()
	}
	switch {
	case *c.output == string(headless.JSON):
		return headless.WriteLine(c.app.process.Out, headless.NewReviewResult(c.app.info(), r, failure, code))
	case r == nil:
		return nil
	case *c.output == string(headless.SARIF):
		return headless.WriteSARIF(c.app.process.Out, c.app.process.build().Version, r, failure)
	}
	return headless.WriteFindings(c.app.process.Out, r.Findings, set.Name)
}

// unasked shows the agent's work and answers no question.
type unasked struct{ *screen.Screen }

// Ask implements agent.Callbacks.
func (unasked) Ask(context.Context, agent.Question) (agent.Answer, error) {
	return agent.Answer{}, agent.ErrNobody
}
