package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"artoo/provider"
)

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
}

// JSON writes the session as one indented JSON object. Characters that a terminal obeys or hides become escapes.
func JSON(w io.Writer, s Session) error {
	line, err := provider.Marshal(jsonSession{
		V: jsonVersion, Type: "session_export", ID: s.ID, Dir: s.Dir, Started: known(s.Started), Updated: known(s.Updated),
		Version: s.Version, Provider: s.Provider, Model: s.Model, ForkOf: s.ForkOf,
		Requests: s.Totals.Requests, Usage: s.Totals.Usage, CostUSD: s.Totals.CostUSD, Messages: transcript(s.Messages),
	})
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", "  "); err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	_, err = io.WriteString(w, escapeUnseen(b.String())+"\n")
	return err
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// escapeUnseen writes what is outside ASCII and not printable, which stands in strings only, as JSON escapes.
func escapeUnseen(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r < 0x7f || unicode.IsGraphic(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
