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
)

// tip is an id that a change of the repository would have a ref reach.
type tip struct{ id, ref string }

// judgeRefs judges refs, HEAD, the stash and the state of an unfinished merge.
func (j *judge) judgeRefs(ctx context.Context) {
	moves, stash := j.moves(), j.stashMoves()
	j.readMessages()
	bad := j.bad(ctx, moves, stash)
	moves = slices.DeleteFunc(moves, func(m move) bool {
		switch {
		case bad[m.to]:
			j.refuse(m, short(m.to)+" is missing or not whole")
		case m.to != "" && strings.HasPrefix(m.name, "refs/heads/") && j.kinds[m.to] != "commit":
			j.refuse(m, short(m.to)+" is no commit")
		}
		return j.refused[m.name]
	})
	stash.pushed = slices.DeleteFunc(stash.pushed, func(e entry) bool {
		if bad[e.id] {
			j.refuse(move{name: "refs/stash", from: j.v.refs.before["refs/stash"]}, short(e.id)+" is missing or not whole")
		}
		return bad[e.id]
	})
	j.commitRows(ctx, slices.DeleteFunc(j.tips(moves, stash), func(t tip) bool { return bad[t.id] }), &stash)
	j.head(ctx)
	j.pending(bad)
	for _, m := range moves {
		j.ref(ctx, m)
	}
	j.stash(stash)
	j.unreached(ctx)
}

// tips are the ids that the line would have reached, in the order in which a new commit belongs to one of them.
func (j *judge) tips(moves []move, stash stashMoves) []tip {
	r := &j.v.refs
	tips := []tip{{r.headNow, "HEAD"}}
	for _, m := range moves {
		at := len(tips)
		if "ref: "+m.name == r.headNow {
			at = 0
		}
		tips = slices.Insert(tips, at, tip{m.to, m.name})
	}
	for _, m := range j.p.messages {
		for _, id := range m.commits() {
			tips = append(tips, tip{id, m.name})
		}
	}
	for _, e := range stash.pushed {
		tips = append(tips, tip{e.id, "refs/stash"})
	}
	return slices.DeleteFunc(tips, func(t tip) bool { return !j.v.format.isID(t.id) })
}

// bad are those of the tips that git cannot reach in full. It asks git for the kinds of objects, and for the subjects
// of the commits that rows name.
func (j *judge) bad(ctx context.Context, moves []move, stash stashMoves) map[string]bool {
	r, bad, ids := &j.v.refs, map[string]bool{}, []string{j.v.refs.head}
	old := slices.AppendSeq([]string{r.head}, maps.Values(r.before))
	for _, e := range stash.before {
		old = append(old, e.id)
	}
	r.excluded = j.v.without(old...)
	for _, m := range moves {
		ids = append(ids, m.from)
	}
	tips := j.tips(moves, stash)
	if len(tips)+len(moves) == 0 && r.head == r.headNow {
		return bad
	}
	for _, t := range tips {
		ids = append(ids, t.id)
	}
	j.kinds = j.v.kinds(ctx, ids)
	j.askSubjects(ctx)
	ids = nil
	for _, t := range tips {
		if bad[t.id] = j.kinds[t.id] == ""; !bad[t.id] {
			ids = append(ids, t.id)
		}
	}
	if !j.v.whole(ctx, ids...) {
		for _, id := range ids {
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
		path := filepath.Join(j.v.r.GitDir, name)
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
		row := Row{Kind: Pending, Object: m.name, Text: m.name + ": ended"}
		valid := len(m.after) <= mostMessage
		if m.after != nil && m.namesCommits() {
			row.Text = m.name + ": to be finished with " + strings.Join(ids, ", ")
			valid = valid && string(m.after) == strings.Join(ids, "\n")+"\n"
		}
		for _, id := range ids {
			valid = valid && !bad[id] && j.kinds[id] == "commit"
			row.Text = strings.Replace(row.Text, id, j.named(id), 1)
		}
		switch {
		case !valid:
			j.refuse(move{name: m.name}, "not as git writes it")
		case m.namesCommits():
			j.e.Content = append(j.e.Content, row)
		default:
			row.Text = m.name + ": for the next commit"
			j.e.Bookkeeping = append(j.e.Bookkeeping, row)
		}
		return !valid
	})
}

// stashMoves are the changes of the stash, whose older entries stand in its reflog alone.
type stashMoves struct {
	before  []entry // The oldest is the first.
	dropped []int   // Each is a place in before; the oldest is the first.
	pushed  []entry
}

// entry is one of the stash.
type entry struct {
	id, text string
	files    []string // A new entry has them.
}

// stashMoves compares the stash before and after the line.
func (j *judge) stashMoves() (m stashMoves) {
	const name = "refs/stash"
	from, to := j.v.refs.before[name], j.v.refs.after[name]
	if from == to && !slices.Contains(j.v.sorted[logs], "logs/"+name) {
		return m
	}
	path := j.v.path("logs/" + name)
	m.before, m.pushed = entries(j.v.before(path), from), entries(j.v.after(path), to)
	for i, e := range m.before {
		if len(m.pushed) > 0 && m.pushed[0].id == e.id {
			m.pushed = m.pushed[1:]
		} else {
			m.dropped = append(m.dropped, i)
		}
	}
	return m
}

// entries are those of a stash, the oldest first. Its ref holds the id of the last.
func entries(log []byte, last string) (list []entry) {
	if last == "" {
		return nil
	}
	for line := range strings.Lines(string(log)) {
		ids, text, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if fields := strings.Fields(ids); len(fields) >= 2 {
			list = append(list, entry{id: fields[1], text: strings.Map(printable, text)})
		}
	}
	if len(list) == 0 || list[len(list)-1].id != last {
		list = append(list, entry{id: last})
	}
	return list
}

// stash makes the rows and the plan of the stash.
func (j *judge) stash(m stashMoves) {
	for _, i := range slices.Backward(m.dropped) {
		e := m.before[i]
		j.e.Loss = append(j.e.Loss, Row{Kind: RefGone, Object: "refs/stash",
			Text: fmt.Sprintf("stash@{%d}: dropped, was %s %s", len(m.before)-1-i, short(e.id), e.text)})
	}
	for _, e := range m.pushed {
		j.e.Content = append(j.e.Content, Row{Kind: Stash, Object: e.id, Files: e.files,
			Text: fmt.Sprintf("stash: new, %s %s", short(e.id), e.text)})
	}
	if len(m.dropped)+len(m.pushed) > 0 {
		j.p.stash = &m
	}
}

// replayStash drops and pushes entries.
func (v *View) replayStash(ctx context.Context) {
	if m := v.plan.stash; m != nil {
		for _, i := range m.dropped { // The oldest goes first, so that the others keep their numbers.
			v.run(ctx, v.real, nil, 0, nil, "stash", "drop", "-q", fmt.Sprintf("stash@{%d}", len(m.before)-1-i))
		}
		for _, e := range m.pushed {
			v.run(ctx, v.real, nil, 0, nil, "stash", "store", "-q", "-m", cmp.Or(e.text, "stash"), e.id)
		}
	}
}
