// Package export writes a whole session for people and programs that do not have artoo: as Markdown or as
// JSON. Text masked in the session stays masked. The system prompt, the data of
// images and the parts for a provider only (signatures, encrypted reasoning) are left out.
package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"artoo/conversation"
	"artoo/provider"
	"artoo/ui/sanitize"
)

// Session is the session to write.
type Session struct {
	ID       string // "" for one that is not kept
	Dir      string // absolute directory it was started in
	Version  string // artoo's version at its start
	Provider string // it started with; messages name the one that answered
	Model    string
	ForkOf   string // id of the session it was copied from; may be ""
	Started  time.Time
	Updated  time.Time
	Messages []provider.Message
	Totals   conversation.Totals
	// Decisions are those on calls, also of sub-agents.
	Decisions []conversation.Decision
}

// Of is the session that s, opened with Store.Read, holds.
func Of(s *conversation.Session) (Session, error) {
	h := s.Header()
	decisions, err := s.Decisions()
	return Session{
		ID: h.ID, Dir: h.CWD, Version: h.Version, Provider: h.Provider, Model: h.Model, ForkOf: h.ForkOf,
		Started: h.Started, Updated: s.Updated(), Messages: s.Messages(), Totals: s.Totals(),
		Decisions: decisions,
	}, err
}

// Format is how a session is written.
type Format string

// The formats.
const (
	FormatMarkdown Format = "md"
	FormatJSON     Format = "json"
)

// Formats are all of them, the default first.
var Formats = []Format{FormatMarkdown, FormatJSON}

// Error is a fault of the requested name or format.
type Error struct {
	What string // the name, as it was given
	Why  string
	Hint string // the remedy
}

// Error is "THING: problem".
func (e *Error) Error() string { return e.What + ": " + e.Why }

// ErrorKind is usage.
func (e *Error) ErrorKind() string { return "usage" }

// ErrorHint names an alternative.
func (e *Error) ErrorHint() string { return e.Hint }

// FormatOf reads the name of a format; "" is Markdown. The error is an *Error.
func FormatOf(name string) (Format, error) {
	switch strings.ToLower(name) {
	case "", "md", "markdown":
		return FormatMarkdown, nil
	case "json":
		return FormatJSON, nil
	}
	return "", &Error{What: fmt.Sprintf("format %q", name), Why: "is not known", Hint: "md or json"}
}

// Write writes the session in a format.
func Write(w io.Writer, format Format, s Session) error {
	if format == FormatJSON {
		return JSON(w, s)
	}
	return Markdown(w, s)
}

// File writes the session to a file, whose name decides the format, and returns its path. A
// relative name starts at dir, which is absolute; "" is artoo-ID.md; a directory gets a file of
// that name. The file appears whole or not at all, for its owner only, and never replaces
// another. An *Error describes the fault of the name.
func File(dir, name string, s Session) (path string, err error) {
	if path = name; name == "-" {
		return "", &Error{What: name, Why: "is not a file name", Hint: "give a name that ends in .md or .json"}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, name)
	}
	if info, err := os.Stat(path); name == "" || err == nil && info.IsDir() || os.IsPathSeparator(name[len(name)-1]) {
		path = filepath.Join(path, fileName(s.ID))
	}
	format, err := FormatOf(strings.TrimPrefix(filepath.Ext(path), "."))
	if err != nil {
		return "", &Error{What: path, Why: "has an ending of no known format",
			Hint: "end the name in .md or .json"}
	}
	if _, err := os.Lstat(path); err == nil {
		return "", exists(path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".artoo-export-*")
	if err != nil {
		return "", nameError(path, err)
	}
	defer os.Remove(file.Name()) // gone already where it was renamed
	err = Write(file, format, s)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return path, place(file.Name(), path)
}

// place gives the finished file its name, without replacing another.
func place(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	// This file system has no second names. The name is taken first, so that no other file is lost.
	taken, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return nameError(path, err)
	}
	if err := errors.Join(taken.Close(), os.Rename(temp, path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func exists(path string) error {
	return &Error{What: path, Why: "already exists, and artoo does not overwrite it", Hint: "give another name"}
}

func nameError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Error{What: path, Why: "cannot be written: " + err.Error(),
		Hint: "give a name in a directory that exists and can be written"}
}

// fileName is the name a session's file gets unless told otherwise.
func fileName(id string) string {
	id = cmp.Or(id, "session")
	return "artoo-" + strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, id) + ".md"
}

// jsonVersion is the "v" of the export. Within a version fields are only added.
const jsonVersion = 1

// jsonSession is the export, field by field. docs/formats.md documents it.
type jsonSession struct {
	V        int            `json:"v"`
	Type     string         `json:"type"` // always "session_export"
	ID       string         `json:"id"`
	Dir      string         `json:"directory"`
	Started  *time.Time     `json:"started"` // null when unknown
	Updated  *time.Time     `json:"updated"`
	Version  string         `json:"artoo"`
	Provider string         `json:"provider"`
	Model    string         `json:"model"`
	ForkOf   string         `json:"fork_of,omitempty"`
	Requests int            `json:"requests"`
	Usage    provider.Usage `json:"usage"`
	CostUSD  *float64       `json:"cost_usd"` // null when a price is unknown
	Messages []said         `json:"messages"`
	// Decisions is left out where there are none.
	Decisions []conversation.Decision `json:"decisions,omitempty"`
}

// JSON writes the session as one indented JSON object. Characters that a terminal obeys or hides
// become escapes.
func JSON(w io.Writer, s Session) error {
	line, err := provider.Marshal(jsonSession{
		V: jsonVersion, Type: "session_export", ID: s.ID, Dir: s.Dir, Started: known(s.Started), Updated: known(s.Updated),
		Version: s.Version, Provider: s.Provider, Model: s.Model, ForkOf: s.ForkOf,
		Requests: s.Totals.Requests, Usage: s.Totals.Usage, CostUSD: s.Totals.CostUSD, Messages: transcript(s.Messages),
		Decisions: s.Decisions,
	})
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", "  "); err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	_, err = io.WriteString(w, sanitize.JSON(b.String())+"\n")
	return err
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
