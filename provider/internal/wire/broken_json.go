package wire

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// halves joins a surrogate pair that a server split over two events, in their JSON text, at
// the end and beginning of strings. The zero value is ready.
type halves struct{ high string }

// pieceKeys are the keys under which servers send a text, or the text of a call's
// arguments, piece by piece.
var pieceKeys = []string{"content", "text", "delta", "thinking", "reasoning", "reasoning_content", "reasoning_text",
	"arguments", "partial_json"}

// join returns the event with its first half completed, and without the half at its end,
// which the next event gets.
func (h *halves) join(data string) string {
	if h.high == "" && !strings.Contains(data, `\u`) {
		return data
	}
	key := ""
	for i := 0; i < len(data); i++ {
		if data[i] != '"' {
			continue
		}
		start := i + 1
		last := start // where the last character of the string begins
		for i++; i < len(data) && data[i] != '"'; i++ {
			last = i
			if data[i] == '\\' {
				i++
				if i < len(data) && data[i] == 'u' {
					i += 4
				}
			}
		}
		if i >= len(data) {
			return data // cut: whoever reads it will say so
		}
		if strings.HasPrefix(strings.TrimLeft(data[i+1:], " \t\r\n"), ":") {
			key = data[start:i]
			continue
		}
		if !slices.Contains(pieceKeys, key) {
			continue
		}
		if h.high != "" && isHalf(data[start:i], 0xDC00) {
			data, i, last = data[:start]+h.high+data[start:], i+len(h.high), last+len(h.high)
			h.high = ""
		}
		if isHalf(data[last:i], 0xD800) {
			h.high = data[last:i]
			data, i = data[:last]+data[i:], last
		}
	}
	return data
}

// isHalf reports whether a text begins with the escape of one of the 1024 units
// from first.
func isHalf(text string, first int64) bool {
	if len(text) < 6 || text[:2] != `\u` {
		return false
	}
	unit, err := strconv.ParseInt(text[2:6], 16, 32)
	return err == nil && unit >= first && unit < first+0x400
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
