package shell

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// maxPiece is how much of a command's output is shown at a time, in bytes: its end.
const maxPiece = 16 << 10

// live shows output as it comes, without escapes, in pieces that are not too many and
// hold whole characters. A piece that begins with a carriage return rewrites the line
// that stood open, as progress bars do. Its methods need the intake's lock.
type live struct {
	screen io.Writer
	pause  time.Duration // between two pieces
	in     *intake

	lines   []byte // not shown yet
	skipped int    // bytes left out before them
	open    string
	last    time.Time
	timer   *time.Timer // runs while something waits for its time
}

// add takes output, and keeps its end: a piece that is shown, and as much before it.
func (l *live) add(p []byte) {
	if over := len(l.lines) + len(p) - 3*maxPiece; over > 0 {
		drop := min(over+maxPiece, len(l.lines))
		l.lines = append(l.lines[:0], l.lines[drop:]...)
		l.skipped += drop
		if over := len(p) - 2*maxPiece; over > 0 {
			p = p[over:]
			l.skipped += over
		}
	}
	l.lines = append(l.lines, p...)
}

// came shows new output, now or when it is time to.
func (l *live) came() {
	if l.timer != nil {
		return
	}
	if wait := l.pause - time.Since(l.last); wait > 0 && !l.last.IsZero() {
		l.timer = time.AfterFunc(wait, l.due)
		return
	}
	l.show()
}

// due shows output that waited.
func (l *live) due() {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	l.timer = nil
	if l.in.live == l {
		l.show()
	}
}

// lastPiece is where the last part of lines begins that is shown: behind the end of a line, or at
// a private key that it would cut, since keys are known by their first line.
func lastPiece(lines []byte) int {
	over := len(lines) - maxPiece
	if over <= 0 {
		return 0
	}
	from := over + bytes.IndexByte(lines[over:], '\n') + 1
	before := lines[max(0, from-maxPiece):from]
	key := bytes.LastIndex(before, []byte("-----BEGIN "))
	if key >= 0 && bytes.Contains(before[key:], []byte("PRIVATE KEY")) &&
		!bytes.Contains(before[key:], []byte("-----END ")) {
		return from - len(before) + key
	}
	return from
}

// show writes output that was not shown yet, and of too much the last part.
func (l *live) show() {
	open := toText([]byte(l.in.clean.Open()))
	lines := l.lines
	var text string
	if from := lastPiece(lines); l.skipped+from > 0 {
		text = fmt.Sprintf("[… %d bytes not shown]\n%s%s", l.skipped+from-len(l.open), toText(lines[from:]), open)
		if l.open != "" {
			text = "\n" + text
		}
	} else if now, more := strings.CutPrefix(toText(lines)+open, l.open); more {
		text = now
	} else {
		text = "\r" + now
	}
	l.lines, l.skipped, l.open = l.lines[:0], 0, open
	if text != "" {
		l.last = time.Now()
		// A screen that cannot be written to is not the command's affair.
		_, _ = io.WriteString(l.screen, text)
	}
}

// end shows the rest.
func (l *live) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.show()
}

// wholeRunes is the length of p without an unfinished character at its end.
func wholeRunes(p []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(p)); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// toText puts U+FFFD in place of each byte that is not UTF-8.
func toText(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	return string([]rune(string(p)))
}

// readSize is how much of a command's output is read at a time, in bytes.
const readSize = 256 << 10

// intake takes a command's output to where it is kept and to the screen, until it is closed.
type intake struct {
	mu     sync.Mutex
	closed bool
	clean  *Cleaner
	to     io.Writer // keeps it
	live   *live     // nil shows nothing
	record *record   // nil except in the background
}

// newIntake keeps output in to.
func newIntake(to io.Writer) *intake {
	in := &intake{to: to}
	in.clean = NewCleaner(cleaned{in})
	return in
}

// cleaned takes the output of an intake's Cleaner.
type cleaned struct{ *intake }

// Write implements io.Writer.
func (c cleaned) Write(p []byte) (int, error) {
	if c.live != nil {
		c.live.add(p)
	}
	return c.to.Write(p)
}

// read takes all that comes out of a pipe. Closing the pipe ends it.
func (in *intake) read(pipe io.Reader) {
	// The error is the pipe's end. The structs hide methods that would read less at a time.
	_, _ = io.CopyBuffer(struct{ io.Writer }{in}, struct{ io.Reader }{pipe}, make([]byte, readSize))
}

// Write implements io.Writer.
func (in *intake) Write(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return 0, os.ErrClosed
	}
	_, _ = in.clean.Write(p)
	if in.live != nil {
		in.live.came()
	}
	if in.record != nil {
		in.record.see(in.clean.Open())
	}
	return len(p), nil
}

// show has output from now on shown on a screen, in pieces that are at least a pause apart, until the returned func is
// called; of a command in the background first the output not read yet. If it is shown already, or the command has
// ended, show does nothing.
func (in *intake) show(screen io.Writer, pause time.Duration) (end func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.live != nil {
		return func() {}
	}
	l := &live{screen: screen, pause: pause, in: in}
	in.live = l
	if in.record != nil {
		l.add([]byte(in.record.peek()))
		l.came()
	}
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.live == l {
			in.hide()
		}
	}
}

// hide shows the rest, and nothing any more.
func (in *intake) hide() {
	if in.live != nil {
		in.live.end()
		in.live = nil
	}
}

// tell shows a record the line that has not ended.
func (in *intake) tell(r *record) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.record = r
	r.see(in.clean.Open())
}

// handOver sends output to a record, with the output so far, and returns that.
func (in *intake) handOver(output *Spool, to *record) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	so := output.take()
	_, _ = to.Write(so)
	_ = to.read() // the caller reads it
	in.hide()
	in.to, in.record = to, to
	open := in.clean.Open()
	to.see(open)
	_ = to.read()
	return append(so, open...)
}

// close flushes output that is held back. Nothing is written afterwards.
func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	_ = in.clean.Close()
	in.hide()
}

// Cleaner takes terminal control out of the output of a command: escape
// sequences and control characters go, and of a line that was written over, as
// progress bars are, the last state stays. It passes whole lines on. It reads
// bytes, since sequences and characters may be cut anywhere between writes. Not
// for concurrent use.
type Cleaner struct {
	out    io.Writer // its errors are ignored
	line   []byte    // not ended yet
	state  cleanState
	wiped  bool // a carriage return came: the next character restarts the line
	length int
	last   byte   // the byte before, in a string sequence
	said   []byte // the beginning of the string sequence
	pipe   []int  // the statuses of a pipeline that bash reported, see Pipeline
}

type cleanState byte

const (
	cleanText   cleanState = iota
	cleanEscape            // after ESC
	cleanInter             // after ESC and an intermediate byte: one final byte follows
	cleanCSI               // up to a final byte
	cleanString            // OSC, DCS, SOS, PM, APC: up to BEL or ST
	cleanStringEscape
	cleanC2 // after the first byte of a C1 control in UTF-8
)

const (
	// maxCleanLine is how much of an unfinished line is held back, in bytes: it may be written over.
	maxCleanLine = 64 << 10
	// maxSequence ends a string sequence that does not end: binary data begins one by chance.
	maxSequence = 4 << 10
	// maxHeard is how much of a string sequence is looked at, in bytes.
	maxHeard = 32
)

// NewCleaner makes a Cleaner that writes to out.
func NewCleaner(out io.Writer) *Cleaner { return &Cleaner{out: out} }

// Write implements io.Writer; it cannot fail.
func (c *Cleaner) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		n := c.plain(p)
		if n == 0 {
			c.byte(p[0])
			n = 1
		}
		p = p[n:]
	}
	return size, nil
}

// plain takes the beginning of p that is kept as it is, all at once: nearly all output is such. Whole lines
// go on as they are, the beginning of one is held back. It returns how many bytes it took.
func (c *Cleaner) plain(p []byte) int {
	if c.state != cleanText || c.wiped {
		return 0
	}
	n := keptLength(p)
	whole := bytes.LastIndexByte(p[:n], '\n') + 1
	if whole > 0 {
		c.emit()
		_, _ = c.out.Write(p[:whole])
	}
	room := maxCleanLine - 1 - len(c.line) // put takes the byte that fills the line
	rest := p[whole:min(n, whole+room)]
	c.line = append(c.line, rest...)
	return whole + len(rest)
}

// kept reports whether a byte stays as it is wherever it stands in text.
func kept(b byte) bool { return b >= 0x20 && b != 0x7f && b != 0xc2 || b == '\n' || b == '\t' }

// Bytes of a word: keptLength looks at eight of them at a time.
const (
	ones = 0x0101010101010101
	low  = 0x7f * ones
	high = 0x80 * ones
)

// keptLength is how many bytes at the beginning of p are kept. Nearly all output is ASCII
// without control characters but line breaks, and is looked at in blocks; the rest by the
// word, and one by one where a byte is not kept.
func keptLength(p []byte) int {
	const block = 32
	n := 0
	for ; n+block <= len(p); n += block {
		w := words(p[n : n+block])
		if (unusual(w[0])|unusual(w[1])|unusual(w[2])|unusual(w[3]))&high != 0 &&
			notKept(w[0])|notKept(w[1])|notKept(w[2])|notKept(w[3]) != 0 {
			break
		}
	}
	for n < len(p) && kept(p[n]) {
		n++
	}
	return n
}

// words are the first 32 bytes of p.
func words(p []byte) [4]uint64 {
	_ = p[31]
	return [4]uint64{binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:]),
		binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])}
}

// unusual has a high bit set where a byte of a word is not ASCII that is printed, nor a line
// break. Sums show it: the first that a byte is no line break, the second that it is 0x20 and
// above, the third that it is 0x7f. A byte of 0x80 and above spoils them, and is unusual itself.
func unusual(w uint64) uint64 { return (w^ones*'\n'+low)&^(w+ones*0x60) | (w + ones) | w }

// notKept has the high bit set of each byte of a word that is not kept.
func notKept(w uint64) uint64 {
	rest := w & low
	printed := rest + ones*0x60 | w       // 0x20 and above
	noBreak := rest ^ ones*'\n' + low | w // not '\n'
	noTab := rest ^ ones*'\t' + low | w   // not '\t'
	notC2 := rest ^ ones*0x42 + low | ^w  // not 0xc2
	deleted := (rest + ones) &^ w         // 0x7f
	return (^printed&noBreak&noTab | ^notC2 | deleted) & high
}

// Open is the line that has not ended, without a character whose rest has not come.
func (c *Cleaner) Open() string { return string(c.line[:wholeRunes(c.line)]) }

// Close passes on an unfinished last line; it cannot fail.
func (c *Cleaner) Close() error {
	if c.state == cleanC2 {
		c.put(0xc2)
	}
	c.emit()
	c.state, c.wiped = cleanText, false
	return nil
}

func (c *Cleaner) emit() {
	_, _ = c.out.Write(c.line)
	c.line = c.line[:0]
}

func (c *Cleaner) byte(b byte) {
	switch c.state {
	case cleanText:
		c.text(b)
	case cleanEscape:
		c.escape(b)
	case cleanInter:
		if b < 0x20 || b > 0x2f {
			c.state = cleanText
		}
	case cleanCSI:
		switch {
		case b == 0x1b:
			c.state = cleanEscape
		case b < 0x20 || b >= 0x7f: // not part of a sequence: it was cut off
			c.state = cleanText
			c.text(b)
		case b >= 0x40:
			c.state = cleanText
		}
	case cleanString:
		c.skip(b)
	case cleanStringEscape:
		c.state = cleanText
		if b != '\\' {
			c.escape(b)
		}
	case cleanC2:
		c.state = cleanText
		if b >= 0x80 && b <= 0x9f { // a C1 control is ESC and a letter in one
			c.escape(b - 0x40)
			return
		}
		c.put(0xc2)
		c.text(b)
	}
}

// text takes a byte outside sequences.
func (c *Cleaner) text(b byte) {
	switch {
	case b == '\n':
		c.line = append(c.line, b)
		c.wiped = false
		c.emit()
	case b == '\r':
		c.wiped = true
	case b == '\b':
		c.back()
	case b == 0x1b:
		c.state = cleanEscape
	case b == 0xc2:
		c.state = cleanC2
	case b == '\t' || b >= 0x20 && b != 0x7f:
		c.put(b)
	}
}

func (c *Cleaner) put(b byte) {
	if c.wiped {
		c.line, c.wiped = c.line[:0], false
	}
	c.line = append(c.line, b)
	if len(c.line) >= maxCleanLine {
		c.emit()
	}
}

// back takes off the last character.
func (c *Cleaner) back() {
	_, size := utf8.DecodeLastRune(c.line)
	c.line = c.line[:len(c.line)-size]
}

// escape takes the byte after ESC.
func (c *Cleaner) escape(b byte) {
	switch {
	case b == '[':
		c.state = cleanCSI
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		c.state, c.length, c.last, c.said = cleanString, 0, 0, c.said[:0]
	case b >= 0x20 && b <= 0x2f:
		c.state = cleanInter
	case b == 0x1b:
	case b < 0x20 || b >= 0x7f:
		c.state = cleanText
		c.text(b)
	default:
		c.state = cleanText
	}
}

// skip takes a byte of a string sequence.
func (c *Cleaner) skip(b byte) {
	before := c.last
	c.length++
	c.last = b
	switch {
	case b == 0x1b:
		c.state = cleanStringEscape
	case b == 0x07 || b == 0x18 || b == 0x1a || b == 0x9c && before == 0xc2:
		c.state = cleanText
		c.heard()
	case b == '\n' || c.length > maxSequence:
		c.state = cleanText
		c.text(b)
	case len(c.said) < maxHeard:
		c.said = append(c.said, b)
	}
}

// maxUnread is how much of a background command's unread output is kept, in bytes.
const maxUnread = 256 << 10

// record takes the output of a background command, to a file as far as there is room, and keeps unread output. Its
// methods may be called from any goroutine.
type record struct {
	mu     sync.Mutex
	file   io.WriteCloser // nil where nothing keeps it
	name   string
	room   int   // bytes that may still go to the file
	err    error // why the file is not whole
	unread *Spool
	past   *Spool // the lines that no wait has found, whether they were read or not
	open   string // the line that has not ended
	shown  string
	found  string
	seen   int // bytes that came, to report whether there were more
	watch  *watch
}

// watch waits for a line.
type watch struct {
	pattern *regexp.Regexp
	hit     chan string // takes the first line that matches
}

func (w *watch) look(lines string) {
	for line := range strings.Lines(lines) {
		if line = strings.TrimSuffix(line, "\n"); w.pattern.MatchString(line) {
			select {
			case w.hit <- line:
			default: // one is enough
			}
			return
		}
	}
}

// Write implements io.Writer; it cannot fail. It gets whole lines.
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen += len(p)
	r.open, r.shown, r.found = "", "", ""
	_, _ = r.unread.Write(p)
	_, _ = r.past.Write(p)
	if r.watch != nil {
		r.watch.look(string(p))
	}
	if r.file == nil || r.err != nil {
		return len(p), nil
	}
	n := min(len(p), r.room)
	r.room -= n
	if _, r.err = r.file.Write(p[:n]); r.err == nil && n < len(p) {
		r.err = errors.New("it was longer than the file may be")
	}
	return len(p), nil
}

// see takes the state of the line that has not ended.
func (r *record) see(open string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open == r.open {
		return
	}
	r.open = open
	r.seen++
	if r.watch != nil && open != "" {
		r.watch.look(open)
	}
}

// read takes the output since the last time.
func (r *record) read() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.unread.String()
	r.unread = NewSpool(maxUnread)
	if r.open != r.shown {
		r.shown = r.open
		text += r.open
	}
	return text
}

// peek is the result of read, without the line that has not ended. It is not read thereby.
func (r *record) peek() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unread.String()
}

// newRecord makes one that keeps no file.
func newRecord() *record {
	return &record{unread: NewSpool(maxUnread), past: NewSpool(maxUnread), room: maxOutput}
}

// await has a watch look at unread output, then at output that no wait has found, then at new output.
func (r *record) await(w *watch) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = w
	w.look(r.unread.String())
	if r.open != r.shown {
		w.look(r.open)
	}
	w.look(r.past.String())
	if r.open != r.found {
		w.look(r.open)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.watch == w {
			r.watch = nil
		}
	}
}

// spend has later waits not find the lines again that match the pattern so far.
func (r *record) spend(pattern *regexp.Regexp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	past := NewSpool(maxUnread)
	for line := range strings.Lines(r.past.String()) {
		if !pattern.MatchString(strings.TrimSuffix(line, "\n")) {
			_, _ = past.Write([]byte(line))
		}
	}
	r.past = past
	if pattern.MatchString(r.open) {
		r.found = r.open
	}
}

// bytes is how much came, to report whether there was more.
func (r *record) bytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// close closes the file.
func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.err = errors.Join(r.err, r.file.Close())
	}
}

const (
	// maxOutput is how much of a command's output is kept, in bytes.
	maxOutput = 50 << 20
	// spoolBlock is the unit in which output is dropped.
	spoolBlock = 64 << 10
	// spoolRoom is for remarks about the output, in its middle and behind it.
	spoolRoom = 4 << 10
)

// Spool keeps the first and the last part of all writes, in one piece of memory: output that comes when it
// is full takes the place of the oldest block behind the first half.
type Spool struct {
	kept    []byte
	first   int // bytes of the first block: all others are longer
	block   int // bytes of the others
	most    int // bytes kept: the first block and as many others as fit
	at, end int // where the next byte goes once all is full, and where its block ends
	dropped int // bytes
}

// NewSpool keeps max bytes at most, half of them from the beginning.
func NewSpool(max int) *Spool {
	block := min(spoolBlock, max/4)
	s := &Spool{block: block, first: min(block, 4<<10)}
	s.most = s.first + (max-s.first)/block*block
	return s
}

// head is the number of bytes that are never dropped.
func (s *Spool) head() int { return s.first + (s.most-s.first)/s.block/2*s.block }

// Write implements io.Writer; it cannot fail.
func (s *Spool) Write(p []byte) (int, error) {
	room := min(s.most-len(s.kept), len(p))
	if room > 0 {
		s.grow(len(s.kept) + room)
		s.kept = append(s.kept, p[:room]...)
	}
	for rest := p[max(room, 0):]; len(rest) > 0; {
		if s.at == s.end {
			s.drop()
		}
		n := copy(s.kept[s.at:s.end], rest)
		s.at += n
		rest = rest[n:]
	}
	return len(p), nil
}

// grow makes room for so many bytes. Most output is short; for longer output it makes room for all at once, since
// memory that is not written to is not taken from the system, and the old memory stays until it is collected.
func (s *Spool) grow(size int) {
	room := max(cap(s.kept), s.first)
	for room < size {
		room *= 16
	}
	if room > s.most/8 {
		room = s.most + spoolRoom
	}
	if room > cap(s.kept) {
		s.kept = append(make([]byte, 0, room), s.kept...)
	}
}

// drop makes the oldest block the one that is written to.
func (s *Spool) drop() {
	if s.dropped == 0 || s.end == len(s.kept) {
		s.end = s.head()
	}
	s.at = s.end
	s.end += s.block
	s.dropped += s.block
}

const missing = "\n[%d bytes are missing here: only the first and the last part were kept]\n"

// String is the kept output, with a line for the missing part, in valid UTF-8.
func (s *Spool) String() string {
	other := *s
	other.kept = slices.Clone(s.kept)
	return string(other.take())
}

// take is String in the memory of the spool, which must not be used any more.
func (s *Spool) take() []byte {
	text := s.kept
	if s.dropped > 0 {
		head, newer := s.head(), s.at-s.head()
		text = append(text[:s.at], text[s.end:]...)
		// The older part stands behind the newer one: they change places.
		tail := text[head:]
		slices.Reverse(tail[:newer])
		slices.Reverse(tail[newer:])
		slices.Reverse(tail)
		text = slices.Insert(text, head, fmt.Appendf(nil, missing, s.dropped)...)
	}
	s.kept = nil
	return toValid(text)
}

// toValid is text itself where it is UTF-8.
func toValid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd"))
}
