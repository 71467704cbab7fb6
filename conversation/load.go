package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"artoo/provider"
	"artoo/tool/text"
)

type file interface {
	io.ReaderAt
	io.Seeker
}

// loader finds the history in a session file: which line follows which, then the messages still sent.
type loader struct {
	*Session
	file    file
	lines   []indexed
	byID    map[string]int32 // the latest line of an id; nil until it is needed
	headers int
	empty   bool   // no line can be read
	damaged []int  // numbers of lines that cannot be read
	unknown int    // lines of a type this version does not know
	lost    int    // lines whose parent is not there
	usage   []byte // lines that no sum counts yet
	sums    []byte // the last line that holds a sum, or nil
}

// load reads a session file for reading only. Damage is left out and noted. Unless whole, it
// skips messages that a long session can no longer send. back is how many of the user's last messages are
// left out, with the messages after them.
func (st Store) load(r file, whole bool, back int) (*Session, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	l := &loader{Session: &Session{readOnly: true, header: Header{V: formatVersion}, store: st}, file: r}
	l.lines = make([]indexed, 0, size/meanLine+1)
	lines, torn, err := eachLine(r, l.index)
	if err != nil {
		return nil, err
	}
	l.torn, l.next = torn, max(l.next, lines)
	if err := l.checkLast(); err != nil {
		return nil, err
	}
	if l.broken { // a message of its own reports it
		l.damaged = l.damaged[:len(l.damaged)-1]
	}
	l.empty, l.bare = len(l.lines) == 0, l.headers == 0
	l.sum()
	if !l.empty && l.lines[0].kind != kindSession { // what stands before it was the header
		l.damaged = slices.DeleteFunc(l.damaged, func(number int) bool { return number < int(l.lines[0].number) })
	}
	chain := l.follow(l.before(back))
	if err := l.first(); err != nil {
		return nil, err
	}
	if l.history, err = l.read(chain, whole); err != nil {
		return nil, err
	}
	l.lines, l.byID = nil, nil
	l.resumed = l.turn.Messages > 0
	l.notify()
	return l.Session, nil
}

// checkLast reads the last line whole: it may look complete and be broken.
func (l *loader) checkLast() error {
	n := len(l.lines)
	if n == 0 {
		return nil
	}
	last := l.lines[n-1]
	line, err := last.read(l.file)
	if err != nil {
		return err
	}
	e, err := decodeEntry(line)
	if err == nil {
		l.updated = e.Time
		return nil
	}
	if !l.broken { // else more unreadable lines follow it
		l.broken = true
		l.damaged = append(l.damaged, int(last.number))
	}
	if l.lines = l.lines[:n-1]; n > 1 {
		l.last = l.lines[n-2].id
	}
	return l.checkLast()
}

func (l *loader) sum() {
	if e, err := decodeEntry(l.sums); err == nil {
		if turn, ok := e.payload.(*turnRecord); ok && turn.Totals != nil {
			l.totals = *turn.Totals
			if l.bare {
				l.header.CWD = turn.CWD
			}
		}
	}
	for line := range bytes.Lines(l.usage) {
		var u UsageRecord
		if json.Unmarshal(line, &u) == nil { // The reader of the history reports other lines.
			l.totals.add(u)
		}
	}
	l.usage, l.sums = nil, nil
}

// before is the index of the line before the user's last n messages, -1 if there are fewer.
func (l *loader) before(n int) int32 {
	i := int32(len(l.lines)) - 1
	for ; i >= 0 && n > 0; i = l.lines[i].parent {
		if l.lines[i].kind == kindUser {
			n--
		}
	}
	return i
}

// follow returns the history that ends with the line at index last, as indexes.
func (l *loader) follow(last int32) (chain []int32) {
	length := 0
	for i := last; i >= 0; i = l.lines[i].parent {
		length++
	}
	chain = make([]int32, length)
	for i := last; i >= 0; i = l.lines[i].parent {
		length--
		chain[length] = i
	}
	l.Session.chain = make([]place, 0, len(chain))
	for _, i := range chain {
		e := &l.lines[i]
		switch e.kind {
		case kindSession, kindUnknown, kindUsage, kindTurn, kindName:
			continue
		case kindUser:
			l.users = append(l.users, e.place)
		}
		l.Session.chain = append(l.Session.chain, e.place)
		if e.kind.message() {
			l.turn.Messages++
		}
	}
	return chain
}

func (l *loader) first() error {
	for _, at := range l.users {
		line, err := at.read(l.file)
		if err != nil {
			return err
		}
		if e, err := decodeEntry(line); err == nil {
			l.turn.First = firstWords(e.payload.(*messageRecord).Message)
			return nil
		}
	}
	return nil
}

// only are those of the lines whose kind is one of these.
func (l *loader) only(lines []int32, kinds ...kind) []int32 {
	some := make([]int32, 0, len(lines))
	for _, i := range lines {
		if slices.Contains(kinds, l.lines[i].kind) {
			some = append(some, i)
		}
	}
	return some
}

func (l *loader) entries(lines []int32) ([]entry, error) {
	all := make([]entry, len(lines))
	damaged := make([]bool, len(lines))
	var failed atomic.Pointer[error]
	inParallel(len(lines), linesAtOnce, func() func(from, to int) {
		w := window{file: l.file}
		return func(from, to int) {
			for i := from; i < to; i++ {
				line, err := w.line(l.lines[lines[i]].place)
				if err != nil {
					failed.Store(&err)
					return
				}
				all[i], err = decodeEntry(line)
				damaged[i] = err != nil
			}
		}
	})
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	entries := all[:0]
	for i, e := range all {
		if !damaged[i] {
			if record, ok := e.payload.(*messageRecord); ok {
				l.turn.named(record.Message)
			}
			entries = append(entries, e)
			continue
		}
		at := &l.lines[lines[i]]
		l.damaged = append(l.damaged, int(at.number))
		if at.kind.message() {
			l.turn.Messages--
		}
	}
	return entries, nil
}

// linesAtOnce is how many lines one processor reads before it looks for more.
const linesAtOnce = 256

func (l *loader) notify() {
	tell := func(format string, args ...any) { l.notices = append(l.notices, fmt.Sprintf(format, args...)) }
	some := func(n int, noun, format string) {
		if n > 0 {
			tell(format, text.Count(n, noun))
		}
	}
	if l.newer > 0 {
		tell("the session was written by a newer artoo (format %d) and can only be read", l.newer)
	}
	if l.broken {
		tell("the last line of the session was cut off and is left out")
	}
	if n := len(l.damaged); n > 0 {
		some(n, "line", fmt.Sprintf("left out %%s of the session that cannot be read (the first is line %d)", slices.Min(l.damaged)))
	}
	switch {
	case !l.bare || l.empty:
	case l.header.CWD == "":
		tell("the session's first line is missing or damaged: its directory is not known")
	default:
		tell("the session's first line is missing or damaged: its directory is known from the end of a turn")
	}
	if l.headers > 1 {
		tell("the session file has %d headers; artoo uses the first", l.headers)
	}
	some(l.lost, "line", "the session has %s out of place")
	some(l.unknown, "line", "skipped %s of the session, of a kind that this artoo does not know")
	some(unanswered(l.history), "tool call", "the session ended early: %s without a result, which the model sees")
}

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
