package prompt

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chzyer/readline"
)

// A rune of a line carries these bits, which lie above all of Unicode, wherever it goes: into
// the kill buffer, the history and back.
const (
	// pastedBit says that the rune was pasted: its word is data.
	pastedBit rune = 1 << (24 + iota)
	// unseenBit says that the rune is a collapsed text of another session: the paths in it are
	// data.
	unseenBit
	// collapsedBit marks a big text as one rune; the lower bits number it.
	collapsedBit
)

const (
	bigRunes = 1000
	bigLines = 15
)

// historyEntries is how many lines can be called back.
const historyEntries = 1000

// editor is the line being edited, in a buffer of chzyer/readline. See the comment of the
// package.
type editor struct {
	*readline.RuneBuffer
	big     []string // the collapsed texts
	kills   [][]rune // newest last
	history []entry
	at      int            // the entry that is shown; len(history) for the new line
	drafts  map[int][]rune // the lines that were left for others, the new one too, as they were then

	changes []snapshot // the line before each change that can be undone, oldest first
	typing  bool       // the last change was typing, at its place
	last    put
}

// entry is a line of the history.
type entry struct {
	text string
	line []rune // nil for one of another session that was not called back yet
}

// put is what Alt-. or a yank put into the line, and an older one may take the place of.
type put struct {
	kind  keyKind // keyLastArgument or keyYank; the zero put has neither
	after snapshot
	back  int // how many lines or kills back it was found
}

// maxKills is how many kills can be yanked.
const maxKills = 20

func newEditor(history []string) *editor {
	silent := &readline.Config{FuncIsTerminal: func() bool { return false }} // it never draws
	e := &editor{RuneBuffer: readline.NewRuneBuffer(io.Discard, "", silent, 0)}
	for _, text := range history {
		e.history = append(e.history, entry{text: text})
	}
	e.reset()
	return e
}

func (e *editor) reset() {
	e.Set(nil)
	e.at, e.drafts, e.last = len(e.history), map[int][]rune{}, put{}
	e.forgetChanges()
}

func (e *editor) forgetChanges() { e.changes, e.typing = nil, false }

// line is the text without its runes' bits; collapsed texts stay one rune.
func (e *editor) line() []rune {
	line := e.Runes()
	for i, r := range line {
		line[i] = r &^ (pastedBit | unseenBit)
	}
	return line
}

const maxChanges = 200

// snapshot is the line at one time.
type snapshot struct {
	line []rune
	pos  int
}

func (e *editor) snapshot() snapshot { return snapshot{e.Runes(), e.Pos()} }

func (s snapshot) same(as snapshot) bool { return s.pos == as.pos && slices.Equal(s.line, as.line) }

func (e *editor) restore(was snapshot) { e.SetWithIdx(was.pos, slices.Clone(was.line)) }

func (e *editor) set(line []rune, pos int) {
	before := e.snapshot()
	e.restore(snapshot{line, pos})
	e.changed(before, false)
}

func (e *editor) changed(before snapshot, typing bool) {
	if slices.Equal(before.line, e.Runes()) {
		e.typing = e.typing && before.pos == e.Pos()
		return
	}
	if !typing || !e.typing {
		e.changes = append(e.changes, before)
		e.changes = e.changes[max(len(e.changes)-maxChanges, 0):]
	}
	e.typing = typing
}

func (e *editor) undo() bool {
	last := len(e.changes) - 1
	if last < 0 {
		return false
	}
	was := e.changes[last]
	e.changes, e.typing = e.changes[:last], false
	e.restore(was)
	return true
}

func (e *editor) move(pos int) { e.set(e.Runes(), pos) }

// splice puts runes in place of those from:to, and the cursor behind them.
func (e *editor) splice(from, to int, runes ...rune) {
	line := e.Runes()
	e.set(slices.Concat(line[:from], runes, line[to:]), from+len(runes))
}

func (e *editor) insert(text string, pasted bool) {
	e.last = put{}
	if pasted {
		e.write(e.collapse(text, pastedBit), false)
	} else {
		e.write([]rune(text), true)
	}
}

func (e *editor) write(runes []rune, typing bool) {
	if len(runes) > 0 {
		before := e.snapshot()
		e.WriteRunes(slices.Clone(runes)) // the buffer appends to its argument
		e.changed(before, typing)
	}
}

func (e *editor) remove(from, to int, keep bool) {
	if to = min(to, e.Len()); from >= to {
		return
	}
	if keep {
		e.keep(from, to)
	}
	e.splice(from, to)
}

func (e *editor) keep(from, to int) {
	e.kills = append(e.kills, e.Runes()[from:to])
	e.kills = e.kills[max(len(e.kills)-maxKills, 0):]
}

// killed is the kill so many before the newest, beginning again after the oldest; nil without any.
func (e *editor) killed(back int) []rune {
	if len(e.kills) == 0 {
		return nil
	}
	return e.kills[len(e.kills)-1-back%len(e.kills)]
}

func (e *editor) yank(back int) {
	e.write(e.killed(back), false)
	e.last = put{keyYank, e.snapshot(), back}
}

// yankPop puts an older kill in the place of the one that was just yanked. It reports false after
// anything else.
func (e *editor) yankPop() bool {
	was := e.last
	if was.kind != keyYank || !was.after.same(e.snapshot()) || !e.undo() {
		return false
	}
	e.yank(was.back + 1)
	return true
}

// collapse gives big text as one rune, and other text rune by rune, with the bits.
func (e *editor) collapse(text string, bits rune) []rune {
	if utf8.RuneCountInString(text) > bigRunes || strings.Count(text, "\n") >= bigLines {
		i := slices.Index(e.big, text)
		if i < 0 {
			i = len(e.big)
			e.big = append(e.big, text)
		}
		return []rune{collapsedBit | rune(i) | bits}
	}
	runes := []rune(text)
	for i := range runes {
		runes[i] |= bits & pastedBit
	}
	return runes
}

func (e *editor) load(d Draft) {
	line := e.runes(d, 0)
	e.set(line, len(line))
}

// runes is a draft as a line, big parts of it collapsed.
func (e *editor) runes(d Draft, bits rune) []rune {
	var line []rune
	at := 0
	for _, s := range d.Pasted {
		line = append(line, e.collapse(d.Text[at:s.From], bits)...)
		line = append(line, e.collapse(d.Text[s.From:s.To], pastedBit)...)
		at = s.To
	}
	return append(line, e.collapse(d.Text[at:], bits)...)
}

func (e *editor) draft() Draft {
	var d Draft
	var b strings.Builder
	for _, r := range e.Runes() {
		from := b.Len()
		b.WriteString(e.whole(r))
		if r&(pastedBit|unseenBit) == 0 {
			continue
		}
		if last := len(d.Pasted) - 1; last >= 0 && d.Pasted[last].To == from {
			d.Pasted[last].To = b.Len()
		} else {
			d.Pasted = append(d.Pasted, Span{from, b.Len()})
		}
	}
	d.Text = b.String()
	return d
}

// beginsPasted says that the text begins with something pasted: it is then no command.
func (e *editor) beginsPasted() bool {
	line := e.line()
	i := slices.IndexFunc(line, func(r rune) bool { return !unicode.IsSpace(r) })
	return i >= 0 && e.Runes()[i]&pastedBit != 0
}

// text is the line in full.
func (e *editor) text() string { return e.whole(e.Runes()...) }

func (e *editor) whole(runes ...rune) string {
	return e.expand(runes, func(i int) string { return e.big[i] })
}

func (e *editor) shown(runes []rune) string {
	return e.expand(runes, func(i int) string {
		return fmt.Sprintf("[paste %d: %d lines]", i+1, strings.Count(e.big[i], "\n")+1)
	})
}

func (e *editor) expand(runes []rune, collapsed func(i int) string) string {
	var b strings.Builder
	for _, r := range runes {
		if r &^= pastedBit | unseenBit; r&collapsedBit != 0 {
			b.WriteString(collapsed(int(r &^ collapsedBit)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cursor is the cursor as a byte of the text in full.
func (e *editor) cursor() int { return len(e.whole(e.Runes()[:e.Pos()]...)) }

// replace puts text in place of the bytes from:to of the text in full. It reports false where
// these are not whole characters, or lie in a collapsed text.
func (e *editor) replace(from, to int, text string) bool {
	line := e.Runes()
	start, end := e.runeAt(line, from), e.runeAt(line, to)
	if start < 0 || end < start || slices.ContainsFunc(line[start:end], func(r rune) bool { return r&collapsedBit != 0 }) {
		return false
	}
	e.splice(start, end, []rune(text)...)
	return true
}

// runeAt is the place in a line of a byte of its text in full, -1 where there is none.
func (e *editor) runeAt(line []rune, at int) int {
	n := 0
	for i, r := range line {
		if n == at {
			return i
		}
		n += len(e.whole(r))
	}
	if n == at {
		return len(line)
	}
	return -1
}

// submit begins the next line. This one goes into the history if remember is set; a repeat
// counts once.
func (e *editor) submit(remember bool) {
	if text := e.text(); remember && keepsHistory(text) {
		if last := len(e.history) - 1; last >= 0 && e.history[last].text == text {
			e.history = e.history[:last]
		}
		e.history = append(e.history, entry{text, e.Runes()})
		e.history = e.history[max(len(e.history)-historyEntries, 0):]
	}
	e.reset()
}

// called is the text of an entry of the history.
func (e *editor) called(i int) []rune {
	if e.history[i].line == nil {
		e.history[i].line = e.runes(Draft{Text: e.history[i].text}, unseenBit)
	}
	return e.history[i].line
}

// recall shows an older or newer line of the history, and keeps the one that is left as it is, the new line too.
func (e *editor) recall(by int) {
	to := e.at + by
	if to < 0 || to > len(e.history) {
		return
	}
	e.drafts[e.at] = e.Runes()
	e.at = to
	line, left := e.drafts[to]
	if !left {
		line = e.called(to)
	}
	e.set(line, len(line))
}

// insertArgument inserts the last word of the line before in the history, or, typed again, that
// of the next older one. It reports false where no line has another.
func (e *editor) insertArgument() bool {
	back := 0
	if e.last.kind == keyLastArgument && e.last.after.same(e.snapshot()) {
		back = e.last.back
	}
	again := back > 0
	for back++; back <= len(e.history); back++ {
		word := e.lastWord(len(e.history) - back)
		if len(word) == 0 {
			continue
		}
		if again {
			e.undo()
		}
		e.write(word, false)
		e.last = put{keyLastArgument, e.snapshot(), back}
		return true
	}
	return false
}

func (e *editor) lastWord(i int) []rune {
	text := strings.TrimSpace(e.history[i].text)
	word := text[strings.LastIndexAny(text, " \t\n")+1:]
	from, at, bits := strings.LastIndex(e.history[i].text, word), 0, rune(0)
	for _, r := range e.called(i) {
		size := len(e.whole(r))
		if at < from+len(word) && from < at+size {
			bits |= r & pastedBit
		}
		at += size
	}
	return e.collapse(word, bits)
}
