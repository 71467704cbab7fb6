package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chzyer/readline"
)

// The runes artoo uses as marks within an edited line, from a private plane
// that no keyboard and no icon font uses: markEdit asks the engine's listener
// for an edit, the ones after it stand for collapsed pastes.
const (
	markBase  rune = 0x100000
	markEdit       = markBase
	markPaste      = markBase + 1
)

// A paste above either size is shown as one mark, and is one rune to move over.
const (
	bigPasteRunes = 1000
	bigPasteLines = 15
)

// historyEntries is how many lines can be called back.
const historyEntries = 1000

// editor is the line being edited. chzyer/readline holds the buffer and the
// history; it is told that it has no terminal, so it never writes a byte, and
// is fed one clean key at a time through its Stdin. After each key its Listener
// hears the line, and may replace it: that is how the edits it does not know,
// or gets wrong, are made. All other defects of the library (paste, EOF that
// submits, Ctrl-Z, the Delete key, sequences it does not know) cannot occur,
// since the bytes that trigger them never get there. Not safe for concurrent
// use, but for the engine's own goroutines.
type editor struct {
	engine  *readline.Instance
	feed    *keyFeed
	heard   chan struct{} // one for each key the engine has dealt with
	done    chan error    // a line was submitted, or the engine ended
	pending func(line []rune, pos int) ([]rune, int)

	line          []rune
	pos           int
	pasted        []bool // which runes of the line were pasted; nil for none
	kill          []rune
	killed        bool // something in kill was pasted
	pastes        []string
	otherSessions int               // how many of the pastes, the first, are of other sessions
	history       []string          // oldest first, in full
	left          map[string][]Span // what was pasted of lines that can be called back, by their text in full
	undos         undos
	argument      lastArgument
}

// keyFeed is the engine's Stdin: one key per read.
type keyFeed struct {
	keys chan []byte
	quit chan struct{}
}

func (f *keyFeed) Read(p []byte) (int, error) {
	select {
	case key := <-f.keys:
		return copy(p, key), nil
	case <-f.quit:
		return 0, io.EOF
	}
}

func (f *keyFeed) Close() error { return nil }

// newEditor starts the engine with the history, oldest first.
func newEditor(history []string) (*editor, error) {
	e := &editor{
		feed:    &keyFeed{keys: make(chan []byte), quit: make(chan struct{})},
		heard:   make(chan struct{}),
		done:    make(chan error, 1),
		history: history,
	}
	nothing := func() error { return nil }
	config := &readline.Config{
		Stdin: e.feed, Stdout: io.Discard, Stderr: io.Discard,
		FuncIsTerminal:         func() bool { return false }, // it never draws
		FuncGetWidth:           func() int { return 0 },      // its own search mode is off: it would draw
		FuncOnWidthChanged:     func(func()) {},
		FuncMakeRaw:            nothing, // the terminal's modes are ours alone
		FuncExitRaw:            nothing,
		DisableAutoSaveHistory: true, // its file is world-readable and loses lines
		HistoryLimit:           historyEntries + 1,
		Painter:                plainPainter{},
	}
	config.SetListener(e.listen)
	engine, err := readline.NewEx(config)
	if err != nil {
		return nil, fmt.Errorf("line editor: %w", err)
	}
	e.engine = engine
	e.start()
	e.otherSessions = len(e.pastes)
	return e, nil
}

// plainPainter keeps the library from setting its own painter after its
// goroutines have started.
type plainPainter struct{}

func (plainPainter) Paint(line []rune, _ int) []rune { return line }

// start lets the engine take the next line. The history is given to it anew
// each time: what was called back and changed, but not sent, is then as it was.
func (e *editor) start() {
	e.engine.ResetHistory()
	e.forget()
	for _, entry := range e.history {
		_ = e.engine.SaveHistory(string(e.entry(entry))) // fails only for a history file, and there is none
	}
	e.line, e.pos, e.pasted, e.undos, e.argument = nil, 0, nil, undos{}, lastArgument{}
	go func() {
		_, err := e.engine.Readline()
		e.done <- err
	}()
}

// listen is called by the engine's goroutine after each key, while key waits.
func (e *editor) listen(line []rune, pos int, typed rune) ([]rune, int, bool) {
	if typed == 0 { // a line begins; no key
		return nil, 0, false
	}
	edited := typed == markEdit && pos > 0
	if edited {
		line, pos = e.pending(cut(line, pos-1, pos), pos-1)
	}
	if typed != readline.CharEnter {
		e.line, e.pos = append([]rune(nil), line...), pos
	}
	e.heard <- struct{}{}
	return line, pos, edited
}

// key gives the engine one key and waits until it has dealt with it.
func (e *editor) key(r rune) {
	e.feed.keys <- utf8.AppendRune(nil, r)
	<-e.heard
}

// edit changes the line by a func. It can be undone.
func (e *editor) edit(f func(line []rune, pos int) ([]rune, int)) {
	before := e.snapshot()
	e.apply(f)
	e.undos.note(before, e.snapshot(), false)
}

// apply changes the line by a func, for good.
func (e *editor) apply(f func(line []rune, pos int) ([]rune, int)) {
	before := e.snapshot()
	e.pending = f
	e.key(markEdit)
	e.pasted = before.follow(e.line, e.pos, false)
}

// insert types text, or inserts a paste. A big paste becomes one mark.
func (e *editor) insert(text string, pasted bool) {
	e.argument = lastArgument{}
	if pasted {
		text = e.collapse(text)
	}
	e.put([]rune(text), pasted, !pasted)
}

// put inserts runes, marks and all, at the cursor.
func (e *editor) put(runes []rune, pasted, typing bool) {
	if len(runes) == 0 {
		return
	}
	before := e.snapshot()
	if len(runes) == 1 && !pasted && runes[0] < markBase && runes[0] >= ' ' {
		e.key(runes[0])
	} else {
		e.apply(func(line []rune, pos int) ([]rune, int) { return insert(line, pos, runes), pos + len(runes) })
	}
	e.pasted = before.follow(e.line, e.pos, pasted)
	e.undos.note(before, e.snapshot(), typing)
}

// restore makes the line what it was, marks and all. That is no change to undo.
func (e *editor) restore(was snapshot) {
	line := slices.Clone(was.line) // the engine works in what it is given
	e.apply(func([]rune, int) ([]rune, int) { return line, was.pos })
	e.pasted = was.pasted
}

// cursor is the cursor as a byte of the text in full.
func (e *editor) cursor() int {
	return len(e.whole(e.line[:e.pos]))
}

// replace puts text in place of the bytes from:to of the text in full, and the
// cursor behind it. What was pasted there was chosen now. It reports false where
// the bytes are not whole characters, or lie in a collapsed paste.
func (e *editor) replace(from, to int, text string) bool {
	start, end := e.runeAt(e.line, from), e.runeAt(e.line, to)
	if start < 0 || end < start {
		return false
	}
	for _, r := range e.line[start:end] {
		if r >= markBase {
			return false
		}
	}
	runes := []rune(text)
	e.edit(func(line []rune, _ int) ([]rune, int) {
		return insert(cut(line, start, end), start, runes), start + len(runes)
	})
	for i := start; i < min(start+len(runes), len(e.pasted)); i++ {
		e.pasted[i] = false
	}
	return true
}

// runeAt is the place in a line of a byte of its text in full, -1 where there
// is none.
func (e *editor) runeAt(line []rune, at int) int {
	n := 0
	for i := range line {
		if n == at {
			return i
		}
		n += len(e.whole(line[i : i+1]))
	}
	if n == at {
		return len(line)
	}
	return -1
}

// collapse gives big text as its mark.
func (e *editor) collapse(text string) string {
	if utf8.RuneCountInString(text) <= bigPasteRunes && strings.Count(text, "\n") < bigPasteLines {
		return text
	}
	for i, have := range e.pastes {
		if have == text {
			return string(markPaste + rune(i))
		}
	}
	e.pastes = append(e.pastes, text)
	return string(markPaste + rune(len(e.pastes)-1))
}

// text is the line in full.
func (e *editor) text() string { return e.whole(e.line) }

// whole is runes in full.
func (e *editor) whole(runes []rune) string {
	return e.expand(runes, func(_ int, paste string) string { return paste })
}

// shown is runes as they are drawn, with labels for collapsed pastes.
func (e *editor) shown(runes []rune) string {
	return e.expand(runes, func(i int, paste string) string {
		return fmt.Sprintf("[paste %d: %d lines]", i+1, strings.Count(paste, "\n")+1)
	})
}

func (e *editor) expand(runes []rune, label func(int, string) string) string {
	var b strings.Builder
	for _, r := range runes {
		if i := int(r - markPaste); i >= 0 && i < len(e.pastes) {
			b.WriteString(label(i, e.pastes[i]))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// submit takes the line and begins the next. The line goes into the history if
// remember is set.
func (e *editor) submit(remember bool) (text string, pasted bool) {
	text, pasted = e.text(), e.pastedStart()
	e.leave()
	e.feed.keys <- []byte{'\r'}
	<-e.heard
	<-e.done
	if remember {
		e.history = appendHistory(e.history, text)
	}
	e.start()
	return text, pasted
}

// close ends the engine's goroutines.
func (e *editor) close() error {
	e.edit(func([]rune, int) ([]rune, int) { return nil, 0 }) // with text left, the engine would take its end for Enter
	close(e.feed.quit)
	<-e.done
	return e.engine.Close()
}
