package wire

import "bytes"

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
