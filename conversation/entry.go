package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"artoo/provider"
)

// formatVersion is the "v" of the header. A file with a higher one is read-only; an older one
// keeps its version.
const formatVersion = 2

// imagesVersion is the first in which images are files beside the session.
const imagesVersion = 2

// The types of a session file's lines. FORMAT.md documents their fields.
const (
	typeSession = "session"
	typeMessage = "message"
	typeUsage   = "usage"
	typeTrim    = "trim"
	typeNote    = "note"
	typeTurn    = "turn"

	typeCompact   = "compact"
	typeUncompact = "uncompact"
)

// NoteTorn is the kind of the note after a broken line: the next load then knows of it.
const NoteTorn = "torn"

// noteName is the kind of the note whose text is the user's name for the session.
const noteName = "name"

// Header is the first line of a session file. The caller of Store.Create fills CWD,
// Version, Provider and Model.
type Header struct {
	V        int       `json:"v"`
	ID       string    `json:"session"`
	CWD      string    `json:"cwd"`      // absolute directory the session was started in
	Version  string    `json:"artoo"`    // artoo's version
	Provider string    `json:"provider"` // configured name; messages name the one that answered
	Model    string    `json:"model"`
	System   string    `json:"system,omitempty"`   // the system prompt, which stays the session's when it is resumed
	ForkOf   string    `json:"fork_of,omitempty"`  // id of the session this one was copied from
	Outputs  []string  `json:"outputs,omitempty"`  // output directories of the sessions it was copied from, beside the file
	Headless bool      `json:"headless,omitempty"` // it began with a headless run
	Started  time.Time `json:"-"`                  // the line's own time
}

// UsageRecord is the usage of one request.
type UsageRecord struct {
	Model   string         `json:"model"`
	Usage   provider.Usage `json:"usage"`
	CostUSD *float64       `json:"cost_usd"` // null where a price is unknown
	// Sent is the ID of the last message sent, if the counts are of this history: a resumed
	// session starts from them.
	Sent string `json:"sent,omitempty"`
	// Factors are the learned tokens for one guessed, by kind of content; may be nil.
	Factors map[string]float64 `json:"factors,omitempty"`
}

// Note is something about the session worth keeping that no model is sent.
type Note struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Decision is set for decisions alone.
	Decision *Decision `json:"decision,omitempty"`
}

type turnRecord struct {
	Messages int    `json:"messages"` // so far, on this branch of the history
	Model    string `json:"model"`    // the last to answer, may be ""
	// Totals sums the usage lines of the file. A fork starts from zero.
	Totals *Totals `json:"totals,omitempty"`
	First  string  `json:"first,omitempty"` // the user's first words, for List
	Name   string  `json:"name,omitempty"`  // the user's name for the session
	CWD    string  `json:"cwd,omitempty"`   // the header's, where the first line is damaged; missing in older files
}

type messageRecord struct {
	Message provider.Message `json:"message"`
}

type head struct {
	Type   string    `json:"type"`
	ID     string    `json:"id"`
	Parent string    `json:"parent"`
	Time   time.Time `json:"time"`
}

// entry is one line. payload points to the record of its type, and is nil for an unknown type.
type entry struct {
	head
	payload any
}

func encodeEntry(e entry) ([]byte, error) {
	line, err := provider.Marshal(e.head)
	if err != nil {
		return nil, err
	}
	if m, ok := e.payload.(*messageRecord); ok { // it can be long: encode it once
		body, err := m.Message.MarshalJSON()
		if err != nil {
			return nil, err
		}
		line = append(line[:len(line)-1], `,"message":`...)
		return append(append(line, body...), "}\n"...), nil
	}
	body, err := provider.Marshal(e.payload)
	if err != nil {
		return nil, err
	}
	line = append(line[:len(line)-1], ',')
	line = append(line, body[1:]...)
	return append(line, '\n'), nil
}

// records make the payload of a line, by its type.
var records = map[string]func() any{
	typeSession:   func() any { return &Header{} },
	typeMessage:   func() any { return &messageRecord{} },
	typeUsage:     func() any { return &UsageRecord{} },
	typeTrim:      func() any { return &trimRecord{} },
	typeNote:      func() any { return &Note{} },
	typeTurn:      func() any { return &turnRecord{} },
	typeCompact:   func() any { return &compactRecord{} },
	typeUncompact: func() any { return &uncompactRecord{} },
}

func decodeEntry(line []byte) (e entry, err error) {
	b, written := parseBeginning(line)
	if written {
		e.head, err = b.head()
	} else {
		err = json.Unmarshal(line, &e.head)
	}
	if err != nil {
		return entry{}, err
	}
	record, known := records[e.Type]
	switch {
	case e.Type == "":
		return entry{}, fmt.Errorf("a line without a type")
	case !known:
		return e, nil
	}
	e.payload = record()
	if record, ok := e.payload.(*messageRecord); ok {
		if _, body, found := bytes.Cut(b.rest, []byte(`","message":`)); written && found { // read once, as nearly all of a file is such
			err = record.Message.UnmarshalJSON(body[:len(body)-1])
		} else {
			err = json.Unmarshal(line, record)
		}
		markNotes(&record.Message)
		return e, err
	}
	err = json.Unmarshal(line, e.payload)
	if h, ok := e.payload.(*Header); ok {
		h.Started = e.Time
	}
	return e, err
}
