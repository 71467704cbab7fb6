// Package headless runs one message without a conversation: the answer goes to
// stdout, everything else to stderr, and the exit status says how it went. It
// also decides what of standard input belongs to the message.
package headless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"artoo/agent"
)

// StdinMode says what to do with standard input.
type StdinMode string

// The modes: StdinAuto decides by what it is, StdinNever leaves it alone.
const (
	StdinAuto  StdinMode = "auto"
	StdinNever StdinMode = "never"
)

// inlineLimit is how much input goes to the model whole, in bytes; more goes to
// a file.
const inlineLimit = 64 << 10

// excerpt is how much of a larger input's head and tail the model sees, bytes.
const excerpt = 4 << 10

// Stdin is the policy for one run's standard input. The zero Wait means do not
// wait.
type Stdin struct {
	File *os.File
	Mode StdinMode
	// Prompt is the message from the command line; "" when there is none: the
	// input is the message then, and is read to its end.
	Prompt string
	// Dash says that "-" stood among the arguments: the input is wanted.
	Dash bool
	// Patient says that a person can see notices and press Ctrl-C: stderr is a
	// terminal with artoo in its foreground. The first byte is waited for as
	// long as it takes then.
	Patient bool
	Wait    time.Duration // for the first byte, where nobody is there
	Max     int64         // bytes that are read at most; 0 for no bound
	// Dir is where an input over 64 KiB is kept, made when needed.
	Dir string
	// Notice tells the user something, one sentence; never nil.
	Notice func(string)
}

// Input is what came of standard input.
type Input struct {
	Text  string // the whole message: prompt and input
	Bytes int64  // how much input there was
	File  string // where a large input is, "" when it is in Text
	State string // for JSON: "none", "read", "file", "skipped"

	late *atomic.Bool
}

// Late reports whether input arrived after the run had gone on without it.
func (in Input) Late() bool { return in.late != nil && in.late.Load() }

// chunk is one read of standard input.
type chunk struct {
	data []byte
	err  error
}

// Read reads what belongs to the message. ctx ends the wait. An error of kind
// usage says that there is neither prompt nor input.
func (s Stdin) Read(ctx context.Context) (Input, error) {
	wanted := s.Dash || s.Prompt == ""
	if s.Mode == StdinNever || s.File == nil || !s.Dash && s.nothing() {
		if s.Prompt == "" {
			return Input{}, noPrompt()
		}
		return Input{Text: s.Prompt, State: "none"}, nil
	}
	first := make(chan chunk, 1)
	go func() { first <- readChunk(s.File) }()
	c, ok, err := s.await(ctx, first, wanted || s.regular())
	if err != nil {
		return Input{}, err
	}
	if !ok {
		s.Notice(fmt.Sprintf("no input came within %s; going on without it (--stdin never leaves it alone from the start)", s.Wait))
		late := new(atomic.Bool)
		go func() {
			if c := <-first; len(c.data) > 0 {
				late.Store(true)
			}
		}()
		return Input{Text: s.Prompt, State: "skipped", late: late}, nil
	}
	data, err := s.rest(ctx, c)
	if err != nil {
		return Input{}, err
	}
	return s.compose(data)
}

// nothing reports whether standard input cannot hold a message: a terminal, or
// no file at all.
func (s Stdin) nothing() bool {
	info, err := s.File.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0
}

func (s Stdin) regular() bool {
	info, err := s.File.Stat()
	return err == nil && info.Mode().IsRegular()
}

// await waits for the first chunk. ok is false when the wait was over first.
func (s Stdin) await(ctx context.Context, first <-chan chunk, forever bool) (chunk, bool, error) {
	notice := time.NewTimer(3 * time.Second)
	defer notice.Stop()
	var over <-chan time.Time
	if !forever && !s.Patient {
		timer := time.NewTimer(s.Wait)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case c := <-first:
			return c, true, nil
		case <-over:
			return chunk{}, false, nil
		case <-notice.C:
			if s.Patient {
				s.Notice("waiting for stdin; Ctrl-C stops, --stdin never ignores it")
			}
		case <-ctx.Done():
			return chunk{}, false, context.Cause(ctx)
		}
	}
}

// rest reads on to the end, and says every half minute how far it is.
func (s Stdin) rest(ctx context.Context, c chunk) ([]byte, error) {
	var data bytes.Buffer
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	more := make(chan chunk, 1)
	for {
		data.Write(c.data)
		if s.Max > 0 && int64(data.Len()) > s.Max {
			return nil, &agent.Failure{Kind: agent.KindUsage, What: "stdin", Err: fmt.Errorf("more than %d bytes", s.Max), Hint: "a higher ARTOO_STDIN_MAX, or a smaller input (head, grep)"}
		}
		if c.err != nil {
			break
		}
		go func() { more <- readChunk(s.File) }()
		for waiting := true; waiting; {
			select {
			case c = <-more:
				waiting = false
			case <-tick.C:
				s.Notice(fmt.Sprintf("still reading stdin, %d bytes so far", data.Len()))
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
	// A closed descriptor is no input; any other fault would make an answer
	// that missed a part of it.
	if !errors.Is(c.err, io.EOF) && !(data.Len() == 0 && isClosed(c.err)) {
		return nil, &agent.Failure{Kind: agent.KindInternal, What: "stdin", Err: c.err}
	}
	return data.Bytes(), nil
}

func readChunk(f *os.File) chunk {
	buf := make([]byte, 32<<10)
	n, err := f.Read(buf)
	return chunk{buf[:n], err}
}

// compose makes the message of prompt and input. The input follows the prompt.
func (s Stdin) compose(data []byte) (Input, error) {
	in := Input{Bytes: int64(len(data)), State: "read"}
	if len(bytes.TrimSpace(data)) == 0 {
		if s.Prompt == "" {
			return Input{}, noPrompt()
		}
		in.Text, in.State = s.Prompt, "none"
		return in, nil
	}
	if len(data) <= inlineLimit && bytes.IndexByte(data, 0) < 0 {
		text := strings.ToValidUTF8(string(data), "\uFFFD")
		if s.Prompt == "" {
			in.Text = text
			return in, nil
		}
		in.Text = s.Prompt + "\n\nStandard input, " + counts(data) + ":\n\n" + text
		return in, nil
	}
	path, err := s.keep(data)
	if err != nil {
		return Input{}, err
	}
	in.File, in.State = path, "file"
	head, tail := data[:min(excerpt, len(data))], data[max(0, len(data)-excerpt):]
	prompt := s.Prompt
	if prompt == "" {
		prompt = "The message came on standard input and is long."
	}
	in.Text = fmt.Sprintf("%s\n\nStandard input, %s, is in the file %s: read or grep it as needed. It begins:\n\n%s\n\n[…]\n\nand ends:\n\n%s",
		prompt, counts(data), path, clean(head), clean(tail))
	return in, nil
}

// keep writes a large input where the model can read it.
func (s Stdin) keep(data []byte) (string, error) {
	fail := func(err error) (string, error) {
		return "", &agent.Failure{Kind: agent.KindInternal, What: "keeping stdin", Err: err, Hint: "free some space, or set XDG_STATE_HOME to a directory that can be written"}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(s.Dir, "stdin-*.txt") // 0600
	if err != nil {
		return fail(err)
	}
	if _, err := f.Write(data); err != nil {
		return fail(errors.Join(err, f.Close()))
	}
	if err := f.Close(); err != nil {
		return fail(err)
	}
	return filepath.Clean(f.Name()), nil
}

func clean(data []byte) string {
	for len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\x00", "\uFFFD")
}

func counts(data []byte) string {
	lines := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	return fmt.Sprintf("%d lines, %d bytes", lines, len(data))
}

func isClosed(err error) bool {
	return errors.Is(err, os.ErrClosed) || errors.Is(err, errBadDescriptor)
}

func noPrompt() error {
	return &agent.Failure{Kind: agent.KindUsage, Err: errors.New("no prompt"), Hint: `artoo -p "what you want", or pipe it in: echo "what you want" | artoo`}
}
