package ui

// keyKind says what a person did. The terminal's bytes are decoded into these
// before anything else looks at them; what has no meaning here never becomes a
// key, so it can neither enter the text nor submit it.
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
	keyTranspose
	keyUndo       // Ctrl-_
	keyTab        // completes
	keySearch     // Ctrl-R: back through the history
	keySearchBack // Ctrl-S: the other way
	keyMode       // Shift-Tab
	keyOutput     // Ctrl-O
	keyEdit       // Ctrl-G, Ctrl-X Ctrl-E; in a search: give it up
)

// chord begins a key of two control bytes.
const chord = 0x18 // Ctrl-X

// chordKey is the meaning of Ctrl-X and a byte.
func chordKey(b byte) (keyKind, bool) {
	switch b {
	case 0x05:
		return keyEdit, true
	case 0x15:
		return keyUndo, true
	}
	return 0, false
}

// metaSequence is the meaning of Alt and a key that sends a sequence, where the
// terminal puts an Esc before it.
func metaSequence(kind keyKind) keyKind {
	switch kind {
	case keyLeft:
		return keyWordLeft
	case keyRight:
		return keyWordRight
	case keyDelete:
		return keyKillWordRight
	}
	return kind
}

// key is one decoded key.
type key struct {
	kind keyKind
	text string
	// burst marks a key that came in one read together with others. Nobody
	// types two keys within one read, so such an Enter approves nothing.
	burst bool
}

// controlKey is the meaning of a control byte.
func controlKey(b byte) (keyKind, bool) {
	switch b {
	case 0x01:
		return keyHome, true
	case 0x02:
		return keyLeft, true
	case 0x03:
		return keyInterrupt, true
	case 0x04:
		return keyEOF, true
	case 0x05:
		return keyEnd, true
	case 0x06:
		return keyRight, true
	case 0x07:
		return keyEdit, true
	case 0x08, 0x7f:
		return keyBackspace, true
	case 0x09:
		return keyTab, true
	case 0x0a:
		return keyNewline, true
	case 0x0b:
		return keyKillEnd, true
	case 0x0c:
		return keyClear, true
	case 0x0d:
		return keyEnter, true
	case 0x0e:
		return keyNext, true
	case 0x0f:
		return keyOutput, true
	case 0x10:
		return keyPrev, true
	case 0x12:
		return keySearch, true
	case 0x13:
		return keySearchBack, true
	case 0x14:
		return keyTranspose, true
	case 0x15:
		return keyKillStart, true
	case 0x17:
		return keyKillWordLeft, true
	case 0x19:
		return keyYank, true
	case 0x1a:
		return keySuspend, true
	case 0x1c:
		return keyQuit, true
	case 0x1f:
		return keyUndo, true
	}
	return 0, false
}

// metaKey is the meaning of Alt and a character.
func metaKey(r rune) (keyKind, bool) {
	switch r {
	case 'b', 'B':
		return keyWordLeft, true
	case 'f', 'F':
		return keyWordRight, true
	case 'd', 'D':
		return keyKillWordRight, true
	case 0x08, 0x7f, 0x17:
		return keyKillWordLeft, true
	case '\r', '\n':
		return keyNewline, true
	}
	return 0, false
}

// sequenceKey is the meaning of a CSI or SS3 sequence, given what stands
// between its introducer and its final byte. Terminals, tmux, screen and the
// Linux console send different ones for the same key.
func sequenceKey(params string, final byte) (keyKind, bool) {
	arg, modifier := params, ""
	for i := 0; i < len(params); i++ {
		if params[i] == ';' {
			arg, modifier = params[:i], params[i+1:]
			break
		}
	}
	word := modifier == "5" || modifier == "3" || modifier == "" && arg == "5" // Ctrl, Alt; rxvt leaves the 1 out
	switch final {
	case 'A':
		return keyUp, true
	case 'B':
		return keyDown, true
	case 'C', 'c':
		if word || final == 'c' {
			return keyWordRight, true
		}
		return keyRight, true
	case 'D', 'd':
		if word || final == 'd' {
			return keyWordLeft, true
		}
		return keyLeft, true
	case 'H':
		return keyHome, true
	case 'F':
		return keyEnd, true
	case 'Z':
		return keyMode, true
	case 'M': // the keypad's Enter in application mode
		return keyEnter, params == ""
	case 'u': // a terminal that tells modified keys apart
		return keyNewline, arg == "13" && modifier != "" && modifier != "1"
	case '~':
		return tildeKey(arg, modifier)
	}
	return 0, false
}

func tildeKey(arg, modifier string) (keyKind, bool) {
	switch arg {
	case "1", "7":
		return keyHome, true
	case "4", "8":
		return keyEnd, true
	case "3":
		if modifier == "5" || modifier == "3" {
			return keyKillWordRight, true
		}
		return keyDelete, true
	case "5":
		return keyPrev, true
	case "6":
		return keyNext, true
	case "27": // xterm's modifyOtherKeys
		return keyNewline, modifier == "2;13" || modifier == "5;13"
	}
	return 0, false
}
