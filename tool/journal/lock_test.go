//go:build unix

package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"artoo/tool/sweep"
)

// The variables that make the test binary another artoo which lands in a project.
const (
	landRoot  = "ARTOO_TEST_LAND_ROOT"
	landLines = "ARTOO_TEST_LAND_LINES"
)

// besides is another session of the project at root, with the locks of all of them.
func besides(root, session string) (*Journal, error) {
	state := filepath.Dir(root)
	return Open(Config{Dir: filepath.Join(state, session), Root: root, State: state})
}

// landingLife lands lines from several goroutines, as sub-agents do, or, without a
// number of lines, begins with one, says so and waits within it until stdin ends.
func landingLife(root string) error {
	j, err := besides(root, "other")
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(os.Getenv(landLines)); err == nil {
		return errors.Join(landMany(j, "other", n), j.Close())
	}
	_, err = applyLayer(j, context.Background(), 1, "run", nil, nil, Then{Do: func(context.Context) error {
		fmt.Println("landing")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}})
	return errors.Join(err, j.Close())
}

// other starts the test binary as another artoo.
func (p *project) other(lines string) (cmd *exec.Cmd, stdin io.Closer, stdout *bufio.Reader) {
	p.t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), landRoot+"="+p.root, landLines+"="+lines)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	p.ok(err)
	out, err := cmd.StdoutPipe()
	p.ok(err)
	p.ok(cmd.Start())
	return cmd, in, bufio.NewReader(out)
}

// locked opens the project's journal again, with locks that others know.
func (p *project) locked() {
	p.t.Helper()
	p.ok(p.Journal.Close())
	var err error
	p.Journal, err = besides(p.root, "locked")
	p.ok(err)
	p.t.Cleanup(func() { stop(p.t, p.Journal) })
}

// While another process lands nothing else changes the project; the kernel lets the next
// one go on once that process is gone, killed or not.
func TestLandingsOfTwoProcessesFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		p := newProject(t, map[string]string{"a": "1\n"})
		p.locked()
		p.edit(1, "a", "2\n")
		plan := p.planned(1, false)
		other, stdin, out := p.other("")
		_, err := out.ReadString('\n')
		p.ok(err)
		p.wait = 20 * time.Millisecond
		for what, land := range map[string]func(context.Context) error{
			"landing": func(ctx context.Context) error {
				_, err := p.ApplyLayer(ctx, 1, "run", nil, nil, Then{})
				return err
			},
			"undo": func(ctx context.Context) error {
				_, err := p.Apply(ctx, plan)
				return err
			},
		} {
			if err := land(t.Context()); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), p.root) {
				t.Errorf("%s beside a landing: %v", what, err)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if err := land(over); !errors.Is(err, context.Canceled) {
				t.Errorf("%s that is stopped while it waits: %v", what, err)
			}
		}
		p.wait = lockWait
		undone := make(chan error)
		go func() {
			_, err := p.Apply(t.Context(), plan)
			undone <- err
		}()
		if killed {
			p.ok(other.Process.Kill())
		} else {
			p.ok(stdin.Close())
		}
		p.ok(<-undone)
		if err := other.Wait(); err != nil && !killed {
			t.Error(err)
		}
		if got := p.look()["a"]; !strings.HasSuffix(got, " 1\n") {
			t.Errorf("a is %q", got)
		}
	}
}

// shared are the files that all lines write, and lineOf is one line's content of one.
var shared = []string{"a", "d/b", "d/c"}

func lineOf(who string, n int) string { return fmt.Sprintf("%s %d\n", who, n) }

// landMany lands lines that each replace all shared files, from three goroutines. A line
// is whole, or it is a conflict.
func landMany(j *Journal, who string, lines int) error {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for agent := range errs {
		wg.Go(func() {
			for n := agent; n < lines && errs[agent] == nil; n += len(errs) {
				errs[agent] = landOne(j, lineOf(who, n))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func landOne(j *Journal, content string) error {
	var changes []layerChange
	contents := contentsOf{}
	for _, path := range shared {
		before, err := j.look(context.Background(), path, hashOnly)
		if err != nil {
			return err
		}
		changes = append(changes, layerChange{Path: path, Before: before, After: file(0o644)})
		contents[path] = content
	}
	_, err := applyLayer(j, context.Background(), 1, "run", changes, contents, Then{Do: func(ctx context.Context) error {
		for _, path := range shared {
			data, err := os.ReadFile(filepath.Join(j.cfg.Root, path))
			if err != nil || string(data) != content {
				return fmt.Errorf("%s holds %q, not %q: %w", path, data, content, err)
			}
		}
		return nil
	}})
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// Two artoos with three agents each land lines on the same paths: each is whole, or a
// conflict, and undo takes all of them back that no other one came after.
func TestAnyLandingsOnTheSamePathsAreWholeOrConflict(t *testing.T) {
	t.Parallel()
	lines := 60
	if sweep.Whole(t) {
		lines = 250
	}
	p := newProject(t, map[string]string{"a": "0\n", "d/b": "0\n", "d/c": "0\n"})
	p.locked()
	other, _, _ := p.other(strconv.Itoa(lines))
	p.ok(landMany(p.Journal, "this", lines))
	p.ok(other.Wait())
	now := p.look()
	if now["a"] != now["d/b"] || now["a"] != now["d/c"] {
		t.Errorf("the files are of several lines: %q", now)
	}
}
