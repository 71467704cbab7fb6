package conversation

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"artoo/provider"
)

// loaded is what a session file holds.
type loaded struct {
	header  Header // zero but for V when the file has none
	history []entry
	totals  Totals
	last    string // id of the last entry
	next    int    // number of the next entry
	torn    bool   // the file does not end with a newline
	broken  bool   // its last line cannot be read
	newer   int    // version of a newer format, else 0
	notices []string
	updated time.Time
}

// loader reads line by line. A line's parent is looked up among the lines
// before it, so that damage cannot make a circle.
type loader struct {
	out     loaded
	entries []entry
	parents []int          // index of the parent of each entry, -1 for none
	byID    map[string]int // the latest entry of an id
	headers int

	broken     []int // numbers of lines that cannot be read
	lastBroken bool
	unknown    int // entries of a type this version does not know
	lost       int // entries whose parent is not there
}

// load reads a session file to its end. Only reading itself can fail: what is
// damaged is left out and told.
func load(r io.Reader) (loaded, error) {
	l := &loader{byID: map[string]int{}}
	l.out.header.V = formatVersion
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			l.out.torn = line[len(line)-1] != '\n'
			l.line(number, bytes.TrimRight(line, "\r\n"))
		}
		if errors.Is(err, io.EOF) {
			l.finish(number)
			return l.out, nil
		}
		if err != nil {
			return loaded{}, err
		}
	}
}

func (l *loader) line(number int, line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	e, err := decodeEntry(line)
	if err != nil {
		l.broken = append(l.broken, number)
		l.lastBroken = true
		return
	}
	if n, ok := e.payload.(*Note); ok && n.Kind == NoteTorn && l.lastBroken {
		l.broken = l.broken[:len(l.broken)-1] // told when it happened
	}
	l.lastBroken = false
	l.link(e)
	switch p := e.payload.(type) {
	case *Header:
		l.header(p)
	case *UsageRecord:
		l.out.totals.add(*p)
	case nil:
		l.unknown++
	}
	l.out.updated = e.Time
}

// link puts the entry behind its parent. One without a parent that is there
// follows the line before it.
func (l *loader) link(e entry) {
	index := len(l.entries)
	parent, ok := l.byID[e.Parent]
	if !ok {
		parent = index - 1
		if index > 0 && e.Parent != "" {
			l.lost++
		}
	}
	l.entries = append(l.entries, e)
	l.parents = append(l.parents, parent)
	l.byID[e.ID] = index
	l.out.last = e.ID
	if n, err := strconv.Atoi(e.ID); err == nil && n >= l.out.next {
		l.out.next = n + 1
	}
}

func (l *loader) header(h *Header) {
	l.headers++
	if h.V > formatVersion {
		l.out.newer = max(l.out.newer, h.V)
	}
	if l.headers == 1 {
		l.out.header = *h
	}
}

// finish follows the parents back from the last entry: that is the history.
func (l *loader) finish(lines int) {
	l.out.next = max(l.out.next, lines)
	l.out.broken = l.lastBroken
	on := make([]bool, len(l.entries))
	for i := len(l.entries) - 1; i >= 0; i = l.parents[i] {
		on[i] = true
	}
	for i, e := range l.entries {
		if on[i] && e.payload != nil && e.Type != typeSession {
			l.out.history = append(l.out.history, e)
		}
	}
	l.tell()
}

func (l *loader) tell() {
	tell := func(format string, args ...any) {
		l.out.notices = append(l.out.notices, fmt.Sprintf(format, args...))
	}
	if l.out.newer > 0 {
		tell("the session was written by a newer artoo (format %d) and can only be read", l.out.newer)
	}
	if n := len(l.broken); n > 0 && l.lastBroken {
		tell("the last line of the session broke off and is left out")
		l.broken = l.broken[:n-1]
	}
	if n := len(l.broken); n > 0 {
		tell("%d %s of the session cannot be read and %s left out (the first is line %d)", n, plural(n, "line", "lines"), plural(n, "is", "are"), l.broken[0])
	}
	if l.headers == 0 && len(l.entries) > 0 {
		tell("the session's first line is missing")
	}
	if l.headers > 1 {
		tell("the session file holds %d headers; the first counts", l.headers)
	}
	if l.lost > 0 {
		tell("%d %s of the session %s out of place", l.lost, plural(l.lost, "line", "lines"), plural(l.lost, "is", "are"))
	}
	if l.unknown > 0 {
		tell("%d %s of the session %s of a kind this artoo does not know and %s skipped", l.unknown, plural(l.unknown, "line", "lines"), plural(l.unknown, "is", "are"), plural(l.unknown, "is", "are"))
	}
	if n := unanswered(l.out.history); n > 0 {
		tell("%d tool %s %s no result: the session broke off there, and the model is told so", n, plural(n, "call", "calls"), plural(n, "has", "have"))
	}
	if n := missingEdits(l.out.history); n > 0 {
		tell("%d %s of what was trimmed before %s to a damaged part of the session", n, plural(n, "piece", "pieces"), plural(n, "belongs", "belong"))
	}
}

// unanswered counts calls without a result.
func unanswered(history []entry) int {
	open := map[string]int{}
	for _, e := range history {
		record, ok := e.payload.(*messageRecord)
		if !ok {
			continue
		}
		for _, p := range record.Message.Parts {
			switch p := p.(type) {
			case provider.ToolCall:
				open[p.ID]++
			case provider.ToolResult:
				if open[p.CallID] > 0 {
					open[p.CallID]--
				}
			}
		}
	}
	sum := 0
	for _, n := range open {
		sum += n
	}
	return sum
}

// missingEdits counts what trims name and the history does not hold.
func missingEdits(history []entry) int {
	var items []item
	sum := 0
	for _, e := range history {
		switch p := e.payload.(type) {
		case *messageRecord:
			items = append(items, item{id: e.ID, msg: p.Message})
		case *trimRecord:
			var missing int
			items, missing = replay(items, *p)
			sum += missing
		}
	}
	return sum
}
