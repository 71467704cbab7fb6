//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// besides is a sandbox around a project in which a command runs until the test ends.
// While listed is set, it is called with each list of what is denied.
func besides(t *testing.T) (s *Sandbox, root string, listed *func()) {
	t.Helper()
	listed = new(func())
	s, root = open(t, func(c *Config) {
		env := func() ([]string, error) {
			list, err := filepath.Glob(filepath.Join(c.Root, "*", ".env"))
			if *listed != nil {
				(*listed)()
			}
			return list, err
		}
		c.Denied = env
	})
	write(t, root, "d/.env", secret)
	write(t, root, "d/open", "text")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "cat")
	cmd.Env, cmd.Stdin = []string{"PATH=" + os.Getenv("PATH")}, r
	p, err := s.Start(cmd, Options{})
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
	return s, root, listed
}

// besideWriters are the places where commands run beside others that may write.
var besideWriters = map[string]Options{"sandbox": {}, "reading": {ReadOnly: true}}

func TestADeniedFileThatWasMovedWhileACommandStartsIsHidden(t *testing.T) {
	for name, options := range besideWriters {
		t.Run(name, func(t *testing.T) {
			s, root, listed := besides(t)
			*listed = func() {
				*listed = nil
				if err := os.Rename(filepath.Join(root, "d"), filepath.Join(root, "n")); err != nil {
					t.Error(err)
				}
			}
			out, _, _ := run(t, s, options, "cat d/.env n/.env n/open 2>/dev/null")
			if out != "text" {
				t.Errorf("it printed %q", out)
			}
		})
	}
}

func TestNothingStartsWhileADeniedFileIsMovedAbout(t *testing.T) {
	for name, options := range besideWriters {
		t.Run(name, func(t *testing.T) {
			s, root, listed := besides(t)
			from := filepath.Join(root, "d")
			*listed = func() {
				to := from + "d"
				if err := os.Rename(from, to); err != nil {
					t.Error(err)
				}
				from = to
			}
			p, err := s.Start(exec.Command("/bin/true"), options)
			if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), ".env") {
				t.Errorf("%v, %v", p, err)
			}
			*listed = nil
			if out, _, _ := run(t, s, options, "cat */.env 2>/dev/null; echo here"); out != "here\n" {
				t.Errorf("afterwards it printed %q", out)
			}
		})
	}
}

// An editor saves a file by replacing it, and a user may delete it.
func TestADeniedFileThatTheUserReplacedOrDeletedKeepsNoCommandFromStarting(t *testing.T) {
	s, root, _ := besides(t)
	write(t, root, "d/.env~", secret)
	if err := os.Rename(filepath.Join(root, "d/.env~"), filepath.Join(root, "d/.env")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, _, _ := run(t, s, Options{}, "cat d/.env 2>/dev/null; cat d/open"); out != "text" {
			t.Errorf("it printed %q", out)
		}
		if err := os.Remove(filepath.Join(root, "d/.env")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func TestALayerWaitsForWhoeverWrites(t *testing.T) {
	s, _, _ := besides(t)
	if _, err := s.Start(exec.Command("/bin/true"), Options{Layer: true}); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
}

func TestNobodyWritesBelowALayer(t *testing.T) {
	s, root := open(t, func(c *Config) {
		c.Denied = func() ([]string, error) { return []string{filepath.Join(c.Root, ".env")}, nil }
	})
	write(t, root, ".env", secret)
	for _, options := range []Options{{Layer: true}, {ReadOnly: true}} {
		in, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/cat")
		cmd.Stdin = in
		p, err := s.Start(cmd, options)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(exec.Command("/bin/true"), Options{}); !errors.Is(err, ErrBusy) {
			t.Errorf("%+v: %v", options, err)
		}
		w.Close()
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
		if p.layer != nil {
			p.layer.Close()
		}
		if out, _, _ := run(t, s, Options{}, "echo here"); out != "here\n" {
			t.Errorf("afterwards it printed %q", out)
		}
	}
}

// A command that exchanges directories all the time, and others that read.
func TestNoCommandReadsADeniedFileThatAnotherMovesAbout(t *testing.T) {
	for name, options := range besideWriters {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tools(t), false)
			s := w.open(t, namespaceFacts)
			cmd := exec.Command("/bin/sh", "-c", `mkdir n3; while :; do "$TOOL" escape swap d:n3; done`)
			cmd.Env = w.environ
			p, err := s.Start(cmd, Options{})
			if err != nil {
				t.Fatal(err)
			}
			started := 0
			for range 20 {
				r, out, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				reader := exec.Command("/bin/sh", "-c",
					"i=0; while [ $i -lt 40 ]; do for f in n3/.env d/.env; do read x < $f; echo $x; done; i=$((i+1)); done 2>/dev/null")
				reader.Env, reader.Stdout = w.environ, out
				q, err := s.Start(reader, options)
				out.Close()
				if err == nil {
					started++
					text, readErr := io.ReadAll(r)
					_, err = q.Wait()
					if err = errors.Join(err, readErr); err != nil || strings.Contains(string(text), secret) {
						t.Fatalf("it read %q, %v", text, err)
					}
				} else if !errors.Is(err, ErrBusy) {
					t.Fatal(err)
				}
				r.Close()
			}
			if started == 0 {
				t.Error("nothing was started")
			}
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
			if _, err := p.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
