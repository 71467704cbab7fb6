package sanitize

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestControlCharactersAreMadeVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\tb\nc":              "a\tb\nc",
		"\x1b[2J\x1b]0;t\x07":  "^[[2J^[]0;t^G",
		"\x00\x01\x7f":         "^@^A^?",
		"\u009b31m\u0085":      "^[[31m^[E",
		"\u0080a\u009fb":       "^[@a^[_b",
		"a\rb\r\nc\r":          "a\nb\nc\n",
		"\xff\xc3":             "\ufffd\ufffd",
		"\x9b31m":              "\ufffd31m",
		"\x1b]52;c;aGk=\x1b\\": "^[]52;c;aGk=^[\\",
		"\x08\x0b\x0c":         "^H^K^L",
	} {
		for _, where := range []Context{Prose, Code} {
			if got := Text(in, where); got != want {
				t.Errorf("%q in %d: %q, want %q", in, where, got, want)
			}
		}
	}
	if got, want := Text("a\tb\nc\rd\u00a0e", Line), "a<U+0009>b^Jc^Md<U+00A0>e"; got != want {
		t.Errorf("line: %q, want %q", got, want)
	}
	if got, want := Text("a\tb\nc\rd\u00a0e", Lines), "a\tb\nc^Md<U+00A0>e"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestInvisibleCharactersAreShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, prose, code string }{
		{"a\u202eb\u2066c", "abc", "a<U+202E>b<U+2066>c"},
		{"a\u200bb\ufeff", "ab", "a<U+200B>b<U+FEFF>"},
		{"x\U000E0041y", "xy", "x<U+E0041>y"},
		{"x\U000E0100y", "xy", "x<U+E0100>y"},
		{"a\u200db", "ab", "a<U+200D>b"},
		{"👨\u200d👩", "👨\u200d👩", "👨<U+200D>👩"},
		{"👨\u200d", "👨", "👨<U+200D>"},
		{"👨\u200dx", "👨x", "👨<U+200D>x"},
		{"⚠\ufe0f 1\ufe0f\u20e3 a\ufe0f", "⚠\ufe0f 1\ufe0f\u20e3 a", "⚠<U+FE0F> 1<U+FE0F>\u20e3 a<U+FE0F>"},
		{"می\u200cخواهم", "می\u200cخواهم", "می<U+200C>خواهم"},
		{"क्\u200dष", "क्\u200dष", "क्<U+200D>ष"},
		{"so\u00adft", "soft", "so<U+00AD>ft"},
		{"a\u2028b", "a b", "a<U+2028>b"},
		{"\u0600١", "\u0600١", "\u0600١"},
		{"\u3164", "", "<U+3164>"},
	} {
		if got := Text(c.in, Prose); got != c.prose {
			t.Errorf("%q in prose: %q, want %q", c.in, got, c.prose)
		}
		if got := Text(c.in, Code); got != c.code {
			t.Errorf("%q in code: %q, want %q", c.in, got, c.code)
		}
	}
	z := Stream{Where: Line}
	z.Write("rm\t-rf \u202e\u2066 \u200b\x1b")
	z.Close()
	if got, want := z.Hidden, (Hidden{Marks: 2, Others: 3}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// CheckSafe asserts that s holds nothing a terminal obeys or a reader misses.
func CheckSafe(t *testing.T, s string, where Context) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("invalid UTF-8: %q", s)
	}
	for _, r := range s {
		switch {
		case (r == '\n' || r == '\t') && where != Line:
		case r < ' ', r >= 0x7f && r < 0xa0:
			t.Errorf("control %U in %q", r, s)
		case Invisible(r) && (where != Prose || r != zwj && r != zwnj && r != vs16):
			t.Errorf("hidden %U in %q", r, s)
		}
	}
}

var hostile = []rune(
	"ab \n\t\r\x00\x1b\x07\x7f\u0085\u009b\u200b\u200c\u200d\u202e\u2066\ufe0f\ufeff\U000E0041é中👨⚠🇩م्\u2028\u00a0\u3164<`*")

func TestAnyChunkingGivesTheSame(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		var b strings.Builder
		for range rng.IntN(12) {
			if rng.IntN(8) == 0 {
				b.WriteByte(byte(rng.IntN(256)))
			} else {
				b.WriteRune(hostile[rng.IntN(len(hostile))])
			}
		}
		s := b.String()
		for _, where := range []Context{Prose, Code, Line} {
			want := Text(s, where)
			CheckSafe(t, want, where)
			z := Stream{Where: where}
			var got strings.Builder
			for rest := s; rest != ""; {
				n := 1 + rng.IntN(min(3, len(rest)))
				got.WriteString(z.Write(rest[:n]))
				rest = rest[n:]
			}
			got.WriteString(z.Close())
			if got.String() != want {
				t.Fatalf("%q in %d: pieces %q, whole %q", s, where, got.String(), want)
			}
			if again := Text(want, where); where != Prose && again != want {
				t.Fatalf("%q is not stable: %q", want, again)
			}
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("a\x1b[2J\u202e\r\xff", uint8(1))
	f.Fuzz(func(t *testing.T, s string, where uint8) {
		CheckSafe(t, Text(s, Context(where%3)), Context(where%3))
	})
}

// JSON stays the same JSON, whatever a terminal would do with it.
func TestJSONForATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"é\U000e0041\u202e": "\"é\\udb40\\udc41\\u202e\"", "\x7f": "\"\\u007f\"",
		"\u009b31m": "\"\\u009b31m\"", "a\u200bb\u3164": "\"a\\u200bb\\u3164\"", "日本 ✓": "\"日本 ✓\""} {
		var back string
		escaped := JSON(`"` + text + `"`)
		if err := json.Unmarshal([]byte(escaped), &back); escaped != want || back != text || err != nil {
			t.Errorf("%q became %s: %q, %v", text, escaped, back, err)
		}
	}
}
