package prompt

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// How long the decoder waits for the rest. A lone Esc is a key after escWait; the middle of a
// longer sequence is dropped after sequenceWait; a paste without an end is given up after
// pasteWait.
const (
	escWait      = 50 * time.Millisecond
	sequenceWait = 500 * time.Millisecond
	pasteWait    = 2 * time.Second
)

const maxSequence = 64 << 10

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// decoder turns the terminal's bytes into keys, however they are cut into reads. Not safe for
// concurrent use. The parser of charmbracelet/x/ansi (v0.10.2) would be wrong for a keyboard:
// it swallows a Ctrl-C within a string sequence that never ends, passes half a character for a
// whole one, and parts the keys of the Linux console (ESC [ [ A) and of SS3 (ESC O A).
type decoder struct {
	rest    []byte // not decoded yet
	paste   []byte
	pasting bool
	keys    []key
	// closed says that a paste ended in this chunk: an Enter behind it was not typed, and must
	// not submit.
	closed bool
	// chorded says that a Ctrl-X came: the next key is its second half.
	chorded bool
	meta    bool // an Esc stands before the sequence being decoded
}

func (d *decoder) feed(chunk []byte) []key {
	if d.pasting { // a Ctrl-C by itself was typed, not pasted
		if keys := (&decoder{}).feed(chunk); len(keys) == 1 && keys[0].kind == keyInterrupt {
			return append(d.endPaste(), keys[0])
		}
	}
	d.closed = false
	d.rest = append(d.rest, chunk...)
	return d.run(false)
}

// wait is how long the input may stay silent before expire has to be called; 0 for ever.
func (d *decoder) wait() time.Duration {
	switch {
	case d.pasting:
		return pasteWait
	case len(d.rest) == 0:
		return 0
	case len(bytes.Trim(d.rest, "\x1b")) == 0:
		return escWait
	}
	return sequenceWait
}

func (d *decoder) expire() []key {
	if d.pasting {
		return d.endPaste()
	}
	return d.run(true)
}

func (d *decoder) endPaste() []key {
	d.paste = append(d.paste, d.rest...)
	d.rest, d.pasting, d.keys = nil, false, nil
	d.addPaste()
	return d.keys
}

func (d *decoder) addPaste() {
	if text := cleanPaste(d.paste); text != "" {
		d.keys = append(d.keys, key{kind: keyPaste, text: text})
	}
	d.paste = nil
}

func (d *decoder) run(silent bool) []key {
	d.keys = nil
	for len(d.rest) > 0 {
		chorded, before := d.chorded, len(d.keys)
		n := d.step(silent)
		if n == 0 {
			if !silent {
				break
			}
			n = len(d.rest)
		}
		if chorded {
			d.chorded = false // whatever it was, known or not
		}
		d.rest = d.rest[n:]
		for i := before; i < len(d.keys); i++ {
			d.keys[i].followed = len(d.rest) > 0
		}
	}
	if len(d.rest) == 0 {
		d.rest = nil
	}
	return d.keys
}

func (d *decoder) add(kind keyKind, text string) {
	if kind == keyEnter && d.closed {
		kind = keyNewline
	}
	switch {
	case d.chorded && kind == keyText:
		if text = text[clusterBytes(text):]; text == "" {
			return
		}
	case d.chorded && kind != keyInterrupt:
		return
	}
	if d.meta {
		kind = cmp.Or(metaSequences[kind], kind)
	}
	d.keys = append(d.keys, key{kind: kind, text: text})
}

// step decodes one key and returns how many bytes it took; 0 when more are needed.
func (d *decoder) step(silent bool) int {
	b := d.rest
	switch {
	case d.pasting:
		return d.stepPaste()
	case b[0] == 0x1b:
		return d.stepEscape(silent)
	case b[0] < 0x20 || b[0] == 0x7f:
		d.stepControl(b[0])
		return 1
	}
	return d.stepText()
}

func (d *decoder) stepControl(b byte) {
	if kind, ok := keyOf(chordKeys[:], rune(b)); ok && d.chorded {
		d.chorded = false
		d.add(kind, "")
		return
	}
	if kind, ok := keyOf(controlKeys[:], rune(b)); ok {
		d.add(kind, "")
	}
	d.chorded = b == chord && !d.chorded
}

// stepText takes a run of printable characters, without bytes that are no UTF-8.
func (d *decoder) stepText() int {
	var text []rune
	n := 0
	for n < len(d.rest) && d.rest[n] >= 0x20 && d.rest[n] != 0x7f {
		if !utf8.FullRune(d.rest[n:]) {
			break
		}
		r, size := utf8.DecodeRune(d.rest[n:])
		n += size
		if invalid := r == utf8.RuneError && size == 1; !invalid && !unicode.IsControl(r) {
			text = append(text, r)
		}
	}
	if len(text) > 0 {
		d.add(keyText, string(text))
	}
	return n
}

func (d *decoder) stepEscape(silent bool) int {
	b := d.rest
	if len(b) == 1 {
		if silent {
			d.add(keyEscape, "")
			return 1
		}
		return 0
	}
	switch b[1] {
	case 0x1b:
		return d.stepTwoEscapes(silent)
	case '[', 'O', ']', 'P', 'X', '^', '_':
		return d.stepSequence()
	}
	if !utf8.FullRune(b[1:]) {
		return 0
	}
	r, size := utf8.DecodeRune(b[1:])
	if kind, ok := keyOf(metaKeys[:], r); ok {
		d.add(kind, "")
	} else if _, control := keyOf(controlKeys[:], rune(b[1])); control {
		return 1 // Esc, then a key such as Ctrl-C: only the Esc is dropped
	}
	return 1 + size
}

// stepTwoEscapes decodes two keys, unless the second Esc begins the sequence of Alt and a key.
func (d *decoder) stepTwoEscapes(silent bool) int {
	b := d.rest
	switch {
	case len(b) == 2 && !silent:
		return 0
	case len(b) > 2 && (b[2] == '[' || b[2] == 'O'):
		d.rest, d.meta = b[1:], true
		n := d.stepEscape(silent)
		d.rest, d.meta = b, false
		if n == 0 {
			return 0
		}
		return n + 1
	}
	d.add(keyEscape, "") // the first was a key of its own
	return 1
}

// sequenceBody is a sequence before the byte that ends it: CSI (the function keys of the Linux
// console have one byte more), SS3, and strings (OSC, DCS, SOS, PM, APC: replies without a
// request).
var sequenceBody = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\x1b(?:\[\[?[ -?]*|O[0-9;]*|[\]PX^_][^\x03\x07\x18\x1b]*)`)
})

func (d *decoder) stepSequence() int {
	b := d.rest
	n := len(sequenceBody().Find(b))
	if n == len(b) {
		if n > maxSequence {
			return n
		}
		return 0
	}
	isKey := b[1] == '[' || b[1] == 'O'
	switch end := b[n]; {
	case isKey && (end < 0x20 || end == 0x7f):
		return n // broken off; the control byte is a key of its own
	case isKey && end < 0x80:
		d.sequence(string(b[2:n]), end)
	case isKey:
	case end == 0x1b && n+1 == len(b):
		return 0
	case end == 0x1b && b[n+1] == '\\':
		return n + 2
	case end == 0x1b || end == 0x03: // a stray introducer cannot take the keyboard away
		return n
	}
	return n + 1
}

func (d *decoder) sequence(params string, final byte) {
	switch {
	case final == '~' && params == "200":
		d.pasting, d.paste = true, nil
	case strings.Trim(params, "0123456789;:") != "":
	case final == 'u':
		code, modifiers, _ := strings.Cut(params, ";")
		d.stepCoded(code, modifiers)
	case final == '~' && strings.HasPrefix(params, "27;"): // the same from xterm's modifyOtherKeys
		modifiers, code, _ := strings.Cut(params[len("27;"):], ";")
		d.stepCoded(code, modifiers)
	default:
		if kind, ok := sequenceKey(params, final); ok {
			d.add(kind, "")
		}
	}
}

// stepCoded decodes a key that is reported by the number of its character: see keysOn.
func (d *decoder) stepCoded(code, modifiers string) {
	m := modifiersOf(modifiers)
	c := codedChar(code, m)
	if i := int(c - keypadBegin); i >= 0 && i < len(keypadKeys) {
		d.add(keypadKeys[i].kind, keypadKeys[i].text)
		return
	}
	if m > shift|alt|ctrl { // such as Super
		return
	}
	switch {
	case c == '\r' && m != 0:
		d.add(keyNewline, "")
		return
	case c == '\t' && m == shift:
		d.add(keyMode, "")
		return
	case m&ctrl != 0:
		c = controlChar(c)
	case m&alt == 0 && c >= ' ' && c != 0x7f:
		return // typed characters arrive as they are
	}
	switch kind, ok := keyOf(metaKeys[:], c); {
	case m&alt != 0 && ok:
		d.add(kind, "")
	case m&alt != 0:
	case c == 0x1b:
		d.add(keyEscape, "")
	default:
		d.stepControl(byte(c))
	}
}

func (d *decoder) stepPaste() int {
	i := bytes.Index(d.rest, []byte(pasteEnd))
	if i < 0 {
		// The end mark may be cut; all before it is text.
		n := max(len(d.rest)-len(pasteEnd)+1, 0)
		d.paste = append(d.paste, d.rest[:n]...)
		return n
	}
	d.paste = append(d.paste, d.rest[:i]...)
	d.pasting, d.closed = false, true
	d.addPaste()
	return i + len(pasteEnd)
}

// cleanPaste makes a paste safe to insert: one kind of line end, no last newline, no control
// bytes.
func cleanPaste(raw []byte) string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(string(raw), "\uFFFD"))
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, text)
	return strings.TrimSuffix(text, "\n")
}
