package wire

import (
	"regexp"
	"strings"
	"sync"
)

// halves joins a surrogate pair that a server split over two events, in their JSON text, at
// the end and beginning of strings. The zero value is ready.
type halves struct{ high string }

// The first half at the end of a string, and the second at the begin of one, under a key under
// which servers send a text, or the text of a call's arguments, piece by piece.
var firstHalf, secondHalf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(pieceKey + `(?:[^"\\]|\\.)*?(\\u[dD][89abAB][0-9a-fA-F]{2})"`)
}), sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(pieceKey + `(\\u[dD][c-fC-F][0-9a-fA-F]{2})`)
})

const pieceKey = `"(?:content|text|delta|thinking|reasoning|reasoning_content|reasoning_text|arguments|partial_json)"\s*:\s*"`

// join returns the event with its first half completed, and without the half at its end,
// which the next event gets.
func (h *halves) join(data string) string {
	if h.high == "" && !strings.Contains(data, `\u`) {
		return data
	}
	if at := secondHalf().FindStringSubmatchIndex(data); at != nil && h.high != "" {
		data = data[:at[2]] + h.high + data[at[2]:]
		h.high = ""
	}
	if at := firstHalf().FindStringSubmatchIndex(data); at != nil {
		h.high = data[at[2]:at[3]]
		data = data[:at[2]] + data[at[3]:]
	}
	return data
}

// withoutNaN is a JSON text with null in the place of NaN and the infinities.
func withoutNaN(data []byte) []byte {
	return textsAndNaNs().ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
}

var textsAndNaNs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|NaN|-?Infinity`)
})
