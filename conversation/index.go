package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"artoo/provider"
)

// place is where a line stands in its file, without the end of the line.
type place struct {
	at   int64
	size int
}

// read returns the bytes of the line.
func (p place) read(r io.ReaderAt) ([]byte, error) {
	line := make([]byte, p.size)
	n, err := r.ReadAt(line, p.at)
	if n == p.size {
		err = nil
	}
	return line[:n], err
}

// window reads lines that stand near each other with few calls of the system.
type window struct {
	file io.ReaderAt
	at   int64
	held []byte
}

// line is the bytes of a line, until the next call.
func (w *window) line(p place) ([]byte, error) {
	if from := p.at - w.at; from >= 0 && from+int64(p.size) <= int64(len(w.held)) {
		return w.held[from : from+int64(p.size)], nil
	}
	size := max(p.size, lineBytes)
	w.held = slices.Grow(w.held[:0], size)[:size]
	n, err := w.file.ReadAt(w.held, p.at)
	w.at, w.held = p.at, w.held[:n]
	if n < p.size {
		return nil, err
	}
	return w.held[:p.size], nil
}

type kind byte

const (
	kindUnknown kind = iota // a type that this version does not know
	kindSession
	kindMessage // an answer or a reminder
	kindUser    // a message of the user
	kindTool    // the result of a call
	kindUsage
	kindTrim
	kindNote
	kindTorn // the note that follows a line which broke off
	kindName // the note that gives the session a name
	kindTurn
	kindCompact
	kindUncompact
)

func (k kind) message() bool { return k == kindMessage || k == kindUser || k == kindTool }

// indexed is a line as the index has it: enough to find the history.
type indexed struct {
	place
	parent int32 // its index, or -1
	number int32 // number of the line, from 1
	kind   kind
	id     string
}

// lineBuffer is how much of a file is read at a time, in bytes.
const lineBuffer = 256 << 10

// meanLine is about how long a line is, in bytes, to make room for the index at once.
const meanLine = 256

// eachLine calls do with each line; the bytes hold until do returns. torn reports a last line
// without an end.
func eachLine(r io.ReaderAt, do func(p place, number int, line []byte)) (lines int, torn bool, err error) {
	at, number := int64(0), 1
	said := func(line []byte) {
		whole := bytes.TrimRight(line, "\r\n")
		do(place{at, len(whole)}, number, whole)
		at += int64(len(line))
	}
	var begun []byte // the beginning of a line that continues in the next block
	err = eachBlock(r, func(data []byte) {
		for end := bytes.IndexByte(data, '\n') + 1; end > 0; end = bytes.IndexByte(data, '\n') + 1 {
			if len(begun) > 0 {
				begun = append(begun, data[:end]...)
				said(begun)
				begun = begun[:0]
			} else {
				said(data[:end])
			}
			number++
			data = data[end:]
		}
		begun = append(begun, data...)
	})
	if torn = len(begun) > 0; torn {
		said(begun)
	}
	return number, torn, err
}

// eachBlock calls do with the blocks of a file in order, and reads the next one meanwhile.
func eachBlock(r io.ReaderAt, do func(data []byte)) error {
	next := func(room []byte, at int64) ([]byte, error) {
		n, err := r.ReadAt(room, at)
		return room[:n], err
	}
	data, err := next(make([]byte, lineBuffer), 0)
	if err == nil {
		type block struct {
			data []byte
			err  error
		}
		read, free := make(chan block, 1), make(chan []byte, 2)
		free <- make([]byte, lineBuffer)
		go func() {
			defer close(read)
			for at, b := int64(lineBuffer), (block{}); b.err == nil; at += lineBuffer {
				b.data, b.err = next((<-free)[:lineBuffer], at)
				read <- b
			}
		}()
		do(data)
		free <- data
		for b := range read {
			do(b.data)
			free <- b.data
			err = b.err
		}
		data = nil
	}
	do(data)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// beginning is the beginning of a line, as bytes of the line.
type beginning struct {
	kind, id, parent []byte
	rest             []byte // begins with the time
}

// parseBeginning takes apart a line as the encoder writes it; ok is false for others.
func parseBeginning(line []byte) (b beginning, ok bool) {
	if len(line) == 0 || line[len(line)-1] != '}' {
		return b, false
	}
	rest := line
	for _, f := range []struct {
		before string
		value  *[]byte
	}{{`{"type":"`, &b.kind}, {`","id":"`, &b.id}, {`","parent":"`, &b.parent}} {
		var found bool
		if rest, found = bytes.CutPrefix(rest, []byte(f.before)); !found {
			return b, false
		}
		end := bytes.IndexByte(rest, '"')
		if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
			return b, false
		}
		*f.value, rest = rest[:end], rest[end:]
	}
	b.rest = rest
	return b, bytes.HasPrefix(rest, []byte(timeField))
}

func (b beginning) head() (h head, err error) {
	at, _, _ := bytes.Cut(b.rest[len(timeField):], []byte{'"'})
	h = head{Type: string(b.kind), ID: string(b.id), Parent: string(b.parent)}
	h.Time, err = time.Parse(time.RFC3339, string(at))
	return h, err
}

// How lines go on: behind the ids, and a message behind the time.
const (
	timeField   = `","time":"`
	userMessage = `,"message":{"role":"user"`
	toolMessage = `,"message":{"role":"tool"`
	reminding   = `,"parts":[{"type":"text","note":"` + string(provider.NoteReminder) + `"`
	remindedOld = `,"parts":[{"type":"text","text":"` + unmarkedReminder
)

var kindOfType = map[string]kind{
	typeSession: kindSession, typeMessage: kindMessage, typeUsage: kindUsage, typeTrim: kindTrim, typeNote: kindNote,
	typeTurn: kindTurn, typeCompact: kindCompact, typeUncompact: kindUncompact,
}

func (b beginning) kindOf() kind {
	k := kindOfType[string(b.kind)]
	switch k {
	case kindMessage:
		// The time stands before the message and has no quotes in it.
		_, after, _ := bytes.Cut(b.rest[len(timeField):], []byte{'"'})
		said, ok := bytes.CutPrefix(after, []byte(userMessage))
		if ok && !bytes.HasPrefix(said, []byte(reminding)) && !bytes.HasPrefix(said, []byte(remindedOld)) {
			return kindUser
		}
		if bytes.HasPrefix(after, []byte(toolMessage)) {
			return kindTool
		}
	case kindNote:
		if bytes.Contains(b.rest, []byte(`"kind":"`+NoteTorn+`"`)) {
			return kindTorn
		}
		if bytes.Contains(b.rest, []byte(`"kind":"`+noteName+`"`)) {
			return kindName
		}
	}
	return k
}

// canonical is the line as the encoder writes it, for one of another program.
func canonical(line []byte) ([]byte, error) {
	e, err := decodeEntry(line)
	if err != nil {
		return nil, err
	}
	if e.payload == nil { // only its beginning is known
		return provider.Marshal(e.head)
	}
	line, err = encodeEntry(e)
	return bytes.TrimRight(line, "\n"), err
}

// index reads a line's beginning. Its parent must be an earlier line, so that damage cannot make
// a circle.
func (l *loader) index(p place, number int, line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	b, ok := parseBeginning(line)
	if !ok {
		own, err := canonical(line)
		if b, ok = parseBeginning(own); err != nil || !ok {
			l.damaged = append(l.damaged, number)
			l.broken = true
			return
		}
		line = own
	}
	k := b.kindOf()
	if k == kindTorn && l.broken {
		l.damaged = l.damaged[:len(l.damaged)-1] // It was reported when it happened.
	}
	l.broken = false
	if !l.keep(k, line, number) {
		return
	}
	e := indexed{place: p, id: string(b.id), number: int32(number), kind: k}
	var lost bool
	if e.parent, lost = l.parentOf(b.parent); lost {
		if _, err := decodeEntry(line); err != nil {
			l.damaged = append(l.damaged, number)
			return
		}
		l.lost++
	}
	if l.byID != nil {
		l.byID[e.id] = int32(len(l.lines))
	}
	l.lines = append(l.lines, e)
	l.last = e.id
	if n, err := strconv.Atoi(e.id); err == nil && n >= l.next {
		l.next = n + 1
	}
}

// keep takes the fields that load needs of a line, and reports false for one that it cannot read.
func (l *loader) keep(k kind, line []byte, number int) bool {
	switch k {
	case kindSession:
		e, err := decodeEntry(line)
		if err != nil {
			l.damaged = append(l.damaged, number)
			return false
		}
		h := e.payload.(*Header)
		l.headers++
		if h.V > formatVersion {
			l.newer = max(l.newer, h.V)
		}
		if l.headers == 1 {
			l.header = *h
		}
	case kindUsage:
		l.usage = append(append(l.usage, line...), '\n')
	case kindTurn:
		if bytes.Contains(line, []byte(`,"totals":{`)) && json.Valid(line) { // they count the lines before
			l.sums, l.usage = append(l.sums[:0], line...), l.usage[:0]
		}
	case kindName:
		var n Note
		if json.Unmarshal(line, &n) == nil {
			l.turn.Name = n.Text
		}
	case kindUnknown:
		l.unknown++
	}
	return true
}

// parentOf is the index of the line with the ID, or, with lost, of the line before.
func (l *loader) parentOf(id []byte) (index int32, lost bool) {
	last := int32(len(l.lines)) - 1
	if last < 0 || string(id) == l.lines[last].id || len(id) == 0 {
		return last, false
	}
	if l.byID == nil { // nearly every line follows the one before it
		l.byID = make(map[string]int32, len(l.lines))
		for i, e := range l.lines {
			l.byID[e.id] = int32(i)
		}
	}
	if at, ok := l.byID[string(id)]; ok {
		return at, false
	}
	return last, true
}
