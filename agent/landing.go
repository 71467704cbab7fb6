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
	"sync"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/names"
	"artoo/tool/sandbox"
)

// judge decides about what a line did on a layer, asks where that is to be asked, and
// lands what may land. Judging ends with within. landed says that the line's effects, or
// none, count. The error is of the question, or of ctx, and ends the turn.
func (t *turn) judge(ctx, within context.Context, p *pending, changes Changes, result *tool.Result) (landed bool, err error) {
	git, err := t.gitEffects(within, changes)
	if err != nil && within.Err() == nil {
		t.loses(p, "git's part of them cannot be read: "+err.Error(), result)
		return false, nil
	}
	defer func() { err = errors.Join(err, git.close()) }()
	j := t.judging(p).Judge(within, p.call.Access, p.decision, changes.List(), t.facts(within, changes, git))
	switch {
	case context.Cause(ctx) != nil:
		t.discarded(p, j, "the turn was stopped", false, result)
		return false, context.Cause(ctx)
	case j.Verdict == permission.Run:
		return t.land(ctx, p, changes, git, j, result), nil
	case j.Verdict == permission.Refuse && len(j.Effects.Short()) == 0:
		t.loses(p, j.Reason(), result)
		return false, nil
	case j.Verdict == permission.Refuse:
		t.discarded(p, j, j.Reason(), false, result)
		return false, nil
	}
	diff := diffOf(ctx, t.opt.Policy.Root, changes, slices.DeleteFunc(slices.Clone(j.Effects.Apply), func(c sandbox.Change) bool {
		return git.has(c.Path)
	}))
	for _, row := range git.rows {
		diff += row.Diff
	}
	answer, err := t.askAfter(ctx, p, Question{Kind: QuestionChanges, Reason: rowsOf(j.Effects), Reasons: j.Reasons,
		Rule: j.Rule, Effects: &j.Effects, Lasts: j.Lasts(), Diff: t.maskedDiff(diff)})
	switch {
	case context.Cause(ctx) != nil:
		t.discarded(p, j, "the turn was stopped", false, result)
		return false, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		t.discarded(p, j, err.Error(), true, result)
		return false, nil
	case err != nil:
		t.discarded(p, j, err.Error(), false, result)
		return false, nil
	}
	switch answer.Verdict {
	case YesForSession, YesForever:
		if j.Lasts() {
			t.opt.Policy.KeepForLine(p.call.Access, j.Effects.Apply)
		}
		fallthrough
	case Yes:
		return t.land(ctx, p, changes, git, j, result), nil
	case StopTurn:
		t.discarded(p, j, "the user stopped the turn", false, result)
		return false, ErrStopped
	case Withhold:
		t.discarded(p, j, answer.Reason, false, result)
		result.Text = "[the user withholds the output of this command, and discarded its changes" +
			because(answer.Reason) + "]\n"
		return false, nil
	}
	t.discarded(p, j, answer.Reason, false, result)
	return false, nil
}

// land makes what a line did count, and says so once it does.
func (t *turn) land(ctx context.Context, p *pending, changes Changes, git *gitEffects, j permission.Judgement,
	result *tool.Result) bool {
	if stays := changes.Stays(); len(stays) > 0 {
		text := "not deleted, since commands cannot see it: " + tool.ListUpTo(mostNamed, t.namesOf(stays))
		result.Text += "[" + text + "]\n"
		t.notice(NoticeWarning, text)
	}
	if j.Class == permission.Nothing {
		return true
	}
	left, lost, err := t.applyLayer(ctx, "run "+p.call.Access.Command, j.Effects, changes, git)
	if err != nil {
		result.Text += "[nothing was applied: " + err.Error() + "]\n"
		result.Summary += ", nothing applied"
		result.IsError = true
		t.notice(NoticeWarning, "nothing was applied: "+err.Error())
		return false
	}
	t.protectRunning()
	if len(j.Effects.By[permission.RunsAutomatically]) > 0 {
		for _, c := range j.Effects.Apply {
			t.approved.add(c.Path)
		}
	}
	summary := j.Effects.Summary()
	result.Text += "[its changes were applied: " + summary + "]\n"
	result.Summary += ", applied: " + summary
	if len(left) > 0 {
		result.Text += "[except for: " + tool.ListUpTo(mostNamed, left) + "]\n"
		t.notice(NoticeWarning, "not applied: "+tool.ListUpTo(mostNamed, left))
	}
	if len(lost) > 0 {
		t.notice(NoticeWarning, "cannot be undone: "+strings.Join(lost, ", "))
	}
	var never []string
	for _, e := range j.Effects.By[permission.Never] {
		never = append(never, e.String())
	}
	if len(never) > 0 {
		text := "never applied: " + tool.ListUpTo(mostNamed, never)
		result.Text += "[" + text + "]\n"
		t.notice(NoticeWarning, text)
	}
	return true
}

// mostNamed is how many of the changes are named in a line of text.
const mostNamed = 20

// rowsOf names effects in a line of text.
func rowsOf(e permission.Effects) string { return tool.ListUpTo(mostNamed, e.Short()) }

// discarded tells the model, and the report, that what a line changed is gone; also
// the user, unless a question about it was asked, which names it.
func (t *turn) discarded(p *pending, j permission.Judgement, why string, nobody bool, result *tool.Result) {
	d, text := t.discardOf(p, j, why, nobody)
	if d == nil {
		return
	}
	result.Text += "[" + text + "]\n"
	result.Summary += ", changes discarded"
	if j.Verdict != permission.Ask {
		t.notice(NoticeWarning, text)
	}
	t.response.Denied = append(t.response.Denied, *d)
}

// loses is discarded for changes of which nothing can be named.
func (t *turn) loses(p *pending, why string, result *tool.Result) {
	text := "changes discarded: " + why
	result.Text += "[" + text + "]\n"
	result.Summary += ", changes discarded"
	result.IsError = true
	t.notice(NoticeWarning, text)
	t.response.Denied = append(t.response.Denied, Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: text})
}

// discardOf is what the report says of a line whose changes are gone, nil where there are
// none, and the same as text for the model and the user.
func (a *Agent) discardOf(p *pending, j permission.Judgement, why string, nobody bool) (d *Denial, text string) {
	rows := j.Effects.Short()
	if len(rows) == 0 {
		return nil, ""
	}
	text = "changes discarded" + because(why)
	return &Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: text + " (" + j.Effects.Summary() + ")",
			Rule: j.Rule, Nobody: nobody, Changes: rows},
		text + " (" + tool.ListUpTo(mostNamed, rows) + ")"
}

// facts are what the judge must know of the project.
func (t *turn) facts(ctx context.Context, changes Changes, git *gitEffects) permission.Facts {
	facts := permission.Facts{Made: func(c sandbox.Change) bool { return t.made.has(c.Path) }, Git: git.rows, Repository: git.has}
	if t.journal != nil {
		facts.Kept = t.journal.Holds
	}
	w := t.opt.Workspace
	if w == nil {
		return facts
	}
	environ := t.opt.Env.Environ
	facts.Ignored = func(paths []string) map[string]bool { return w.Project.IgnoredSince(ctx, environ, w.Began, paths) }
	facts.Uncommitted = func(paths []string) map[string]bool { return w.Project.Uncommitted(ctx, environ, paths) }
	facts.Reverts = func(list []sandbox.Change) map[string]bool {
		found := map[string]bool{}
		var paths []string
		for _, c := range list {
			paths = append(paths, c.Path)
		}
		blobs := w.Project.Blobs(ctx, environ, paths)
		for _, c := range list {
			if len(blobs[c.Path]) == 0 || ctx.Err() != nil {
				continue
			}
			file, err := changes.Open(c)
			if err == nil {
				found[c.Path], err = tool.IsBlob(ctx, file, blobs[c.Path])
				file.Close()
			}
			found[c.Path] = found[c.Path] || err != nil // it cannot be told, and uncommitted work goes
		}
		return found
	}
	return facts
}

// outputDirs are the directories for results that git ignores, made where they are
// missing: a background command may write there.
func (t *turn) outputDirs() (dirs []string) {
	w := t.opt.Workspace
	if w == nil {
		return nil
	}
	var candidates []string
	for _, name := range permission.ResultDirs() {
		candidates = append(candidates, filepath.Join(w.Project.Root, name)+"/")
	}
	ignored := w.Project.IgnoredSince(context.Background(), t.opt.Env.Environ, w.Began, candidates)
	for _, dir := range candidates {
		dir = filepath.Clean(dir)
		if ignored[dir] && os.MkdirAll(dir, 0o755) == nil { // one that cannot be made is not written
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// madeFiles are the files that the session made and that still are as it left them.
type madeFiles struct {
	mu     sync.Mutex
	stamps map[string]names.Stamp
}

func (m *madeFiles) add(paths ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stamps == nil {
		m.stamps = map[string]names.Stamp{}
	}
	for _, path := range paths {
		m.stamps[path], _ = names.StampAt(path)
	}
}

// known reports whether the session made a file at the path, whatever became of it.
func (m *madeFiles) known(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.stamps[path]
	return known
}

// has reports whether the session made the file and it is as it was left.
func (m *madeFiles) has(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.stamps[path]
	if !known {
		return false
	}
	is, _ := names.StampAt(path)
	return is == was && is != names.Stamp{}
}

// maxShown is the size in bytes of the largest file whose text is shown; those
// above are named by their size. maxDiff is how many bytes the diffs of all files take
// together.
const (
	maxShown = 1 << 20
	maxDiff  = 4 << 20
)

// diffOf is what some of the changes changed in text files, as a unified diff; others
// are named by type and size. It ends early with ctx.
func diffOf(ctx context.Context, root string, changes Changes, some []sandbox.Change) string {
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
		if tool.GitData(name(c.Path)) || c.Special {
			continue
		}
		if b.Len() > maxDiff {
			if c.Mode.IsRegular() && c.Kind != sandbox.Mode {
				left++
				fmt.Fprintf(&b, "%s: %s, %d bytes, text left out\n", name(c.Path), c.Kind, cmp.Or(c.Size, c.Before.Size))
			}
			continue
		}
		text, err := diffOfOne(name(c.Path), changes, c)
		if err != nil {
			text = fmt.Sprintf("%s cannot be shown: %v\n", name(c.Path), err)
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "the text of %d more files is left out: the diff would be too long\n", left)
	}
	return b.String()
}

// diffOfOne is the change of one file as a unified diff.
func diffOfOne(name string, changes Changes, c sandbox.Change) (string, error) {
	if c.Kind == sandbox.Mode || !c.Mode.IsRegular() { // of what is gone, the mode that it had
		return "", nil // what happened is told by name
	}
	var before, after []byte
	var err error
	if c.Before.Mode.IsRegular() && c.Before.Mode != 0 {
		if c.Before.Size > maxShown || c.Size > maxShown {
			return fmt.Sprintf("%s: %d bytes, before %d\n", name, c.Size, c.Before.Size), nil
		}
		if before, err = os.ReadFile(c.Path); err != nil {
			return "", err
		}
	}
	if c.Kind != sandbox.Deleted {
		if c.Size > maxShown {
			return fmt.Sprintf("%s: %d bytes, new\n", name, c.Size), nil
		}
		file, err := changes.Open(c)
		if err != nil {
			return "", err
		}
		defer file.Close()
		if after, err = io.ReadAll(io.LimitReader(file, maxShown+1)); err != nil {
			return "", err
		}
	}
	return tool.DiffFiles(name, before, after, c.Before.Mode != 0, c.Kind != sandbox.Deleted)
}
