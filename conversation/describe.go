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

	"artoo/provider"
)

// describer finds out what a list says of a session. It may be used for many, one
// after another.
type describer struct{ head, tail, short []byte }

// describe describes a file; after an error it is what is known of it.
func (d *describer) describe(of found) (Info, error) {
	info := Info{ID: idOf(of.path), Path: of.path, Updated: of.modified}
	f, err := os.Open(of.path)
	if err != nil {
		return info, err
	}
	defer f.Close()
	header := d.header(f, &info)
	err = d.end(f, of.size, &info)
	if !header || info.First == "" {
		err = errors.Join(err, peek(f, &info))
	}
	return info, err
}

// header reads the header where it stands as artoo writes it, and reports whether it
// did. The system prompt, most of it, is passed over.
func (d *describer) header(f io.ReaderAt, info *Info) bool {
	d.head = slices.Grow(d.head[:0], headBytes)[:headBytes]
	n, _ := f.ReadAt(d.head, 0) // what cannot be read here is read again, with its error, by peek
	line, _, whole := bytes.Cut(d.head[:n], []byte{'\n'})
	if !whole || !isType(line, typeSession) {
		return false
	}
	before, _, long := bytes.Cut(line, []byte(`,"system":"`))
	if long {
		// No string holds a quote that is not escaped: this is the field's own.
		d.short = append(d.short[:0], before...)
		if at := bytes.LastIndex(line, []byte(`","fork_of":"`)); at >= len(before) {
			d.short = append(d.short, ',')
			d.short = append(d.short, line[at+len(`",`):]...)
		} else {
			d.short = append(d.short, '}')
		}
		line = d.short
	}
	e, err := decodeEntry(line)
	if err != nil {
		return false
	}
	info.begun(e.payload.(*Header))
	return true
}

// begun takes what the header says.
func (info *Info) begun(h *Header) {
	info.CWD, info.Started, info.Provider, info.ForkOf = h.CWD, h.Started, h.Provider, h.ForkOf
	if info.Model == "" {
		info.Model = h.Model
	}
}

// end reads the end of the file: how many messages there are, who answered last, and
// what it cost.
func (d *describer) end(f io.ReaderAt, size int64, info *Info) error {
	for _, length := range []int64{tailBytes, longTail} {
		from := max(0, size-length)
		d.tail = slices.Grow(d.tail[:0], int(size-from))[:size-from]
		n, err := f.ReadAt(d.tail, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		tail := d.tail[:n]
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

// counting adds up lines, from a turn marker on, which says what came before.
type counting struct {
	turnRecord
	totals Totals
	known  bool // a marker was found, or the lines are all there are
	older  bool // it lacks the sums
}

func (c *counting) line(line []byte) {
	b, ok := cutBeginning(line)
	if !ok {
		return
	}
	switch k := b.kindOf(); {
	case k == kindTurn:
		var turn turnRecord
		if json.Unmarshal(line, &turn) != nil {
			return
		}
		c.turnRecord, c.known = turn, true
		if c.older = turn.Totals == nil; !c.older {
			c.totals = *turn.Totals
		}
	case k == kindUsage:
		var u UsageRecord
		if json.Unmarshal(line, &u) == nil {
			c.totals.add(u)
		}
	case k == kindName:
		var n Note
		if json.Unmarshal(line, &n) == nil {
			c.Name = n.Text
		}
	case k.message():
		c.Messages++
	}
}

func (c *counting) tell(info *Info) {
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
