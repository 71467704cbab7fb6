//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/tool/needs"
)

// factsOf are those of each mechanism, as far as tests of processes need them.
var factsOf = map[Mechanism]Facts{Namespaces: namespaceFacts, Landlock: {Mechanism: Landlock}, None: {Mechanism: None}}

// leaving starts a process that leaves its session and its parent, in each way a
// shell has.
const leaving = "setsid sleep 600 & (setsid sh -c 'sleep 600 & sleep 600' &) ; nohup sleep 600 >&2 & "

func TestNothingOutlivesACall(t *testing.T) {
	for mechanism, facts := range factsOf {
		t.Run(string(mechanism), func(t *testing.T) {
			needs.Program(t, "setsid")
			s, _ := openWith(t, facts, nil)
			// run reads to the end of the output, which each of the processes holds open.
			out, exit, _ := run(t, s, Options{}, leaving+"echo done; exit 7")
			if !strings.Contains(out, "done\n") || exit.Status.ExitStatus() != 7 || exit.Stopped == 0 {
				t.Errorf("it printed %q and ended with %+v", out, exit)
			}
		})
	}
}

func TestACommandThatKillsItsParentLeavesNothing(t *testing.T) {
	for mechanism, facts := range factsOf {
		t.Run(string(mechanism), func(t *testing.T) {
			needs.Program(t, "setsid")
			s, _ := openWith(t, facts, nil)
			_, exit, _ := run(t, s, Options{}, leaving+"kill -9 $PPID; exit 5")
			if alive := exit.Status.ExitStatus() == 5; alive != (mechanism == Namespaces) {
				t.Errorf("it ended with %+v", exit)
			}
		})
	}
}

func TestBackgroundProcessesMayFinishTheirOutput(t *testing.T) {
	for mechanism, facts := range factsOf {
		t.Run(string(mechanism), func(t *testing.T) {
			s, _ := openWith(t, facts, nil)
			out, exit, _ := run(t, s, Options{Grace: 20 * time.Second}, "(sleep 0.05; echo late) & echo early")
			if out != "early\nlate\n" || exit.Stopped != 0 {
				t.Errorf("it printed %q and ended with %+v", out, exit)
			}
		})
	}
}

// host plays an artoo that is going to be killed: it starts a command, says so, and
// waits.
func host(mechanism Mechanism) int {
	root := filepath.Join(os.Getenv("HOST"), "project")
	err := os.Mkdir(root, 0o755)
	var s *Sandbox
	if err == nil {
		config := Config{Root: root, Home: filepath.Join(os.Getenv("HOST"), "home"), Temp: filepath.Join(os.Getenv("HOST"), "temp")}
		s, err = Open(context.Background(), config, factsOf[mechanism])
	}
	if err == nil {
		cmd := exec.Command("/bin/sh", "-c", leaving+"echo started; sleep 600")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		_, err = s.Start(cmd, Options{})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	select {}
}

func TestNothingOutlivesArtoo(t *testing.T) {
	for mechanism := range factsOf {
		t.Run(string(mechanism), func(t *testing.T) {
			needsMechanism(t, mechanism)
			needs.Program(t, "setsid")
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "host", string(mechanism))
			cmd.Env = append(os.Environ(), "HOST="+t.TempDir())
			cmd.Stdout, cmd.Stderr = w, w
			err = cmd.Start()
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			said := make([]byte, 100)
			n, err := r.Read(said)
			if err != nil || string(said[:n]) != "started\n" {
				t.Fatalf("it said %q: %v", said[:n], err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := r.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(r); err != nil {
				t.Errorf("something lives on and holds the output open: %v, after %q", err, rest)
			}
			_ = cmd.Wait() // it was killed
		})
	}
}

func TestSignalsReachAllOfACommand(t *testing.T) {
	for mechanism, facts := range factsOf {
		t.Run(string(mechanism), func(t *testing.T) {
			s, _ := openWith(t, facts, nil)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := exec.Command("/bin/sh", "-c", "trap 'echo stopping; exit 9' TERM; (trap 'echo too; exit' TERM; echo go; while :; do sleep 0.01; done) & wait; wait")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			cmd.Stdout = w
			p, err := s.Start(cmd, Options{Grace: 20 * time.Second})
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			said := make([]byte, 100)
			if n, err := r.Read(said); err != nil || string(said[:n]) != "go\n" {
				t.Fatalf("it said %q: %v", said[:n], err)
			}
			if err := p.Signal(15); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(r)
			if err != nil || !strings.Contains(string(rest), "stopping\n") || !strings.Contains(string(rest), "too\n") {
				t.Errorf("it said %q: %v", rest, err)
			}
			if exit, err := p.Wait(); err != nil || exit.Status.ExitStatus() != 9 {
				t.Errorf("it ended with %+v: %v", exit, err)
			}
		})
	}
}
