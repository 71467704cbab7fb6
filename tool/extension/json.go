package extension

import "bytes"

// PlainJSON is JSON without the comments and the commas at an end that editors allow. Lines stay.
func PlainJSON(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	out := make([]byte, 0, len(data))
	comma := -1 // the place of a comma that only spaces followed
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case c == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out, comma = append(out, data[i:end]...), -1
			i = end - 1
			continue
		case c == '/' && i+1 < len(data) && data[i+1] == '/':
			for i < len(data) && data[i] != '\n' {
				i++
			}
			i--
			continue
		case c == '/' && i+1 < len(data) && data[i+1] == '*':
			length := bytes.Index(data[i+2:], []byte("*/"))
			if length < 0 {
				return out
			}
			out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(data[i:i+2+length], []byte("\n")))...)
			i += length + 3
			continue
		case c == ',':
			comma = len(out)
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)):
			comma = -1
		}
		out = append(out, c)
	}
	return out
}
