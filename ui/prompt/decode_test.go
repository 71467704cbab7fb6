package prompt

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decodeAll(d *decoder, chunks ...string) []key {
	var keys []key
	for _, c := range chunks {
		for _, k := range d.feed([]byte(c)) {
			k.followed = false
			keys = append(keys, k)
		}
	}
	return keys
}

// joined is the keys with neighbouring text joined: how text is cut into keys
// depends on the reads.
func joined(keys []key) []key {
	var out []key
	for _, k := range keys {
		if n := len(out); n > 0 && k.kind == keyText && out[n-1].kind == keyText {
			out[n-1].text += k.text
			continue
		}
		out = append(out, k)
	}
	return out
}

var keyTable = []struct {
	name, bytes string
	want        keyKind
}{
	{"up", "\x1b[A", keyUp}, {"up SS3", "\x1bOA", keyUp}, {"down", "\x1b[B", keyDown},
	{"right", "\x1b[C", keyRight}, {"left SS3", "\x1bOD", keyLeft},
	{"home xterm", "\x1b[H", keyHome}, {"home SS3", "\x1bOH", keyHome}, {"home tmux", "\x1b[1~", keyHome},
	{"home rxvt", "\x1b[7~", keyHome}, {"home C-a", "\x01", keyHome}, {"end xterm", "\x1b[F", keyEnd},
	{"end SS3", "\x1bOF", keyEnd}, {"end linux", "\x1b[4~", keyEnd}, {"end rxvt", "\x1b[8~", keyEnd},
	{"end C-e", "\x05", keyEnd}, {"delete", "\x1b[3~", keyDelete}, {"ctrl-delete", "\x1b[3;5~", keyKillWordRight},
	{"page up", "\x1b[5~", keyPrev}, {"page down", "\x1b[6~", keyNext}, {"ctrl-right", "\x1b[1;5C", keyWordRight},
	{"alt-left", "\x1b[1;3D", keyWordLeft}, {"ctrl-left rxvt", "\x1bOd", keyWordLeft},
	{"ctrl-right short", "\x1b[5C", keyWordRight}, {"alt-b", "\x1bb", keyWordLeft}, {"alt-f", "\x1bf", keyWordRight},
	{"alt-d", "\x1bd", keyKillWordRight}, {"alt-backspace", "\x1b\x7f", keyKillWordLeft},
	{"alt-enter", "\x1b\r", keyNewline}, {"shift-enter CSI u", "\x1b[13;2u", keyNewline},
	{"shift-enter xterm", "\x1b[27;2;13~", keyNewline}, {"ctrl-j", "\n", keyNewline}, {"enter", "\r", keyEnter},
	{"backspace", "\x7f", keyBackspace}, {"ctrl-h", "\b", keyBackspace}, {"ctrl-c", "\x03", keyInterrupt},
	{"ctrl-d", "\x04", keyEOF}, {"ctrl-z", "\x1a", keySuspend}, {"shift-tab", "\x1b[Z", keyMode}, {"tab", "\t", keyTab},
	{"ctrl-o", "\x0f", keyOutput}, {"ctrl-g", "\x07", keyEdit}, {"ctrl-x ctrl-e", "\x18\x05", keyEdit},
	{"ctrl-r", "\x12", keySearch}, {"ctrl-s", "\x13", keySearchBack}, {"ctrl-_", "\x1f", keyUndo},
	{"ctrl-x ctrl-u", "\x18\x15", keyUndo}, {"alt-left with two escapes", "\x1b\x1b[D", keyWordLeft},
	{"alt-right with two escapes", "\x1b\x1bOC", keyWordRight}, {"ctrl-w", "\x17", keyKillWordLeft},
	{"ctrl-c by number", "\x1b[99;5u", keyInterrupt}, {"with num lock", "\x1b[99;133u", keyInterrupt},
	{"ctrl-c on a Cyrillic keyboard", "\x1b[1089::99;5u", keyInterrupt}, {"ctrl-shift-c", "\x1b[99:67;6u", keyInterrupt},
	{"esc by number", "\x1b[27u", keyEscape}, {"ctrl-[ by number", "\x1b[91;5u", keyEscape},
	{"alt-b by number", "\x1b[98;3u", keyWordLeft}, {"alt-shift-b by number", "\x1b[98:66;4u", keyWordLeft},
	{"alt-b on a Cyrillic keyboard", "\x1b[1080::98;3u", keyWordLeft}, {"alt-enter by number", "\x1b[13;3u", keyNewline},
	{"ctrl-enter by number", "\x1b[13;5u", keyNewline}, {"shift-enter with caps lock", "\x1b[13;66u", keyNewline},
	{"enter with num lock", "\x1b[13;129u", keyEnter}, {"enter of the keypad", "\x1b[57414u", keyEnter},
	{"left of the keypad", "\x1b[57417u", keyLeft}, {"alt-backspace by number", "\x1b[127;3u", keyKillWordLeft},
	{"shift-backspace by number", "\x1b[127;2u", keyBackspace}, {"ctrl-backspace by number", "\x1b[127;5u", keyBackspace},
	{"shift-tab by number", "\x1b[9;2u", keyMode}, {"ctrl-i by number", "\x1b[105;5u", keyTab},
	{"ctrl-m by number", "\x1b[109;5u", keyEnter}, {"ctrl-j by number", "\x1b[106;5u", keyNewline},
	{"ctrl-z by number", "\x1b[122;5u", keySuspend}, {"ctrl-\\ by number", "\x1b[92;5u", keyQuit},
	{"ctrl-d by number", "\x1b[100;5u", keyEOF}, {"ctrl-_ by number", "\x1b[45:95;6u", keyUndo},
	{"ctrl-x ctrl-e by number", "\x1b[120;5u\x1b[101;5u", keyEdit}, {"ctrl-right with num lock", "\x1b[1;133C", keyWordRight},
	{"ctrl-delete with num lock", "\x1b[3;133~", keyKillWordRight}, {"ctrl-c of modifyOtherKeys", "\x1b[27;5;99~", keyInterrupt},
	{"alt-.", "\x1b.", keyLastArgument}, {"alt-. by number", "\x1b[46;3u", keyLastArgument},
	{"alt-. on a French keyboard", "\x1b[59:46;4u", keyLastArgument}, {"ctrl-u", "\x15", keyKillStart}, {"ctrl-k", "\x0b", keyKillEnd}, {"ctrl-y", "\x19", keyYank},
}

// Every form of a key means the same, in one read or cut in two.
func TestBytesBecomeKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range keyTable {
		for cut := 0; cut <= len(tt.bytes); cut++ { // split at every byte
			d := &decoder{}
			got := decodeAll(d, tt.bytes[:cut], tt.bytes[cut:])
			if diff := cmp.Diff([]key{{kind: tt.want}}, got, cmp.AllowUnexported(key{})); diff != "" {
				t.Errorf("%s cut at %d: %s", tt.name, cut, diff)
			}
			if d.wait() != 0 {
				t.Errorf("%s cut at %d: something is left: %q", tt.name, cut, d.rest)
			}
		}
	}
}

// A keypad's digits are text however they arrive.
func TestTheKeypadTypes(t *testing.T) {
	t.Parallel()
	if got := joined(decodeAll(&decoder{}, "1\x1b[57400u\x1b[57409;129u")); len(got) != 1 || got[0].text != "11." {
		t.Errorf("got %+v", got)
	}
}

// Control bytes without a meaning and unknown sequences leave no trace.
func TestUnboundBytesAreNoKeys(t *testing.T) {
	t.Parallel()
	for b := byte(0); b < 0x20; b++ {
		_, bound := keyOf(controlKeys[:], rune(b))
		if bound || b == 0x1b || b == chord {
			continue
		}
		if got := joined(decodeAll(&decoder{}, "a"+string(rune(b))+"z")); len(got) != 1 || got[0].text != "az" {
			t.Errorf("%#02x between letters gave %v", b, got)
		}
	}
	for _, seq := range []string{
		"\x1b[200", "\x1b[?1;2c", "\x1b[24;80R", "\x1b[I", "\x1b[O", "\x1b[2~", "\x1b[11~", "\x1b[15;5~", "\x1b[[A",
		"\x1b[97u", "\x1b[97;2u", "\x1b[97;9u", "\x1b[97;3u", "\x1b[9;5u", "\x1b[1087::103;3u", "\x1b[27;9u", "\x1b[57441;2u", "\x1b[0;5u",
		"\x1b[13;9u", "\x1b[99999999999;5u", "\x1b[:;5u", "\x1b[27;5;9~", "\x1b[<0;1;1M", "\x1b[>0q", "\x1bOP", "\x1bO5P", "\x1b]11;rgb:0000/0000/0000\x07",
		"\x1b]0;title\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\", "\x1bé", "\x1bq",
		"\x1b7", "\x80\x9b\xff", "\u0085\u009b", "\x00", "\x18q", "\x18\x18", "\x18\r", "\x18\x1b[A",
		"\x18\x1b[200",
	} {
		d := &decoder{}
		got := append(decodeAll(d, "a"+seq), decodeExpired(d)...)
		got = joined(append(got, decodeAll(d, "z")...))
		if diff := cmp.Diff([]key{{kind: keyText, text: "az"}}, got, cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("%q: %s", seq, diff)
		}
	}
}

func decodeExpired(d *decoder) []key {
	if d.wait() == 0 {
		return nil
	}
	return d.expire()
}

// Random sequences of every family, with random cuts: no byte of them may
// become text or an Enter.
func TestRandomSequencesAreNoText(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(set string, n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			b.WriteByte(set[random.IntN(len(set))])
		}
		return b.String()
	}
	for range 2000 {
		var seq string
		switch random.IntN(4) {
		case 0:
			seq = "\x1b[" + pick("0123456789;:<=>?", 8) + pick(" !\"#$%&'()*+,-./", 3) +
				string(rune(0x40+random.IntN(0x3f)))
			if seq == "\x1b[[" || seq == "\x1b[M" || strings.HasPrefix(seq, pasteBegin) {
				continue // the first is a beginning, the others have a meaning
			}
		case 1:
			seq = "\x1bO" + pick("0123456789;", 4) + string(rune(0x41+random.IntN(0x39)))
			if seq == "\x1bOM" {
				continue
			}
		case 2:
			seq = "\x1b]" + pick("0123456789;abcXYZ/?\r\n ", 30) + "\x07"
		default:
			seq = "\x1b" + string("PX^_"[random.IntN(4)]) + pick("0123456789;abcXYZ/?\r\n ", 30) + "\x1b\\"
		}
		d := &decoder{}
		i := random.IntN(len(seq) + 1)
		for _, k := range decodeAll(d, seq[:i], seq[i:]) {
			if k.kind == keyText || k.kind == keyPaste || k.kind == keyEnter || k.kind == keyInterrupt || k.kind == keyEOF {
				t.Fatalf("%q cut at %d became %+v", seq, i, k)
			}
		}
		if len(d.rest) > 0 {
			t.Fatalf("%q left %q", seq, d.rest)
		}
	}
}

// A paste is one key however it is cut, and its text is clean.
func TestPasteIsOneKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, paste, want string }{
		{"line ends", "a\rb\r\nc\nd", "a\nb\nc\nd"},
		{"last newline", "one\n", "one"},
		{"only one of them", "one\n\n", "one\n"},
		{"escapes and controls", "x\x1b[31my\x00\x03\x04\x7fz\u009b", "x[31myz"},
		{"tab", "a\tb", "a\tb"},
		{"a fake begin", "a" + pasteBegin + "b", "a[200~b"},
	} {
		whole := pasteBegin + tt.paste + pasteEnd
		for i := 0; i <= len(whole); i++ {
			got := joined(decodeAll(&decoder{}, whole[:i], whole[i:]))
			if diff := cmp.Diff([]key{{kind: keyPaste, text: tt.want}}, got, cmp.AllowUnexported(key{})); diff != "" {
				t.Fatalf("%s cut at %d: %s", tt.name, i, diff)
			}
		}
	}
	if got := decodeAll(&decoder{}, pasteBegin+pasteEnd); got != nil {
		t.Errorf("an empty paste gave %v", got)
	}
	// Keys after the end in the same read were not typed.
	got := decodeAll(&decoder{}, pasteBegin+"rm x"+pasteEnd+"\r")
	if len(got) != 2 || got[1].kind != keyNewline {
		t.Errorf("an Enter glued to a paste gave %+v", got)
	}
	d := &decoder{}
	if got = decodeAll(d, pasteBegin+"x"+pasteEnd, "\r"); len(got) != 2 || got[1].kind != keyEnter {
		t.Errorf("an Enter after a paste gave %+v", got)
	}
}

// An Esc is a key after 50 ms; other incomplete sequences are dropped.
func TestALoneEscapeIsAKey(t *testing.T) {
	t.Parallel()
	d := &decoder{}
	if got := decodeAll(d, "\x1b"); got != nil || d.wait() != escWait {
		t.Fatalf("got %v, wait %v", got, d.wait())
	}
	if got := d.expire(); len(got) != 1 || got[0].kind != keyEscape {
		t.Errorf("got %+v", got)
	}
	for _, begun := range []string{"\x1b[", "\x1b[1;", "\x1bO", "\x1b]0;x", "\x1bPq"} {
		d := &decoder{}
		if got := decodeAll(d, begun); got != nil || d.wait() != sequenceWait {
			t.Errorf("%q: got %v, wait %v", begun, got, d.wait())
		}
		got := joined(append(d.expire(), decodeAll(d, "ok")...))
		if len(got) != 1 || got[0].text != "ok" {
			t.Errorf("%q, then silence, then ok: %+v", begun, got)
		}
	}
	// Ctrl-C always gets through.
	for _, begun := range []string{"\x1b", "\x1b[1", "\x1bO", "\x1b]0;x", "\x1bPq"} {
		got := decodeAll(&decoder{}, begun, "\x03")
		if len(got) == 0 || got[len(got)-1].kind != keyInterrupt {
			t.Errorf("%q and ctrl-c: %+v", begun, got)
		}
	}
}

func TestTextIsWhole(t *testing.T) {
	t.Parallel()
	text := "naïve 日本 👨‍👩‍👧 e\u0301 \uFFFD"
	for i := 0; i <= len(text); i++ {
		got := joined(decodeAll(&decoder{}, text[:i], text[i:]))
		if len(got) != 1 || got[0].text != text {
			t.Fatalf("cut at %d: %+v", i, got)
		}
	}
}

// An Enter is the last of its read or not, whatever the rest of the read is.
func TestWhatFollowsAnEnter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bytes string
		want  bool
	}{{"\r", false}, {"y\r", false}, {"\x1b[C\r", false}, {"\ry", true}, {"\r\x00", true}, {"\r\x1b[99~", true},
		{"\r\x1b", true}, {"\r" + pasteBegin, true}} {
		d := &decoder{}
		for _, k := range d.feed([]byte(tt.bytes)) {
			if k.kind == keyEnter && k.followed != tt.want {
				t.Errorf("%q: followed %v", tt.bytes, k.followed)
			}
		}
	}
}

func FuzzDecoder(f *testing.F) {
	for _, k := range keyTable {
		f.Add([]byte(k.bytes), 1)
	}
	f.Add([]byte(pasteBegin+"a\rb"+pasteEnd+"\x1b]0;"), 5)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = min(max(cut, 0), len(data))
		d := &decoder{}
		keys := decodeAll(d, string(data[:cut]), string(data[cut:]))
		keys = append(keys, decodeExpired(d)...)
		for _, k := range keys {
			for _, r := range k.text {
				if r < 0x20 && !(k.kind == keyPaste && (r == '\n' || r == '\t')) || r >= 0x7f && r < 0xa0 {
					t.Fatalf("%q let %U through in %+v", data, r, k)
				}
			}
		}
	})
}
