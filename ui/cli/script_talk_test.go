package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdTalk is `talk HOW FILE program args…`: a conversation over pipes. Each line of
// FILE is one to send or to wait for:
//
//	> TEXT   send a line
//	< TEXT   wait until the program has written TEXT, on either output, after
//	         the match of the last such line
//
// Then the input ends, and the program must end with HOW, as with exits. Both outputs go to
// one pipe, so that they are read in the order of writing; stdout and stderr each hold all of it.
func cmdTalk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: talk HOW FILE program args...")
	}
	heard := &transcript{grew: make(chan struct{}, 1)}
	both := &stream{t: heard} // one pipe: the prompt never comes before the answer
	start := startProgram
	if args[2] == "artoo" && !needsProcess(ts) {
		start = startHere
	}
	in, wait, kill := start(ts, both, args[2:])
	if err := talk(in, heard, strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n")); err != nil {
		kill()
		ts.Fatalf("%v", err)
	}
	closeErr := in.Close()
	got := wait()
	_, e1 := io.WriteString(ts.Stdout(), both.text.String())
	_, e2 := io.WriteString(ts.Stderr(), both.text.String())
	ts.Check(errors.Join(closeErr, e1, e2))
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[2], got, args[0])
	}
}

// startProgram starts a program that a script talks to. wait waits for its end and says how it ended.
func startProgram(ts *testscript.TestScript, both *stream, args []string) (in io.WriteCloser, wait func() string,
	kill func()) {
	vars := scriptVars(ts)
	path, err := vars.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), vars
	cmd.Stdout, cmd.Stderr = both, both
	in, err = cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	end := func() string {
		if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
			ts.Fatalf("%v", err)
		}
		return howEnded(cmd.ProcessState)
	}
	return in, end, func() {
		ts.Check(cmd.Process.Kill())
		end()
	}
}

// startHere is startProgram for artoo in this process. There is no way to kill it: it ends with its input.
func startHere(ts *testscript.TestScript, both *stream, args []string) (in io.WriteCloser, wait func() string,
	kill func()) {
	vars := scriptVars(ts)
	ts.Check(knowSandbox(vars))
	from, in, err := os.Pipe()
	ts.Check(err)
	out, to, err := os.Pipe()
	ts.Check(err)
	process := processHere(ts.MkAbs("."), vars, from, to, to, args[1:]...)
	ended := make(chan int, 1)
	go func() {
		code := Main(process)
		_, _ = from.Close(), to.Close()
		ended <- code
	}()
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(both, out)
		copied <- errors.Join(err, out.Close())
	}()
	return in, func() string {
		code := <-ended
		ts.Check(<-copied)
		return strconv.Itoa(code)
	}, func() { ts.Check(in.Close()) }
}

func talk(in io.Writer, heard *transcript, lines []string) error {
	for _, line := range lines {
		what, text, _ := strings.Cut(line, " ")
		var err error
		switch what {
		case ">":
			_, err = io.WriteString(in, text+"\n")
		case "<":
			err = heard.wait(text)
		default:
			err = errors.New("neither > nor <: " + line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transcript is the output of a program so far, both streams in one.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	at   int // behind the last match
	grew chan struct{}
}

// stream is one output.
type stream struct {
	t    *transcript
	text bytes.Buffer // read after the program has ended
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.text.Write(p)
	s.t.text.Write(p)
	select {
	case s.t.grew <- struct{}{}:
	default:
	}
	return len(p), nil
}

// wait waits until text was written after the last match.
func (t *transcript) wait(text string) error {
	over := time.After(waitLimit)
	for {
		t.mu.Lock()
		all := t.text.String()
		i := strings.Index(all[t.at:], text)
		if i >= 0 {
			t.at += i + len(text)
		}
		t.mu.Unlock()
		if i >= 0 {
			return nil
		}
		select {
		case <-t.grew:
		case <-over:
			return errors.New("it never said " + text + " after\n" + all)
		}
	}
}
