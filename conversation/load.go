package conversation

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"artoo/provider"
)

// loader reads a session file line by line. A line's parent is looked up among the
// lines before it, so that damage cannot make a circle.
type loader struct {
	*Session
	entries []entry
	parents []int          // index of the parent of each entry, -1 for none
	byID    map[string]int // the latest entry of an id
	headers int
	lines   []int // numbers of lines that cannot be read
	unknown int   // entries of a type this version does not know
	lost    int   // entries whose parent is not there
}

// load reads a session file to its end, for reading only. Only reading itself can
// fail: what is damaged is left out and told.
func load(r io.Reader) (*Session, error) {
	l := &loader{Session: &Session{readOnly: true, header: Header{V: formatVersion}}, byID: map[string]int{}}
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			l.torn = line[len(line)-1] != '\n'
			l.line(number, bytes.TrimRight(line, "\r\n"))
		}
		if errors.Is(err, io.EOF) {
			l.finish(number)
			return l.Session, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *loader) line(number int, line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	e, err := decodeEntry(line)
	if err != nil {
		l.lines = append(l.lines, number)
		l.broken = true
		return
	}
	if n, ok := e.payload.(*Note); ok && n.Kind == NoteTorn && l.broken {
		l.lines = l.lines[:len(l.lines)-1] // told when it happened
	}
	l.broken = false
	l.link(e)
	switch p := e.payload.(type) {
	case *Header:
		l.headers++
		if p.V > formatVersion {
			l.newer = max(l.newer, p.V)
		}
		if l.headers == 1 {
			l.header = *p
		}
	case *UsageRecord:
		l.totals.add(*p)
	case nil:
		l.unknown++
	}
	l.updated = e.Time
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
	l.last = e.ID
	if n, err := strconv.Atoi(e.ID); err == nil && n >= l.next {
		l.next = n + 1
	}
}

// finish follows the parents back from the last entry: that is the history.
func (l *loader) finish(lines int) {
	l.next = max(l.next, lines)
	on := make([]bool, len(l.entries))
	for i := len(l.entries) - 1; i >= 0; i = l.parents[i] {
		on[i] = true
	}
	for i, e := range l.entries {
		if on[i] && e.payload != nil && e.Type != typeSession {
			l.history = append(l.history, e)
			l.turn.add(e)
		}
	}
	l.resumed = l.turn.Messages > 0
	l.tell()
}

func (l *loader) tell() {
	tell := func(format string, args ...any) { l.notices = append(l.notices, fmt.Sprintf(format, args...)) }
	some := func(n int, one, many string) {
		if n > 0 {
			tell(plural(n, one, many), n)
		}
	}
	if l.newer > 0 {
		tell("the session was written by a newer artoo (format %d) and can only be read", l.newer)
	}
	if l.broken {
		tell("the last line of the session broke off and is left out")
		l.lines = l.lines[:len(l.lines)-1]
	}
	if n := len(l.lines); n > 0 {
		first := fmt.Sprintf(" (the first is line %d)", l.lines[0])
		some(n, "%d line of the session cannot be read and is left out"+first,
			"%d lines of the session cannot be read and are left out"+first)
	}
	if l.headers == 0 && len(l.entries) > 0 {
		tell("the session's first line is missing")
	}
	if l.headers > 1 {
		tell("the session file holds %d headers; the first counts", l.headers)
	}
	some(l.lost, "%d line of the session is out of place", "%d lines of the session are out of place")
	some(l.unknown, "%d line of the session is of a kind this artoo does not know and is skipped",
		"%d lines of the session are of a kind this artoo does not know and are skipped")
	some(unanswered(l.history), "%d tool call has no result: the session broke off there, and the model is told so",
		"%d tool calls have no result: the session broke off there, and the model is told so")
	some(missingEdits(l.history), "%d piece of what was trimmed before belongs to a damaged part of the session",
		"%d pieces of what was trimmed before belong to a damaged part of the session")
}

// unanswered counts calls without a result.
func unanswered(history []entry) (sum int) {
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
				sum++
			case provider.ToolResult:
				if open[p.CallID] > 0 {
					open[p.CallID]--
					sum--
				}
			}
		}
	}
	return sum
}

// missingEdits counts what trims name and the history does not hold.
func missingEdits(history []entry) (sum int) {
	var items []item
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
