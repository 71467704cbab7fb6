package journal

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// text appends the line to b as JSON, as encoding/json would write it but in a tenth of
// the time: each edit of a tool waits for it twice. Paths may be any bytes, and JSON
// strings are not.
func (l *line) text(b []byte) []byte {
	b = appendQuoted(append(b, `{"type":`...), l.Type)
	b = intField(b, "v", int64(l.V))
	b = stringField(b, "root", escape(l.Root))
	b = intField(b, "step", int64(l.Step))
	b = intField(b, "turn", int64(l.Turn))
	b = stringField(b, "kind", l.Kind)
	b = stringField(b, "what", l.What)
	b = stringField(b, "head", l.Head)
	if !l.Time.IsZero() {
		b = append(l.Time.AppendFormat(append(field(b, "time"), '"'), time.RFC3339Nano), '"')
	}
	b = listField(b, "steps", l.Steps, func(b []byte, step int) []byte { return strconv.AppendInt(b, int64(step), 10) })
	b = stringField(b, "path", escape(l.Path))
	b = stringField(b, "from", escape(l.From))
	b = stateField(b, "before", l.Before)
	b = stateField(b, "after", l.After)
	b = intField(b, "tree", l.Tree)
	path := func(b []byte, path string) []byte { return appendQuoted(b, escape(path)) }
	b = listField(b, "unseen", l.Unseen, path)
	b = listField(b, "paths", l.Paths, path)
	if l.Failed {
		b = append(field(b, "failed"), "true"...)
	}
	b = intField(b, "open", int64(l.Open))
	return append(b, '}')
}

// field begins a field of the object that b ends in.
func field(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), '"', ':')
}

// The funcs that follow leave out what is zero.

func stringField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendQuoted(field(b, name), value)
}

func intField(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	return strconv.AppendInt(field(b, name), value, 10)
}

func uintField(b []byte, name string, value uint64) []byte {
	if value == 0 {
		return b
	}
	return strconv.AppendUint(field(b, name), value, 10)
}

func listField[T any](b []byte, name string, list []T, one func([]byte, T) []byte) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(field(b, name), '[')
	for i, value := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, value)
	}
	return append(b, ']')
}

func stateField(b []byte, name string, s *State) []byte {
	if s == nil {
		return b
	}
	b = stringField(append(field(b, name), '{'), "kind", string(s.Kind))
	b = uintField(b, "mode", uint64(s.Mode))
	b = intField(b, "size", s.Size)
	b = stringField(b, "hash", s.Hash)
	b = stringField(b, "target", escape(s.Target))
	if s.Stamp != (Stamp{}) {
		b = uintField(append(field(b, "stamp"), '{'), "inode", s.Stamp.Inode)
		b = intField(b, "ctime", s.Stamp.Ctime)
		b = append(intField(b, "mtime", s.Stamp.Mtime), '}')
	}
	b = stringField(b, "peer", escape(s.Peer))
	if s.Whole {
		b = append(field(b, "whole"), "true"...)
	}
	b = uintField(b, "uid", uint64(s.UID))
	b = uintField(b, "gid", uint64(s.GID))
	return append(b, '}')
}

// appendQuoted appends a string as JSON.
func appendQuoted(b []byte, s string) []byte {
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError {
			quoted, _ := json.Marshal(s) // of a string there is no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
