package wire

import "strings"

// halves puts the two halves of a surrogate pair together that a server wrote
// into two events: by themselves they decode to two replacement characters. It
// works on the JSON text of events, where such a half is an escape at the very
// end or beginning of a string. The zero value is ready.
type halves struct{ high string }

// join returns the event with the half it begins with made whole, and without
// the one it ends with, which goes into the next event that has the other half.
// One that never gets it is left out.
func (h *halves) join(data string) string {
	if h.high == "" && !strings.Contains(data, `\u`) {
		return data
	}
	if h.high != "" {
		if at := halfAt(data, 0xDC00, '"', 0); at >= 0 {
			data, h.high = data[:at]+h.high+data[at:], ""
		}
	}
	if at := halfAt(data, 0xD800, 0, '"'); at >= 0 {
		h.high = data[at : at+6]
		data = data[:at] + data[at+6:]
	}
	return data
}

// halfAt is where an escape of the 1024 units from first stands behind the byte
// before and in front of the byte after, where they are not 0; -1 for nowhere.
func halfAt(data string, first int64, before, after byte) int {
	for i := 0; i+6 <= len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if data[i+1] != 'u' {
			i++ // what is escaped is no escape
			continue
		}
		unit := hex4([]byte(data[i:i+6]), 2)
		ok := unit >= first && unit < first+0x400
		ok = ok && (before == 0 || i > 0 && data[i-1] == before)
		ok = ok && (after == 0 || i+6 < len(data) && data[i+6] == after)
		if ok {
			return i
		}
		i += 5
	}
	return -1
}
