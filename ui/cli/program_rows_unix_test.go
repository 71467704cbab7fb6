//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// Colour follows the flag, then the variables, then the stream.
func TestColourOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fds, env, flag string
		out, err       bool
	}{
		{"ntt", "", "", true, true},
		{"ntt", "NO_COLOR=", "", true, true},
		{"ntt", "NO_COLOR=0", "", false, false},
		{"ntt", "NO_COLOR=1", "always", true, true},
		{"ntt", "NO_COLOR=1 ARTOO_COLOR=always", "", true, true},
		{"ntt", "ARTOO_COLOR=always", "never", false, false},
		{"ntt", "CLICOLOR=0", "", false, false},
		{"ntt", "CLICOLOR_FORCE=1", "never", false, false},
		{"ntt", "TERM=dumb CLICOLOR_FORCE=1", "", true, true},
		{"npp", "", "", false, false},
		{"npp", "CLICOLOR_FORCE=1", "", false, true}, // a piped answer is its source
		{"npp", "CLICOLOR_FORCE=0", "", false, false},
		{"npp", "FORCE_COLOR=1 NO_COLOR=1", "", false, false},
		{"npt", "", "", false, true},
		{"ntp", "", "", true, false},
	} {
		t.Run(test.fds+" "+test.env+" "+test.flag, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, []providertest.Reply{calls("ls", `{"path":"."}`), says("it is **made**")}, "-p", "--stdin",
				"never", "list it")
			if test.flag != "" {
				s.cmd.Args = append(s.cmd.Args, "--color", test.flag)
			}
			s.cmd.Env = append(s.cmd.Env, strings.Fields(test.env)...)
			s.start(test.fds).ends(0)
			out, errs := s.out.text.String(), s.err.text.String()
			if shown := s.screen.text.String(); shown != "" {
				call, answer, _ := strings.Cut(shown, "\r\n")
				if test.fds[1] == 't' {
					out = answer
				}
				if test.fds[2] == 't' {
					errs = call
				}
				if test.fds == "ntp" {
					out = shown
				}
			}
			if got := sgr.MatchString(out); got != test.out {
				t.Errorf("stdout has colour: %v, %q", got, out)
			}
			if got := sgr.MatchString(errs); got != test.err {
				t.Errorf("stderr has colour: %v, %q", got, errs)
			}
		})
	}
}

// Ctrl-C on a loop of a shell ends the loop, since artoo dies of the signal.
func TestALoopStops(t *testing.T) {
	t.Parallel()
	bash := needs.Program(t, "bash")
	asked := make(chan struct{}, 2)
	s := newStageOf(t, &providertest.Handler{Next: func(int, providertest.Request) providertest.Reply {
		asked <- struct{}{}
		return providertest.Silent()
	}})
	s.cmd.Path, s.cmd.Args = bash, []string{"bash", "-c", "for i in 1 2; do artoo -p x; done; echo over"}
	s.start("ttt")
	<-asked
	s.types("\x03")
	s.finish()
	if status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT &&
		status.ExitStatus() != 130 {
		t.Errorf("the shell ended with %v: %s", s.cmd.ProcessState, s.all.text.String())
	}
	if n := len(s.model.Requests()); n != 1 || strings.Contains(s.screen.text.String(), "over") {
		t.Errorf("artoo was started %d times: %s", n, s.all.text.String())
	}
}

// Nothing in the program asks the terminal anything; ends looks at the bytes of
// every session of these tests as well.
func TestNoTerminalQueries(t *testing.T) {
	t.Parallel()
	s := newStage(t, []providertest.Reply{
		calls("bash", `{"command":"printf '\\033[6n\\033[c\\033]11;?\\007'"}`),
		says("# Heading\n\n`\x1b[6n` \x1b[c\n\n```sh\n\x1b]10;?\x07\x1b[?2026h\n```\n"),
	}, "--allow", "bash").start("ttt")
	s.waits("you: ")
	s.types("show\tit\x0c\x1b[A\x1b[B\r")
	s.waits("Heading", "you: ")
	s.types("\x04")
	s.ends(0)
	literals := 0
	goFiles(t, func(name, path string) {
		if strings.Contains(name, "testdata/") || strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, err := strconv.Unquote(l.Value)
				if err != nil {
					t.Error(err)
				}
				// Over ssh the prompt asks the terminal what it has shown, and takes the answer out of the keys.
				if name == "ui/prompt/pace.go" {
					return true
				}
				if literals++; strings.Contains(text, "\x1b") && query.MatchString(text) {
					t.Errorf("%s holds %q", name, text)
				}
			}
			return true
		})
	})
	if literals < 1000 {
		t.Errorf("%d texts looked at", literals)
	}
}

// A whole conversation in Emacs' shell: several turns, a question, no escape and
// no carriage return, each prompt flushed.
func TestAConversationInEmacs(t *testing.T) {
	t.Parallel()
	s := newStage(t, []providertest.Reply{
		says("Hello, **you**.\n\n```go\nx := 1\n```"),
		calls("write", `{"path":"made","content":"one\n"}`),
		says("It is made."),
		providertest.Fail(400, "invalid_request_error", "no"),
	})
	s.raw = true     // Emacs itself echoes the keys
	s.size[0] = 1000 // whatever the length of the directory's name
	s.cmd.Env = append(s.cmd.Env, "INSIDE_EMACS=29.4,comint", "TERM=dumb", "ARTOO_STATUS=off")
	s.start("ttt")
	s.waits("you: ")
	s.types("hello\n")
	s.waits("x := 1", "\nyou: ")
	s.types("make it\n")
	s.waits("[y,n,a,A,e,p,q,?] (n) ")
	s.answers("y", false)
	s.waits("It is made.", "\nyou: ")
	s.types("again\n")
	s.waits("try:", "\nyou: ")
	s.types("/quit\n")
	s.ends(0)
	dir, err := filepath.EvalSymlinks(s.cmd.Dir) // it is named as the system does
	s.must(err)
	got := strings.NewReplacer(dir, "/work", (Process{}).build().Version, "1.2.3").Replace(s.screen.text.String())
	if strings.ContainsAny(got, "\x1b\r\b\a") {
		t.Errorf("Emacs got %q", got)
	}
	path := filepath.Join(moduleDir, "testdata", "emacs.txt")
	if *update {
		s.must(os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	s.must(err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("go test ./ui/cli -update rewrites it:\n%s", diff)
	}
}

// Lines of another system's files: neither the message nor the output has a carriage
// return, and an edited file keeps its line ends.
func TestLineEndsOfEverySystemAreRead(t *testing.T) {
	t.Parallel()
	s := newStage(t, []providertest.Reply{
		says("ready"),
		calls("read", `{"path":"dos.txt"}`),
		calls("edit", `{"path":"dos.txt","old_string":"two\n","new_string":"2\nand more\n"}`),
		says("done"),
	}, "--interactive", "--approval", "edits")
	file := filepath.Join(s.cmd.Dir, "dos.txt")
	s.must(os.WriteFile(file, []byte("one\r\ntwo\r\nthree\r\n"), 0o644))
	s.start("ppp")
	s.types("hello\r\n")
	s.waits("ready") // the next prompt is on another stream, which may be read earlier
	s.types("change it\r\n")
	s.waits("done")
	s.types("/quit\r\n")
	s.ends(0)
	if body := s.model.Requests()[0].Body; !bytes.Contains(body, []byte(`"hello"`)) {
		t.Errorf("the model got %s", body)
	}
	if all := s.out.text.String() + s.err.text.String(); strings.Contains(all, "\r") {
		t.Errorf("it wrote %q", all)
	}
	data, err := os.ReadFile(file)
	s.must(err)
	if want := "one\r\n2\r\nand more\r\nthree\r\n"; string(data) != want {
		t.Errorf("the file is %q, want %q", data, want)
	}
}

// Whenever it is killed, the session resumes with every block that the model was
// told of, and the request is one that servers take.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	run := func(t *testing.T, dir string, env []string, after time.Duration, args ...string) (took time.Duration) {
		cmd := exec.Command(artoo, append([]string{"-p", "--allow", "bash"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		var errs bytes.Buffer
		cmd.Stderr = &errs
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if after > 0 {
			late := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
		}
		if err := cmd.Wait(); err != nil && after == 0 {
			t.Errorf("%v: %s", err, errs.String())
		}
		return time.Since(began)
	}
	moment := func(t *testing.T, after time.Duration) time.Duration {
		handler := &providertest.Handler{Next: func(n int, r providertest.Request) providertest.Reply {
			if err := providertest.Validate("anthropic", r.Body); err != nil {
				t.Errorf("request %d: %v", n+1, err)
			}
			if bytes.Contains(r.Body, []byte("and now")) || bytes.Count(r.Body, []byte(`"tool_result"`)) >= 4 {
				return says("done")
			}
			return providertest.Anthropic(providertest.Text("step ", "by ", "step"),
				providertest.Call(fmt.Sprintf("c%d", n), "bash", `{"command":"echo one"}`)).InChunks(100)
		}}
		s := newStageOf(t, handler)
		took := run(t, s.cmd.Dir, s.cmd.Env, after, "go")
		before := handler.Requests()
		if len(before) == 0 {
			return took // it had not begun
		}
		run(t, s.cmd.Dir, s.cmd.Env, 0, "-c", "and now")
		all := handler.Requests()
		// A message that follows another of the user's is merged into it: the closing
		// brackets are no part of the compared history.
		told := bytes.TrimSuffix(history(withoutMarks(before[len(before)-1].Body)), []byte("]}"))
		if got := withoutMarks(all[len(all)-1].Body); !bytes.HasPrefix(got, told) {
			t.Errorf("killed after %v: the model was told\n%s\nand the session has\n%s", after, told, got)
		}
		return took
	}
	const moments = 50 // of a session
	whole := moment(t, time.Minute)
	gate := make(chan struct{}, 4) // few processes at a time
	cases := sweep.Cases(t, 2, moments)
	t.Run("moments", func(t *testing.T) {
		for _, i := range cases {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				gate <- struct{}{}
				defer func() { <-gate }()
				moment(t, whole/4+whole*time.Duration(i)/moments)
			})
		}
	})
}

// An answer that was cut off by a kill is shown as cut, and two of them in one
// directory each have a session.
func TestCutAnswersAndNeighbours(t *testing.T) {
	t.Parallel()
	s := newStage(t, []providertest.Reply{
		says("Once upon", " a time").Ends(providertest.Hang).Events(4),
		says("and so on"), says("a neighbour"),
	})
	s.start("ttt")
	s.waits("you: ")
	s.types("tell me\r")
	s.waits("Once")
	s.must(s.cmd.Process.Kill())
	s.finish()

	// Two at once go on: one of them with a session of its own.
	var both [2]*stage
	for i := range both {
		n := &stage{TB: t, model: s.model, size: s.size, cmd: exec.Command("artoo", "-c")}
		n.cmd.Dir, n.cmd.Env = s.cmd.Dir, s.cmd.Env
		n.start("ttt")
		if i == 1 {
			n.waits("continues as")
		}
		n.waits("tell me", "cut off", "you: ")
		both[i] = n
	}
	for i, n := range both {
		n.types("go on\r")
		n.waits([]string{"and so on", "a neighbour"}[i], "you: ")
		n.types("\x04")
		n.ends(0)
	}
	for _, r := range s.model.Requests() {
		if err := providertest.Validate("anthropic", r.Body); err != nil || !bytes.Contains(r.Body, []byte("tell me")) {
			t.Errorf("%v: %s", err, r.Body)
		}
	}
}

// On a terminal artoo doctor breaks its rows at spaces, as a person reads them.
func TestDoctorOnANarrowTerminal(t *testing.T) {
	s := newStage(t, nil, "doctor", "--offline")
	s.size[0] = 40
	rows := s.start("ttt").ends(0).screen.text.String()
	for row := range strings.Lines(rows) {
		text := strings.TrimRight(row, "\r\n")
		if words := strings.Fields(text[min(20, len(text)):]); len(text) > 40 && len(words) > 1 {
			t.Errorf("wider than the terminal: %q", text)
		}
	}
	if !strings.Contains(rows, "\n"+strings.Repeat(" ", 20)) {
		t.Errorf("no broken row in:\n%s", rows)
	}
}
