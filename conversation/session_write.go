package conversation

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"artoo/provider"
)

// append writes a line in one write and returns its ID. The first one makes the file.
func (s *Session) append(kind string, payload any) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appendLocked(kind, payload)
}

func (s *Session) appendLocked(kind string, payload any) (string, error) {
	if s.readOnly {
		return "", readOnlyError(s.path, s.newer)
	}
	if record, ok := payload.(*messageRecord); ok && s.header.V >= imagesVersion {
		kept, err := s.keepImages(record.Message)
		if err != nil {
			return "", fileError(s.path, err)
		}
		payload = &messageRecord{kept}
	}
	if err := s.open(); err != nil {
		return "", fileError(s.path, err)
	}
	if err := s.repair(); err != nil {
		return "", fileError(s.path, err)
	}
	if s.bare {
		if err := s.writeHeader(); err != nil {
			return "", fileError(s.path, err)
		}
	}
	if s.owed != nil {
		if _, err := s.writeNext(typeTrim, s.owed); err != nil {
			return "", err
		}
		s.owed = nil
	}
	return s.writeNext(kind, payload)
}

func (s *Session) writeNext(kind string, payload any) (string, error) {
	e := entry{head{Type: kind, ID: strconv.Itoa(s.next), Parent: s.last, Time: s.stamp()}, payload}
	if err := s.write(e); err != nil {
		return "", fileError(s.path, err)
	}
	s.next++
	return e.ID, nil
}

func (s *Session) stamp() time.Time { return s.store.now().UTC().Truncate(time.Millisecond) }

func (s *Session) write(e entry) error {
	line, err := encodeEntry(e)
	if err != nil {
		return err
	}
	n, err := s.file.Write(line)
	if err != nil {
		if n > 0 {
			s.torn, s.broken = true, n < len(line)-1
		}
		return err
	}
	s.last, s.parent, s.updated = e.ID, e.Parent, e.Time
	s.dirty = e.Type != typeTurn
	s.turn.add(e)
	if u, ok := e.payload.(*UsageRecord); ok {
		s.totals.add(*u)
	}
	return nil
}

func (t *turnRecord) add(e entry) {
	record, ok := e.payload.(*messageRecord)
	if !ok {
		return
	}
	t.Messages++
	if t.First == "" && record.Message.Role == provider.RoleUser {
		t.First = firstWords(record.Message)
	}
	t.named(record.Message)
}

func (t *turnRecord) named(m provider.Message) {
	if m.Role == provider.RoleAssistant && m.Model != "" {
		t.Model = m.Model
		if m.Answered != "" {
			t.Model = m.Answered
		}
	}
}

// repair ends a line that broke off; a note marks the broken bytes as known.
func (s *Session) repair() error {
	if !s.torn {
		return nil
	}
	if _, err := s.file.Write([]byte{'\n'}); err != nil {
		return err
	}
	s.torn = false
	if !s.broken {
		return nil
	}
	s.broken = false
	e := entry{head{Type: typeNote, ID: strconv.Itoa(s.next), Parent: s.last, Time: s.stamp()},
		&Note{Kind: NoteTorn, Text: "the line before this one broke off when it was written"}}
	s.next++
	return s.write(e)
}

// writeHeader writes the header again, for a first line that is missing or damaged. Its old bytes stay.
func (s *Session) writeHeader() error {
	if s.header.Started.IsZero() {
		s.header.Started = s.stamp()
	}
	e := entry{head{Type: typeSession, ID: strconv.Itoa(s.next), Parent: s.last, Time: s.header.Started}, &s.header}
	if err := s.write(e); err != nil {
		return err
	}
	s.bare = false
	s.next++
	return nil
}

// open opens the file for appending, or makes it with its header and a fork's history.
func (s *Session) open() error {
	if s.file != nil {
		return nil
	}
	if s.lock != nil { // an existing file, locked when it was opened
		f, err := s.store.openFile(s.path, os.O_WRONLY|os.O_APPEND)
		if err != nil {
			return err
		}
		s.file = f
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	lock, err := s.store.lockFile(s.path)
	if err != nil && !errors.Is(err, errNoLocks) { // no other process has a new name
		return err
	}
	f, err := s.store.openFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return errors.Join(err, release(lock))
	}
	s.file = f
	turn := s.turn
	if err := s.begin(); err != nil {
		// Nothing was acted on yet: the next append starts from nothing again.
		s.file, s.torn, s.broken, s.dirty, s.last, s.turn = nil, false, false, false, "", turn
		return errors.Join(err, f.Close(), os.Remove(s.path), release(lock))
	}
	s.lock, s.chain = lock, nil
	s.named(filepath.Dir(s.path))
	return nil
}

func (s *Session) begin() error {
	turn := s.turn // the history is not counted again
	err := s.write(entry{head{Type: typeSession, ID: headerID, Time: s.header.Started}, &s.header})
	if err != nil || len(s.chain) == 0 {
		return err
	}
	from, err := os.Open(s.from)
	if err != nil {
		return err
	}
	defer from.Close()
	out := bufio.NewWriterSize(s.file, lineBuffer)
	for _, at := range s.chain {
		if err := s.copy(out, from, at); err != nil {
			return err
		}
	}
	s.turn, s.dirty = turn, true
	return out.Flush()
}

func (s *Session) copy(out io.Writer, from io.ReaderAt, at place) error {
	line, err := at.read(from)
	if err != nil {
		return err
	}
	b, ok := parseBeginning(line)
	if !ok {
		if line, err = canonical(line); err != nil {
			return nil // the reader of the history has reported it
		}
		b, _ = parseBeginning(line)
	}
	_, err = fmt.Fprintf(out, `{"type":"%s","id":"%s","parent":"%s%s`+"\n", b.kind, b.id, s.last, b.rest)
	s.last, s.parent = string(b.id), s.last
	return err
}

// headerID is the id of the header's line. Those of the others count from 1.
const headerID = "0"
