package repo

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/git"
	"artoo/tool/names"
)

// states are the refs and HEAD before the line and after it. A value is an id, "ref: NAME", or "" for none.
type states struct {
	before, after map[string]string
	head, headNow string
	broken        []string // They have a file, and git takes it for no ref.
	excluded      []string // Each is "^ID" with the old value of a ref.
}

// readRefs has git list the refs on both sides: in the repository, and in the private git directory, which gets those
// that differ. A ref that git would not list there has no value.
func (v *View) readRefs(ctx context.Context) (err error) {
	r := &v.refs
	for _, name := range append(v.sorted.refs, "packed-refs") {
		if name == "HEAD" {
			continue
		}
		if err := v.copyFile(ctx, "git/"+name, filepath.Join(v.r.Common, filepath.FromSlash(name)), v.openOther); err != nil {
			return err
		}
	}
	r.before = map[string]string{}
	if v.exists() {
		if r.before, err = v.listRefs(ctx, v.real); err != nil {
			return err
		}
	}
	if r.after, err = v.listRefs(ctx, v.git); err != nil {
		return err
	}
	for _, name := range v.sorted.refs {
		path := filepath.Join(v.r.Common, filepath.FromSlash(name))
		if change, ok := v.changed[path]; ok && !change.Gone && strings.HasPrefix(name, "refs/") && r.after[name] == "" {
			r.broken = append(r.broken, name)
		}
	}
	for name, value := range r.before {
		path := filepath.Join(v.r.Common, filepath.FromSlash(name))
		if _, changed := v.changed[path]; !changed && names.Exists(path) {
			r.after[name] = value
		}
	}
	if v.done {
		r.before, r.after = r.after, r.before
	}
	if r.head, err = v.readHead(v.before); err != nil {
		return err
	}
	r.headNow, err = v.readHead(v.after)
	return err
}

// listRefs lists the refs of a git directory.
func (v *View) listRefs(ctx context.Context, g git.Git) (map[string]string, error) {
	refs := map[string]string{}
	return refs, g.Run(ctx, nil, '\n', func(line string) error {
		fields := strings.Fields(line)
		refs[fields[0]] = fields[1]
		if len(fields) > 2 {
			refs[fields[0]] = "ref: " + fields[2]
		}
		return nil
	}, "for-each-ref", "--format=%(refname) %(objectname) %(symref)")
}

// readHead is the value of HEAD, "" for one that is no value.
func (v *View) readHead(read func(path string) ([]byte, error)) (string, error) {
	data, err := read(filepath.Join(v.r.GitDir, "HEAD"))
	text := strings.TrimRight(string(data), " \t\r\n")
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		return "ref: " + strings.TrimLeft(target, " \t"), err
	}
	if !v.format.isID(text) {
		return "", err
	}
	return text, err
}

// commitOf is the commit that a value of HEAD leads to, "" for none.
func commitOf(value string, refs map[string]string) string {
	for range 5 {
		name, symbolic := strings.CutPrefix(value, "ref: ")
		if !symbolic {
			return value
		}
		value = refs[name]
	}
	return ""
}

// move is a ref with another value than before.
type move struct{ name, from, to string }

// moves are the refs with another value, apart from those that stay unchanged in any case.
func (j *judge) moves() (moves []move) {
	r := &j.v.refs
	for _, name := range r.broken {
		j.refuse(move{name: name, from: r.before[name]}, "git takes it for no ref")
	}
	for _, name := range keysOf(r.before, r.after) {
		m := move{name, r.before[name], r.after[name]}
		switch {
		case m.from == m.to || name == "refs/stash":
		case strings.HasPrefix(m.from, "ref: ") || strings.HasPrefix(m.to, "ref: "):
			j.refuse(m, "a symbolic ref is not changed")
		default:
			moves = append(moves, m)
		}
	}
	return moves
}

// refuse leaves a ref as it was.
func (j *judge) refuse(m move, why string) {
	j.e.Forbidden = append(j.e.Forbidden, Row{Kind: BadRef, Object: m.name, Text: fmt.Sprintf("%s: %s", m.name, why), Left: true})
	j.refused[m.name] = true
	if j.v.refs.after[m.name] = m.from; m.from == "" {
		delete(j.v.refs.after, m.name)
	}
}

// ref judges a ref that git can move.
func (j *judge) ref(ctx context.Context, m move) error {
	j.p.refs = append(j.p.refs, m)
	branch, isBranch := strings.CutPrefix(m.name, "refs/heads/")
	row := Row{Kind: RefMoved, Object: m.name, Text: fmt.Sprintf("%s: %s → %s", m.name, j.named(m.from), j.named(m.to))}
	rows := &j.e.Content
	switch {
	case m.to == "":
		row.Kind, row.Text, rows = RefGone, m.name+": deleted, was "+j.named(m.from), &j.e.Loss
	case m.from == "":
		row.Kind, row.Text = RefNew, m.name+": new, "+j.named(m.to)
		if j.plainBranch(branch, m) {
			rows = &j.e.Bookkeeping
		}
	default:
		forward, err := j.descends(ctx, m.from, m.to)
		if err != nil {
			return err
		}
		if !forward {
			row.Text += " (not a descendant)"
			rows = &j.e.Loss
		}
	}
	if rows != &j.e.Loss && !isBranch && !strings.HasPrefix(m.name, "refs/tags/") {
		rows = &j.e.Guarded
	}
	*rows = append(*rows, row)
	return nil
}

// descends reports whether a commit is a descendant of another.
func (j *judge) descends(ctx context.Context, from, to string) (bool, error) {
	if j.kinds[from] != "commit" || j.kinds[to] != "commit" {
		return false, nil // A tag object or a tree has no descendants.
	}
	pair := [2]string{from, to}
	if known, ok := j.asked[pair]; ok {
		return known, nil
	}
	yes, err := answer(ctx, j.v.git.Do(ctx, "merge-base", "--is-ancestor", from, to))
	j.asked[pair] = yes
	return yes, err
}

// plainBranch reports whether a new ref is a branch at HEAD's commit with a name of its own.
func (j *judge) plainBranch(branch string, m move) bool {
	r := j.v.refs
	return m.to != "" && m.name == "refs/heads/"+branch && m.to == commitOf(r.head, r.before) && unambiguous(branch, r.after)
}

// unambiguous reports whether git and people take the name of a branch for this branch alone.
func unambiguous(branch string, refs map[string]string) bool {
	odd := strings.HasPrefix(branch, "-") || branch == "HEAD" || branch == "@" || strings.HasSuffix(branch, "_HEAD") ||
		len(branch) >= 4 && isHex(strings.ToLower(branch))
	for _, prefix := range []string{"refs/", "heads/", "tags/", "remotes/"} {
		odd = odd || strings.HasPrefix(branch, prefix)
	}
	for _, format := range []string{"refs/%s", "refs/tags/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"} {
		odd = odd || refs[fmt.Sprintf(format, branch)] != ""
	}
	own := "refs/heads/" + branch
	return !odd && !slices.ContainsFunc(slices.Collect(maps.Keys(refs)), func(name string) bool {
		return name != own && strings.EqualFold(name, own) // A file system can fold letters.
	})
}

// head judges HEAD.
func (j *judge) head(ctx context.Context) {
	r := &j.v.refs
	if r.head == r.headNow {
		return
	}
	target, symbolic := strings.CutPrefix(r.headNow, "ref: ")
	branch, isBranch := strings.CutPrefix(target, "refs/heads/")
	row := Row{Kind: Head, Object: "HEAD", Text: "HEAD: " + j.headName(r.head) + " → " + j.headName(r.headNow)}
	valid := j.kinds[r.headNow] == "commit"
	if symbolic {
		valid = isBranch && (r.after[target] != "" || !j.refused[target] && j.v.git.Do(ctx, "check-ref-format", target) == nil)
	}
	switch {
	case !valid:
		row.Left = true
		j.e.Forbidden = append(j.e.Forbidden, row)
		r.headNow = r.head
		return
	case symbolic && r.before[target] == "" && j.plainBranch(branch, move{name: target, to: r.after[target]}):
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
	if value == "" {
		return "none"
	}
	return "detached at " + j.named(value)
}

// unreached judges the commits that only a detached HEAD reached.
func (j *judge) unreached(ctx context.Context) error {
	r := j.v.refs
	if r.head == r.headNow || j.kinds[r.head] != "commit" {
		return nil
	}
	input := []string{r.head}
	for _, value := range append(slices.Sorted(maps.Values(r.after)), commitOf(r.headNow, r.after)) {
		if j.v.format.isID(value) {
			input = append(input, "^"+value)
		}
	}
	n := 0
	err := j.v.git.Run(ctx, lines(input), '\n', func(string) error { n++; return nil }, "rev-list", "--ignore-missing", "--stdin")
	if n > 0 {
		j.e.Loss = append(j.e.Loss, Row{Kind: Detached, Object: r.head,
			Text: fmt.Sprintf("commits that no ref reaches any more: %d, from %s", n, short(r.head))})
	}
	return err
}
