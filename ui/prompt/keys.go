package prompt

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// keyKind is the kind of a key. Bytes that have no meaning here never become a key.
type keyKind uint8

const (
	keyText  keyKind = iota // printable characters, in key.text
	keyPaste                // pasted text, cleaned, in key.text
	keyEnter
	keyNewline   // Ctrl-J, Alt-Enter, Shift-Enter where it can be told
	keyInterrupt // Ctrl-C
	keyEOF       // Ctrl-D: leaves on an empty line, else deletes
	keyDelete    // the Delete key: never leaves
	keySuspend   // Ctrl-Z
	keyQuit      // Ctrl-\
	keyEscape    // Esc by itself
	keyClear     // Ctrl-L
	keyLeft
	keyRight
	keyUp
	keyDown
	keyPrev // Ctrl-P, PageUp: history whatever the line holds
	keyNext
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyBackspace
	keyKillEnd
	keyKillStart
	keyKillWordLeft
	keyKillWordRight
	keyYank
	keyYankPop // Alt-Y: after a yank, an older kill in its place
	keyTranspose
	keyTransposeWords
	keyUpper // Alt-U, Alt-L, Alt-C: the word's letters
	keyLower
	keyCapital
	keyQuote        // Ctrl-V, Ctrl-Q: the next key stands for its character
	keyFind         // Ctrl-]: to the next of the character that is typed then
	keyFindBack     // Alt-Ctrl-]
	keyUndo         // Ctrl-_
	keyLastArgument // Alt-.
	keyTab          // completes
	keySearch       // Ctrl-R: back through the history
	keySearchBack   // Ctrl-S: the other way
	keyMode         // Shift-Tab
	keyOutput       // Ctrl-O
	keyEdit         // Ctrl-G, Ctrl-X Ctrl-E; in a search: give it up
)

// key is one decoded key.
type key struct {
	kind keyKind
	text string
	// followed marks a key after which more stood in the same read. Typed keys can arrive so
	// (ssh, mosh, expect), and an answer with its Enter is then the whole of it. Text that a
	// terminal pastes without brackets goes on behind its first line.
	followed bool
}

// chord begins a key of two control bytes.
const chord = 0x18 // Ctrl-X

// Bytes and characters that are keys. Alt with a character sends an Esc before it.
var (
	controlKeys = [0x80]keyKind{
		0x01: keyHome, 0x02: keyLeft, 0x03: keyInterrupt, 0x04: keyEOF, 0x05: keyEnd, 0x06: keyRight, 0x07: keyEdit,
		0x08: keyBackspace, 0x09: keyTab, 0x0a: keyNewline, 0x0b: keyKillEnd, 0x0c: keyClear, 0x0d: keyEnter, 0x0e: keyNext,
		0x0f: keyOutput, 0x10: keyPrev, 0x11: keyQuote, 0x12: keySearch, 0x13: keySearchBack, 0x14: keyTranspose, 0x15: keyKillStart,
		0x16: keyQuote, 0x17: keyKillWordLeft, 0x19: keyYank, 0x1a: keySuspend, 0x1c: keyQuit, 0x1d: keyFind, 0x1f: keyUndo, 0x7f: keyBackspace,
	}
	chordKeys = [0x20]keyKind{0x05: keyEdit, 0x15: keyUndo}
	metaKeys  = [0x80]keyKind{
		'b': keyWordLeft, 'B': keyWordLeft, 'f': keyWordRight, 'F': keyWordRight, 'd': keyKillWordRight,
		'D': keyKillWordRight, '.': keyLastArgument, 'y': keyYankPop, 'Y': keyYankPop, 't': keyTransposeWords,
		'T': keyTransposeWords, 'u': keyUpper, 'U': keyUpper, 'l': keyLower, 'L': keyLower, 'c': keyCapital,
		'C': keyCapital, 0x1d: keyFindBack,
		0x08: keyKillWordLeft, 0x7f: keyKillWordLeft, 0x17: keyKillWordLeft, '\r': keyNewline, '\n': keyNewline,
	}
)

func keyOf(table []keyKind, r rune) (keyKind, bool) {
	if int(r) >= len(table) || table[r] == keyText {
		return 0, false
	}
	return table[r], true
}

// modifiers are the keys held with another, as terminals count them.
type modifiers int

const (
	shift modifiers = 1
	alt   modifiers = 2
	ctrl  modifiers = 4
	// Caps Lock and Num Lock change no key's meaning.
	locks modifiers = 64 | 128
)

// modifiersOf reads the parameter of a sequence, which is 1 more than their sum.
func modifiersOf(param string) modifiers {
	number, _, _ := strings.Cut(param, ":") // the rest says whether it is pressed or repeated
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return 0
	}
	return modifiers(n-1) &^ locks
}

// codedChar is the character of a key that is reported by number: its own, the one that Shift
// makes of it, and the one in its place on an American keyboard, parted by colons: Ctrl-C is
// that key on a Cyrillic keyboard, too. 0 is none.
func codedChar(param string, m modifiers) rune {
	var chars [3]int
	for i, number := range strings.SplitN(param, ":", len(chars)) {
		n, err := strconv.Atoi(number)
		if err != nil && number != "" {
			return 0
		}
		chars[i] = n
	}
	c := chars[0]
	if m&shift != 0 && chars[1] != 0 {
		c = chars[1]
	}
	if c > 0x7f && chars[2] != 0 {
		c = chars[2]
	}
	if c <= 0 || c > unicode.MaxRune {
		return 0
	}
	return rune(c)
}

func controlChar(c rune) rune {
	switch {
	case c >= '@' && c <= '_', c >= 'a' && c <= 'z':
		return c & 0x1f
	case c == '/', c == '-':
		return 0x1f
	case c == 0x7f:
		return '\b'
	}
	return 0
}

// keypadBegin is the number of the first of keypadKeys.
const keypadBegin = 57399

var keypadKeys = [...]struct {
	kind keyKind
	text string
}{
	{text: "0"}, {text: "1"}, {text: "2"}, {text: "3"}, {text: "4"}, {text: "5"}, {text: "6"}, {text: "7"}, {text: "8"},
	{text: "9"}, {text: "."}, {text: "/"}, {text: "*"}, {text: "-"}, {text: "+"}, {kind: keyEnter}, {text: "="}, {text: ","},
	{kind: keyLeft}, {kind: keyRight}, {kind: keyUp}, {kind: keyDown}, {kind: keyPrev}, {kind: keyNext}, {kind: keyHome},
	{kind: keyEnd},
}

// sequenceKeys are the keys that CSI and SS3 sequences stand for: by their last byte, before ~
// with the number. Terminals, tmux, screen and the Linux console send different ones for the
// same key.
var sequenceKeys = map[string]keyKind{
	"A": keyUp, "B": keyDown, "C": keyRight, "D": keyLeft, "c": keyWordRight, "d": keyWordLeft,
	"H": keyHome, "1~": keyHome, "7~": keyHome, "F": keyEnd, "4~": keyEnd, "8~": keyEnd,
	"3~": keyDelete, "5~": keyPrev, "6~": keyNext, "Z": keyMode, "M": keyEnter,
}

// metaSequences are the meanings of Alt and a key that sends a sequence, where they differ.
var metaSequences = map[keyKind]keyKind{keyLeft: keyWordLeft, keyRight: keyWordRight, keyDelete: keyKillWordRight}

// sequenceKey is the meaning of a sequence, given its parameters, which stand between the
// introducer and the final byte.
func sequenceKey(params string, final byte) (keyKind, bool) {
	arg, modifier, more := strings.Cut(params, ";")
	name := string(rune(final))
	if final == '~' {
		name = arg + name
	}
	kind, ok := sequenceKeys[name]
	if m := modifiersOf(modifier); m == ctrl || m == alt || !more && arg == "5" { // rxvt leaves the 1 out
		kind = cmp.Or(metaSequences[kind], kind)
	}
	return kind, ok && (kind != keyEnter || params == "") // the keypad's Enter in application mode
}
