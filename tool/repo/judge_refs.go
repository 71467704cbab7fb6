package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// tip is an id that a change of the repository would have a ref reach.
type tip struct{ id, ref string }

// judgeRefs judges refs, HEAD, the stash and the state of an unfinished merge.
func (j *judge) judgeRefs(ctx context.Context) error {
	moves := j.moves()
	stash, err := j.stashMoves()
	if err = errors.Join(err, j.readMessages()); err != nil {
		return err
	}
	bad, err := j.bad(ctx, moves, stash)
	if err != nil {
		return err
	}
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
			j.refuse(move{name: "refs/stash", from: stash.from}, short(e.id)+" is missing or not whole")
		}
		return bad[e.id]
	})
	tips := slices.DeleteFunc(j.tips(moves, stash), func(t tip) bool { return bad[t.id] })
	if err := j.commitRows(ctx, tips, &stash); err != nil {
		return err
	}
	j.head(ctx)
	j.pending(bad)
	for _, m := range moves {
		if err := j.ref(ctx, m); err != nil {
			return err
		}
	}
	j.stash(stash)
	return j.unreached(ctx)
}

// tips are the ids that the line would have reached, in the order in which a new commit belongs to one of them.
func (j *judge) tips(moves []move, stash stashMoves) []tip {
	r := j.v.refs
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
func (j *judge) bad(ctx context.Context, moves []move, stash stashMoves) (bad map[string]bool, err error) {
	r, tips := &j.v.refs, j.tips(moves, stash)
	if len(tips)+len(moves)+len(stash.dropped) == 0 && r.head == r.headNow && !j.v.sorted.index {
		return nil, nil
	}
	old := slices.AppendSeq([]string{r.head}, maps.Values(r.before))
	for _, e := range stash.before {
		old = append(old, e.id)
	}
	slices.Sort(old)
	for _, id := range slices.Compact(old) {
		if j.v.format.isID(id) {
			r.excluded = append(r.excluded, "^"+id)
		}
	}
	ids := []string{r.head}
	for _, m := range moves {
		ids = append(ids, m.from)
	}
	for _, t := range tips {
		ids = append(ids, t.id)
	}
	if j.kinds, err = j.v.kinds(ctx, ids); err != nil {
		return nil, err
	}
	if err := j.askSubjects(ctx); err != nil {
		return nil, err
	}
	bad = map[string]bool{}
	var whole []string
	for _, t := range tips {
		if bad[t.id] = j.kinds[t.id] == ""; !bad[t.id] {
			whole = append(whole, t.id)
		}
	}
	if all, err := j.v.whole(ctx, whole...); all || err != nil {
		return bad, err
	}
	for _, id := range whole {
		one, err := j.v.whole(ctx, id)
		if err != nil {
			return nil, err
		}
		bad[id] = !one
	}
	return bad, nil
}

// message is a file of the state of a merge, before and after the line; nil is no file.
type message struct {
	name          string
	before, after []byte
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
func (j *judge) readMessages() error {
	for _, name := range j.v.sorted.messages {
		path := filepath.Join(j.v.r.GitDir, name)
		before, err := j.v.before(path)
		after, errAfter := j.v.after(path)
		if err := errors.Join(err, errAfter); err != nil {
			return err
		}
		if !same(before, after) {
			j.p.messages = append(j.p.messages, message{name, before, after})
		}
	}
	return nil
}

// same reports whether two contents are equal; no file differs from an empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// pending judges the state that the line left of a merge, cherry-pick or revert, or ended.
func (j *judge) pending(bad map[string]bool) {
	j.p.messages = slices.DeleteFunc(j.p.messages, func(m message) bool {
		ids := m.commits()
		valid := len(m.after) <= mostMessage
		if valid && !m.namesCommits() {
			j.e.Bookkeeping = append(j.e.Bookkeeping, Row{Kind: Pending, Object: m.name, Text: m.name + ": for the next commit"})
			return false
		}
		text := m.name + ": ended"
		if m.after != nil {
			text = m.name + ": to be finished with " + strings.Join(ids, ", ")
			valid = valid && string(m.after) == strings.Join(ids, "\n")+"\n"
		}
		for _, id := range ids {
			valid = valid && !bad[id] && j.kinds[id] == "commit"
			text = strings.Replace(text, id, j.named(id), 1)
		}
		if !valid {
			j.refuse(move{name: m.name}, "not as git writes it")
			return true
		}
		j.e.Content = append(j.e.Content, Row{Kind: Pending, Object: m.name, Text: text})
		return false
	})
}

// stashMoves are the changes of the stash, whose older entries stand in its reflog alone.
type stashMoves struct {
	before  []entry // The oldest is the first.
	dropped []int   // Each is a place in before; the oldest is the first.
	pushed  []entry
	log     []byte // The reflog held it before.
	from    string // The ref held it before.
}

// entry is one of the stash.
type entry struct {
	id, text string
	files    []string // A new entry has them.
}

// stashMoves compares the stash before and after the line.
func (j *judge) stashMoves() (m stashMoves, err error) {
	const name = "refs/stash"
	path := j.v.logPath(name)
	to := j.v.refs.after[name]
	if m.from = j.v.refs.before[name]; m.from == to && !slices.Contains(j.v.sorted.logs, name) {
		return m, nil
	}
	if m.log, err = j.v.before(path); err != nil {
		return m, err
	}
	log, err := j.v.after(path)
	m.before, m.pushed = j.v.entries(m.log, m.from), j.v.entries(log, to)
	for i, e := range m.before {
		if len(m.pushed) > 0 && m.pushed[0].id == e.id {
			m.pushed = m.pushed[1:]
		} else {
			m.dropped = append(m.dropped, i)
		}
	}
	return m, err
}

// entries are those of a stash, the oldest first. Its ref holds the id of the last.
func (v *View) entries(log []byte, last string) (list []entry) {
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

// replayStash drops and pushes entries as git stash does.
func (v *View) replayStash(ctx context.Context) error {
	m := v.plan.stash
	if m == nil {
		return nil
	}
	for _, i := range m.dropped { // The oldest goes first, so that the others keep their numbers.
		if err := v.real.Do(ctx, "stash", "drop", "-q", fmt.Sprintf("stash@{%d}", len(m.before)-1-i)); err != nil {
			return err
		}
	}
	for _, e := range m.pushed {
		if err := v.real.Do(ctx, "stash", "store", "-q", "-m", cmp.Or(e.text, "stash"), e.id); err != nil {
			return err
		}
	}
	return nil
}
