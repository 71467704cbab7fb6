package repo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"artoo/tool/git"
	"artoo/tool/names"
)

// states are the refs and HEAD before the line and after it. A value is an id, "ref: NAME", or "" for none.
type states struct {
	before, after map[string]string
	head, headNow string
	excluded      []string // Each is "^ID" with the old value of a ref.
}

// readRefs has git list the refs on both sides: in the repository, and in the private git directory, which gets those
// that differ.
func (v *View) readRefs(ctx context.Context) {
	r := &v.refs
	for _, name := range append(v.sorted[refs], "packed-refs") {
		if name != "HEAD" {
			v.copy("git/"+name, v.path(name), !v.done)
		}
	}
	r.before = map[string]string{}
	if v.exists() {
		r.before = v.listRefs(ctx, v.real)
	}
	r.after = v.listRefs(ctx, v.git)
	for _, name := range v.sorted[refs] {
		if strings.HasPrefix(name, "refs/") && !v.changed[v.path(name)].Gone && r.after[name] == "" {
			r.after[name] = broken
		}
	}
	for name, value := range r.before {
		if _, changed := v.changed[v.path(name)]; !changed && names.Exists(v.path(name)) {
			r.after[name] = value
		}
	}
	if v.done {
		r.before, r.after = r.after, r.before
	}
	r.head, r.headNow = v.headValue(v.before(v.own("HEAD"))), v.headValue(v.after(v.own("HEAD")))
}

// stashRef is the ref of the stash.
const stashRef = "refs/stash"

// broken is the value of a ref that has a file and that git does not list.
const broken = "ref: ?"

// listRefs lists the refs of a git directory.
func (v *View) listRefs(ctx context.Context, g git.Git) map[string]string {
	refs := map[string]string{}
	v.run(ctx, g, nil, '\n', func(line string) {
		fields := strings.Fields(line)
		if refs[fields[0]] = fields[1]; len(fields) > 2 {
			refs[fields[0]] = "ref: " + fields[2]
		}
	}, "for-each-ref", "--format=%(refname) %(objectname) %(symref)")
	return refs
}

// headValue is the value of HEAD, "" for one that is no value.
func (v *View) headValue(data []byte) string {
	text := strings.TrimRight(string(data), " \t\r\n")
	if strings.HasPrefix(text, "ref: ") || v.format.isID(text) {
		return text
	}
	return ""
}

// without are lines of input for git that leave out what the values of refs reach.
func (v *View) without(values ...string) (list []string) {
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		if v.format.isID(value) {
			list = append(list, "^"+value)
		}
	}
	return list
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
type move struct {
	name, from, to string
	text           string // An entry of the stash has it.
}

// moves are the refs with another value, without those that stay as they were in any case.
func (j *judge) moves() (moves []move) {
	r := &j.v.refs
	for _, name := range keysOf(r.before, r.after) {
		m := move{name: name, from: r.before[name], to: r.after[name]}
		switch {
		case m.from == m.to:
		case strings.HasPrefix(m.from, "ref: ") || strings.HasPrefix(m.to, "ref: "):
			j.refuse(m, "a symbolic or damaged ref does not land")
		case name != stashRef:
			moves = append(moves, m)
		}
	}
	return append(moves, j.stash()...)
}

// refuse leaves a ref as it was.
func (j *judge) refuse(m move, why string) {
	j.e.Forbidden = append(j.e.Forbidden, Row{Kind: BadRef, Object: m.name, Text: fmt.Sprintf("%s: %s", m.name, why),
		Left: true})
	j.refused[m.name] = true
	if j.v.refs.after[m.name] = j.v.refs.before[m.name]; j.v.refs.after[m.name] == "" {
		delete(j.v.refs.after, m.name)
	}
}

// ref judges a ref that git can move.
func (j *judge) ref(ctx context.Context, m move) {
	// HEAD's log has the moves of its branch.
	j.touch(j.v.path(m.name), j.v.path("logs/"+m.name), j.v.path("packed-refs"), j.v.own("logs/HEAD"))
	if m.name == stashRef {
		j.p.pushed = append(j.p.pushed, m)
		j.e.Content = append(j.e.Content, Row{Kind: Stash, Object: m.to,
			Files: slices.Compact(slices.Sorted(slices.Values(j.stashed[m.to]))),
			Text:  "stash: new, " + short(m.to) + " " + m.text})
		return
	}
	j.p.refs = append(j.p.refs, m)
	branch, isBranch := strings.CutPrefix(m.name, "refs/heads/")
	row := Row{Kind: RefMoved, Object: m.name,
		Text: fmt.Sprintf("%s: %s → %s", m.name, j.named(m.from), j.named(m.to))}
	rows := &j.e.Content
	switch {
	case m.to == "":
		row.Kind, row.Text, rows = RefGone, m.name+": deleted, was "+j.named(m.from), &j.e.Loss
	case m.from != "" && !j.descends(ctx, m):
		row.Text, rows = row.Text+" (not a descendant)", &j.e.Loss
	case !isBranch && !strings.HasPrefix(m.name, "refs/tags/"):
		rows = &j.e.Guarded
	case m.from == "" && j.plainBranch(branch, m):
		rows = &j.e.Bookkeeping
	}
	if m.from == "" {
		row.Kind, row.Text = RefNew, m.name+": new, "+j.named(m.to)
	}
	*rows = append(*rows, row)
}

// descends reports whether a ref moves to a descendant.
func (j *judge) descends(ctx context.Context, m move) bool {
	pair := [2]string{m.from, m.to}
	if _, known := j.asked[pair]; !known { // A tag object or a tree has no descendants.
		j.asked[pair] = j.isCommit(m.from) && j.isCommit(m.to) &&
			j.v.ask(ctx, j.v.git, nil, 0, nil, "merge-base", "--is-ancestor", m.from, m.to)
	}
	return j.asked[pair]
}

// plainBranch reports whether a new ref is a branch at HEAD's commit with a name of its own.
func (j *judge) plainBranch(branch string, m move) bool {
	r := j.v.refs
	return m.to != "" && m.name == "refs/heads/"+branch && m.to == commitOf(r.head, r.before) &&
		unambiguous(branch, r.after)
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
	row := Row{Kind: Head, Object: "HEAD",
		Text: "HEAD: " + cmp.Or(j.named(r.head), "none") + " → " + j.named(r.headNow)}
	valid := j.isCommit(r.headNow) || isBranch && (r.after[target] != "" ||
		!j.refused[target] && j.v.ask(ctx, j.v.git, nil, 0, nil, "check-ref-format", target))
	if !valid {
		j.refuse(move{name: "HEAD"}, "it leads to no branch or commit")
		r.headNow = r.head
		return
	}
	rows := &j.e.Content
	if symbolic && r.before[target] == "" && j.plainBranch(branch, move{name: target, to: r.after[target]}) {
		rows = &j.e.Bookkeeping
	}
	*rows = append(*rows, row)
	j.p.head = r.headNow
	j.touch(j.v.own("HEAD"), j.v.own("logs/HEAD"))
}

// unreached judges the commits that only a detached HEAD reached.
func (j *judge) unreached(ctx context.Context) {
	r := j.v.refs
	if r.head == r.headNow || !j.isCommit(r.head) {
		return
	}
	n := 0
	values := slices.AppendSeq([]string{commitOf(r.headNow, r.after)}, maps.Values(r.after))
	j.v.run(ctx, j.v.git, lines(append(j.v.without(values...), r.head)), '\n', func(string) { n++ },
		"rev-list", "--ignore-missing", "--stdin")
	if n > 0 {
		j.e.Loss = append(j.e.Loss, Row{Kind: Detached, Object: r.head,
			Text: fmt.Sprintf("commits that no ref reaches any more: %d, from %s", n, short(r.head))})
	}
}
