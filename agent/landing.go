package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/git"
	"artoo/tool/journal"
	"artoo/tool/names"
	repository "artoo/tool/project"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// judge decides about a line's changes on a layer, asks, and lands those that may land, until within
// ends. landed reports that the line's effects, or none, count. The error ends the turn.
func (c *calls) judge(ctx, within context.Context, p *pending, changes confine.Changes, result *tool.Result) (landed bool, err error) {
	git, err := c.gitEffects(within, changes)
	if err != nil && within.Err() == nil {
		c.loses(p, "git's part of them cannot be read: "+err.Error(), result)
		return false, nil
	}
	defer func() { err = errors.Join(err, git.close()) }()
	changes = versions{changes, git.hidden}
	j := c.judging(p).Judge(within, p.decision, changes.List(), c.facts(within, git))
	var over error
	if j.Verdict != permission.Refuse {
		over = c.keeper.tally.admit(within, append(effectsOn(j.Effects.Apply, changes.Open), effectsIn(git)...))
	}
	switch {
	case context.Cause(ctx) != nil:
		c.discarded(p, j, "the turn was stopped", false, result)
		return false, context.Cause(ctx)
	case over != nil:
		j.Verdict, j.Without, result.IsError = permission.Refuse, nil, true
		c.discarded(p, j, over.Error(), false, result)
		return false, c.keeper.tally.end()
	case j.Verdict == permission.Run:
		return c.land(ctx, p, changes, git, j, result), nil
	case j.Verdict == permission.Refuse && len(j.Effects.Short()) == 0:
		c.loses(p, j.Reason(), result)
		return false, nil
	case j.Verdict == permission.Refuse:
		c.discarded(p, j, j.Reason(), false, result)
		return false, nil
	}
	diff := diffOf(ctx, c.session.opt.Policy.Root, changes, slices.DeleteFunc(slices.Clone(j.Effects.Apply), func(change sandbox.Change) bool {
		return git.has(change.Path)
	}))
	for _, row := range git.rows {
		diff += row.Diff
	}
	answer, err := c.askAfter(ctx, p, Question{Kind: QuestionChanges, Reason: rowsOf(j.Effects), Reasons: j.Reasons,
		Rule: j.Rule, Effects: &j.Effects, Diff: c.session.maskedDiff(diff)})
	why, stop := answer.Reason, error(nil)
	switch {
	case context.Cause(ctx) != nil:
		why, stop = "the turn was stopped", context.Cause(ctx)
	case err != nil:
		why = err.Error()
	case answer.Verdict == StopTurn:
		why, stop = "the user stopped the turn", ErrStopped
	case answer.Verdict == Yes:
		return c.land(ctx, p, changes, git, j, result), nil
	}
	c.discarded(p, j, why, errors.Is(err, ErrNobody) && stop == nil, result)
	return false, stop
}

// judging is the policy that judges a command: of the mode then and now, the stricter one holds.
func (c *calls) judging(p *pending) *permission.Policy {
	policy := *c.session.opt.Policy
	for _, mode := range modes {
		if mode == p.mode || mode == policy.Mode {
			policy.Mode = mode
			break
		}
	}
	return &policy
}

func (c *calls) land(ctx context.Context, p *pending, changes confine.Changes, git *gitEffects, j permission.Judgement,
	result *tool.Result) bool {
	if stays := changes.Stays(); len(stays) > 0 {
		c.warn(result, "not deleted, since commands cannot see it: "+text.UpTo(mostNamed, c.session.namesOf(stays)))
	}
	if j.Class == permission.Nothing {
		return true
	}
	brought := c.session.brings(git)
	left, lost, err := c.keeper.applyLayer(ctx, "run "+cmp.Or(p.call.Access.Command, p.call.Access.Object), j.Effects, changes, effectsIn(git), journal.Then{Paths: git.touches(), Do: git.replay})
	if err != nil {
		why := "nothing was applied: " + err.Error()
		if errors.Is(err, journal.ErrConflict) {
			why += "; repeat it on the files as they are now"
		}
		c.warn(result, why)
		result.Summary += ", nothing applied"
		result.IsError = true
		c.response.Denied = append(c.response.Denied, p.denial(why, false))
		return false
	}
	c.background.protectRunning(c.cb)
	c.keeper.servers.protect(c.cb)
	if len(j.Effects.By[permission.RunsAutomatically]) > 0 {
		for _, change := range j.Effects.Apply {
			c.keeper.approved.add(change.Path)
		}
	}
	summary := j.Effects.Summary()
	if len(brought) > 0 {
		summary += "; hidden: " + text.UpTo(mostNamed, brought)
	}
	if gone := j.Effects.By[permission.Deleted]; len(gone) > 0 {
		summary = "deleted " + text.UpTo(mostNamed, strings.Split(pathsOf(gone), ", ")) + "; " + summary
	}
	result.Text += "[its changes were applied: " + summary + "]\n"
	result.Summary += ", applied: " + summary
	if len(left) > 0 {
		c.warn(result, "not applied: "+text.UpTo(mostNamed, left))
	}
	if len(lost) > 0 {
		c.cb.notice(NoticeWarning, "cannot be undone: "+strings.Join(lost, ", "))
	}
	if never := j.Effects.Rows(false, permission.Never); len(never) > 0 {
		said := text.UpTo(mostNamed, never)
		c.warn(result, said)
		d := p.denial(said, false)
		d.Changes = never
		c.response.Denied = append(c.response.Denied, d)
	}
	return true
}

// discarded reports that a line's changes are gone; to the user only where no question has named them.
func (c *calls) discarded(p *pending, j permission.Judgement, why string, nobody bool, result *tool.Result) {
	d, text := discardOf(p, j, why, nobody)
	if d == nil {
		return
	}
	lead(result, text)
	result.Summary += ", changes discarded"
	if j.Verdict != permission.Ask {
		c.cb.notice(NoticeWarning, text)
	}
	c.response.Denied = append(c.response.Denied, *d)
}

// lead puts a text before a command's output: behind a long one, and an exit status of 0, a loss is overlooked.
func lead(result *tool.Result, text string) { result.Text = "[" + text + "]\n" + result.Text }

// warn warns the model and the user.
func (c *calls) warn(result *tool.Result, text string) {
	lead(result, text)
	c.cb.notice(NoticeWarning, text)
}

// loses is discarded for changes of which nothing can be named.
func (c *calls) loses(p *pending, why string, result *tool.Result) {
	text := "changes discarded: " + why
	c.warn(result, text)
	result.Summary += ", changes discarded"
	result.IsError = true
	c.response.Denied = append(c.response.Denied, p.denial(text, false))
}

// discardOf is the same for the report, nil where there are no changes, and in words for model
// and user.
func discardOf(p *pending, j permission.Judgement, why string, nobody bool) (d *Denial, said string) {
	rows := j.Effects.Short()
	if len(rows) == 0 {
		return nil, ""
	}
	said = "changes discarded" + because(why)
	step := ""
	if without := j.Without; len(without) > 0 && (nobody || j.Verdict == permission.Refuse) {
		step = "; nothing was kept: repeat it without " + text.UpTo(mostNamed, without) + ", and the rest is applied"
	}
	return &Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: said + " (" + j.Effects.Summary() + ")" + step,
			Rule: j.Rule, Nobody: nobody, Changes: rows},
		said + " (" + text.UpTo(mostNamed, rows) + ")" + step
}

func (c *calls) facts(ctx context.Context, git *gitEffects) permission.Facts {
	facts := permission.Facts{Made: func(change sandbox.Change) bool { return c.keeper.made.has(change.Path) }, Git: git.rows, Repository: git.has}
	if c.keeper.journal != nil {
		facts.Kept = c.keeper.journal.Holds
	}
	w := c.session.opt.Workspace
	if w == nil {
		return facts
	}
	facts.Ignored = func(paths []string) map[string]bool {
		return w.Project.IgnoredSince(ctx, c.session.opt.Env.Environ, w.Began, paths)
	}
	return facts
}

// maxShown is the largest file whose text is shown, maxDiff the length of all diffs together, in bytes.
const (
	maxShown = 1 << 20
	maxDiff  = 4 << 20
)

// diffOf is a unified diff of some of the changes; binary content is named by type and size.
func diffOf(ctx context.Context, root string, changes confine.Changes, some []sandbox.Change) string {
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
		text, err := diffOfOne(name(c.Path), changes, c)
		if err != nil {
			text = fmt.Sprintf("%s cannot be shown: %v\n", name(c.Path), err)
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, "the text of %s is left out: the diff would be too long\n", text.Counted(left, "more file", "more files"))
	}
	return b.String()
}

func bytesOf(size int64) string { return text.Counted(int(size), "byte", "bytes") }

func diffOfOne(name string, changes confine.Changes, c sandbox.Change) (string, error) {
	if c.Kind == sandbox.Mode || !c.Mode.IsRegular() { // A deleted file has the mode that it had.
		return "", nil // The change is reported by name.
	}
	var before, after []byte
	var err error
	if c.Before.Mode.IsRegular() && c.Before.Exists() {
		if c.Before.Size > maxShown || c.Size > maxShown {
			return fmt.Sprintf("%s: %s, before %d\n", name, bytesOf(c.Size), c.Before.Size), nil
		}
		if before, err = os.ReadFile(c.Path); err != nil {
			return "", err
		}
	}
	if c.Kind != sandbox.Deleted {
		if c.Size > maxShown {
			return fmt.Sprintf("%s: %s, new\n", name, bytesOf(c.Size)), nil
		}
		file, err := changes.Open(c.Path)
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

func (c *calls) giveUp(p *pending) {
	if _, err := p.discard(c.session.opt.Policy); err != nil {
		c.cb.notice(NoticeWarning, "a layer could not be removed: "+err.Error())
	}
}

// discard gives up the layer of a command that ran on one, and names the changes lost. A crash is
// the error.
func (p *pending) discard(policy *permission.Policy) (permission.Judgement, error) {
	return guard(func() (lost permission.Judgement, err error) {
		if p.confined == nil || p.decision.Place != permission.PlaceLayer {
			return lost, nil
		}
		select {
		case <-p.confined.Done():
		default:
			return lost, nil // it never ended, and its layer goes with the sandbox
		}
		ctx, cancel := context.WithTimeout(context.Background(), longestNaming)
		defer cancel()
		changes, err := p.confined.Changes(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			lost.Effects.By = map[permission.What][]permission.Entry{permission.Never: {{Path: "more changes than could be listed in time"}}}
			return lost, nil
		case err != nil:
			return lost, err
		}
		defer func() { err = errors.Join(err, changes.Discard(false)) }()
		return p.unjudged(policy, changes), nil
	})
}

// unjudged names the changes of a command that are discarded in any case. Git's data is not looked into.
func (p *pending) unjudged(policy *permission.Policy, changes confine.Changes) permission.Judgement {
	ofGit := func(path string) bool {
		rel, err := filepath.Rel(policy.Root, path)
		return err == nil && repository.GitData(filepath.ToSlash(rel))
	}
	list, facts := changes.List(), permission.Facts{Repository: ofGit}
	if slices.ContainsFunc(list, func(c sandbox.Change) bool { return ofGit(c.Path) }) {
		facts.Git = []permission.GitRow{{Class: permission.Content, Text: "data of the repository"}}
	}
	j := policy.Judge(context.Background(), p.decision, list, facts)
	j.Verdict, j.Without = permission.Refuse, nil
	return j
}

// unlessDone explains why a command on a layer counts for nothing, "" for one that ended by itself.
func (p *pending) unlessDone(result *tool.Result) string {
	limit := p.confined.Limit()
	switch {
	case limit != "":
		return limit
	case result.Stopped, p.job != nil && p.job.Result().Stop != shell.StopNone:
		return "it was ended before it was done"
	}
	return ""
}

// has reports whether a row stands for the changes of a path.
func (g *gitEffects) has(path string) bool {
	_, hidden := g.hidden[path]
	return hidden || slices.ContainsFunc(g.dirs, func(dir string) bool { return names.Within(dir, path) })
}

func (g *gitEffects) touches() (paths []string) {
	for _, v := range g.views {
		paths = append(paths, v.Touches()...)
	}
	return paths
}

// replay makes the changes in the project's repositories. After a crash, an error, the journal
// undoes them.
func (g *gitEffects) replay(ctx context.Context) error {
	_, err := guard(func() (none struct{}, err error) {
		for _, v := range g.views {
			if err := v.Replay(ctx); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

func (g *gitEffects) close() (err error) {
	for _, v := range g.views {
		err = errors.Join(err, v.Close())
	}
	if g.temp != "" {
		err = errors.Join(err, os.RemoveAll(g.temp))
	}
	return err
}

// gitEffects looks at each repository that a line changed. A new repository has no view:
// its files are judged one by one.
func (c *calls) gitEffects(ctx context.Context, changes confine.Changes) (g *gitEffects, err error) {
	g = &gitEffects{committed: map[string]committed{}, hidden: map[string]repo.Version{}, before: map[string]sandbox.Before{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	byDir := map[string][]sandbox.Change{}
	byPath := map[string]sandbox.Change{}
	for _, change := range changes.List() {
		byPath[change.Path] = change
		if dir := c.gitDirOf(change); dir != "" {
			byDir[dir] = append(byDir[dir], change)
		}
	}
	if len(byDir) == 0 {
		return g, nil
	}
	if g.temp, err = os.MkdirTemp(c.session.own().TempDir(), "artoo-git-"); err != nil {
		return g, err
	}
	for dir, list := range byDir {
		r := c.repository(dir)
		view, effects, err := c.openRepository(ctx, r, g, list, changes, byPath)
		switch {
		case errors.Is(err, repo.ErrNoRepository):
			continue
		case ctx.Err() != nil:
			return g, ctx.Err()
		case err != nil: // The line's other changes do not depend on it.
			g.rows = append(g.rows, permission.GitRow{Class: permission.Forbidden, Text: text.FirstLine(err.Error())})
		default:
			g.views = append(g.views, view)
			if !view.Removed() {
				list = nil
			}
			g.note(c.session.opt.Policy.Root, r.WorkTree, effects, list)
			g.bring(r.WorkTree, effects.Hidden, c.session.isHidden(), c.session.opt.Policy.IsGuarded, c.session.namesOf)
		}
		g.dirs = append(g.dirs, dir)
	}
	return g, nil
}

// repository is the one whose data a directory holds. It has no git directory where the project's has none.
func (c *calls) repository(dir string) repo.Repository {
	r := repo.Repository{WorkTree: filepath.Dir(dir), GitDir: dir, Common: dir, Own: c.session.own(), Environ: c.session.opt.Env.Environ}
	if w := c.session.opt.Workspace; w != nil && w.Project.Common != "" && dir == w.Project.Common {
		r.WorkTree, r.GitDir = w.Project.Root, w.Project.GitDir()
	}
	if top := git.ModuleWorkTree(dir); top != "" {
		r.WorkTree = top
	}
	return r
}

// openRepository opens a repository that is its work tree's own, and judges the changes of its data.
func (c *calls) openRepository(ctx context.Context, r repo.Repository, g *gitEffects, list []sandbox.Change, changes confine.Changes,
	byPath map[string]sandbox.Change) (*repo.View, repo.Effects, error) {
	if r.GitDir == "" {
		return nil, repo.Effects{}, repo.ErrNoRepository
	}
	var admitted []string
	if w := c.session.opt.Workspace; w != nil {
		admitted = w.Project.GitDirs
	}
	_, _, err := git.Dirs(r.WorkTree, admitted...)
	if _, foreign := errors.AsType[*git.ForeignError](err); foreign {
		return nil, repo.Effects{}, err // git itself may find no repository, or read one that artoo does not see
	}
	view, err := repo.Open(ctx, r, g.temp, gitChanges(list), func(path string) (io.ReadCloser, error) { return changes.Open(path) })
	if err != nil {
		return nil, repo.Effects{}, err
	}
	effects, err := view.Effects(ctx, c.workTree(ctx, r.WorkTree, byPath, changes, g))
	return view, effects, err
}

// note adds the rows of a repository. Those of a removed one stand for its files.
func (g *gitEffects) note(root, top string, effects repo.Effects, removed []sandbox.Change) {
	in := "" // the project's own repository needs no name
	if rel, err := filepath.Rel(root, top); err == nil && rel != "." {
		in = "in " + filepath.ToSlash(rel) + ": "
	}
	moved := map[string]bool{} // refs whose new commits show where they are now
	for _, row := range effects.Content {
		if row.Kind == repo.Commit {
			moved[row.Object] = true
			g.commit(top, row)
		}
	}
	for _, group := range []struct {
		class permission.Class
		rows  []repo.Row
	}{{permission.Forbidden, effects.Forbidden}, {permission.Guarded, effects.Guarded}, {permission.Loss, effects.Loss},
		{permission.Content, effects.Content}, {permission.Bookkeeping, effects.Bookkeeping}} {
		for _, row := range group.rows {
			if group.class == permission.Content && row.Kind == repo.RefMoved && moved[row.Object] {
				continue
			}
			if len(row.Files) > 0 && (row.Kind == repo.Commit || row.Kind == repo.Stash) {
				row.Text += ": " + text.UpTo(mostNamed, row.Files)
			}
			g.rows = append(g.rows, permission.GitRow{Class: group.class, Text: in + row.Text, Diff: row.Diff,
				Left: row.Left, Stops: row.Stops, Files: removed})
		}
	}
}

// commit notes the paths of a new commit.
func (g *gitEffects) commit(top string, row repo.Row) {
	for i, name := range row.Files {
		path := filepath.Join(top, filepath.FromSlash(name))
		does := g.committed[path]
		does.gone = does.gone || slices.Contains(row.Gone, name)
		if i == 0 {
			does.lines += row.Lines
		}
		g.committed[path] = does
	}
}

func gitChanges(list []sandbox.Change) (changes []repo.Change) {
	for _, c := range list {
		gone := c.Kind == sandbox.Deleted
		change := repo.Change{Path: c.Path, Gone: gone}
		if !gone {
			change.Mode = c.Mode
		}
		changes = append(changes, change)
	}
	return changes
}

// gitDirOf is the git directory that a path lies in, "" for none.
func (c *calls) gitDirOf(change sandbox.Change) string {
	path, at := change.Path, cmp.Or(change.Dir, c.session.opt.Policy.Root)
	if w := c.session.opt.Workspace; w != nil && w.Project.Common != "" && names.Within(w.Project.Common, path) {
		return w.Project.Common
	}
	rel, err := filepath.Rel(at, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	end := len(path) - len(rel)
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		end += len(part) + 1
		if names.Fold(part) != ".git" {
			continue
		}
		at = path[:end-1]
		if info, err := os.Lstat(at); err == nil && info.IsDir() {
			return moduleOf(at, path)
		}
		return ""
	}
	return ""
}

// moduleOf is the git directory of the submodule that a path below dir belongs to, or dir.
func moduleOf(dir, path string) string {
	rest, inModule := strings.CutPrefix(path, filepath.Join(dir, "modules")+string(filepath.Separator))
	if !inModule {
		return dir
	}
	at := filepath.Join(dir, "modules")
	for part := range strings.SplitSeq(rest, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(filepath.Join(at, "HEAD")); err == nil && info.Mode().IsRegular() {
			return moduleOf(at, path)
		}
	}
	return dir
}

// workTree is a repository's work tree as it will be once the line's files have landed.
func (c *calls) workTree(ctx context.Context, top string, byPath map[string]sandbox.Change, changes confine.Changes, g *gitEffects) repo.WorkTree {
	var ignored []string
	asked, isHidden, files := false, c.session.isHidden(), c.session.opt.Env.Files
	var left []string
	for path, change := range byPath {
		hidden := change.Hidden || files != nil && files.HidesName(path)
		if name, err := filepath.Rel(top, path); hidden && err == nil && change.Kind != sandbox.Deleted && filepath.IsLocal(name) {
			left = append(left, filepath.ToSlash(name))
		}
	}
	return repo.WorkTree{
		Left: left,
		Project: func(name string) (io.ReadCloser, fs.FileMode, error) {
			return g.openHidden(filepath.Join(top, filepath.FromSlash(name)))
		},
		Hidden: func(name string) bool { return isHidden(filepath.Join(top, filepath.FromSlash(name))) },
		Open: func(name string) (io.ReadCloser, fs.FileMode, error) {
			path := filepath.Join(top, filepath.FromSlash(name))
			if change, changed := byPath[path]; changed {
				switch {
				case change.Kind == sandbox.Deleted:
					return nil, 0, fs.ErrNotExist
				case change.Mode&fs.ModeSymlink != 0:
					return io.NopCloser(strings.NewReader(change.Target)), change.Mode, nil
				case change.Kind != sandbox.Mode && change.Mode.IsRegular():
					file, err := changes.Open(path)
					return file, change.Mode, err
				}
			}
			info, err := os.Lstat(path)
			if err != nil {
				return nil, 0, err
			}
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				to, err := os.Readlink(path)
				return io.NopCloser(strings.NewReader(to)), info.Mode(), err
			case !info.Mode().IsRegular():
				return nil, 0, fmt.Errorf("%s is no regular file", path) // a FIFO would not open
			}
			file, err := os.Open(path)
			return file, info.Mode(), err
		},
		Guarded: func(name string) bool {
			return c.session.opt.Policy.IsGuarded(filepath.Join(top, filepath.FromSlash(name)))
		},
		Ignored: func(name string) bool {
			w := c.session.opt.Workspace
			if w == nil || top != w.Project.Root {
				return false
			}
			if !asked {
				asked = true
				var err error
				if ignored, err = w.Project.Ignored(ctx, c.session.opt.Env.Environ); err != nil {
					ignored = []string{""} // Unknown counts as ignored, so the user is asked.
				}
			}
			return slices.ContainsFunc(ignored, func(rule string) bool {
				return rule == "" || rule == name || strings.HasSuffix(rule, "/") && strings.HasPrefix(name, rule)
			})
		},
	}
}
