package conversation

import (
	"slices"
	"sort"

	"artoo/provider"
	"artoo/tool/text"
)

// Bounds of the part of a history that is read, in bytes: no model's window holds more than 2 million tokens.
const (
	liveBytes = 8 << 20
	lineBytes = 64 << 10 // a line counts no more: the rest of it is an image
	oldUsers  = 4        // so much less for the user's messages before them, which are the last to go
	pastCalls = 200      // calls before them whose effects are named
	// liveUsage bounds the usage lines read: the newest teach the size of a token.
	liveUsage = 100
)

// read returns the chain's messages, usage and trims; unless whole, of a long session only those that
// can still be sent.
func (l *loader) read(chain []int32, whole bool) ([]entry, error) {
	size := 0
	for _, i := range chain {
		if e := &l.lines[i]; e.kind.message() {
			size += e.size
		}
	}
	if whole || size <= l.most() {
		return l.entries(l.only(chain, kindMessage, kindUser, kindTool, kindUsage, kindTrim,
			kindCompact, kindUncompact))
	}
	dropping := l.only(chain, kindTrim, kindCompact, kindUncompact)
	trims, err := l.entries(dropping)
	if err != nil {
		return nil, err
	}
	trims = l.inForce(trims, chain)
	live, old := l.split(chain, l.gone(chain, trims))
	if len(old) > 0 {
		left, err := l.leaveOut(old, trims)
		if err != nil {
			return nil, err
		}
		trims = append(trims, left)
	}
	last := chain[0] // the last trim
	if len(dropping) > 0 {
		last = dropping[len(dropping)-1]
	}
	counts := l.only(chain, kindUsage)
	counts = counts[sort.Search(len(counts), func(i int) bool { return counts[i] > last }):]
	return l.merge(live, counts[max(0, len(counts)-liveUsage):], trims, last)
}

// inForce are the trims and compactions not undone. A trim within undone compactions keeps its part on messages after
// the last of these: taking that one back brought the others back as they were.
func (l *loader) inForce(trims []entry, chain []int32) []entry {
	back := map[string]bool{}
	for _, e := range trims {
		if r, ok := e.payload.(*uncompactRecord); ok {
			back[r.Compact], back[e.ID] = true, true
		}
	}
	if len(back) == 0 {
		return trims
	}
	at := make(map[string]int, len(chain))
	for i, line := range chain {
		at[l.lines[line].id] = i
	}
	var open []int // places of the undone compactions that a trim lies within
	for _, e := range trims {
		switch r := e.payload.(type) {
		case *compactRecord:
			if back[e.ID] {
				open = append(open, at[e.ID])
			}
		case *uncompactRecord:
			open = slices.DeleteFunc(open, func(i int) bool { return i == at[r.Compact] })
		case *trimRecord:
			if last := len(open) - 1; last >= 0 {
				r.only(func(id string) bool { return at[id] > open[last] })
			}
		}
	}
	return slices.DeleteFunc(trims, func(e entry) bool { return back[e.ID] })
}

// trimOf is the trim in an entry, nil if it holds none.
func trimOf(e entry) *trimRecord {
	switch r := e.payload.(type) {
	case *compactRecord:
		return &r.trimRecord
	case *trimRecord:
		return r
	}
	return nil
}

// gone are the IDs of messages no longer sent, except those of the last compactions as far as
// there is room, to undo them.
func (l *loader) gone(chain []int32, trims []entry) map[string]bool {
	gone := map[string]bool{}
	for _, e := range trims {
		for _, id := range trimOf(e).Drop {
			gone[id] = true
		}
	}
	size, room := make(map[string]int, len(chain)), l.most()
	for _, i := range chain {
		if e := &l.lines[i]; e.kind.message() {
			size[e.id] = min(e.size, lineBytes)
			if !gone[e.id] {
				room -= size[e.id]
			}
		}
	}
	for _, e := range slices.Backward(trims) {
		r, ok := e.payload.(*compactRecord)
		if !ok {
			continue
		}
		for _, id := range r.Drop {
			room -= size[id]
		}
		if room < 0 {
			break
		}
		for _, id := range r.Drop {
			delete(gone, id)
		}
	}
	return gone
}

// merge reads the live lines and the usage, with the trims at the place of the last: none changes
// later messages.
func (l *loader) merge(live, counts []int32, trims []entry, last int32) ([]entry, error) {
	at := sort.Search(len(live), func(i int) bool { return live[i] > last })
	sent := make(map[string]bool, len(live))
	for _, i := range live {
		sent[l.lines[i].id] = true
	}
	isSent := func(id string) bool { return sent[id] }
	for _, e := range trims {
		switch r := e.payload.(type) {
		case *trimRecord:
			r.only(isSent)
		case *compactRecord:
			all := len(r.Drop)
			r.only(isSent)
			r.partial = len(r.Drop) < all
			r.Next = l.nextOf(r.Next, live[:at])
			sent[e.ID] = true // later trims may be of its summary
		}
	}
	before, err := l.entries(live[:at])
	if err != nil {
		return nil, err
	}
	rest := slices.Concat(live[at:], counts)
	slices.Sort(rest)
	after, err := l.entries(rest)
	return slices.Concat(before, trims, after), err
}

// nextOf is the ID of the first message read that is the given one or comes after it; "" if there is none.
func (l *loader) nextOf(id string, live []int32) string {
	for i := range l.lines {
		if l.lines[i].id != id {
			continue
		}
		if at := sort.Search(len(live), func(k int) bool { return int(live[k]) >= i }); at < len(live) {
			return l.lines[live[at]].id
		}
	}
	return ""
}

// split divides the messages into the newest, which can be sent, and the others. No result is
// without its call.
func (l *loader) split(chain []int32, gone map[string]bool) (live, old []int32) {
	kept := slices.DeleteFunc(slices.Clone(chain), func(i int32) bool {
		return !l.lines[i].kind.message() || gone[l.lines[i].id]
	})
	room := l.most()
	from := len(kept)
	for from > 0 && room > 0 {
		from--
		room -= min(l.lines[kept[from]].size, lineBytes)
	}
	for from > 0 && from < len(kept) && l.lines[kept[from]].kind == kindTool {
		from++
	}
	users := l.most() / oldUsers
	old = make([]int32, 0, from)
	for _, i := range slices.Backward(kept[:from]) {
		if e := &l.lines[i]; e.kind == kindUser && users > 0 {
			users -= min(e.size, lineBytes)
			live = append(live, i)
		} else {
			old = append(old, i)
		}
	}
	slices.Reverse(live)
	slices.Reverse(old)
	return append(live, kept[from:]...), old
}

// leaveOut drops messages too old to be sent. The next append writes the trim's line first.
func (l *loader) leaveOut(old []int32, trims []entry) (entry, error) {
	left := trimRecord{Done: &pastWork{}, Drop: make([]string, 0, len(old))}
	for _, e := range trims {
		if d := trimOf(e).Done; d != nil {
			*left.Done = *d
		}
	}
	for _, i := range old {
		left.Drop = append(left.Drop, l.lines[i].id)
	}
	calls := l.only(old, kindTool)
	results, err := l.entries(calls[max(0, len(calls)-pastCalls):])
	for _, e := range results {
		for _, part := range e.payload.(*messageRecord).Message.Parts {
			if r, ok := part.(provider.ToolResult); ok && r.Effect != nil {
				*left.Done = left.Done.and(*r.Effect)
			}
		}
	}
	owed := left
	l.owed, left.Drop = &owed, nil
	l.notices = append(l.notices, "the session is longer than any model's window: "+
		text.Count(len(old), "old message")+" left out of the request")
	return entry{head{Type: typeTrim}, &left}, err
}

// most is liveBytes, unless a test lowered it.
func (l *loader) most() int {
	if l.store.live > 0 {
		return l.store.live
	}
	return liveBytes
}

// only leaves out changes of messages that are not read.
func (r *trimRecord) only(read func(id string) bool) {
	r.Edits = slices.DeleteFunc(r.Edits, func(e edit) bool { return !read(e.Message) })
	r.Notes = slices.DeleteFunc(r.Notes, func(n leftNote) bool { return !read(n.Message) })
	r.Drop = slices.DeleteFunc(r.Drop, func(id string) bool { return !read(id) })
}
