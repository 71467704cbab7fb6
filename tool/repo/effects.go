package repo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// judge is one run of Effects.
type judge struct {
	v       *View
	w       WorkTree
	e       Effects
	p       plan
	anyMode bool              // The file system keeps no modes.
	kinds   map[string]string // It has the type of each object that a ref names, before or after.
	commits map[string]*commit
	order   []*commit
	taken   map[string]bool // Its commits have a row.
	files   map[string]stored
	kept    map[string]bool    // The changes of these refs are left out.
	asked   map[[2]string]bool // It says whether the second commit descends from the first.
	guarded []file             // These files of commits and the index have guarded paths.
	owners  []string           // Each holds the file of guarded at the same place.
}

// tip is an id that a change of the repository would have a ref reach.
type tip struct{ id, ref string }

// Effects classifies the changes, in the work tree as it will be after landing.
func (v *View) Effects(ctx context.Context, w WorkTree) (Effects, error) {
	v.plan = &plan{}
	if v.sorted.empty() {
		return Effects{}, nil
	}
	if w.Guarded == nil {
		w.Guarded = func(string) bool { return false }
	}
	if w.Ignored == nil {
		w.Ignored = func(string) bool { return false }
	}
	if w.Hidden == nil {
		w.Hidden = func(string) bool { return false }
	}
	j := &judge{v: v, w: w, commits: map[string]*commit{}, taken: map[string]bool{}, files: map[string]stored{}, kept: map[string]bool{},
		asked: map[[2]string]bool{}}
	j.anyMode = len(v.config["core.filemode"]) > 0 && slices.Contains([]string{"false", "no", "off", "0"},
		strings.ToLower(v.config["core.filemode"][0]))
	if v.sorted.gone {
		git := v.shown(v.r.GitDir)
		row := Row{Kind: Objects, Object: git, Text: git + ": the repository is removed"}
		if !v.Removed() {
			row.Text, row.Stops = git+": something else takes the place of the repository", true
		}
		j.e.Loss = append(j.e.Loss, row)
		v.plan.stops = row.Stops
		return j.e, nil
	}
	j.judgeFiles()
	for _, step := range []func(context.Context) error{j.judgeRefs, j.judgeIndex, j.judgeConfig, j.judgeGuarded} {
		if err := step(ctx); err != nil {
			return Effects{}, err
		}
	}
	j.judgeLogs()
	v.plan = &j.p
	return j.e, nil
}

// judgeFiles sorts the changes that no ref, index or setting explains.
func (j *judge) judgeFiles() {
	s := j.v.sorted
	j.e.Forbidden = append(j.e.Forbidden, s.forbidden...)
	for _, first := range slices.Sorted(maps.Keys(s.unknown)) {
		files := s.unknown[first]
		text := files[0]
		if len(files) > 1 {
			text = fmt.Sprintf("%s: %d files", j.v.shown(filepath.Join(j.v.r.GitDir, filepath.FromSlash(first))), len(files))
		}
		row := Row{Kind: Unknown, Object: first, Files: files, Left: true, Text: text + ", which git runs or obeys"}
		if first == "worktrees" || first == "modules" {
			row.Stops, row.Text = true, text+", of another work tree or submodule: git there runs outside the sandbox"
			j.p.stops = true
		}
		j.e.Guarded = append(j.e.Guarded, row)
	}
	if len(s.state) > 0 {
		j.p.stops = true
		j.e.Guarded = append(j.e.Guarded, Row{Kind: UnderWay, Object: s.state[0], Files: s.state, Left: true, Stops: true,
			Text: "a rebase, bisect or other sequence of git goes on after the line, or did before it (" + s.state[0] +
				"): it begins and ends in one line, or runs outside the sandbox"})
	}
	if n := len(s.lost); n > 0 {
		j.e.Loss = append(j.e.Loss, Row{Kind: Objects, Object: s.lost[0], Files: s.lost, Left: true,
			Text: fmt.Sprintf("files of the object store changed or removed: %d", n)})
	}
}

// askKinds asks git once for the types of all objects that tips and the refs of before name,
// and fills in the commits that those exclude.
func (j *judge) askKinds(ctx context.Context, tips []tip, stash stashMoves) (err error) {
	r := &j.v.refs
	before := slices.AppendSeq([]string{r.head}, maps.Values(r.before))
	for _, e := range stash.before {
		before = append(before, e.id)
	}
	ids := slices.Clone(before)
	for _, t := range tips {
		ids = append(ids, t.id)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return !j.v.format.isID(id) })
	if j.kinds, err = j.v.kinds(ctx, ids); err != nil {
		return err
	}
	slices.Sort(before)
	r.excluded = nil
	for _, id := range slices.Compact(before) {
		if j.kinds[id] != "" {
			r.excluded = append(r.excluded, "^"+id)
		}
	}
	return nil
}

// complete plans to land the line's new objects that the ids reach, without those ids
// that git cannot reach in full: they are bad.
func (j *judge) complete(ctx context.Context, ids []string, bad map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	objects, err := j.v.reached(ctx, ids)
	switch {
	case err == nil:
		j.p.objects = append(j.p.objects, objects...)
		return nil
	case ctx.Err() != nil || !exited(err):
		return err
	case len(ids) == 1:
		bad[ids[0]] = true
		return nil
	}
	half := len(ids) / 2
	if err := j.complete(ctx, ids[:half], bad); err != nil {
		return err
	}
	return j.complete(ctx, ids[half:], bad)
}

// ref judges a ref that git can move.
func (j *judge) ref(ctx context.Context, m move) error {
	j.p.refs = append(j.p.refs, m)
	branch, isBranch := strings.CutPrefix(m.name, "refs/heads/")
	own := isBranch || strings.HasPrefix(m.name, "refs/tags/")
	row := Row{Kind: RefMoved, Object: m.name, Text: fmt.Sprintf("%s: %s → %s", m.name, j.named(m.from), j.named(m.to))}
	switch {
	case m.to == "":
		row.Kind, row.Text = RefGone, m.name+": deleted, was "+j.named(m.from)
		j.e.Loss = append(j.e.Loss, row)
		return nil
	case m.from == "":
		row.Kind, row.Text = RefNew, m.name+": new, "+j.named(m.to)
	default:
		forward, err := j.descends(ctx, m.from, m.to)
		if err != nil {
			return err
		}
		if !forward {
			row.Text += " (not a descendant)"
			j.e.Loss = append(j.e.Loss, row)
			return nil
		}
	}
	switch {
	case !own:
		j.e.Guarded = append(j.e.Guarded, row)
	case m.from == "" && j.plainBranch(branch, m):
		j.e.Bookkeeping = append(j.e.Bookkeeping, row)
	default:
		j.e.Content = append(j.e.Content, row)
	}
	return nil
}

// plainBranch reports whether a new ref is a branch at HEAD's commit with a name of its
// own.
func (j *judge) plainBranch(branch string, m move) bool {
	r := j.v.refs
	return branch != "" && m.name == "refs/heads/"+branch && m.to == commitOf(r.head, r.before) && unambiguous(branch, r.after)
}

// head judges HEAD.
func (j *judge) head(bad map[string]bool) {
	r := &j.v.refs
	if r.head == r.headNow {
		return
	}
	target, symbolic := strings.CutPrefix(r.headNow, "ref: ")
	branch, isBranch := strings.CutPrefix(target, "refs/heads/")
	row := Row{Kind: Head, Object: "HEAD", Text: "HEAD: " + j.headName(r.head) + " → " + j.headName(r.headNow)}
	switch {
	case symbolic && (!isBranch || !validRef(target) || j.kept[target] && r.after[target] == ""),
		!symbolic && (bad[r.headNow] || j.kinds[r.headNow] != "commit"):
		row.Left = true
		j.e.Forbidden = append(j.e.Forbidden, row)
		r.headNow = r.head
		return
	case symbolic && r.before[target] == "" && r.after[target] != "" &&
		j.plainBranch(branch, move{name: target, to: r.after[target]}):
		j.e.Bookkeeping = append(j.e.Bookkeeping, row)
	default:
		j.e.Content = append(j.e.Content, row)
	}
	j.p.head = r.headNow
}

func (j *judge) headName(value string) string {
	if target, ok := strings.CutPrefix(value, "ref: "); ok {
		return strings.TrimPrefix(target, "refs/heads/")
	}
	if value == "" || value == broken {
		return "not readable"
	}
	return "detached at " + j.named(value)
}

// unreached judges the commits that only a detached HEAD reached.
func (j *judge) unreached(ctx context.Context) error {
	r := j.v.refs
	if r.head == r.headNow || !j.v.format.isID(r.head) || j.kinds[r.head] != "commit" {
		return nil
	}
	input := []string{r.head}
	for _, value := range slices.Sorted(maps.Values(r.after)) {
		if j.kinds[value] != "" {
			input = append(input, "^"+value)
		}
	}
	if now := commitOf(r.headNow, r.after); j.kinds[now] != "" {
		input = append(input, "^"+now)
	}
	n := 0
	err := j.v.git.Run(ctx, lines(input), '\n', func(string) error { n++; return nil }, "rev-list", "--stdin")
	if n > 0 {
		j.e.Loss = append(j.e.Loss, Row{Kind: Detached, Object: r.head,
			Text: fmt.Sprintf("commits that no ref reaches any more: %d, from %s", n, short(r.head))})
	}
	return err
}

// commitRows makes rows of the new commits, each for the first ref that reaches it.
func (j *judge) commitRows(ctx context.Context, tips []tip) error {
	r := j.v.refs
	current, _ := strings.CutPrefix(r.headNow, "ref: ")
	slices.SortStableFunc(tips, func(a, b tip) int { return rank(a, current) - rank(b, current) })
	var rows []Row
	var shown []string // the commits of rows
	var differ []string
	for _, t := range tips {
		reached := j.reachedNew(t.id)
		var files []string
		for _, c := range j.order {
			if !reached[c.id] || j.taken[c.id] {
				continue
			}
			j.taken[c.id] = true
			row := Row{Kind: Commit, Object: t.ref, Text: fmt.Sprintf("%s: commit %s %s", t.ref, short(c.id), c.subject)}
			same := true
			for _, f := range c.files {
				row.Files = append(row.Files, f.path)
				if f.gone() {
					row.Gone = append(row.Gone, f.path)
				}
				as, err := j.asInWorkTree(ctx, f)
				if err != nil {
					return err
				}
				same = same && as
				if !f.gone() && j.w.Guarded(f.path) {
					j.guarded, j.owners = append(j.guarded, f), append(j.owners, "commit "+short(c.id)+" "+c.subject)
				}
			}
			if t.ref == "refs/stash" {
				files = append(files, row.Files...)
				continue
			}
			if !same {
				differ = append(differ, c.id)
			}
			rows, shown = append(rows, row), append(shown, c.id)
		}
		if t.ref == "refs/stash" {
			slices.Sort(files)
			j.stashFiles(t.id, slices.Compact(files))
		}
	}
	texts, err := j.v.diffs(ctx, differ)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Diff, rows[i].Lines = texts[shown[i]].text, texts[shown[i]].lines
	}
	j.e.Content = append(j.e.Content, rows...)
	return nil
}

func rank(t tip, current string) int {
	switch t.ref {
	case current, "HEAD":
		return 0
	case "refs/stash":
		return 2
	}
	return 1
}

func (j *judge) asInWorkTree(ctx context.Context, f file) (bool, error) {
	if f.gone() {
		s, err := j.stored(ctx, f.path)
		return s.none, err
	}
	return j.holds(ctx, f.mode, f.id, f.path)
}

// reachedNew are the new commits that an id reaches.
func (j *judge) reachedNew(id string) map[string]bool {
	seen, list := map[string]bool{}, []string{id}
	if j.kinds[id] == "tag" { // a tag object leads to a commit that is not known here
		for _, c := range j.order {
			if !j.taken[c.id] {
				seen[c.id] = true
			}
		}
		return seen
	}
	for len(list) > 0 {
		c := j.commits[list[len(list)-1]]
		list = list[:len(list)-1]
		if c != nil && !seen[c.id] {
			seen[c.id] = true
			list = append(list, c.parents...)
		}
	}
	return seen
}

// judgeGuarded judges content at guarded paths, in commits and in the index.
func (j *judge) judgeGuarded(ctx context.Context) error {
	held, err := j.v.held(ctx, j.guarded)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, f := range j.guarded {
		if held[f.key()] || seen[f.key()] {
			continue
		}
		seen[f.key()] = true
		j.e.Guarded = append(j.e.Guarded, Row{Kind: GuardedBlob, Object: f.path,
			Text: f.path + ", which others run, has new content in " + j.owners[i]})
	}
	return nil
}

// judgeLogs judges reflogs, which may only grow while their ref is there.
func (j *judge) judgeLogs() {
	r := j.v.refs
	for _, name := range slices.Sorted(maps.Keys(r.logs)) {
		l := r.logs[name]
		switch {
		case name == "refs/stash", name != "HEAD" && r.after[name] == "":
			continue // other rows report it
		case l.gone && len(l.before) > 0:
			j.lostLog(name, name+": its reflog is removed")
		case !bytes.HasPrefix(l.after, l.before):
			j.lostLog(name, name+": its reflog lost or changed entries")
		}
	}
	j.p.text, j.p.checkout = j.v.logTexts(r.logs["HEAD"])
}

func (j *judge) lostLog(name, text string) {
	j.e.Loss = append(j.e.Loss, Row{Kind: Reflog, Object: name, Text: text, Left: true})
}

// logTexts are the messages of the last entry that the line added to HEAD's log, and of
// the last one about a checkout, which git switch - looks for.
func (v *View) logTexts(l logs) (last, checkout string) {
	last, checkout = "artoo: changes of a line", "artoo: changes of a line"
	added, ok := bytes.CutPrefix(l.after, l.before)
	if !ok {
		return last, checkout
	}
	for _, e := range v.entries(added) {
		text := strings.Map(printable, e.text)
		if strings.HasPrefix(text, "checkout: ") {
			checkout = text
		} else if text != "" {
			last = text
		}
	}
	return last, checkout
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// named is an id as people know it.
func (j *judge) named(id string) string {
	if c := j.commits[id]; c != nil {
		return short(id) + " " + c.subject
	}
	return short(id)
}

func short(id string) string { return id[:min(len(id), 8)] }

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return strings.TrimPrefix(value, "ref: ")
}
