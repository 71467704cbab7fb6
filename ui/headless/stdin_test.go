package headless

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/agent"
)

// pipe is a pipe whose writing end the test holds.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// piped is a pipe that held data and was closed.
func piped(t *testing.T, data string) *os.File {
	t.Helper()
	r, w := pipe(t)
	go func() {
		_, _ = io.WriteString(w, data) // fails only when the reader left first
		w.Close()
	}()
	return r
}

// file is a regular file with data.
func file(t *testing.T, data string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// source is the policy with a clock that never fires and notices that must not
// come.
func source(t *testing.T, f *os.File, prompt string) Stdin {
	return Stdin{
		File: f, Mode: StdinAuto, Prompt: prompt, Dir: filepath.Join(t.TempDir(), "out"),
		Notice: func(text string) { t.Errorf("notice: %s", text) },
		After:  func(time.Duration) <-chan time.Time { return nil },
	}
}

func kindOf(err error) agent.Kind {
	if f := agent.Classify(err); f != nil {
		return f.Kind
	}
	return ""
}

func TestStdin(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	closed := file(t, "x")
	closed.Close()
	for _, test := range []struct {
		name   string
		in     *os.File
		prompt string
		change func(*Stdin)
		text   string
		state  string
		kind   agent.Kind // of the error
	}{
		{name: "pipe after a prompt", in: piped(t, "a\nb"), prompt: "look",
			text: "look\n\nStandard input, 2 lines, 3 bytes:\n\na\nb", state: "read"},
		{name: "file after a prompt", in: file(t, "a\n"), prompt: "look",
			text: "look\n\nStandard input, 1 line, 2 bytes:\n\na\n", state: "read"},
		{name: "pipe alone", in: piped(t, "do\n"), text: "do\n", state: "read"},
		{name: "dash alone", in: piped(t, "do\n"), change: func(s *Stdin) { s.Dash = true }, text: "do\n", state: "read"},
		{name: "empty pipe", in: piped(t, ""), prompt: "look", text: "look", state: "none"},
		{name: "blank pipe", in: piped(t, " \n\n"), prompt: "look", text: "look", state: "none"},
		{name: "empty file", in: file(t, ""), prompt: "look", text: "look", state: "none"},
		{name: "null device", in: null, prompt: "look", text: "look", state: "none"},
		{name: "closed", in: closed, prompt: "look", text: "look", state: "none"},
		{name: "no file", prompt: "look", text: "look", state: "none"},
		{name: "never", in: piped(t, "secret"), prompt: "look", change: func(s *Stdin) { s.Mode = StdinNever },
			text: "look", state: "none"},
		{name: "never, not even for a dash", in: piped(t, "secret"), prompt: "look",
			change: func(s *Stdin) { s.Mode, s.Dash = StdinNever, true }, text: "look", state: "none"},
		{name: "not UTF-8", in: piped(t, "caf\xe9"), text: "caf\uFFFD", state: "read"},
		{name: "nothing at all", in: piped(t, ""), kind: agent.KindUsage},
		{name: "blank, no prompt", in: piped(t, "\n"), prompt: " ", kind: agent.KindUsage},
		{name: "null device, no prompt", in: null, kind: agent.KindUsage},
		{name: "never, no prompt", in: piped(t, "x"), change: func(s *Stdin) { s.Mode = StdinNever },
			kind: agent.KindUsage},
		{name: "too much", in: piped(t, "12345"), change: func(s *Stdin) { s.Max = 4 }, kind: agent.KindUsage},
		{name: "just enough", in: piped(t, "1234"), change: func(s *Stdin) { s.Max = 4 }, text: "1234", state: "read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := source(t, test.in, test.prompt)
			if test.change != nil {
				test.change(&s)
			}
			in, err := s.Read(t.Context())
			if kindOf(err) != test.kind {
				t.Fatalf("the error is %v", err)
			}
			if in.Text != test.text || in.State != test.state || in.File != "" || in.Late() {
				t.Errorf("%q, state %q, file %q", in.Text, in.State, in.File)
			}
			if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory was made: %v", err)
			}
		})
	}
}

func TestLargeInputGoesToAFile(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("0123456789abcdé\n", 20<<10)
	data := lines + "the end"
	in, err := source(t, piped(t, data), "look").Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(in.File)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != data || in.State != "file" || in.Bytes != int64(len(data)) {
		t.Errorf("%d bytes of %d, state %s", in.Bytes, len(data), in.State)
	}
	info, err := os.Stat(in.File)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v", info.Mode())
	}
	for _, want := range []string{"look\n\nStandard input, 20481 lines, ", in.File, "It begins:\n\n0123456789abcdé\n",
		"\nthe end"} {
		if !strings.Contains(in.Text, want) {
			t.Errorf("the message lacks %q", want)
		}
	}
	if len(in.Text) > 3*excerpt || strings.Contains(in.Text, "\uFFFD") {
		t.Errorf("the message has %d bytes, or a rune that was cut", len(in.Text))
	}
}

func TestTheLimitIsInclusive(t *testing.T) {
	t.Parallel()
	for size, state := range map[int]string{inlineLimit: "read", inlineLimit + 1: "file"} {
		in, err := source(t, piped(t, strings.Repeat("x", size)), "").Read(t.Context())
		if err != nil || in.State != state {
			t.Errorf("%d bytes: state %q, %v", size, in.State, err)
		}
	}
}

func TestBinaryInputGoesToAFile(t *testing.T) {
	t.Parallel()
	data := "\x7fELF\x00\x01"
	in, err := source(t, piped(t, data), "what is it?").Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(in.File)
	if err != nil || string(kept) != data || strings.Contains(in.Text, "ELF") || !strings.Contains(in.Text, "is binary") {
		t.Errorf("kept %q (%v), the message is %q", kept, err, in.Text)
	}
}

func TestTooMuchLeavesNoFile(t *testing.T) {
	t.Parallel()
	s := source(t, piped(t, strings.Repeat("x", 3*inlineLimit)), "look")
	s.Max = 2 * inlineLimit
	if _, err := s.Read(t.Context()); kindOf(err) != agent.KindUsage {
		t.Errorf("the error is %v", err)
	}
	left, err := os.ReadDir(s.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestAFileThatCannotBeKept(t *testing.T) {
	t.Parallel()
	s := source(t, piped(t, strings.Repeat("x", 2*inlineLimit)), "look")
	s.Dir = filepath.Join(file(t, "").Name(), "below a file")
	_, err := s.Read(t.Context())
	if f := agent.Classify(err); f == nil || f.What != "keeping stdin" || f.Hint == "" {
		t.Errorf("the error is %v", err)
	}
}

// fired is a clock whose timers of one length fire at once, all others never.
func fired(length time.Duration) func(time.Duration) <-chan time.Time {
	return func(d time.Duration) <-chan time.Time {
		c := make(chan time.Time, 1)
		if d == length {
			c <- time.Time{}
		}
		return c
	}
}

func TestASilentPipeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	s := source(t, r, "look")
	var notices []string
	s.Wait, s.After, s.Notice = time.Second, fired(time.Second), func(text string) { notices = append(notices, text) }
	in, err := s.Read(t.Context())
	if err != nil || in.Text != "look" || in.State != "skipped" || in.Late() {
		t.Fatalf("%+v, %v", in, err)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "no input within 1s") ||
		!strings.Contains(notices[0], "--stdin=never") {
		t.Errorf("notices %q", notices)
	}
	// Input from now on is too late.
	if _, err := io.WriteString(w, "wait for me"); err != nil {
		t.Fatal(err)
	}
	if !in.Late() {
		t.Error("late input was not noticed")
	}
}

// The end of the input without a byte is not late input.
func TestALateEndIsNoInput(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	s := source(t, r, "look")
	s.Wait, s.After, s.Notice = time.Second, fired(time.Second), func(string) {}
	in, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if in.Late() {
		t.Error("an end counts as input")
	}
}

// Where a user sees it wait, it waits and says so once.
func TestAPersonIsTold(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	s := source(t, r, "look")
	s.Patient, s.After = true, fired(patientWait)
	told := 0
	s.Notice = func(text string) {
		told++
		if !strings.Contains(text, "waiting for stdin") {
			t.Errorf("notice %q", text)
		}
		_, err := io.WriteString(w, "here it is")
		if err := errors.Join(err, w.Close()); err != nil {
			t.Error(err)
		}
	}
	in, err := s.Read(t.Context())
	if err != nil || told != 1 || !strings.HasSuffix(in.Text, "here it is") {
		t.Errorf("%+v, %v, told %d times", in, err, told)
	}
}

func TestALongReadReports(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	s := source(t, r, "")
	s.After = fired(reportEvery)
	told := 0
	s.Notice = func(text string) {
		if told++; told == 3 {
			if text != "still reading stdin, 5 bytes so far" {
				t.Errorf("notice %q", text)
			}
			w.Close()
		}
		if told >= 3 {
			s.After = nil
		}
	}
	if _, err := io.WriteString(w, "12345"); err != nil {
		t.Fatal(err)
	}
	in, err := s.Read(t.Context())
	if err != nil || in.Text != "12345" || told < 3 {
		t.Errorf("%+v, %v, told %d times", in, err, told)
	}
}

// A signal or --max-time ends the wait and the reading.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	for name, written := range map[string]string{"before the first byte": "", "after it": "x",
		"in a file": strings.Repeat("x", 2*inlineLimit)} {
		r, w := pipe(t)
		s := source(t, r, "")
		ctx, stop := context.WithCancelCause(t.Context())
		go func() {
			_, _ = io.WriteString(w, written)
			stop(cause)
		}()
		if _, err := s.Read(ctx); !errors.Is(err, cause) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if left, err := os.ReadDir(s.Dir); err == nil && len(left) > 0 {
			t.Errorf("%s: left is %v", name, left)
		}
	}
	r, _ := pipe(t)
	s := source(t, r, "")
	s.Until = time.Now()
	if _, err := s.Read(t.Context()); kindOf(err) != agent.KindCap {
		t.Errorf("the error is %v", err)
	}
}

func TestExcerptsKeepRunesWhole(t *testing.T) {
	t.Parallel()
	if got := clean([]byte("éxé")[1:]); got != "xé" {
		t.Errorf("%q", got)
	}
}
