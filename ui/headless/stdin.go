// Package headless runs one message without a conversation: the answer goes to
// stdout, everything else to stderr, and the exit status says how it went. It
// also decides what of standard input belongs to the message.
package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"artoo/agent"
)

// StdinMode says what to do with standard input.
type StdinMode string

// The modes: StdinAuto decides by what it is, StdinNever leaves it alone.
const (
	StdinAuto  StdinMode = "auto"
	StdinNever StdinMode = "never"
)

// patientWait is how long a user waits before being told what artoo waits for.
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

// Input is what came of standard input.
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

// Read reads what belongs to the message. ctx ends the wait, and its cause is
// returned then. An error of kind usage says that there is neither prompt nor
// input, or too much of it; of kind cap, that Until came first.
func (s Stdin) Read(ctx context.Context) (Input, error) {
	if s.Mode == StdinNever || s.File == nil || !s.Dash && s.nothing() {
		if strings.TrimSpace(s.Prompt) == "" {
			return Input{}, noPrompt()
		}
		return Input{Text: s.Prompt, State: "none"}, nil
	}
	if !s.Until.IsZero() {
		over := &agent.Failure{Kind: agent.KindCap, What: "stdin",
			Err:  errors.New("the run's time is over, and the input has not ended"),
			Hint: "a higher --max-time, or --stdin never"}
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, s.Until, over)
		defer stop()
	}
	first := make(chan chunk, 1)
	wanted := s.Dash || s.Prompt == "" || s.regular()
	var decided atomic.Bool // set when the input is read, or given up
	go func() {
		if !wanted {
			awaitInput(s.File) // reads nothing: Late finds what the run has gone on without
		}
		if decided.CompareAndSwap(false, true) {
			first <- readChunk(s.File)
		}
	}()
	c, ok, err := s.await(ctx, first, wanted)
	if err != nil {
		return Input{}, err
	}
	switch {
	case ok:
	case !decided.CompareAndSwap(false, true): // it came in this moment
		c = <-first
	default:
		s.Notice(
			fmt.Sprintf("no input within %s; continuing without it (--stdin=never skips the wait)",
				s.Wait))
		return Input{Text: s.Prompt, State: "skipped", skipped: s.File}, nil
	}
	got := &intake{dir: s.Dir}
	if err := s.rest(ctx, c, got); err != nil {
		return Input{}, errors.Join(err, got.discard())
	}
	return got.message(s.Prompt)
}

// nothing reports whether standard input cannot hold a message: a terminal, the
// null device, or no file at all.
func (s Stdin) nothing() bool {
	info, err := s.File.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

func (s Stdin) regular() bool {
	info, err := s.File.Stat()
	return err == nil && info.Mode().IsRegular()
}

// await waits for the first chunk. ok is false when the wait was over first.
func (s Stdin) await(ctx context.Context, first <-chan chunk, forever bool) (chunk, bool, error) {
	var notice, over <-chan time.Time
	if s.Patient {
		notice = s.after(patientWait)
	} else if !forever {
		over = s.after(s.Wait)
	}
	for {
		select {
		case c := <-first:
			return c, true, nil
		case <-over:
			return chunk{}, false, nil
		case <-notice:
			s.Notice("waiting for stdin; Ctrl-C to stop, --stdin=never to ignore it")
		case <-ctx.Done():
			return chunk{}, false, context.Cause(ctx)
		}
	}
}

// rest reads on to the end, and says every half minute how far it is.
func (s Stdin) rest(ctx context.Context, c chunk, got *intake) error {
	report := s.after(reportEvery)
	more := make(chan chunk, 1)
	for {
		if s.Max > 0 && got.bytes+int64(len(c.data)) > s.Max {
			return &agent.Failure{Kind: agent.KindUsage, What: "stdin", Err: fmt.Errorf("more than %d bytes", s.Max),
				Hint: "a higher ARTOO_STDIN_MAX, or a smaller input (head, grep)"}
		}
		if err := got.add(c.data); err != nil {
			return err
		}
		if c.err != nil {
			break
		}
		go func() { more <- readChunk(s.File) }()
		for waiting := true; waiting; {
			select {
			case c = <-more:
				waiting = false
			case <-report:
				s.Notice(fmt.Sprintf("still reading stdin, %d bytes so far", got.bytes))
				report = s.after(reportEvery)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	// A closed descriptor is no input; any other fault would make an answer
	// that missed a part of it.
	if !errors.Is(c.err, io.EOF) && !(got.bytes == 0 && isClosed(c.err)) {
		return &agent.Failure{Kind: agent.KindInternal, What: "stdin", Err: c.err,
			Hint: "check what is piped or redirected into artoo, or --stdin never"}
	}
	return nil
}

func readChunk(f *os.File) chunk {
	buf := make([]byte, 32<<10)
	n, err := f.Read(buf)
	return chunk{buf[:n], err}
}

func isClosed(err error) bool {
	return errors.Is(err, os.ErrClosed) || errors.Is(err, errBadDescriptor)
}

func noPrompt() error {
	return &agent.Failure{Kind: agent.KindUsage, Err: errors.New("no prompt"),
		Hint: `artoo -p "what you want", or pipe it in: echo "what you want" | artoo`}
}
