package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/journal"
	repository "artoo/tool/project"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// judge reads what a command has done on its layer, and has the policy judge it. A crash discards the layer.
func (c *calls) judge(ctx context.Context, r ran) (j judged) {
	err := guarded(func() { j = c.judgeLayer(ctx, r) })
	if err == nil {
		return j
	}
	r.lead("its changes were discarded: " + err.Error())
	r.IsError, r.lost = true, true
	return judged{ran: r}
}

func (c *calls) judgeLayer(ctx context.Context, r ran) judged {
	if access := r.call.Access; access.Kind == tool.KindServer && access.Local && !access.Reads {
		var err error // The call's approval covers the changes of a server on a layer of its own.
		r.confined, err = c.servers.landing(ctx, c.session.opt.Env.MCP, access.Server)
		if r.stop = cmp.Or(r.stop, err); r.confined != nil {
			r.decision = r.decision.Layered()
		}
	}
	if r.confined == nil {
		return judged{ran: r}
	}
	if limit := r.confined.Limit(); limit != "" && r.call.Access.Kind == tool.KindRun {
		r.lead("it was stopped at a limit: " + limit)
	}
	if r.decision.Place != permission.PlaceLayer {
		c.nameDenials(&r)
		return judged{ran: r}
	}
	longest := c.session.opt.Waits.orUsual().Judging
	within, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("reading them took longer than %v", longest))
	defer cancel()
	changes := c.changesOf(ctx, within, &r)
	if changes == nil {
		r.lost = true
		return judged{ran: r}
	}
	effects, err := c.effects(within, c.judging(r.decided), r.decision, changes)
	j, done := judged{ran: r, layerEffects: effects}, false
	defer func() {
		if !done {
			c.giveBack(effects, false)
		}
	}()
	c.nameDenials(&j.ran)
	if err != nil && within.Err() == nil {
		c.loses(&j.ran, "their git part cannot be read: "+err.Error())
		return judged{ran: j.ran}
	}
	var over error
	if j.Verdict != permission.Refuse {
		over = c.tally.admit(within, j.landing())
	}
	switch {
	case context.Cause(ctx) != nil:
		j.over, j.stop = "the turn was stopped", context.Cause(ctx)
	case over != nil:
		j.over, j.stop = over.Error(), c.tally.end()
		j.Verdict, j.Without, j.IsError = permission.Refuse, nil, true
	}
	done = true
	return j
}

// effects has a policy judge the changes of a command, those of repositories as git sees them. The caller gives back what
// it gets, after an error too; a crash gives it back here.
func (c *calls) effects(ctx context.Context, policy *permission.Policy, d permission.Decision, changes confine.Changes) (e layerEffects, err error) {
	e.changes = changes
	done := false
	defer func() {
		if !done {
			c.giveBack(e, false)
		}
	}()
	e.git, err = c.session.gitEffects(ctx, changes)
	if err == nil || ctx.Err() != nil {
		e.Judgement = policy.Judge(ctx, d, changes.List(), c.facts(ctx, e.git))
	}
	done = true
	return e, err
}

// changesOf reads what a command changed on its layer until within ends. It is nil where none of that counts, which r
// explains.
func (c *calls) changesOf(ctx, within context.Context, r *ran) confine.Changes {
	if why := r.unlessDone(); why != "" {
		lost, err := r.discard(c.session.opt.Policy)
		r.stop = cmp.Or(r.stop, err)
		c.discarded(r, lost, why, false)
		return nil
	}
	changes, err := r.confined.Changes(within)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.loses(r, context.Cause(within).Error())
	case err != nil:
		c.loses(r, "they could not be read: "+err.Error())
	default:
		return changes
	}
	r.stop = cmp.Or(r.stop, context.Cause(ctx))
	return nil
}

// giveBack gives a layer up. landed keeps the caches that the command wrote.
func (c *calls) giveBack(e layerEffects, landed bool) {
	if err := errors.Join(e.git.close(), e.changes.Discard(landed)); err != nil {
		c.cb.notice(NoticeWarning, "a layer could not be removed: "+err.Error())
	}
}

// judging is the policy that judges a command: of the mode then and now, the stricter one holds.
func (c *calls) judging(d decided) *permission.Policy {
	policy := *c.session.opt.Policy
	for _, mode := range modes {
		if mode == d.mode || mode == policy.Mode {
			policy.Mode = mode
			break
		}
	}
	return &policy
}

func (c *calls) facts(ctx context.Context, git gitEffects) permission.Facts {
	made := func(change sandbox.Change) bool { return c.keeper.made.has(change.Path) }
	facts := permission.Facts{Made: made, Git: git.rows, Repository: git.has}
	if c.keeper.journal != nil {
		facts.Kept = c.keeper.journal.Holds
	}
	if w := c.session.opt.Workspace; w != nil {
		facts.Ignored = func(paths []string) map[string]bool {
			return w.Project.IgnoredSince(ctx, c.session.opt.Env.Environ, w.Began, paths)
		}
	}
	return facts
}

// askEffects asks about the changes of a call that the policy neither lets land nor refuses.
func (c *calls) askEffects(ctx context.Context, j judged) (a agreed) {
	a.judged = j
	switch {
	case j.changes == nil:
		a.stop = cmp.Or(a.stop, c.keepGuarded(ctx, &a.ran))
		return a
	case j.over != "" || j.Verdict != permission.Ask:
		a.yes, a.why = j.over == "" && j.Verdict == permission.Run, cmp.Or(j.over, j.Reason())
		if j.Class == permission.Nothing && a.yes || context.Cause(ctx) != nil {
			return a
		}
		a.final = c.ruled(j.decided, QuestionChanges, a.yes, j.Reasons)
		if err := c.keep(a.final); err != nil {
			a.yes, a.why, a.stop = false, err.Error(), cmp.Or(a.stop, err)
		}
		return a
	}
	answer, err := guard(func() (Answer, error) {
		return c.askMore(ctx, j.decided, Question{Kind: QuestionChanges, Reason: rowsOf(j.Effects), Reasons: j.Reasons,
			Rule: j.Rule, Effects: &j.Effects, Diff: c.session.maskedDiff(j.diff(ctx, c.session.opt.Policy.Root))})
	})
	a.by, a.why, a.final = cmp.Or(answer.By, a.by), answer.Reason, answer.Decision
	switch {
	case context.Cause(ctx) != nil:
		a.why, a.stop = "the turn was stopped", context.Cause(ctx)
	case err != nil:
		a.why, a.nobody = err.Error(), errors.Is(err, ErrNobody)
		a.IsError = a.IsError || errors.As(err, new(*crash))
	case answer.Verdict == StopTurn:
		a.why, a.stop = "the user stopped the turn", ErrStopped
	default:
		a.yes = answer.Verdict == Yes
	}
	return a
}

// diff is that of the changes which land, for the user to read.
func (e layerEffects) diff(ctx context.Context, root string) string {
	diff := diffOf(ctx, root, e, slices.DeleteFunc(slices.Clone(e.Effects.Apply), func(change sandbox.Change) bool {
		return e.git.has(change.Path)
	}))
	for _, row := range e.git.rows {
		diff += row.Diff
	}
	return diff
}

// land applies the changes of a call that the policy or the user agreed to, and discards the others.
func (c *calls) land(ctx context.Context, a agreed) ran {
	r := a.ran
	if a.changes == nil {
		return r
	}
	landed := false
	err := guarded(func() {
		defer func() { c.giveBack(a.layerEffects, landed) }()
		switch {
		case a.yes:
			landed = c.apply(ctx, a, &r)
		case a.over == "" && a.Verdict == permission.Refuse && len(a.Effects.Short()) == 0:
			c.loses(&r, a.Reason())
		default:
			c.discarded(&r, a.Judgement, a.why, a.nobody)
		}
	})
	if err != nil {
		r.lead("its changes were discarded: " + err.Error())
		r.IsError = true
	}
	return r
}

// apply lands the changes of a call, all or none, and reports whether they count.
func (c *calls) apply(ctx context.Context, a agreed, r *ran) bool {
	if stays := a.stays(); len(stays) > 0 {
		c.warn(r, "not deleted, since commands cannot see it: "+text.UpTo(mostNamed, c.session.namesOf(stays)))
	}
	if a.Class == permission.Nothing {
		return true
	}
	what := "run " + cmp.Or(a.call.Access.Command, a.call.Access.Object)
	report, err := c.applyLayer(ctx, c.session.turnNumber(), what, a.layerEffects)
	if err != nil {
		why := "nothing was applied: " + err.Error()
		if errors.Is(err, journal.ErrConflict) {
			why += "; run it again on the current files"
		}
		c.warn(r, why)
		r.Summary += ", nothing applied"
		r.IsError = true
		c.response.Denied = append(c.response.Denied, a.denial(why, false))
		return false
	}
	c.background.protectRunning(c.cb)
	c.servers.protect(c.cb)
	if len(a.Effects.By[permission.RunsAutomatically]) > 0 {
		for _, change := range a.Effects.Apply {
			c.keeper.approved.add(change.Path)
		}
	}
	summary := a.Effects.Summary()
	if brought := c.session.brought(a.git); len(brought) > 0 {
		summary += "; hidden: " + text.UpTo(mostNamed, brought)
	}
	if gone := a.Effects.By[permission.Deleted]; len(gone) > 0 {
		summary = "deleted " + text.UpTo(mostNamed, strings.Split(pathsOf(gone), ", ")) + "; " + summary
	}
	r.Text += "[its changes were applied: " + summary + "]\n"
	r.applied = Applied{&a.Effects, ", applied: " + summary}
	r.Summary += r.applied.Words
	if len(report.Left) > 0 {
		c.warn(r, "not applied: "+text.UpTo(mostNamed, journal.Named(report.Left)))
	}
	if len(report.Cannot) > 0 {
		c.cb.notice(NoticeWarning, "cannot be undone: "+strings.Join(journal.Named(report.Cannot), ", "))
	}
	if never := a.Effects.Rows(false, permission.Never); len(never) > 0 {
		said := text.UpTo(mostNamed, never)
		c.warn(r, said)
		d := a.denial(said, false)
		d.Changes = never
		c.response.Denied = append(c.response.Denied, d)
	}
	return true
}

// applyLayer lands the changes of a layer, all or none, as a step of the journal; git's own by git itself.
func (c *calls) applyLayer(ctx context.Context, turn int, what string, e layerEffects) (r journal.Report, err error) {
	k := c.keeper
	if k.journal == nil {
		return r, errors.New("undo journal unavailable; changes not applied")
	}
	if err := c.tally.land(ctx, e.landing()); err != nil {
		return r, err
	}
	defer c.tally.landed()
	c.session.showBrought(e.git)
	r, err = k.journal.ApplyLayer(ctx, turn, what, e.Effects.Apply, e)
	if errors.Is(err, journal.ErrConflict) && len(r.Left) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.Join(journal.Named(r.Left), ", "))
	}
	if err == nil {
		k.noteMade(r.Done)
	}
	return r, err
}

// discarded reports that a line's changes are gone; to the user only where no question has named them.
func (c *calls) discarded(r *ran, j permission.Judgement, why string, nobody bool) {
	d, text := discardOf(*r, j, why, nobody)
	if d == nil {
		return
	}
	r.lead(text)
	r.Summary += ", changes discarded"
	if j.Verdict != permission.Ask {
		c.cb.notice(NoticeWarning, text)
	}
	c.response.Denied = append(c.response.Denied, *d)
}

// loses is discarded for changes of which nothing can be named.
func (c *calls) loses(r *ran, why string) {
	text := "changes discarded: " + why
	c.warn(r, text)
	r.Summary += ", changes discarded"
	r.IsError = true
	c.response.Denied = append(c.response.Denied, r.denial(text, false))
}

// discardOf is the same for the report, nil where there are no changes, and in words for model
// and user.
func discardOf(r ran, j permission.Judgement, why string, nobody bool) (d *Denial, said string) {
	rows := j.Effects.Short()
	if len(rows) == 0 {
		return nil, ""
	}
	said = "changes discarded" + because(why)
	step := ""
	if without := j.Without; len(without) > 0 && (nobody || j.Verdict == permission.Refuse) {
		step = "; nothing was kept: repeat it without changing " + text.UpTo(mostNamed, without) +
			", and the rest is applied"
	}
	denial := r.denial(said+" ("+j.Effects.Summary()+")"+step, nobody)
	denial.Rule, denial.Changes = j.Rule, rows
	return &denial, said + " (" + text.UpTo(mostNamed, rows) + ")" + step
}

// maxShown is the largest file whose text is shown, maxDiff the length of all diffs together, in bytes.
const (
	maxShown = 1 << 20
	maxDiff  = 4 << 20
)

// diffOf is a unified diff of some of the changes; binary content is named by type and size.
func diffOf(ctx context.Context, root string, e layerEffects, some []sandbox.Change) string {
	name := func(path string) string {
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
		return path
	}
	var b strings.Builder
	left := 0
	for _, c := range some {
		if ctx.Err() != nil {
			break
		}
		if repository.GitData(name(c.Path)) || c.Special {
			continue
		}
		if b.Len() > maxDiff {
			if c.Mode.IsRegular() && c.Kind != sandbox.Mode {
				left++
				fmt.Fprintf(&b, "%s: %s, %s, text left out\n", name(c.Path), c.Kind, bytesOf(cmp.Or(c.Size, c.Before.Size)))
			}
			continue
		}
		text, err := diffOfOne(name(c.Path), e, c)
		if err != nil {
			text = fmt.Sprintf("%s cannot be shown: %v\n", name(c.Path), err)
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "the diff leaves out %s: it would be too long\n", text.Counted(left, "more file", "more files"))
	}
	return b.String()
}

func bytesOf(size int64) string { return text.Counted(int(size), "byte", "bytes") }

func diffOfOne(name string, e layerEffects, c sandbox.Change) (string, error) {
	if c.Kind == sandbox.Mode || !c.Mode.IsRegular() { // A deleted file has the mode that it had.
		return "", nil // The change is reported by name.
	}
	var before, after []byte
	var err error
	if c.Before.Mode.IsRegular() && c.Before.Exists() {
		if c.Before.Size > maxShown || c.Size > maxShown {
			return fmt.Sprintf("%s: %s, was %d\n", name, bytesOf(c.Size), c.Before.Size), nil
		}
		if before, err = os.ReadFile(c.Path); err != nil {
			return "", err
		}
	}
	if c.Kind != sandbox.Deleted {
		if c.Size > maxShown {
			return fmt.Sprintf("%s: %s, new\n", name, bytesOf(c.Size)), nil
		}
		file, err := e.open(c.Path)
		if err != nil {
			return "", err
		}
		defer file.Close()
		if after, err = io.ReadAll(io.LimitReader(file, maxShown+1)); err != nil {
			return "", err
		}
	}
	return edit.DiffFiles(name, before, after, c.Before.Exists(), c.Kind != sandbox.Deleted), nil
}

// longestNaming is how long the changes of an interrupted command may take to be read.
const longestNaming = 500 * time.Millisecond

// giveUp discards the layer of a call that no turn waits for.
func (c *calls) giveUp(r ran) {
	if _, err := r.discard(c.session.opt.Policy); err != nil {
		c.cb.notice(NoticeWarning, "a layer could not be removed: "+err.Error())
	}
}

// discard gives up the layer of a command that ran on one, and names the changes lost. A crash is
// the error.
func (r ran) discard(policy *permission.Policy) (permission.Judgement, error) {
	return guard(func() (lost permission.Judgement, err error) {
		if r.confined == nil || r.decision.Place != permission.PlaceLayer {
			return lost, nil
		}
		select {
		case <-r.confined.Done():
		default:
			return lost, nil // it never ended, and its layer goes with the sandbox
		}
		ctx, cancel := context.WithTimeout(context.Background(), longestNaming)
		defer cancel()
		changes, err := r.confined.Changes(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			lost.Effects.By = map[permission.What][]permission.Entry{permission.Never: {{Path: "more changes than could be listed in time"}}}
			return lost, nil
		case err != nil:
			return lost, err
		}
		defer func() { err = errors.Join(err, changes.Discard(false)) }()
		return r.unjudged(policy, changes), nil
	})
}

// unjudged names the changes of a command that are discarded in any case. Git's data is not looked into.
func (r ran) unjudged(policy *permission.Policy, changes confine.Changes) permission.Judgement {
	ofGit := func(path string) bool {
		rel, err := filepath.Rel(policy.Root, path)
		return err == nil && repository.GitData(filepath.ToSlash(rel))
	}
	list, facts := changes.List(), permission.Facts{Repository: ofGit}
	if slices.ContainsFunc(list, func(c sandbox.Change) bool { return ofGit(c.Path) }) {
		facts.Git = []permission.GitRow{{Class: permission.Content, Text: "data of the repository"}}
	}
	j := policy.Judge(context.Background(), r.decision, list, facts)
	j.Verdict, j.Without = permission.Refuse, nil
	return j
}

// unlessDone explains why a command on a layer counts for nothing, "" for one that ended by itself.
func (r ran) unlessDone() string {
	limit := r.confined.Limit()
	switch {
	case limit != "":
		return limit
	case r.Stopped, r.Job != nil && r.Job.Result().Stop != shell.StopNone:
		return "it was stopped before it finished"
	}
	return ""
}
