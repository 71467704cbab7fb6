package prompt

import (
	"io"
	"time"
)

type chunk struct {
	data []byte
	at   time.Time
	err  error         // the input ended, and why
	mark chan struct{} // not input: everything that was there when flush was asked has been delivered
}

// input is the pump: one goroutine that owns the conversation's stdin. It reads ahead, so that
// keys are taken while the model works, and pauses while a child has the terminal.
type input struct {
	reader io.Reader
	waiter *fileWaiter // nil where the reader cannot be waited for
	now    func() time.Time
	chunks chan chunk
	// pace hears answers in the input; it may be nil.
	pace *pace
	held []chunk // taken out of chunks already, to be dealt with first

	requests chan func() (again bool) // done between two reads; again: read on after the end of the input
	quit     chan struct{}
	ended    chan struct{}
}

const (
	readSize = 4096
	// chunksAhead is how much is read while the one who takes it waits to write: the terminal's answer, which lets
	// it write, may stand behind keys.
	chunksAhead = 64
)

// startInput starts the pump. An *os.File is waited for before it is read.
func startInput(d Device, now func() time.Time) (*input, error) {
	w, err := newWaiter(d.In)
	if err != nil {
		return nil, err
	}
	in := &input{
		reader: d.In, waiter: w, now: now,
		chunks:   make(chan chunk, chunksAhead),
		requests: make(chan func() bool, 4),
		quit:     make(chan struct{}),
		ended:    make(chan struct{}),
	}
	if d.Far != nil {
		in.pace = d.Far.pace
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
			if granted || !readable { // a grant may have read the readable input
				continue
			}
		}
		if !in.read() && !in.rest() {
			return
		}
	}
}

func (in *input) read() bool {
	buf := make([]byte, readSize)
	n, err := in.reader.Read(buf)
	if data := in.pace.hear(buf[:n]); len(data) > 0 && !in.deliver(chunk{data: data}) {
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

// stop ends the pump; a reader that cannot be waited for ends with the next read.
func (in *input) stop() error {
	in.pace.hush()
	close(in.quit)
	if in.waiter == nil {
		return nil
	}
	in.waiter.wake()
	<-in.ended
	return in.waiter.close()
}

// pause makes the pump let go of the input until resume is called. Chunks on their way are kept
// in held. Called by the goroutine that takes the chunks.
func (in *input) pause() (resume func()) {
	if in.waiter == nil {
		return func() {}
	}
	again := in.pace.hush()
	paused, resumed := make(chan struct{}), make(chan struct{})
	in.ask(func() (again bool) {
		close(paused)
		select {
		case <-resumed:
		case <-in.quit:
		}
		return false
	})
	for {
		select {
		case c := <-in.chunks:
			in.held = append(in.held, c)
		case <-paused:
			return func() { close(resumed); again() }
		case <-in.ended:
			return func() {}
		}
	}
}

// flush has everything delivered that is there to be read, and then mark. It reports false
// where that cannot be known. Called by the goroutine that takes the chunks.
func (in *input) flush(mark chan struct{}) bool {
	if in.waiter == nil {
		return false
	}
	return in.ask(func() (again bool) {
		for more := true; more; {
			readable, err := in.waiter.wait(true)
			more = err == nil && readable && in.read()
		}
		in.deliver(chunk{mark: mark})
		return true
	})
}

func (in *input) ask(request func() (again bool)) bool {
	for {
		select {
		case <-in.ended:
			return false
		default:
		}
		select {
		case in.requests <- request:
			in.waiter.wake()
			return true
		case c := <-in.chunks:
			in.held = append(in.held, c)
		case <-in.ended:
			return false
		}
	}
}

func (in *input) serve() (granted, ok bool) {
	for {
		select {
		case request := <-in.requests:
			request()
			granted = true
		case <-in.quit:
			return granted, false
		default:
			return granted, true
		}
	}
}

// rest waits after the end of the input, which on a terminal may be a Ctrl-D that means
// nothing: a flush makes the pump read again. It reports false when the pump has to end.
func (in *input) rest() bool {
	for {
		select {
		case <-in.quit:
			return false
		case request := <-in.requests:
			if request() {
				return true
			}
		}
	}
}
