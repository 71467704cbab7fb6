package files

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"artoo/tool/diff"
)

// wide encodes a text as UTF-16 with its mark, independently of the code under
// test.
func wide(order binary.AppendByteOrder, s string) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestDecodeText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, raw, body string
		set             Charset
		crlf            bool
	}{
		{"plain", "a\nb", "a\nb", Plain, false},
		{"empty", "", "", Plain, false},
		{"crlf", "a\r\nb\r\n", "a\nb\n", Plain, true},
		{"mixed", "a\r\nb\nc", "a\nb\nc", Plain, true},
		{"lone returns stay", "a\rb\r\r\nc\n", "a\rb\r\nc\n", Plain, true},
		{"old Mac", "a\rb\r", "a\nb\n", Plain, true},
		{"old Mac with others between", "a\rb\nc\r\r\nd\r", "a\nb\nc\n\nd\n", Plain, true},
		{"mark", "\xef\xbb\xbfa\r\n", "a\n", utf8Marked, true},
		{"utf-16le", wide(binary.LittleEndian, "ä\r\n😀"), "ä\n😀", utf16Little, true},
		{"utf-16be", wide(binary.BigEndian, "ä\n"), "ä\n", utf16Big, false},
		{"utf-16le without a mark", wide(binary.LittleEndian, "rüles\r\nx")[2:], "rüles\nx", utf16LittleBare, true},
		{"utf-16le of Cyrillic", wide(binary.LittleEndian, "Говори кратко.\n")[2:], "Говори кратко.\n", utf16LittleBare, false},
		{"utf-16be of Greek", wide(binary.BigEndian, "Κανόνες έργου\n")[2:], "Κανόνες έργου\n", utf16BigBare, false},
		{"utf-16be without a mark", wide(binary.BigEndian, "rules\n")[2:], "rules\n", utf16BigBare, false},
		{"latin 1", "caf\xe9\r\n", "caf\xe9\n", Plain, true},
		{"a second mark is text", "\xef\xbb\xbf\ufeffa", "\ufeffa", utf8Marked, false},
		{"a second mark is text in UTF-16", wide(binary.LittleEndian, "\ufeffa"), "\ufeffa", utf16Little, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decode([]byte(test.raw))
			if err != nil || got.Body != test.body || got.Charset != test.set || (got.Ends != nil) != test.crlf {
				t.Fatalf("%+v %v", got, err)
			}
			again, err := got.Encode()
			if err != nil || string(again) != test.raw {
				t.Fatalf("came out as %q %v", again, err)
			}
		})
	}
	for _, raw := range []string{"\xff\xfea", "\xfe\xff\xd8\x00\x00a"} {
		if got, err := Decode([]byte(raw)); err == nil {
			t.Errorf("%q: %+v", raw, got)
		}
	}
}

func FuzzTextRoundTrip(f *testing.F) {
	for _, s := range []string{"a\r\nb\n", "\xef\xbb\xbf\r\n", "\xff\xfea\x00\r\x00\n\x00", "\xfe\xff\x00a",
		"\xff", "\r\r\n\n\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := Decode(raw)
		if err != nil {
			return
		}
		if again, err := text.Encode(); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q came out as %q %v", raw, again, err)
		}
		same := text.Apply(diff.Lines(text.Body, text.Body))
		if again, err := same.Encode(); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q came out of no edits as %q %v", raw, again, err)
		}
	})
}

func TestBinaryType(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"":                                 "",
		"text":                             "",
		"caf\xe9":                          "",
		"BMW is a maker of cars":           "",
		"a\x01b":                           "",
		"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n":    "application/pdf",
		"\x89PNG\r\n\x1a\n\x00\x00":        "image/png",
		"\x7fELF\x02\x01\x01\x00":          "application/octet-stream",
		"text\x00":                         "application/octet-stream",
		"\xff\xfea\x00":                    "",
		"\xff\xfe\x00\x00a\x00\x00\x00":    "application/octet-stream",
		strings.Repeat("x", 9000) + "\x00": "",
		strings.Repeat("x", 7999) + "ä":    "",
	} {
		if got := BinaryType([]byte(head)); got != want {
			t.Errorf("%.20q: %q, want %q", head, got, want)
		}
	}
}

// A binary file stays one although every second byte of it is 0, and so does a text with a NUL in it.
func TestTextOfLeavesBinaryFilesAlone(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]error{
		"a\x00b\x00c\x00d\x00": nil, "a\x00\x01\x00c\x00d\x00": ErrBinary, "\x01\x00\x02\x00\x03\x00\x04\x00": ErrBinary,
		strings.Repeat("a", HeadSize) + "\x00": ErrBinary, "caf\xe9": nil, "\xff\xfe\x00\x00a\x00\x00\x00": ErrBinary,
	} {
		if got, err := TextOf([]byte(raw)); err != want {
			t.Errorf("%.20q: %q, %v", raw, got, err)
		}
	}
}
