package repo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// stashMoves are what became of the stash, whose older entries stand in its reflog alone.
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
