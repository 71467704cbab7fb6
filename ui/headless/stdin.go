// Package headless runs one message without a conversation: the answer goes to
// stdout, everything else to stderr, and the exit status says how it went. It
// also decides whether standard input belongs to the message.
package headless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"artoo/agent"
)

// StdinMode chooses the use of standard input.
type StdinMode string

// The modes: StdinAuto decides by its type, StdinNever leaves it alone.
const (
	StdinAuto  StdinMode = "auto"
	StdinNever StdinMode = "never"
)

// patientWait is how long artoo waits before it reports that it waits for stdin.
const patientWait = 3 * time.Second

// reportEvery is the time between two reports of a long read.
const reportEvery = 30 * time.Second

// Stdin is the policy for one run's standard input. The zero Wait means do not
// wait.
type Stdin struct {
	File *os.File
	Mode StdinMode
	// Prompt is the message from the command line; "" without one: the
	// input is the message then, and is read to its end.
	Prompt string
	// Dash says that "-" stood among the arguments: the input is wanted.
	Dash bool
	// Patient says that a user can see notices and press Ctrl-C: stderr is a
	// terminal with artoo in its foreground. The first byte is waited for as
	// long as it takes then.
	Patient bool
	Wait    time.Duration // longest wait for the first byte when Patient is false
	Until   time.Time     // when the run must have ended (--max-time); zero for never
	Max     int64         // bytes that are read at most; 0 for no bound
	// Dir is where an input over 64 KiB is kept, made when needed.
	Dir string
	// Notice tells the user something, one sentence; never nil.
	Notice func(string)
	// After is time.After when nil.
	After func(time.Duration) <-chan time.Time
}

func (s Stdin) after(d time.Duration) <-chan time.Time {
	if s.After != nil {
		return s.After(d)
	}
	return time.After(d)
}

// Input is the outcome of reading standard input.
type Input struct {
	Text  string // the whole message: prompt and input
	Bytes int64  // how much input there was
	File  string // where a large input is, "" when it is in Text
	State string // field of the JSON result: "none", "read", "file", "skipped"

	skipped *os.File // the run has gone on without its input; nil where it has not
}

// Late reports whether input arrived after the run had gone on without it. It is asked once, at
// the end of the run: it takes a byte of that input.
func (in Input) Late() bool { return in.skipped != nil && holdsInput(in.skipped) }

// chunk is one read of standard input.
type chunk struct {
	data []byte
	err  error
}

// Read reads the input that belongs to the message. ctx ends the wait, and its cause is returned. An error
// of kind usage says that there is neither prompt nor input, or too much; of kind cap, that Until
// came first.
func (s Stdin) Read(ctx context.Context) (Input, error) {
	if s.Mode == StdinNever || s.File == nil || !s.Dash && s.nothing() {
		if strings.TrimSpace(s.Prompt) == "" {
			return Input{}, noPrompt()
		}
		return Input{Text: s.Prompt, State: "none"}, nil
	}
	if !s.Until.IsZero() {
		over := &agent.Failure{Kind: agent.KindCap, What: "stdin",
			Err:  errors.New("time ran out before the input ended"),
			Hint: "a higher --max-time, or --stdin never"}
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, s.Until, over)
		defer stop()
	}
	in := &intake{dir: s.Dir}
	skipped, err := s.receive(ctx, in)
	switch {
	case err != nil:
		return Input{}, errors.Join(err, in.discard())
	case skipped:
		return Input{Text: s.Prompt, State: "skipped", skipped: s.File}, nil
	}
	return in.message(s.Prompt)
}

// Missing is the failure of a run that has neither prompt nor input, and nil where there is one or
// the other, or the input does not end within Wait. It takes the input.
func (s Stdin) Missing(ctx context.Context) error {
	if strings.TrimSpace(s.Prompt) != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Wait)
	defer cancel()
	s.Max = inlineLimit // more is input in any case
	if _, err := s.Read(ctx); errors.Is(err, errNoPrompt) {
		return err
	}
	return nil
}

// receive takes the input in, to its end. skipped reports that none came in time.
func (s Stdin) receive(ctx context.Context, in *intake) (skipped bool, err error) {
	wanted := s.Dash || s.Prompt == "" || s.regular()
	chunks, gone := make(chan chunk), make(chan struct{})
	defer close(gone)
	var decided atomic.Bool // set when the input is read, or given up
	go func() {
		if !wanted {
			readable(s.File, -1) // reads nothing: Late finds input that came after the wait
		}
		if !decided.CompareAndSwap(false, true) {
			return
		}
		buf := make([]byte, 32<<10)
		for c := (chunk{}); c.err == nil; {
			n, err := s.File.Read(buf)
			c = chunk{bytes.Clone(buf[:n]), err}
			select {
			case chunks <- c:
			case <-gone:
				return
			}
		}
	}()
	var notice, over, report <-chan time.Time
	if s.Patient {
		notice = s.after(patientWait)
	} else if !wanted {
		over = s.after(s.Wait)
	}
	for {
		select {
		case c := <-chunks:
			if whole, err := s.take(in, c); whole || err != nil {
				return false, err
			}
			if report == nil {
				notice, over, report = nil, nil, s.after(reportEvery)
			}
		case <-over:
			if decided.CompareAndSwap(false, true) { // else it came in this moment
				s.Notice(fmt.Sprintf("no input within %s; continuing without it (--stdin=never skips the wait)", s.Wait))
				return true, nil
			}
		case <-notice:
			s.Notice("waiting for stdin; Ctrl-C to stop, --stdin=never to ignore it")
		case <-report:
			s.Notice(fmt.Sprintf("still reading stdin, %d bytes so far", in.bytes))
			report = s.after(reportEvery)
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// take takes a chunk in. whole reports that it was the last one.
func (s Stdin) take(in *intake, c chunk) (whole bool, err error) {
	if s.Max > 0 && in.bytes+int64(len(c.data)) > s.Max {
		return false, &agent.Failure{Kind: agent.KindUsage, What: "stdin", Err: fmt.Errorf("more than %d bytes", s.Max),
			Hint: "a higher ARTOO_STDIN_MAX, or a smaller input (head, grep)"}
	}
	if err := in.add(c.data); err != nil || c.err == nil {
		return false, err
	}
	// A closed descriptor is no input; after any other fault an answer would miss a part of it.
	closed := errors.Is(c.err, os.ErrClosed) || errors.Is(c.err, syscall.EBADF)
	if errors.Is(c.err, io.EOF) || in.bytes == 0 && closed {
		return true, nil
	}
	return false, &agent.Failure{Kind: agent.KindInternal, What: "stdin", Err: c.err,
		Hint: "check the pipe or redirection into artoo, or --stdin never"}
}

// nothing reports whether standard input cannot hold a message: a terminal, the null device, or
// no file.
func (s Stdin) nothing() bool {
	info, err := s.File.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

func (s Stdin) regular() bool {
	info, err := s.File.Stat()
	return err == nil && info.Mode().IsRegular()
}

var errNoPrompt = errors.New("no prompt")

func noPrompt() error {
	return &agent.Failure{Kind: agent.KindUsage, Err: errNoPrompt,
		Hint: `artoo -p "what you want", or pipe it in: echo "what you want" | artoo`}
}

// holdsInput reports whether a pipe or socket holds a byte, and takes it: the ends of some look
// as if one did.
func holdsInput(f *os.File) bool {
	if !readable(f, 0) {
		return false
	}
	n, err := f.Read(make([]byte, 1))
	return err == nil && n > 0
}

// readable reports whether a read would find something, or an end, within timeout milliseconds;
// -1 is no limit. A pipe stays blocking as it is: other programs share it.
func readable(f *os.File, timeout int) (ready bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	_ = conn.Control(func(fd uintptr) { // it fails for a closed file
		ask := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for err = unix.EINTR; err == unix.EINTR; {
			_, err = unix.Poll(ask, timeout)
		}
		ready = ask[0].Revents&unix.POLLIN != 0
	})
	return ready
}
