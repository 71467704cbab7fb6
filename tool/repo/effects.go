package repo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/text"
)

// judge is one run of Effects.
type judge struct {
	v        *View
	w        WorkTree
	e        Effects
	p        plan
	anyMode  bool              // The file system keeps no modes.
	kinds    map[string]string // It has the type of each object that a row names or a ref is to reach.
	subjects map[string]string // It has those of the commits among them.
	order    []*commit
	files    map[string]stored
	refused  map[string]bool    // The changes of these refs are left out.
	asked    map[[2]string]bool // It says whether the second commit descends from the first.
	guarded  []file             // These files of commits and the index have guarded paths.
	owners   []string           // Each holds the file of guarded at the same place.
	hidden   map[string]bool    // It has paths of changed entries and of new commits, and says which are hidden.
	index    staging
}

// Effects classifies the changes, in the work tree as it will be after landing.
func (v *View) Effects(ctx context.Context, w WorkTree) (Effects, error) {
	v.plan, v.err = &plan{}, nil
	if v.empty() {
		return Effects{}, nil
	}
	w.Guarded, w.Ignored, w.Hidden = orNever(w.Guarded), orNever(w.Ignored), orNever(w.Hidden)
	j := &judge{v: v, w: w, subjects: map[string]string{}, files: map[string]stored{}, refused: map[string]bool{}, asked: map[[2]string]bool{},
		hidden: map[string]bool{}, e: Effects{Hidden: map[string]Version{}}}
	j.anyMode = slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(v.setting("core.filemode")))
	if v.sorted[removed] != nil || v.sorted[replaced] != nil {
		git := v.shown(v.r.GitDir)
		row := Row{Kind: Objects, Object: git, Text: git + ": the repository is removed"}
		if !v.Removed() {
			row.Text, row.Stops = git+": something else takes the place of the repository", true
		}
		v.plan.stops = row.Stops
		return Effects{Loss: []Row{row}}, nil
	}
	j.judgeFiles()
	j.judgeRefs(ctx)
	j.judgeIndex(ctx)
	j.judgeHidden(ctx)
	j.judgeConfig(ctx)
	j.judgeGuarded(ctx)
	j.judgeLogs()
	v.plan = &j.p
	return j.e, v.err
}

func orNever(f func(path string) bool) func(path string) bool {
	if f == nil {
		return func(string) bool { return false }
	}
	return f
}

// judgeFiles sorts the changes that no ref, index or setting explains.
func (j *judge) judgeFiles() {
	v := j.v
	for _, c := range v.special {
		what := "a device, FIFO or socket among git's files"
		switch {
		case c.Mode&fs.ModeSymlink != 0:
			what = "a symbolic link among git's files"
		case c.Mode.IsRegular():
			what = "a file of git's with setuid or setgid"
		}
		j.e.Forbidden = append(j.e.Forbidden, Row{Kind: Special, Object: v.shown(c.Path), Text: v.shown(c.Path) + ": " + what, Left: true})
	}
	for _, group := range slices.Sorted(maps.Keys(v.unknown)) {
		row := Row{Kind: Unknown, Object: group, Files: v.unknown[group], Left: true}
		if row.Text = row.Files[0]; len(row.Files) > 1 {
			row.Text = fmt.Sprintf("%s: %d files", v.shown(filepath.Join(v.r.GitDir, filepath.FromSlash(group))), len(row.Files))
		}
		row.Stops = group == "worktrees" || group == "modules"
		if row.Text += ", which git runs or obeys"; row.Stops {
			row.Text += ", of another work tree or submodule: git there runs outside the sandbox"
		}
		j.p.stops = j.p.stops || row.Stops
		j.e.Guarded = append(j.e.Guarded, row)
	}
	if s := v.sorted[state]; s != nil {
		j.p.stops = true
		first, _, _ := strings.Cut(s[0], "/")
		j.e.Guarded = append(j.e.Guarded, Row{Kind: UnderWay, Object: first, Files: s, Left: true, Stops: true,
			Text: "a rebase, bisect or other sequence of git goes on after the line, or did before it (" + first +
				"): it begins and ends in one line, or runs outside the sandbox"})
	}
	if s := v.sorted[lost]; s != nil {
		j.e.Loss = append(j.e.Loss, Row{Kind: Objects, Object: s[0], Files: s, Left: true,
			Text: fmt.Sprintf("files of the object store changed or removed: %d", len(s))})
	}
}

// commitRows makes rows of the new commits, and names the files of the stash's.
func (j *judge) commitRows(ctx context.Context, tips []tip, stash *stashMoves) {
	j.order = j.newCommits(ctx, tips)
	rows := make([]Row, 0, len(j.order))
	differ := map[string]*Row{}
	for _, c := range j.order {
		row := Row{Kind: Commit, Object: c.ref, Text: fmt.Sprintf("%s: commit %s %s", c.ref, short(c.id), c.subject)}
		same := true
		for _, f := range c.files {
			if row.Files = append(row.Files, f.path); f.gone() {
				row.Gone = append(row.Gone, f.path)
			} else if j.w.Guarded(f.path) {
				j.guarded, j.owners = append(j.guarded, f), append(j.owners, "commit "+short(c.id)+" "+c.subject)
			}
			same = same && j.holds(ctx, f)
		}
		if c.ref == "refs/stash" {
			i := slices.IndexFunc(stash.pushed, func(e entry) bool { return e.id == c.tip })
			files := slices.Concat(stash.pushed[i].files, row.Files)
			slices.Sort(files)
			stash.pushed[i].files = slices.Compact(files)
		} else if rows = append(rows, row); !same {
			differ[c.id] = &rows[len(rows)-1]
		}
	}
	j.v.diffs(ctx, differ)
	j.e.Content = append(j.e.Content, rows...)
}

// judgeGuarded judges content at guarded paths, in commits and in the index.
func (j *judge) judgeGuarded(ctx context.Context) {
	unheld := j.v.unheld(ctx, j.guarded)
	for i, f := range j.guarded {
		if unheld[f.key()] {
			delete(unheld, f.key())
			j.e.Guarded = append(j.e.Guarded, Row{Kind: GuardedBlob, Object: f.path,
				Text: f.path + ", which others run, has new content in " + j.owners[i]})
		}
	}
}

// judgeLogs judges reflogs, which may only grow while their ref is there.
func (j *judge) judgeLogs() {
	j.p.text = "artoo: changes of a line"
	for _, path := range slices.Sorted(slices.Values(j.v.sorted[logs])) {
		name := strings.TrimPrefix(path, "logs/")
		if name == "refs/stash" || name != "HEAD" && j.v.refs.after[name] == "" {
			continue // Other rows report it.
		}
		added, grown := j.v.added(name)
		if !grown {
			j.e.Loss = append(j.e.Loss, Row{Kind: Reflog, Object: name, Text: name + ": its reflog lost or changed entries", Left: true})
		} else if name == "HEAD" {
			_, last, _ := strings.Cut(string(added[bytes.LastIndexByte(bytes.TrimRight(added, "\n"), '\n')+1:]), "\t")
			j.p.text = cmp.Or(text.Clip(strings.Map(printable, last), 200), j.p.text)
		}
	}
}

// added is what a line added to a reflog, which may have lost entries.
func (v *View) added(name string) (added []byte, grown bool) {
	path := v.path("logs/" + name)
	if name == "HEAD" {
		path = filepath.Join(v.r.GitDir, "logs", "HEAD")
	}
	return bytes.CutPrefix(v.after(path), v.read(path, false))
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// named is an id as people know it.
func (j *judge) named(id string) string { return strings.TrimSpace(short(id) + " " + j.subjects[id]) }

func short(id string) string { return id[:min(len(id), 8)] }
