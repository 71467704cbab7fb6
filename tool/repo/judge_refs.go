package repo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"artoo/tool/text"
)

// judgeRefs judges refs, HEAD, the stash and the state of an unfinished merge.
func (j *judge) judgeRefs(ctx context.Context) {
	moves := j.moves()
	j.readMessages()
	tips, owner := j.tips(moves)
	bad := j.bad(ctx, moves, tips)
	moves = slices.DeleteFunc(moves, func(m move) bool {
		if bad[m.to] {
			j.refuse(m, short(m.to)+" is missing or incomplete")
		} else if m.to != "" && strings.HasPrefix(m.name, "refs/heads/") && !j.isCommit(m.to) {
			j.refuse(m, short(m.to)+" is not a commit")
		}
		return j.refused[m.name]
	})
	j.commitRows(ctx, slices.DeleteFunc(tips, func(id string) bool { return bad[id] }), owner)
	j.head(ctx)
	j.pending(bad)
	for _, m := range moves {
		j.ref(ctx, m)
	}
	j.unreached(ctx)
}

// isCommit reports whether an id is that of a commit.
func (j *judge) isCommit(id string) bool { return j.commits[id] != "" }

// tips are the ids that the line would have reached, each owned by the ref or message whose new commits are below it.
func (j *judge) tips(moves []move) (ids []string, owner map[string]string) {
	owner = map[string]string{}
	add := func(id, ref string) {
		if j.v.format.isID(id) && owner[id] == "" {
			ids, owner[id] = append(ids, id), ref
		}
	}
	add(j.v.refs.headNow, "HEAD")
	for _, m := range moves {
		add(m.to, m.name)
	}
	for _, m := range j.p.messages {
		for _, id := range m.commits() {
			add(id, m.name)
		}
	}
	return ids, owner
}

// bad are those of the tips that git cannot reach in full. It asks git for the subjects of the commits that refs or
// rows name.
func (j *judge) bad(ctx context.Context, moves []move, tips []string) map[string]bool {
	r, bad := &j.v.refs, map[string]bool{}
	r.excluded = append(r.excluded, j.v.without(slices.AppendSeq([]string{r.head}, maps.Values(r.before))...)...)
	named := append([]string{r.head}, tips...)
	for _, m := range moves {
		named = append(named, m.from)
	}
	j.askCommits(ctx, named)
	if !j.v.whole(ctx, tips...) {
		for _, id := range tips {
			bad[id] = !j.v.whole(ctx, id)
		}
	}
	return bad
}

// message is a file of the state of a merge; nil is no file.
type message struct {
	name  string
	after []byte
}

// mostMessage is how many bytes of a message are taken over.
const mostMessage = 1 << 20

// namesCommits reports whether each line of a message is the id of a commit.
func (m message) namesCommits() bool { return strings.HasSuffix(m.name, "_HEAD") }

// commits are the ids that a message names.
func (m message) commits() []string {
	if !m.namesCommits() {
		return nil
	}
	return strings.Fields(string(m.after))
}

// readMessages reads those messages that the line changed.
func (j *judge) readMessages() {
	for _, name := range j.v.sorted[messages] {
		path := j.v.own(name)
		if before, after := j.v.before(path), j.v.after(path); !same(before, after) {
			j.p.messages = append(j.p.messages, message{name, after})
		}
	}
}

// same reports whether two contents are equal; no file differs from an empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// pending judges the state that the line left of a merge, cherry-pick or revert, or ended.
func (j *judge) pending(bad map[string]bool) {
	j.p.messages = slices.DeleteFunc(j.p.messages, func(m message) bool {
		ids := m.commits()
		valid := len(m.after) <= mostMessage &&
			(m.after == nil || !m.namesCommits() || string(m.after) == strings.Join(ids, "\n")+"\n")
		for _, id := range ids {
			valid = valid && !bad[id] && j.isCommit(id)
		}
		row := Row{Kind: Pending, Object: m.name, Text: m.name + ": for the next commit"}
		if !valid {
			j.refuse(move{name: m.name}, "not as git writes it")
		} else if m.namesCommits() {
			row.Text = m.name + ": " + text.Counted(len(ids), "commit is", "commits are") + " to be merged or picked"
			j.e.Content = append(j.e.Content, row)
		} else {
			j.e.Bookkeeping = append(j.e.Bookkeeping, row)
		}
		j.touch(j.v.own(m.name))
		return !valid
	})
}

// stash judges entries of the stash that are dropped, and returns new ones as moves of its ref. Older entries stand in
// its reflog alone.
func (j *judge) stash() (pushed []move) {
	r, log := &j.v.refs, j.v.path("logs/"+stashRef)
	if r.before[stashRef] == r.after[stashRef] && !slices.Contains(j.v.sorted[logs], "logs/"+stashRef) {
		return nil
	}
	before, after := entries(j.v.before(log), r.before[stashRef]), entries(j.v.after(log), r.after[stashRef])
	for i, m := range before {
		r.excluded = append(r.excluded, "^"+m.to)
		if len(after) > 0 && after[0].to == m.to {
			after = after[1:]
			continue
		}
		dropped := fmt.Sprintf("stash@{%d}", len(before)-1-i)
		j.p.dropped = append(j.p.dropped, dropped)
		j.e.Loss = append(j.e.Loss, Row{Kind: RefGone, Object: stashRef,
			Text: dropped + ": dropped, was " + short(m.to) + " " + m.text})
		j.touch(j.v.path(stashRef), log, j.v.path("packed-refs"))
	}
	return after
}

// entries are those of a stash as moves of its ref, the oldest first. Without its ref it has none.
func entries(log []byte, ref string) (list []move) {
	if ref == "" {
		return nil
	}
	for line := range strings.Lines(string(log)) {
		ids, text, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if fields := strings.Fields(ids); len(fields) >= 2 {
			list = append(list, move{name: stashRef, to: fields[1], text: strings.Map(printable, text)})
		}
	}
	return list
}
