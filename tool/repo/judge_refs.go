package repo

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// move is a ref with another value than before.
type move struct{ name, from, to string }

// judgeRefs judges refs, HEAD, the stash and the state of an unfinished merge.
func (j *judge) judgeRefs(ctx context.Context) error {
	v := j.v
	moves := j.moves()
	stash := j.stashMoves()
	tips, err := j.pendingTips()
	if err != nil {
		return err
	}
	for _, e := range stash.pushed {
		tips = append(tips, tip{e.id, "refs/stash"})
	}
	for _, m := range moves {
		if m.to != "" {
			tips = append(tips, tip{m.to, m.name})
		}
	}
	if v.format.isID(v.refs.headNow) {
		tips = append(tips, tip{v.refs.headNow, "HEAD"})
	}
	if len(tips)+len(stash.dropped) > 0 || v.refs.head != v.refs.headNow || v.sorted.index {
		if err := j.askKinds(ctx, tips, stash); err != nil {
			return err
		}
	}
	bad := map[string]bool{}
	var known []string
	for _, t := range tips {
		if bad[t.id] = j.kinds[t.id] == ""; !bad[t.id] {
			known = append(known, t.id)
		}
	}
	slices.Sort(known)
	if err := j.complete(ctx, slices.Compact(known), bad); err != nil {
		return err
	}
	moves = slices.DeleteFunc(moves, func(m move) bool { return j.refuseRef(m, bad) })
	stash.pushed = slices.DeleteFunc(stash.pushed, func(e entry) bool {
		if bad[e.id] {
			j.badRef("refs/stash", "refs/stash: "+short(e.id)+" is not a whole commit")
		}
		return bad[e.id]
	})
	tips = slices.DeleteFunc(tips, func(t tip) bool { return bad[t.id] })
	ids := make([]string, 0, len(tips))
	for _, t := range tips {
		ids = append(ids, t.id)
	}
	if j.order, err = v.newCommits(ctx, ids); err != nil {
		return err
	}
	for _, c := range j.order {
		j.commits[c.id] = c
	}
	j.head(bad)
	if err := j.pending(bad); err != nil {
		return err
	}
	for _, m := range moves {
		if err := j.ref(ctx, m); err != nil {
			return err
		}
	}
	j.stash(stash)
	if err := j.commitRows(ctx, tips); err != nil {
		return err
	}
	return j.unreached(ctx)
}

// moves are the refs below refs/ with another value. A name that can never be a ref's stays unchanged.
func (j *judge) moves() (moves []move) {
	r := &j.v.refs
	if !j.v.sorted.refs {
		return nil
	}
	for _, name := range keysOf(r.before, r.after) {
		m := move{name, r.before[name], r.after[name]}
		switch {
		case m.from == m.to || name == "refs/stash":
			continue
		case !validRef(name):
			j.badRef(name, fmt.Sprintf("%q is not a valid name of a ref", name))
		case m.to == broken, m.from == broken:
			j.badRef(name, name+" holds no valid id")
		case strings.HasPrefix(m.from, "ref: ") || strings.HasPrefix(m.to, "ref: "):
			j.e.Guarded = append(j.e.Guarded, Row{Kind: RefSymbolic, Object: name, Left: true,
				Text: fmt.Sprintf("%s: %s → %s", name, orNone(m.from), orNone(m.to))})
		default:
			moves = append(moves, m)
			continue
		}
		j.keep(m)
	}
	return moves
}

func (j *judge) badRef(name, text string) {
	j.e.Forbidden = append(j.e.Forbidden, Row{Kind: BadRef, Object: name, Text: text, Left: true})
}

// refuseRef reports whether a ref cannot have its new value, which is then left out.
func (j *judge) refuseRef(m move, bad map[string]bool) bool {
	branch := strings.HasPrefix(m.name, "refs/heads/")
	switch {
	case m.to == "":
		return false
	case bad[m.to]:
		j.badRef(m.name, m.name+": "+short(m.to)+" is missing or not whole")
	case branch && j.kinds[m.to] != "commit":
		j.badRef(m.name, m.name+": "+short(m.to)+" is no commit")
	default:
		return false
	}
	j.keep(m)
	return true
}

// keep leaves a ref as it was.
func (j *judge) keep(m move) {
	j.kept[m.name] = true
	if m.from == "" {
		delete(j.v.refs.after, m.name)
	} else {
		j.v.refs.after[m.name] = m.from
	}
}

// mostMessage is how many bytes of a message are taken over.
const mostMessage = 1 << 20

// namesCommits reports whether each line of a message is the id of a commit.
func namesCommits(message string) bool { return strings.HasSuffix(message, "_HEAD") }

// message is one of the messages, before and now.
func (v *View) message(name string) (before, after []byte, err error) {
	path := filepath.Join(v.r.GitDir, name)
	if before, err = v.before(path); err != nil {
		return nil, nil, err
	}
	after, err = v.after(path)
	return before, after, err
}

// pendingTips are the commits that a merge, cherry-pick or revert is yet to use.
func (j *judge) pendingTips() (tips []tip, err error) {
	for _, name := range j.v.sorted.messages {
		if !namesCommits(name) {
			continue
		}
		_, after, err := j.v.message(name)
		if err != nil {
			return nil, err
		}
		for _, id := range strings.Fields(string(after)) {
			if j.v.format.isID(id) {
				tips = append(tips, tip{id, name})
			}
		}
	}
	return tips, nil
}

// pending judges the state that the line left of a merge, cherry-pick or revert, or ended.
func (j *judge) pending(bad map[string]bool) error {
	for _, name := range j.v.sorted.messages {
		before, after, err := j.v.message(name)
		if err != nil {
			return err
		}
		if same(before, after) {
			continue
		}
		if len(after) > mostMessage {
			j.badRef(name, name+" is too long")
			continue
		}
		if !namesCommits(name) {
			j.e.Bookkeeping = append(j.e.Bookkeeping, Row{Kind: Pending, Object: name, Text: name + ": for the next commit"})
			j.p.messages = append(j.p.messages, message{name, before, after})
			continue
		}
		ids := strings.Fields(string(after))
		whole := after == nil || string(after) == strings.Join(ids, "\n")+"\n"
		for _, id := range ids {
			whole = whole && j.v.format.isID(id) && !bad[id] && j.kinds[id] == "commit"
		}
		row := Row{Kind: Pending, Object: name, Text: name + ": ended"}
		switch {
		case !whole:
			j.badRef(name, name+" does not name whole commits")
			continue
		case after != nil:
			var named []string
			for _, id := range ids {
				named = append(named, j.named(id))
			}
			row.Text = name + ": to be finished with " + strings.Join(named, ", ")
		}
		j.e.Content = append(j.e.Content, row)
		j.p.messages = append(j.p.messages, message{name, before, after})
	}
	return nil
}

// stashMoves are the changes of the stash, whose older entries stand in its reflog alone.
type stashMoves struct {
	before  []entry // The oldest is the first.
	dropped []int   // Each is a place in before; the oldest is the first.
	pushed  []entry
	log     []byte // The reflog held it before.
	from    string // The ref held it before.
}

// stashMoves compares the stash before and after the line.
func (j *judge) stashMoves() stashMoves {
	r := &j.v.refs
	l, changed := r.logs["refs/stash"]
	from, to := r.before["refs/stash"], r.after["refs/stash"]
	if !changed && from == to {
		return stashMoves{}
	}
	m := stashMoves{before: j.v.entries(l.before), log: l.before, from: from}
	after := j.v.entries(l.after)
	if len(m.before) == 0 && from != "" {
		m.before = []entry{{from, "stash"}}
	}
	if to == "" {
		after = nil
	} else if len(after) == 0 || after[len(after)-1].id != to {
		after = append(after, entry{to, "stash"})
	}
	for i, e := range m.before {
		if len(after) > 0 && after[0].id == e.id {
			after = after[1:]
		} else {
			m.dropped = append(m.dropped, i)
		}
	}
	m.pushed = after
	return m
}

// stash makes the rows and the plan of the stash.
func (j *judge) stash(m stashMoves) {
	for _, i := range slices.Backward(m.dropped) {
		e := m.before[i]
		j.e.Loss = append(j.e.Loss, Row{Kind: RefGone, Object: "refs/stash",
			Text: fmt.Sprintf("stash@{%d}: dropped, was %s %s", len(m.before)-1-i, short(e.id), e.text)})
	}
	for _, e := range m.pushed {
		j.e.Content = append(j.e.Content, Row{Kind: Stash, Object: e.id, Text: fmt.Sprintf("stash: new, %s %s", short(e.id), e.text)})
	}
	if len(m.dropped)+len(m.pushed) > 0 {
		j.p.stash = &m
	}
}

// stashFiles names the files of a new stash.
func (j *judge) stashFiles(id string, files []string) {
	for i := range j.e.Content {
		if row := &j.e.Content[i]; row.Kind == Stash && row.Object == id {
			row.Files = files
		}
	}
}

// replayStash drops and pushes entries as git stash does.
func (v *View) replayStash(ctx context.Context, m *stashMoves) error {
	if m == nil {
		return nil
	}
	log, err := v.before(v.logPath("refs/stash"))
	if err != nil {
		return err
	}
	if !same(log, m.log) && len(log)+len(m.log) > 0 {
		return fmt.Errorf("refs/stash: %w", ErrMoved)
	}
	last := len(m.before) - 1
	if len(m.dropped) > 0 && len(m.dropped) == len(m.before) {
		if err := v.real.Do(ctx, "update-ref", "-d", "refs/stash", m.from); err != nil {
			return err
		}
	} else {
		for _, i := range m.dropped { // The oldest goes first, so that the others keep their numbers.
			if err := v.real.Do(ctx, "reflog", "delete", "--updateref", "--rewrite",
				fmt.Sprintf("refs/stash@{%d}", last-i)); err != nil {
				return err
			}
		}
	}
	for _, e := range m.pushed {
		text := cmp.Or(strings.Map(printable, e.text), "stash") // Git takes no empty text.
		if err := v.real.Do(ctx, "update-ref", "--create-reflog", "-m", text, "refs/stash", e.id); err != nil {
			return err
		}
	}
	return nil
}
