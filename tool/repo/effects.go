package repo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/text"
)

// judge is one run of Effects.
type judge struct {
	v       *View
	w       WorkTree
	e       Effects
	p       plan
	anyMode bool              // The file system keeps no modes.
	commits map[string]string // It has the commits that refs or rows name, as people know them.
	order   []*commit
	stashed map[string][]string // It has the files of new entries of the stash.
	files   map[string]stored
	refused map[string]bool    // The changes of these refs are left out.
	asked   map[[2]string]bool // It says whether the second commit descends from the first.
	guarded []file             // These files of commits and the index have guarded paths.
	owners  []string           // Each holds the file of guarded at the same place.
	hidden  map[string]bool    // It has paths of changed entries and of new commits, and says which are hidden.
	index   staging
}

// Effects classifies the changes, in the work tree as it will be after landing.
func (v *View) Effects(ctx context.Context, w WorkTree) (Effects, error) {
	v.plan, v.err = &plan{}, nil
	if v.empty() {
		return Effects{}, nil
	}
	j := &judge{v: v, w: w, commits: map[string]string{}, stashed: map[string][]string{}, files: map[string]stored{},
		refused: map[string]bool{}, asked: map[[2]string]bool{}, hidden: map[string]bool{},
		e: Effects{Hidden: map[string]Version{}}}
	j.anyMode = slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(v.setting("core.filemode")))
	if v.sorted[removed] != nil || v.sorted[replaced] != nil {
		v.plan.stops = !v.Removed()
		return Effects{Loss: []Row{{Kind: Objects, Object: v.shown(v.r.GitDir), Stops: v.plan.stops,
			Text: v.shown(v.r.GitDir) + ": the repository is removed"}}}, nil
	}
	for _, step := range []func(context.Context){j.judgeFiles, j.judgeRefs, j.judgeIndex, j.judgeHidden,
		j.judgeConfig, j.judgeGuarded, j.judgeLogs} {
		step(ctx)
	}
	v.plan = &j.p
	return j.e, v.err
}

// judgeFiles sorts the changes that no ref, index or setting explains.
func (j *judge) judgeFiles(context.Context) {
	for _, c := range j.v.special {
		j.e.Forbidden = append(j.e.Forbidden, Row{Kind: Special, Object: j.v.shown(c.Path), Left: true,
			Text: j.v.shown(c.Path) +
				" among git's files: a link, device, FIFO or socket, or one with setuid or setgid"})
	}
	for _, group := range slices.Sorted(maps.Keys(j.v.unknown)) {
		row := Row{Kind: Unknown, Object: group, Files: j.v.unknown[group], Left: true,
			Stops: group == "worktrees" || group == "modules"}
		if row.Text = text.UpTo(3, row.Files) + ", which git runs or obeys"; row.Stops {
			row.Text += ", of another work tree or submodule: git there runs outside the sandbox"
			j.p.stops = true
		}
		j.e.Guarded = append(j.e.Guarded, row)
	}
	if s := j.v.sorted[state]; s != nil {
		j.p.stops = true
		first, _, _ := strings.Cut(s[0], "/")
		j.e.Guarded = append(j.e.Guarded, Row{Kind: UnderWay, Object: first, Files: s, Left: true, Stops: true,
			Text: "a rebase, bisect or other git sequence is unfinished before or after the line (" + first +
				"): run all of it in one line, or outside the sandbox"})
	}
	if s := j.v.sorted[lost]; s != nil {
		j.e.Loss = append(j.e.Loss, Row{Kind: Objects, Object: s[0], Files: s, Left: true,
			Text: fmt.Sprintf("files of the object store changed or removed: %d", len(s))})
	}
}

// commitRows makes rows of the new commits, and names the files of the stash's.
func (j *judge) commitRows(ctx context.Context, tips []string, owner map[string]string) {
	j.order = j.newCommits(ctx, tips, owner)
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
		if c.ref == stashRef {
			j.stashed[c.tip] = append(j.stashed[c.tip], row.Files...)
		} else if rows = append(rows, row); !same {
			differ[c.id] = &rows[len(rows)-1]
		}
	}
	j.v.diffs(ctx, differ)
	j.e.Content = append(j.e.Content, rows...)
}

// judgeGuarded judges content at guarded paths, in commits and in the index: that which no commit had there is new.
func (j *judge) judgeGuarded(ctx context.Context) {
	var paths []string
	for _, f := range j.guarded {
		paths = append(paths, f.path)
	}
	known := j.v.history(ctx, paths...)
	for i, f := range j.guarded {
		if !had(known[f.path], f.id) {
			known[f.path] = append(known[f.path], change{to: f.id}) // One row is enough.
			j.e.Guarded = append(j.e.Guarded, Row{Kind: GuardedBlob, Object: f.path,
				Text: f.path + ", which others run, has new content in " + j.owners[i]})
		}
	}
}

// judgeLogs judges reflogs, which may only grow while their ref is there.
func (j *judge) judgeLogs(context.Context) {
	j.p.text = "artoo: changes of a line"
	for _, path := range slices.Sorted(slices.Values(j.v.sorted[logs])) {
		name := strings.TrimPrefix(path, "logs/")
		if name == stashRef || name != "HEAD" && j.v.refs.after[name] == "" {
			continue // Other rows report it.
		}
		added, grown := j.v.added(name)
		if !grown {
			j.e.Loss = append(j.e.Loss, Row{Kind: Reflog, Object: name,
				Text: name + ": its reflog lost or changed entries", Left: true})
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

// named is an id, or a value of HEAD, as people know it.
func (j *judge) named(value string) string {
	if target, ok := strings.CutPrefix(value, "ref: "); ok {
		return strings.TrimPrefix(target, "refs/heads/")
	}
	return cmp.Or(j.commits[value], short(value))
}

func short(id string) string { return id[:min(len(id), 8)] }
