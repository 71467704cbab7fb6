package cli

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/config"
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
	var path string
	for _, dir := range strings.Split(ts.Getenv("PATH"), ":") {
		if p, err := exec.LookPath(dir + "/" + args[2]); err == nil {
			path = p
			break
		}
	}
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = scriptEnviron(ts)
	heard := &transcript{grew: make(chan struct{}, 1)}
	both := &stream{t: heard} // one pipe: the prompt never comes before the answer
	cmd.Stdout, cmd.Stderr = both, both
	in, err := cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	talkErr := talk(in, heard, strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n"))
	if talkErr != nil {
		ts.Check(cmd.Process.Kill())
	}
	closeErr := in.Close()
	err = cmd.Wait()
	_, e1 := io.WriteString(ts.Stdout(), both.text.String())
	_, e2 := io.WriteString(ts.Stderr(), both.text.String())
	ts.Check(errors.Join(talkErr, closeErr, e1, e2))
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := howEnded(cmd.ProcessState); got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[2], got, args[0])
	}
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

// scriptEnviron is the script's environment, as far as artoo reads it.
func scriptEnviron(ts *testscript.TestScript) []string {
	names := []string{"WORK", "GOCACHE", "GOFLAGS", "GORACE", "GOCOVERDIR"}
	for _, v := range config.ForeignVariables() {
		names = append(names, v.Name)
	}
	for _, o := range config.Options() {
		names = append(names, o.Env)
	}
	var environ []string
	for _, name := range names {
		if value := ts.Getenv(name); name != "" && value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
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
