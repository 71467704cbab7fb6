// Package export writes a whole session for people and programs who do not have
// artoo: as Markdown, as JSON, or as one page of HTML. What is masked in the
// session stays masked. The system prompt, the data of images and what belongs
// to a provider only (signatures, encrypted reasoning) are left out.
package export

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"artoo/conversation"
	"artoo/provider"
)

// Session is what is written.
type Session struct {
	ID       string // "" for one that is not kept
	Dir      string // absolute directory it was started in
	Version  string // artoo's version at its start
	Provider string // it started with; messages tell who answered
	Model    string
	ForkOf   string // id of the session it was copied from; may be ""
	Started  time.Time
	Updated  time.Time
	Messages []provider.Message
	Totals   conversation.Totals
}

// Of is the session that s, opened with Store.Read, holds.
func Of(s *conversation.Session) Session {
	h := s.Header()
	return Session{
		ID: h.ID, Dir: h.CWD, Version: h.Version, Provider: h.Provider, Model: h.Model, ForkOf: h.ForkOf,
		Started: h.Started, Updated: s.Updated(), Messages: s.Messages(), Totals: s.Totals(),
	}
}

// Format is how a session is written.
type Format string

// The formats.
const (
	FormatMarkdown Format = "md"
	FormatJSON     Format = "json"
	FormatHTML     Format = "html"
)

// Formats are all of them, the default first.
var Formats = []Format{FormatMarkdown, FormatJSON, FormatHTML}

// Error is what is wrong with the name or format that was asked for.
type Error struct {
	What string // the name, as it was given
	Why  string
	Hint string // the remedy
}

// Error is "what: why".
func (e *Error) Error() string { return e.What + ": " + e.Why }

// ErrorKind is usage.
func (e *Error) ErrorKind() string { return "usage" }

// ErrorHint says what to do instead.
func (e *Error) ErrorHint() string { return e.Hint }

// FormatOf reads the name of a format; "" is Markdown. The error is an *Error.
func FormatOf(name string) (Format, error) {
	switch strings.ToLower(name) {
	case "", "md", "markdown":
		return FormatMarkdown, nil
	case "json":
		return FormatJSON, nil
	case "html", "htm":
		return FormatHTML, nil
	}
	return "", &Error{What: fmt.Sprintf("format %q", name), Why: "is not known", Hint: "md, json or html"}
}

// formatOfFile decides by the end of a file's name; a name without one is
// Markdown. The error is an *Error.
func formatOfFile(name string) (Format, error) {
	ext := strings.TrimPrefix(filepath.Ext(name), ".")
	f, err := FormatOf(ext)
	if err != nil {
		return "", &Error{What: name, Why: "ends like no format that can be written",
			Hint: "end the name in .md, .json or .html"}
	}
	return f, nil
}

// Write writes the session in a format.
func Write(w io.Writer, format Format, s Session) error {
	switch format {
	case FormatJSON:
		return JSON(w, s)
	case FormatHTML:
		return HTML(w, s)
	}
	return Markdown(w, s)
}
