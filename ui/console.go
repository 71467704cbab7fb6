package ui

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"artoo/ui/screen"
)

// line is what a user or a script sent.
type line struct {
	text string
	// action is what is to be done with it; text is then what stood in the line.
	action action
	// pasted says that the text begins with something pasted: no command then.
	pasted bool
	// spans is what of the text was pasted: its @paths are data.
	spans []Span
	// burst says that a part of it was pasted, or that more came at once behind its
	// Enter: such an answer approves nothing.
	burst bool
	// queued says that it came before it was wanted.
	queued bool
	// now says that the user wants it to reach the model at its next step, before the
	// turn ends.
	now bool
}

// blockLine is the message of a block between fences: text from its start to its
// end.
func blockLine(text string) line {
	return line{text: text, pasted: true, spans: allPasted(text).pasted}
}

// errInterrupted is Ctrl-C where a line was waited for, and the cause of an
// interrupted turn.
var errInterrupted = errors.New("interrupted")

// signalError ends a conversation.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return "ended by signal: " + e.signal.String() }

// lineRequest is a line that is being waited for.
type lineRequest struct {
	prompt   string
	initial  string // text to begin with
	pasted   []Span // what of it was pasted
	question bool   // an answer, not a message
	// again prints anew what a question is about, after the terminal may have cut
	// or moved it, and gives the line to ask with; nil where nothing stands above.
	again func() string
	reply chan result
}

type result struct {
	line line
	err  error
}

// lineReader is how lines are typed: with an editor in raw mode, or as the system
// gives them. All its methods are called by the console's goroutine.
type lineReader interface {
	begin(w *lineRequest) // show the prompt
	take(c chunk)         // input came
	end()                 // the line is no longer wanted
}

// terminalReader is a lineReader that changes the terminal.
type terminalReader interface {
	release() error // give the terminal back as it was found
	reclaim() error
	resized()
	continued() // after the process was stopped
	// crashed leaves the cursor at the start of a free row, and paste mode off.
	// It may be called by any goroutine: the program is about to end.
	crashed()
}

// maxBacklog bounds what is read ahead, in bytes.
const maxBacklog = 16 << 20

// console takes the conversation's lines. One goroutine owns all of its state;
// the others post funcs to it.
type console struct {
	in       *input
	reader   lineReader
	modes    *ttyModes // nil where the terminal is not touched
	screen   *screen.Screen
	quitted  func() // ends the program after a SIGQUIT
	crash    func(value any, stack []byte)
	announce bool // say what was queued: the user is typing it

	calls   chan func()
	signals chan os.Signal
	quit    chan struct{}
	ended   chan struct{}

	want      *lineRequest
	queue     []line
	backlog   int
	interrupt func()    // stops the running turn; nil between turns
	early     bool      // a Ctrl-C came after the line was entered and before its turn began
	yielded   bool      // a child has the terminal
	overheard func()    // hears of a Ctrl-C that is for the child; may be nil
	returned  time.Time // when the last child gave it back
	ending    error     // no more lines will come, and why
}

func (c *console) run() {
	defer close(c.ended)
	defer c.guard()
	for {
		chunks := c.in.chunks
		if c.yielded || c.backlog > maxBacklog {
			chunks = nil
		} else if len(c.in.held) > 0 {
			next := c.in.held[0]
			c.in.held = c.in.held[1:]
			c.reader.take(next)
			continue
		}
		select {
		case next := <-chunks:
			c.reader.take(next)
		case f := <-c.calls:
			f()
		case s := <-c.signals:
			c.signal(s)
		case <-c.quit:
			return
		}
	}
}

// post has f run by the console's goroutine. It reports false when that ended.
func (c *console) post(f func()) bool {
	select {
	case c.calls <- f:
		return true
	case <-c.ended:
		return false
	}
}

// later has f run by the console's goroutine once the timer fires.
func (c *console) later(timer <-chan time.Time, f func()) {
	go func() {
		defer c.guard()
		select {
		case <-timer:
			c.post(f)
		case <-c.quit:
		}
	}()
}

// do is post that waits.
func (c *console) do(f func()) {
	done := make(chan struct{})
	if c.post(func() { defer close(done); f() }) {
		select {
		case <-done:
		case <-c.ended:
		}
	}
}

// readLine waits for the next message: one that was queued, or one that is
// typed now. It returns io.EOF when there will be none, errInterrupted for a
// Ctrl-C on an empty line, a *signalError, or ctx's error.
func (c *console) readLine(ctx context.Context, prompt string, initial draft) (line, error) {
	return c.wait(ctx, &lineRequest{prompt: prompt, initial: initial.text, pasted: initial.pasted})
}

// ask waits for the answer to a question, w.question or not. Lines that came
// before it was shown are never taken. Errors as of readLine.
func (c *console) ask(ctx context.Context, w lineRequest) (line, error) {
	w.question = true
	return c.wait(ctx, &w)
}

func (c *console) wait(ctx context.Context, w *lineRequest) (line, error) {
	w.reply = make(chan result, 1)
	if !c.post(func() { c.start(w) }) {
		return line{}, io.EOF
	}
	select {
	case r := <-w.reply:
		return r.line, r.err
	case <-c.ended:
		return line{}, io.EOF
	case <-ctx.Done():
	}
	c.do(func() {
		if c.want == w {
			c.finish(result{err: context.Cause(ctx)})
		}
	})
	select {
	case r := <-w.reply:
		return r.line, r.err
	default:
		return line{}, context.Cause(ctx)
	}
}

func (c *console) start(w *lineRequest) {
	switch {
	case !w.question && len(c.queue) > 0 && w.initial == "":
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.backlog -= len(next.text)
		w.reply <- result{line: next}
	case c.ending != nil:
		w.reply <- result{err: c.ending}
	case w.question && c.backlog > maxBacklog:
		w.reply <- result{err: io.EOF} // what waits unread are messages: no answer can get past them
	default:
		c.want, c.early = w, false
		c.reader.begin(w)
	}
}

// finish gives the wanted line, or why there is none.
func (c *console) finish(r result) {
	w := c.want
	c.want, c.early = nil, false
	c.reader.end()
	w.reply <- r
}

// enqueue keeps a line for the next time one is wanted.
func (c *console) enqueue(l line) {
	if c.atOnce(l) {
		return
	}
	l.queued = true
	c.early = false // it was meant for what came before
	c.queue = append(c.queue, l)
	c.backlog += len(l.text)
	if c.announce {
		c.screen.Queued(firstLine(l.text))
	}
}

// takeQueue empties the queue.
func (c *console) takeQueue() []line {
	var lines []line
	c.do(func() { lines, c.queue, c.backlog = c.queue, nil, 0 })
	return lines
}

// beginTurn says what Ctrl-C does until endTurn.
func (c *console) beginTurn(interrupt func()) {
	c.do(func() {
		c.interrupt = interrupt
		if c.early {
			c.early = false
			interrupt()
		}
	})
}

// endTurn says that the turn is over, and whether it came to a good end.
func (c *console) endTurn(good bool) {
	c.do(func() {
		c.interrupt = nil
		if reader, ok := c.reader.(interface{ turned(good bool) }); ok {
			reader.turned(good)
		}
	})
}

// over says why no more lines will come; nil while they may.
func (c *console) over() error {
	var err error
	c.do(func() { err = c.ending })
	return err
}

// interrupted is a Ctrl-C that did not just clear a line.
func (c *console) interrupted() {
	if c.interrupt != nil {
		c.interrupt() // first: who asked must find the turn stopped, not go on with a no
	}
	c.early = c.interrupt == nil && c.want == nil
	if c.want != nil {
		c.finish(result{err: errInterrupted})
	}
}

// hungUp is the end of the input. A line that was begun is not sent.
func (c *console) hungUp(err error) {
	if c.ending == nil {
		c.ending = err
	}
	if c.want != nil {
		c.finish(result{err: c.ending})
	}
}

// chunk is what one read brought, with the time it came.
type chunk struct {
	data []byte
	at   time.Time
	err  error         // the input ended, and why
	mark chan struct{} // not input: everything that was there when flush was asked has been delivered
}

// input is the pump: one goroutine that owns the conversation's stdin for the
// whole session. Nothing else may read it. It reads ahead, so that what is
// typed while the model works is taken as it comes, and can be made to let go
// while a child process has the terminal.
type input struct {
	reader io.Reader
	waiter waiter // nil where the reader cannot be waited for
	now    func() time.Time
	chunks chan chunk
	held   []chunk // taken out of chunks already, to be dealt with first

	requests chan request
	quit     chan struct{}
	ended    chan struct{}
	once     sync.Once
}

// readSize is the most one read takes. The kernel's own line buffer is no
// larger.
const readSize = 4096

// startInput starts the pump. An *os.File is waited for before it is read, on
// systems that can; other readers are simply read.
func startInput(reader io.Reader, now func() time.Time) (*input, error) {
	w, err := newWaiter(reader)
	if err != nil {
		return nil, err
	}
	in := &input{
		reader: reader, waiter: w, now: now,
		chunks:   make(chan chunk),
		requests: make(chan request, 4),
		quit:     make(chan struct{}),
		ended:    make(chan struct{}),
	}
	go in.run()
	return in, nil
}

func (in *input) run() {
	defer close(in.ended)
	for {
		if in.waiter != nil {
			readable, err := in.waiter.wait(false)
			if err != nil {
				in.deliver(chunk{err: err})
				if !in.rest() {
					return
				}
				continue
			}
			granted, ok := in.serve()
			if !ok {
				return
			}
			if granted || !readable { // a grant may have read what was readable
				continue
			}
		}
		if !in.read() && !in.rest() {
			return
		}
	}
}

// read reads once. It reports false at the end of the input.
func (in *input) read() bool {
	buf := make([]byte, readSize)
	n, err := in.reader.Read(buf)
	if n > 0 && !in.deliver(chunk{data: buf[:n]}) {
		return false
	}
	if err != nil {
		in.deliver(chunk{err: err})
	}
	return err == nil
}

func (in *input) deliver(c chunk) bool {
	c.at = in.now()
	select {
	case in.chunks <- c:
		return true
	case <-in.quit:
		return false
	}
}
