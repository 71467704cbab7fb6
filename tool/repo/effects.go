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
	hidden   map[string]bool    // Entries of the index changed at these hidden paths.
	index    staging
}

// Effects classifies the changes, in the work tree as it will be after landing.
func (v *View) Effects(ctx context.Context, w WorkTree) (Effects, error) {
	v.plan = &plan{}
	if v.sorted.empty() {
		return Effects{}, nil
	}
	w.Guarded, w.Ignored, w.Hidden = orNever(w.Guarded), orNever(w.Ignored), orNever(w.Hidden)
	j := &judge{v: v, w: w, subjects: map[string]string{}, files: map[string]stored{}, refused: map[string]bool{}, asked: map[[2]string]bool{},
		hidden: map[string]bool{}, e: Effects{Hidden: map[string]Version{}}}
	j.anyMode = slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(v.setting("core.filemode")))
	if v.sorted.gone {
		git := v.shown(v.r.GitDir)
		row := Row{Kind: Objects, Object: git, Text: git + ": the repository is removed"}
		if !v.Removed() {
			row.Text, row.Stops = git+": something else takes the place of the repository", true
		}
		v.plan.stops = row.Stops
		return Effects{Loss: []Row{row}}, nil
	}
	j.judgeFiles()
	for _, step := range []func(context.Context) error{j.judgeRefs, j.judgeIndex, j.judgeHidden, j.judgeConfig, j.judgeGuarded} {
		if err := step(ctx); err != nil {
			return Effects{}, err
		}
	}
	err := j.judgeLogs()
	v.plan = &j.p
	return j.e, err
}

func orNever(f func(path string) bool) func(path string) bool {
	if f == nil {
		return func(string) bool { return false }
	}
	return f
}

// judgeFiles sorts the changes that no ref, index or setting explains.
func (j *judge) judgeFiles() {
	s := j.v.sorted
	for _, c := range s.special {
		what := "a device, FIFO or socket among git's files"
		switch {
		case c.Mode&fs.ModeSymlink != 0:
			what = "a symbolic link among git's files"
		case c.Mode.IsRegular():
			what = "a file of git's with setuid or setgid"
		}
		name := j.v.shown(c.Path)
		j.e.Forbidden = append(j.e.Forbidden, Row{Kind: Special, Object: name, Text: name + ": " + what, Left: true})
	}
	for _, first := range slices.Sorted(maps.Keys(s.unknown)) {
		files := s.unknown[first]
		text := files[0]
		if len(files) > 1 {
			text = fmt.Sprintf("%s: %d files", j.v.shown(filepath.Join(j.v.r.GitDir, filepath.FromSlash(first))), len(files))
		}
		row := Row{Kind: Unknown, Object: first, Files: files, Left: true, Text: text + ", which git runs or obeys"}
		if first == "worktrees" || first == "modules" {
			row.Stops, row.Text = true, text+", of another work tree or submodule: git there runs outside the sandbox"
		}
		j.p.stops = j.p.stops || row.Stops
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

// commitRows makes rows of the new commits, and names the files of the stash's.
func (j *judge) commitRows(ctx context.Context, tips []tip, stash *stashMoves) (err error) {
	if j.order, err = j.newCommits(ctx, tips); err != nil {
		return err
	}
	rows := make([]Row, 0, len(j.order))
	differ := map[string]*Row{}
	for _, c := range j.order {
		row := Row{Kind: Commit, Object: c.ref, Text: fmt.Sprintf("%s: commit %s %s", c.ref, short(c.id), c.subject)}
		same := true
		for _, f := range c.files {
			row.Files = append(row.Files, f.path)
			if f.gone() {
				row.Gone = append(row.Gone, f.path)
			} else if j.w.Guarded(f.path) {
				j.guarded, j.owners = append(j.guarded, f), append(j.owners, "commit "+short(c.id)+" "+c.subject)
			}
			as, err := j.asInWorkTree(ctx, f)
			if err != nil {
				return err
			}
			same = same && as
		}
		if c.ref == "refs/stash" {
			i := slices.IndexFunc(stash.pushed, func(e entry) bool { return e.id == c.tip })
			files := slices.Concat(stash.pushed[i].files, row.Files)
			slices.Sort(files)
			stash.pushed[i].files = slices.Compact(files)
			continue
		}
		if rows = append(rows, row); !same {
			differ[c.id] = &rows[len(rows)-1]
		}
	}
	err = j.v.diffs(ctx, differ)
	j.e.Content = append(j.e.Content, rows...)
	return err
}

func (j *judge) asInWorkTree(ctx context.Context, f file) (bool, error) {
	if f.gone() && j.w.Open != nil {
		s, err := j.stored(ctx, f.path)
		return s.none, err
	}
	return j.holds(ctx, f.mode, f.id, f.path)
}

// judgeGuarded judges content at guarded paths, in commits and in the index.
func (j *judge) judgeGuarded(ctx context.Context) error {
	unheld, err := j.v.unheld(ctx, j.guarded)
	for i, f := range j.guarded {
		if unheld[f.key()] {
			delete(unheld, f.key())
			j.e.Guarded = append(j.e.Guarded, Row{Kind: GuardedBlob, Object: f.path,
				Text: f.path + ", which others run, has new content in " + j.owners[i]})
		}
	}
	return err
}

// judgeLogs judges reflogs, which may only grow while their ref is there.
func (j *judge) judgeLogs() error {
	j.p.text = "artoo: changes of a line"
	for _, name := range slices.Sorted(slices.Values(j.v.sorted.logs)) {
		before, err := j.v.before(j.v.logPath(name))
		if err != nil {
			return err
		}
		after, err := j.v.after(j.v.logPath(name))
		if err != nil {
			return err
		}
		added, grown := bytes.CutPrefix(after, before)
		switch {
		case name == "refs/stash", name != "HEAD" && j.v.refs.after[name] == "": // other rows report it
		case !grown:
			j.e.Loss = append(j.e.Loss, Row{Kind: Reflog, Object: name, Text: name + ": its reflog lost or changed entries", Left: true})
		case name == "HEAD":
			_, last, _ := strings.Cut(string(added[bytes.LastIndexByte(bytes.TrimRight(added, "\n"), '\n')+1:]), "\t")
			j.p.text = cmp.Or(text.Clip(strings.Map(printable, last), 200), j.p.text)
		}
	}
	return nil
}

func (v *View) logPath(name string) string {
	dir := v.r.Common
	if name == "HEAD" {
		dir = v.r.GitDir
	}
	return filepath.Join(dir, "logs", filepath.FromSlash(name))
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
