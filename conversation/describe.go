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
type describer struct {
	head, tail []byte
	size       int64 // of the file
	counted    counting
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
	e, err := decodeEntry(withoutSystem(line))
	if err != nil {
		return false
	}
	h := e.payload.(*Header)
	info.begun(h)
	return true
}

// withoutSystem is a header's line without the system prompt, which is most of it.
func withoutSystem(line []byte) []byte {
	before, prompt, _ := bytes.Cut(line, []byte(`,"system":"`))
	for end := 0; ; end++ {
		next := bytes.IndexByte(prompt[end:], '"')
		if next < 0 {
			return line
		}
		end += next
		if backslashes := end - len(bytes.TrimRight(prompt[:end], `\`)); backslashes%2 == 0 {
			return slices.Concat(before, prompt[end+1:])
		}
	}
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
	counted := &d.counted
	for _, length := range []int64{tailBytes, longTail} {
		from := max(0, d.size-length)
		tail, err := d.from(f, from)
		if err != nil {
			return err
		}
		if from > 0 {
			_, tail, _ = bytes.Cut(tail, []byte{'\n'})
		}
		*counted = counting{known: from == 0}
		for line := range bytes.Lines(tail) {
			counted.line(bytes.TrimRight(line, "\n"))
		}
		if counted.known {
			counted.tell(info)
			return nil
		}
	}
	*counted = counting{known: true}
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
		before := c.turnRecord
		c.turnRecord = turnRecord{}
		if json.Unmarshal(line, &c.turnRecord) != nil {
			c.turnRecord = before
			return
		}
		c.known, c.older = true, c.Totals == nil
		if !c.older {
			c.totals = *c.Totals
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
		if k == kindUser && c.asked == nil {
			c.asked = bytes.Clone(line)
		}
	}
}

func (c *counting) tell(info *Info) {
	if c.First == "" {
		if e, err := decodeEntry(c.asked); err == nil {
			c.First = firstWords(e.payload.(*messageRecord).Message)
		}
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
