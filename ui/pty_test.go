//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
	"artoo/ui/prompt"
	"artoo/ui/prompt/prompttest"
	"artoo/ui/screen"
)

// waitLimit is how long a test waits for an event that must happen at once.
const waitLimit = 10 * time.Second

// sender is a scripted Sender: each turn is played by the func, which gets the
// message; the messages are kept.
type sender struct {
	mu   sync.Mutex
	got  []string
	play func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error)
	// steered plays turns to which the user says more; it goes before play.
	steered func(ctx context.Context, m agent.Message, cb agent.Callbacks)
	kill    func() // may be nil
}

func (s *sender) Kill() {
	if s.kill != nil {
		s.kill()
	}
}

func (s *sender) Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error) {
	text := m.Text
	s.mu.Lock()
	s.got = append(s.got, text)
	s.mu.Unlock()
	if s.steered != nil {
		s.steered(ctx, m, cb)
		return &agent.Response{}, nil
	}
	if s.play == nil {
		cb.OnText("answer to " + text + "\n")
		return &agent.Response{Text: "answer to " + text}, nil
	}
	return s.play(ctx, text, cb)
}

func (s *sender) messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

// manual is a clock that a test moves.
type manual struct {
	mu     sync.Mutex
	now    time.Time
	timers []timer
	set    chan struct{} // one for each timer that was asked for
}

type timer struct {
	at time.Time
	c  chan time.Time
}

func newManual() *manual {
	return &manual{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), set: make(chan struct{}, 1000)}
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(chan time.Time, 1)
	m.timers = append(m.timers, timer{m.now.Add(d), c})
	m.set <- struct{}{}
	return c
}

func (m *manual) advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	for _, t := range m.timers {
		if !t.at.After(m.now) {
			select {
			case t.c <- m.now:
			default:
			}
		}
	}
}

// talk is a conversation that a test holds: over a pty, or over pipes.
type talk struct {
	*testing.T
	clock  *manual
	sender *sender
	in     *os.File // the test types into it
	tty    *os.File // the terminal's own end, nil for pipes
	answer *sink    // stdout
	status *sink    // the terminal's output
	term   *Terminal
	ended  chan outcome
	seen   int          // of the status, by expect
	sent   atomic.Int64 // bytes; the program's goroutine may send too
	before unix.Termios // the terminal's modes when a child was started

	stopReading func()
}

type outcome struct {
	code int
	err  error
}

// sink keeps the bytes written to it and lets a test wait for them.
type sink struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func newSink() *sink { return &sink{changed: make(chan struct{})} }

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
	return s.b.Write(p)
}

func (s *sink) read() (string, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String(), s.changed
}

func (s *sink) String() string { text, _ := s.read(); return text }

// startPTY begins a conversation on a new terminal of 80x24.
func startPTY(t *testing.T, s *sender, change func(*Options)) *talk {
	t.Helper()
	master, slave, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	if err := prompttest.ResizePTY(master, 80, 24); err != nil {
		t.Fatal(err)
	}
	k := &talk{T: t, clock: newManual(), sender: s, in: master, tty: slave, answer: newSink(), status: newSink()}
	k.stopReading = readAll(t, master, k.status)
	t.Cleanup(func() {
		k.stopReading()
		_ = slave.Close()
		_ = master.Close()
	})
	k.start(slave, slave, func(o *Options) {
		o.Tty = slave
		if change != nil {
			change(o)
		}
	})
	return k
}

// readAll copies the terminal's output until stop is called. It never blocks in a
// read, since that would keep the file from being closed.
func readAll(t *testing.T, master *os.File, to io.Writer) (stop func()) {
	t.Helper()
	fd, quit, read := ttyFd(t, master), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			var set unix.FdSet
			set.Set(fd)
			n, err := unix.Select(fd+1, &set, nil, nil, &unix.Timeval{Usec: 20_000})
			select {
			case <-quit:
				return
			default:
			}
			switch {
			case errors.Is(err, unix.EINTR), err == nil && n == 0:
				continue
			case err == nil:
				n, err = master.Read(buf)
				_, _ = to.Write(buf[:n])
			}
			if err != nil { // EIO: the terminal's other end was closed
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-read
	})
}

// ttyFd is the descriptor of a file, whose mode stays as it is.
func ttyFd(t *testing.T, f *os.File) (fd int) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Control(func(u uintptr) { fd = int(u) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// Sequences to and from a terminal.
const (
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	cyanOn     = "\x1b[36m"
)

// quiet is how long nothing must have been typed before a question takes an answer.
const quiet = 300 * time.Millisecond

func (k *talk) start(in io.Reader, status io.Writer, change func(*Options)) {
	k.Helper()
	opt := Options{
		Agent: testAgent(k), Sender: k.sender, Profile: screen.Rich,
		Options: prompt.Options{Device: prompt.Device{In: in}, Size: func() (int, int) { return 80, 24 },
			Clock: prompt.Clock{Now: k.clock.Now, After: k.clock.After}},
	}
	opt.Program, opt.Models = &testProgram{agent: opt.Agent}, &testProgram{agent: opt.Agent}
	if change != nil {
		change(&opt)
	}
	if opt.Screen == nil {
		opt.Screen = newTestScreen(k.answer, status, opt.Profile, k.clock.Now)
	}
	term, err := New(opt)
	if err != nil {
		k.Fatal(err)
	}
	k.term = term
	k.ended = make(chan outcome, 1)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		code, err := term.Run(ctx)
		k.ended <- outcome{code, err}
	}()
	k.Cleanup(func() {
		cancel()
		select {
		case <-over:
		case <-time.After(waitLimit):
			k.Errorf("the conversation does not end; the terminal shows %q", k.status)
		}
	})
}

// expect waits until the terminal shows text after the text that was expected before.
func (k *talk) expect(text string) {
	k.Helper()
	k.seen = k.await(k.status, k.seen, text)
}

func (k *talk) await(s *sink, from int, text string) int {
	k.Helper()
	deadline := time.After(waitLimit)
	for {
		all, changed := s.read()
		if i := strings.Index(all[from:], text); i >= 0 {
			return from + i + len(text)
		}
		select {
		case <-changed:
		case <-deadline:
			k.Fatalf("waited for %q; there is %q", text, all[from:])
		}
	}
}

func (k *talk) send(keys string) {
	k.Helper()
	k.sent.Add(int64(len(keys)))
	if _, err := io.WriteString(k.in, keys); err != nil {
		k.Fatal(err)
	}
}

// enter types text, waits for its echo, and presses Enter by itself.
func (k *talk) enter(text string) {
	k.Helper()
	k.send(text)
	k.expect(text)
	k.send("\r")
	k.expect(pasteOff)
}

// settle waits until all keys sent so far were dealt with.
func (k *talk) settle() {
	k.Helper()
	k.took(int(k.sent.Load()))
}

// took waits until so many bytes of input were dealt with. The kernel hands them over in its own time, so there is no
// other way to know than to ask.
func (k *talk) took(want int) {
	k.Helper()
	late := time.Now().Add(waitLimit)
	for again := time.Tick(time.Millisecond); k.term.prompt.Taken() < want; <-again {
		if time.Now().After(late) {
			k.Fatalf("%d of %d bytes were taken; the terminal shows %q", k.term.prompt.Taken(), want, k.status)
		}
	}
}

// ends waits for the end of the conversation, with a code and no error.
func (k *talk) ends(code int) {
	k.Helper()
	if o := k.end(); o != (outcome{code: code}) {
		k.Errorf("ended with %+v", o)
	}
}

// wasSent compares the messages that the agent got.
func (k *talk) wasSent(want ...string) {
	k.Helper()
	if diff := cmp.Diff(want, k.sender.messages()); diff != "" {
		k.Error(diff)
	}
}

func (k *talk) end() outcome {
	k.Helper()
	select {
	case o := <-k.ended:
		return o
	case <-time.After(waitLimit):
		k.Fatalf("the conversation does not end; the terminal shows %q", k.status)
		return outcome{}
	}
}

// asking is a turn that asks about a command and tells how it was answered.
func asking(command string, answers chan<- agent.Answer, errs chan<- error) func(context.Context,
	string, agent.Callbacks) (*agent.Response, error) {
	return func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		call := agent.Call{
			ToolCall: provider.ToolCall{ID: "1", Name: "bash", Input: []byte(`{"command":"` + command + `"}`)},
			Access:   tool.Access{Kind: tool.KindRun, Command: command, Dir: "/", Verb: "run", Object: command}, Of: 1,
		}
		a, err := cb.Ask(ctx, agent.Question{Kind: agent.QuestionApproval, Call: call, Dir: "/",
			Rule: "bash(" + command + ")", Number: 1, Of: 1})
		if err != nil {
			errs <- err
		} else {
			answers <- a
		}
		return &agent.Response{}, context.Cause(ctx)
	}
}

func startAsking(t *testing.T, change func(*Options)) (*talk, chan agent.Answer, chan error) {
	t.Helper()
	answers, errs := make(chan agent.Answer, 8), make(chan error, 8)
	k := startPTY(t, &sender{play: asking("rm -r build", answers, errs)}, change)
	k.expect("you: ")
	k.enter("do it")
	k.expect("(n) ")
	return k, answers, errs
}

func wanted[T any](k *talk, c <-chan T) T {
	k.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitLimit):
		k.Fatalf("nothing came; the terminal shows %q", k.status)
		panic("unreachable")
	}
}

func none[T any](k *talk, c <-chan T) {
	k.Helper()
	select {
	case v := <-c:
		k.Fatalf("unexpected: %v", v)
	default:
	}
}

var errTest = errors.New("it broke")
