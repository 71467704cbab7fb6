package edit

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"artoo/tool/files"
)

func TestApplyKeepsLineEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, raw, old, replacement, want string }{
		{"lf", "a\nb\n", "b", "x\ny", "a\nx\ny\n"},
		{"crlf", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"},
		{"crlf given by the model", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"},
		{"crlf taken for lf", "a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"},
		{"lf taken for crlf", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"},
		{"crlf wanted in lf", "a\nb\n", "b", "x\r\ny", "a\nx\r\ny\n"},
		{"mixed, same lines", "a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nB\nc\nd", "a\r\nB\nc\r\nd\n"},
		{"mixed, line in between", "a\r\nb\nc\r\n", "b\nc\n", "b\nnew\nc\n", "a\r\nb\nnew\nc\r\n"},
		{"mixed, lines gone", "a\r\nb\nc\r\nd\n", "b\nc\n", "", "a\r\nd\n"},
		{"mixed, more lines", "a\r\nb\nc\r\nd\n", "c", "c\nc2\nc3", "a\r\nb\nc\nc2\nc3\r\nd\n"},
		{"at the start", "a\r\nb\n", "a", "0\na", "0\r\na\r\nb\n"},
		{"the only line end", "a\r\nb", "a\nb", "x", "x"},
		{"all replaced", "a\r\na\na\r\n", "a\n", "b\n", "b\r\nb\nb\r\n"},
		{"mark", "\xef\xbb\xbfa\r\n", "a", "b", "\xef\xbb\xbfb\r\n"},
		{"utf-16", wide(binary.LittleEndian, "a\r\nb"), "b", "ü\n", wide(binary.LittleEndian, "a\r\nü\r\n")},
		{"latin 1", "caf\xe9 a\n", "a\n", "b\n", "caf\xe9 b\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := files.Decode([]byte(test.raw))
			if err != nil {
				t.Fatal(err)
			}
			after, _, _, err := Replace(text, Replacement{OldString: &test.old, NewString: &test.replacement,
				ReplaceAll: test.name == "all replaced"})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := after.Encode(); err != nil || string(got) != test.want {
				t.Errorf("%q %v, want %q", got, err, test.want)
			}
		})
	}
}

// wide encodes a text as UTF-16 with its mark, independently of the code under
// test.
func wide(order binary.AppendByteOrder, s string) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}
