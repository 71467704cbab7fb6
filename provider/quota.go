package provider

import (
	"fmt"
	"strings"
	"time"

	"artoo/tool/text"
)

// Quota is the state of a server's rate limits, as a reply reported it. The event comes before those of the reply, or
// before its error.
type Quota struct {
	Provider string      `json:"provider"`
	Seen     time.Time   `json:"seen"`
	Limits   []RateLimit `json:"limits"`
}

// RateLimit is one of a server's limits. A share counts in per cent, with 100 as its Limit.
type RateLimit struct {
	// Name is the server's: requests, input-tokens. It is untrusted.
	Name string `json:"name"`
	// Limit is 0 where the server does not say it.
	Limit     int `json:"limit,omitempty"`
	Remaining int `json:"remaining"`
	// Resets is zero where the server does not say it, or where nothing is used.
	Resets time.Time `json:"resets,omitzero"`
}

func (Quota) event() {}

// String is the state in one line, with local times.
func (q Quota) String() string {
	var limits []string
	for _, l := range q.Limits {
		words := l.Name + " " + text.Grouped(l.Remaining)
		if l.Limit > 0 {
			words += " of " + text.Grouped(l.Limit)
		}
		words += " left"
		if !l.Resets.IsZero() {
			words += ", resets " + Moment(l.Resets, q.Seen)
		}
		limits = append(limits, words)
	}
	return fmt.Sprintf("%s at %s: %s", q.Provider, q.Seen.Local().Format(time.DateTime), strings.Join(limits, "; "))
}

// Moment is a time in local words, with its date where it is a day or more from now.
func Moment(at, now time.Time) string {
	layout := time.DateTime
	if at.Sub(now) < 24*time.Hour {
		layout = time.TimeOnly
	}
	return at.Local().Format(layout)
}
