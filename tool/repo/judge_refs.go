package repo

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// move is a ref with another value than before.
type move struct{ name, from, to string }

// judgeRefs judges refs, HEAD, the stash and what a merge left to be finished.
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

// moves are the refs below refs/ with another value. What can never be a ref's stays
// as it was.
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
