package tool

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/aymanbagabas/go-udiff"
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
	for _, test := range []struct {
		name, raw, body string
		set             charset
		crlf            bool
	}{
		{"plain", "a\nb", "a\nb", utf8Plain, false},
		{"empty", "", "", utf8Plain, false},
		{"crlf", "a\r\nb\r\n", "a\nb\n", utf8Plain, true},
		{"mixed", "a\r\nb\nc", "a\nb\nc", utf8Plain, true},
		{"lone returns stay", "a\rb\r\r\nc", "a\rb\r\nc", utf8Plain, true},
		{"old Mac", "a\rb\r", "a\rb\r", utf8Plain, false},
		{"mark", "\xef\xbb\xbfa\r\n", "a\n", utf8Marked, true},
		{"utf-16le", wide(binary.LittleEndian, "ä\r\n😀"), "ä\n😀", utf16Little, true},
		{"utf-16be", wide(binary.BigEndian, "ä\n"), "ä\n", utf16Big, false},
		{"latin 1", "caf\xe9\r\n", "caf\xe9\n", utf8Plain, true},
		{"a second mark is text", "\xef\xbb\xbf\ufeffa", "\ufeffa", utf8Marked, false},
		{"a second mark is text in UTF-16", wide(binary.LittleEndian, "\ufeffa"), "\ufeffa", utf16Little, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decodeText([]byte(test.raw))
			if err != nil || got.body != test.body || got.charset != test.set || (got.crlf != nil) != test.crlf {
				t.Fatalf("%+v %v", got, err)
			}
			again, err := got.encode()
			if err != nil || string(again) != test.raw {
				t.Fatalf("came out as %q %v", again, err)
			}
		})
	}
	for _, raw := range []string{"\xff\xfea", "\xfe\xff\xd8\x00\x00a"} {
		if got, err := decodeText([]byte(raw)); err == nil {
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
		text, err := decodeText(raw)
		if err != nil {
			return
		}
		if again, err := text.encode(); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q came out as %q %v", raw, again, err)
		}
		same := text.apply(udiff.Lines(text.body, text.body))
		if again, err := same.encode(); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q came out of no edits as %q %v", raw, again, err)
		}
	})
}

func TestApplyKeepsLineEnds(t *testing.T) {
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
			text, err := decodeText([]byte(test.raw))
			if err != nil {
				t.Fatal(err)
			}
			after, _, _, err := text.replace(replacement{OldString: &test.old, NewString: &test.replacement,
				ReplaceAll: test.name == "all replaced"})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := after.encode(); err != nil || string(got) != test.want {
				t.Errorf("%q %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestBinaryType(t *testing.T) {
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
		if got := binaryType([]byte(head)); got != want {
			t.Errorf("%.20q: %q, want %q", head, got, want)
		}
	}
}
