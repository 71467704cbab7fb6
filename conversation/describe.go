package conversation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"artoo/provider"
)

// describer finds out what a list says of a session. It may be used for many, one
// after another.
type describer struct {
	head, tail []byte
	size       int64 // of the file
}

// describe describes a file; after an error it is what is known of it.
func (d *describer) describe(of found) (Info, error) {
	info := Info{ID: idOf(of.path), Path: of.path, Updated: of.modified}
	f, err := openRead(of.path)
	if err != nil {
		return info, err
	}
	defer f.Close()
	d.size = of.size
	header := d.header(f, &info)
	err = d.end(f, &info)
	if !header || info.First == "" {
		err = errors.Join(err, peek(f, &info))
	}
	return info, err
}

// Info describes the session as List does. The file must be there.
func (s *Session) Info() (Info, error) {
	stat, err := os.Stat(s.path)
	if err != nil {
		return Info{}, fileError(s.path, err)
	}
	var d describer
	info, err := d.describe(found{s.path, stat.ModTime(), stat.Size()})
	return info, fileError(s.path, err)
}

// header reads the header where it stands as artoo writes it, and reports whether it
// did.
func (d *describer) header(f io.ReaderAt, info *Info) bool {
	d.head = slices.Grow(d.head[:0], headBytes)[:min(headBytes, d.size)]
	n, _ := f.ReadAt(d.head, 0) // what cannot be read here is read again, with its error, by peek
	d.head = d.head[:n]
	line, _, whole := bytes.Cut(d.head, []byte{'\n'})
	if !whole || !isType(line, typeSession) {
		return false
	}
	h, ok := scanHeader(line)
	if !ok {
		e, err := decodeEntry(line)
		if err != nil {
			return false
		}
		h = e.payload.(*Header)
	}
	info.begun(h)
	return true
}

// scanHeader reads what a list says of a header. The system prompt, most of it, is
// passed over.
func scanHeader(line []byte) (h *Header, ok bool) {
	h = &Header{}
	s := provider.Scanner{Data: line}
	s.Object(func(name []byte) {
		switch string(name) {
		case "time":
			var err error
			if h.Started, err = time.Parse(time.RFC3339, s.String()); err != nil {
				s.Fail()
			}
		case "cwd":
			h.CWD = s.String()
		case "provider":
			h.Provider = s.String()
		case "model":
			h.Model = s.String()
		case "fork_of":
			h.ForkOf = s.String()
		case "headless":
			h.Headless = s.Bool()
		case "v": // of another kind it is no header for who opens the session
			s.Int()
		case "type", "id", "parent", "session", "artoo", "system", "outputs":
			s.Raw()
		default:
			s.Fail() // encoding/json takes names in upper case too
		}
	})
	return h, s.Done()
}

// begun takes what the header says.
func (info *Info) begun(h *Header) {
	info.CWD, info.Started, info.Provider, info.ForkOf, info.Headless = h.CWD, h.Started, h.Provider, h.ForkOf, h.Headless
	if info.Model == "" {
		info.Model = h.Model
	}
}

// end reads the end of the file: how many messages there are, who answered last, and
// what it cost.
func (d *describer) end(f io.ReaderAt, info *Info) error {
	for _, length := range []int64{tailBytes, longTail} {
		from := max(0, d.size-length)
		tail, err := d.from(f, from)
		if err != nil {
			return err
		}
		if from > 0 {
			_, tail, _ = bytes.Cut(tail, []byte{'\n'})
		}
		counted := counting{known: from == 0}
		for line := range bytes.Lines(tail) {
			counted.line(bytes.TrimRight(line, "\n"))
		}
		if counted.known {
			counted.tell(info)
			return nil
		}
	}
	counted := counting{known: true}
	_, _, err := eachLine(f, func(_ place, _ int, line []byte) { counted.line(line) })
	counted.tell(info)
	return err
}

// from is the end of the file.
func (d *describer) from(f io.ReaderAt, from int64) ([]byte, error) {
	if int64(len(d.head)) == d.size {
		return d.head[from:], nil
	}
	d.tail = slices.Grow(d.tail[:0], int(d.size-from))[:d.size-from]
	n, err := f.ReadAt(d.tail, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return d.tail[:n], err
}

// counting adds up lines, from a turn marker on, which says what came before.
type counting struct {
	turnRecord
	totals Totals
	asked  []byte // the first message of the user where no marker names it
	known  bool   // a marker was found, or the lines are all there are
	older  bool   // it lacks the sums
}

func (c *counting) line(line []byte) {
	b, ok := cutBeginning(line)
	if !ok {
		return
	}
	switch k := b.kindOf(); {
	case k == kindTurn:
		turn, ok := scanTurn(line)
		if !ok && json.Unmarshal(line, &turn) != nil {
			return
		}
		c.turnRecord, c.known = turn, true
		if c.older = turn.Totals == nil; !c.older {
			c.totals = *turn.Totals
		}
	case k == kindUsage:
		u, ok := scanUsage(line)
		if ok || json.Unmarshal(line, &u) == nil {
			c.totals.add(u)
		}
	case k == kindName:
		var n Note
		if json.Unmarshal(line, &n) == nil {
			c.Name = n.Text
		}
	case k.message():
		c.Messages++
		if k == kindUser && c.asked == nil {
			c.asked = bytes.Clone(line)
		}
	}
}

// scanTurn reads what a list says of a turn: of its sums only the cost.
func scanTurn(line []byte) (turn turnRecord, ok bool) {
	s := provider.Scanner{Data: line}
	s.Object(func(name []byte) {
		switch string(name) {
		case "messages":
			turn.Messages = s.Int()
		case "model":
			turn.Model = s.String()
		case "first":
			turn.First = s.String()
		case "name":
			turn.Name = s.String()
		case "totals":
			turn.Totals = scanCost(&s)
		case "type", "id", "parent", "time":
			s.Raw()
		default:
			s.Fail()
		}
	})
	if !s.Done() {
		return turnRecord{}, false
	}
	return turn, true
}

// scanUsage reads what a request cost, and nothing else of its record.
func scanUsage(line []byte) (u UsageRecord, ok bool) {
	s := provider.Scanner{Data: line}
	s.Object(func(name []byte) {
		switch string(name) {
		case "cost_usd":
			u.CostUSD = scanPrice(&s)
		case "type", "id", "parent", "time", "model", "usage", "sent", "factors":
			s.Raw()
		default:
			s.Fail()
		}
	})
	if !s.Done() {
		return UsageRecord{}, false
	}
	return u, true
}

// scanPrice reads US dollars; null is nil.
func scanPrice(s *provider.Scanner) *float64 {
	if s.Null() {
		return nil
	}
	cost := s.Float()
	return &cost
}

func scanCost(s *provider.Scanner) *Totals {
	var t Totals
	s.Object(func(name []byte) {
		switch string(name) {
		case "cost_usd":
			t.CostUSD = scanPrice(s)
		case "unpriced":
			t.Unpriced = s.Int()
		case "requests", "usage":
			s.Raw()
		default:
			s.Fail()
		}
	})
	return &t
}

func (c *counting) tell(info *Info) {
	if e, err := decodeEntry(c.asked); c.First == "" && err == nil {
		c.First = firstWords(e.payload.(*messageRecord).Message)
	}
	info.Messages, info.First, info.Name = c.Messages, c.First, c.Name
	if c.Model != "" {
		info.Model = c.Model
	}
	if !c.older {
		info.CostUSD = c.totals.CostUSD
	}
}

// peek reads the header and the first user message, wherever they stand.
func peek(f io.ReaderAt, info *Info) error {
	in := bufio.NewReader(io.NewSectionReader(f, 0, peekBytes))
	for {
		line, readErr := in.ReadBytes('\n')
		if e, err := decodeEntry(line); err == nil {
			switch p := e.payload.(type) {
			case *Header:
				if info.Started.IsZero() { // the first counts
					info.begun(p)
				}
			case *messageRecord:
				if p.Message.Role == provider.RoleUser {
					info.First = firstWords(p.Message)
					return nil
				}
			}
		}
		if errors.Is(readErr, io.EOF) {
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

// firstWords is the beginning of a message on one line.
func firstWords(m provider.Message) string {
	for _, p := range m.Parts {
		t, ok := p.(provider.Text)
		if !ok {
			continue
		}
		text := t.Text[:min(len(t.Text), 8*firstChars)] // enough, however long it is
		text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
		if text != "" {
			return clip(text, firstChars, "...")
		}
	}
	return ""
}
