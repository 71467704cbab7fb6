package wire

import (
	"bytes"
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

// withoutNaN is a JSON text with null in the place of NaN and the infinities, nil
// where it has none.
func withoutNaN(data []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(data); i++ {
		if data[i] == '"' {
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			continue
		}
		for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
			if bytes.HasPrefix(data[i:], []byte(word)) {
				out = append(append(out, data[from:i]...), "null"...)
				from = i + len(word)
				i = from - 1
				break
			}
		}
	}
	if from == 0 {
		return nil
	}
	return append(out, data[from:]...)
}
