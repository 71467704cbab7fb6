package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

type request struct {
	label    Label
	initial  Draft
	question bool // an answer, not a message
	again    func() Label
	isAnswer func(text string) bool
	reply    chan result
}

type result struct {
	line Line
	err  error
}

// lineReader is how lines are typed. The prompt's goroutine calls its methods.
type lineReader interface {
	begin(w *request) // show the label
	take(c chunk)     // input came
	end()             // the line is no longer wanted
}

// maxQueued bounds the input read ahead, in bytes.
const maxQueued = 16 << 20

// Prompt takes a conversation's lines. One goroutine owns its state; the others post funcs to
// it. Make one with Open.
type Prompt struct {
	opt     Options
	in      *input
	reader  lineReader
	keys    *keyboard // the reader, where lines are edited; else nil
	modes   *ttyModes // nil where the terminal is not touched
	screen  Screen
	typed   bool // a user types the lines
	unwatch func()

	calls   chan func()
	signals chan os.Signal
	quit    chan struct{}
	ended   chan struct{}

	want      *request
	queue     Queue
	interrupt func()    // stops the running turn; nil between turns
	early     bool      // a Ctrl-C came after the line was entered and before its turn began
	lent      bool      // a child has the terminal
	overheard func()    // hears of a Ctrl-C that is for the child; may be nil
	returned  time.Time // when the last child gave it back
	ending    error     // no more lines will come, and why
	taken     int
}

// run is the prompt's goroutine. After a panic it never counts as ended: a conversation that went
// on would leave by itself, with 0, before the crash ends the program.
func (p *Prompt) run() {
	defer p.Guard()
	p.loop()
	close(p.ended)
}

func (p *Prompt) loop() {
	for {
		chunks := p.in.chunks
		if p.lent || p.queue.bytes > maxQueued {
			chunks = nil
		} else if len(p.in.held) > 0 {
			next := p.in.held[0]
			p.in.held = p.in.held[1:]
			p.take(next)
			continue
		}
		select {
		case next := <-chunks:
			p.take(next)
		case f := <-p.calls:
			f()
		case s := <-p.signals:
			p.signal(s)
		case <-p.quit:
			return
		}
	}
}

func (p *Prompt) take(c chunk) {
	p.reader.take(c)
	if p.taken += len(c.data); c.err != nil {
		p.taken++
	}
}

// Taken is how many bytes of input were dealt with; its end counts as one. Tests wait for it.
func (p *Prompt) Taken() (n int) {
	p.do(func() { n = p.taken })
	return n
}

// Post has f run by the prompt's goroutine. It reports false when that ended.
func (p *Prompt) Post(f func()) bool {
	select {
	case p.calls <- f:
		return true
	case <-p.ended:
		return false
	}
}

func (p *Prompt) later(timer <-chan time.Time, f func()) {
	go func() {
		defer p.Guard()
		select {
		case <-timer:
			p.Post(f)
		case <-p.quit:
		}
	}()
}

func (p *Prompt) do(f func()) {
	done := make(chan struct{})
	if p.Post(func() { f(); close(done) }) {
		select {
		case <-done:
		case <-p.ended:
		}
	}
}

func (p *Prompt) wait(ctx context.Context, w *request) (Line, error) {
	w.reply = make(chan result, 1)
	if !p.Post(func() { p.start(w) }) {
		return Line{}, io.EOF
	}
	select {
	case r := <-w.reply:
		return r.line, r.err
	case <-p.ended:
		return Line{}, io.EOF
	case <-ctx.Done():
	}
	p.do(func() {
		if p.want == w {
			p.finish(result{err: context.Cause(ctx)})
		}
	})
	select {
	case r := <-w.reply:
		return r.line, r.err
	default:
		return Line{}, context.Cause(ctx)
	}
}

func (p *Prompt) start(w *request) {
	switch {
	case !w.question && len(p.queue.lines) > 0 && w.initial.Text == "":
		w.reply <- result{line: p.queue.Remove(func(i int, _ Line) bool { return i == 0 })[0]}
	case p.ending != nil:
		w.reply <- result{err: p.ending}
	case w.question && p.queue.bytes > maxQueued:
		w.reply <- result{err: io.EOF} // messages wait unread: no answer can get past them
	default:
		p.want, p.early = w, false
		p.reader.begin(w)
	}
}

func (p *Prompt) finish(r result) {
	w := p.want
	p.want, p.early = nil, false
	p.reader.end()
	w.reply <- r
}

func (p *Prompt) enqueue(l Line) {
	if p.opt.Queued != nil && p.opt.Queued(&p.queue, l) {
		return
	}
	l.Queued = true
	p.early = false // it was meant for the prompt before
	p.queue.lines = append(p.queue.lines, l)
	p.queue.bytes += len(l.Text)
}

// BeginTurn sets the effect of Ctrl-C until EndTurn: the prompt's goroutine calls interrupt.
func (p *Prompt) BeginTurn(interrupt func()) {
	p.do(func() {
		p.interrupt = interrupt
		if p.early {
			p.early = false
			interrupt()
		}
	})
}

// EndTurn says that the turn is over, and whether it came to a good end.
func (p *Prompt) EndTurn(good bool) {
	p.do(func() {
		p.interrupt = nil
		if p.keys != nil {
			p.keys.turned(good)
		}
	})
}

// Over says why no more lines will come; nil while they may.
func (p *Prompt) Over() error {
	var err error
	p.do(func() { err = p.ending })
	return err
}

// interrupted is a Ctrl-C that did not just clear a line.
func (p *Prompt) interrupted() {
	if p.interrupt != nil && p.want == nil && p.opt.Skip != nil && p.opt.Skip() {
		return
	}
	if p.interrupt != nil {
		p.interrupt() // first: the asking turn must find itself stopped, and not go on with a no
	}
	p.early = p.interrupt == nil && p.want == nil
	if p.want != nil {
		p.finish(result{err: ErrInterrupted})
	}
}

func (p *Prompt) hungUp(err error) {
	if p.ending == nil {
		p.ending = err
	}
	if p.want != nil {
		p.finish(result{err: p.ending})
	}
}

// End stops the turn and takes no line any more, for that reason. A terminal that is gone is a
// hang-up. Any goroutine may call it; it does not wait.
func (p *Prompt) End(why error) {
	if IsHangup(why) {
		why = &SignalError{hangup}
	}
	p.Post(func() { p.end(why) })
}

// end is End for the prompt's goroutine. A signal goes before other reasons.
func (p *Prompt) end(why error) {
	if p.interrupt != nil {
		p.interrupt()
	}
	if IsSignal(why) && !IsSignal(p.ending) {
		p.ending = nil
	}
	p.hungUp(why)
}

// Run runs a program that has the terminal to itself, which is its input unless it has one.
// Ctrl-C is then for it alone, and a signal that ends artoo ends it too. It leaves the
// terminal's modes as it likes, unless no line could be typed in them.
func (p *Prompt) Run(command *exec.Cmd) error {
	return p.Lend(nil, func() error {
		repair, err := watchModes(p.opt.In)
		if err != nil {
			return err
		}
		command.Stdout, command.Stderr = p.opt.Tty, p.opt.Tty
		if command.Stdin == nil {
			command.Stdin = p.opt.In
		}
		passTo, stop := passSignals()
		defer stop()
		if err := command.Start(); err != nil {
			return err
		}
		passTo(command.Process)
		err = command.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil // a process it left behind did not read the rest
		}
		return errors.Join(err, repair())
	})
}

// Lend runs f while the terminal is as it was found and nothing reads it. heard hears of each
// Ctrl-C, on the prompt's goroutine; it may be nil.
func (p *Prompt) Lend(heard func(), f func() error) error {
	var resume func()
	var err error
	p.do(func() {
		p.lent, p.overheard = true, heard
		resume = p.in.pause()
		if p.keys != nil {
			err = p.keys.release()
		}
	})
	if resume == nil {
		return io.EOF
	}
	if err == nil {
		err = f()
	}
	p.do(func() {
		if p.keys != nil {
			err = errors.Join(err, p.keys.reclaim())
		}
		p.lent, p.overheard, p.returned = false, nil, time.Now()
		resume()
	})
	return err
}

// lateSignals is how long after a child's end a signal of the keyboard is still the child's:
// the kernel and the runtime may hand it to us after the child has died of it.
const lateSignals = 200 * time.Millisecond

func (p *Prompt) signal(s os.Signal) {
	switch s {
	case syscall.SIGWINCH:
		if p.keys != nil && !p.lent {
			p.keys.resized()
		}
	case syscall.SIGCONT:
		p.continued()
	case syscall.SIGINT, syscall.SIGQUIT:
		switch {
		case p.lent || time.Since(p.returned) < lateSignals:
			if s == syscall.SIGINT && p.overheard != nil {
				p.overheard()
			}
		case s == syscall.SIGINT:
			p.interrupted()
		default:
			p.dump()
		}
	default:
		p.end(&SignalError{s})
	}
}

// continued shows the prompt again after the process was stopped.
func (p *Prompt) continued() {
	switch lines, plain := p.reader.(*plainReader); {
	case p.lent:
	case p.keys != nil:
		p.complain(p.modes.again())
		p.keys.continued()
	case plain && lines.open && lines.tty:
		if p.want.again != nil {
			p.want.label = p.want.again()
		}
		p.screen.Prompt(p.want.label.Text)
	}
}

func (p *Prompt) dump() {
	if p.keys != nil {
		p.keys.abandon()
	}
	if p.modes != nil {
		p.complain(p.modes.leave())
	}
	p.opt.Quit()
}

func (p *Prompt) complain(err error) {
	if err != nil {
		p.screen.Trouble("error: " + err.Error())
	}
}

// How long the program may take to end after a signal, and a tool's processes to be killed.
const (
	endWait  = 2500 * time.Millisecond
	killWait = 200 * time.Millisecond
)

// watchdog ends the program when a signal is to end it and a terminal that takes no output
// holds every writer, and perhaps the prompt's goroutine. stop is for an end without a signal.
func (p *Prompt) watchdog() (stop func()) {
	if p.opt.Exit == nil {
		return func() {}
	}
	came, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(came, endingSignals()...)
	go func() {
		var s os.Signal
		select {
		case s = <-came:
		case <-over:
			return
		}
		<-p.opt.Clock.After(endWait)
		if p.opt.Kill != nil {
			p.opt.Kill()
		}
		<-p.opt.Clock.After(killWait)
		if p.modes != nil {
			_ = p.modes.leave() // the process ends, so no one can read the error
		}
		p.opt.Exit((&SignalError{s}).Code())
	}()
	return func() { signal.Stop(came); close(over) }
}

// crashWait is how long a crash waits for a terminal that takes no output.
const crashWait = time.Second

// Guard is deferred by every goroutine of a conversation: after a panic it gives the terminal
// back and calls Ending.Crash.
func (p *Prompt) Guard() {
	if value := recover(); value != nil {
		p.crashed(value)
	}
}

func (p *Prompt) crashed(value any) {
	stack := debug.Stack()
	var err error
	if p.modes != nil {
		err = p.modes.leave()
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		// It may have been the screen that broke: then there is no more to say.
		defer func() { _ = recover() }()
		if p.keys != nil {
			p.keys.abandon()
		} else {
			p.screen.Draw([]byte("\n"))
		}
		p.complain(err)
	}()
	select {
	case <-told:
	case <-time.After(crashWait):
	}
	if p.opt.Crash != nil {
		p.opt.Crash(value, stack)
	}
	panic(fmt.Sprint(value, "\n", string(stack)))
}
