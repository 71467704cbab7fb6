//go:build unix

package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"artoo/tool/sweep"
)

// The variables that make the test binary play one life of an artoo that is
// killed at a certain point.
const (
	crashRoot = "ARTOO_TEST_CRASH_ROOT"
	crashDir  = "ARTOO_TEST_CRASH_DIR"
	crashAt   = "ARTOO_TEST_CRASH_AT"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(landRoot); root != "" {
		if err := landingLife(root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if root := os.Getenv(crashRoot); root != "" {
		at, err := strconv.ParseInt(os.Getenv(crashAt), 10, 64)
		if err == nil {
			err = crashingLife(root, os.Getenv(crashDir), at)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crashingLife plays the story and kills its process at the point.
func crashingLife(root, dir string, at int64) error {
	var n atomic.Int64
	life := &life{root: root, at: func(string) error {
		if n.Add(1) == at {
			return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), fmt.Errorf("survived"))
		}
		return nil
	}}
	var err error
	if life.j, err = open(Config{Dir: dir, Root: root, Budget: unhurried}, life.at); err != nil {
		return err
	}
	for _, step := range story() {
		if err := step(life); err != nil {
			return err
		}
	}
	return life.j.Close()
}

// life is one process's work on a project.
type life struct {
	j    *Journal
	root string
	turn int
	at   func(string) error
}

// fs does one thing to the project, as a tool or a command does.
func (l *life) fs(do func(string, ...string) error, path string, more ...string) error {
	if err := l.at("fs"); err != nil {
		return err
	}
	return do(filepath.Join(l.root, path), more...)
}

func write(path string, content ...string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Join(content, "")), 0o644)
}

func replace(path string, content ...string) error {
	temp := filepath.Join(filepath.Dir(path), ".artoo-ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp")
	return errors.Join(write(temp, content...), os.Rename(temp, path))
}

func remove(path string, _ ...string) error { return os.RemoveAll(path) }

func chmod(path string, mode ...string) error {
	n, err := strconv.ParseUint(mode[0], 8, 32)
	return errors.Join(err, os.Chmod(path, os.FileMode(n)))
}

func link(path string, target ...string) error { return os.Symlink(target[0], path) }

func rename(path string, to ...string) error {
	return os.Rename(path, filepath.Join(filepath.Dir(path), to[0]))
}

func hardLink(path string, to ...string) error {
	return os.Link(path, filepath.Join(filepath.Dir(path), to[0]))
}

// edit is a tool that writes several files.
func (l *life) edit(content string, paths ...string) error {
	s := l.j.Begin(l.turn, "edit")
	if _, err := s.Before(paths...); err != nil {
		return err
	}
	for _, path := range paths {
		if err := l.fs(replace, path, content); err != nil {
			return err
		}
	}
	_, err := s.End()
	return err
}

func (l *life) command(f func() error) error {
	s := l.j.Begin(l.turn, "run")
	if _, err := s.Snapshot(context.Background()); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	_, err := s.End()
	return err
}

func (l *life) layer(changes []layerChange, contents map[string]string) error {
	dir, err := os.MkdirTemp(filepath.Dir(l.root), "upper-*")
	if err != nil {
		return err
	}
	for path, content := range contents {
		if err := write(filepath.Join(dir, path), content); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if c.After.Kind == Link {
			if err := os.Symlink(c.After.Target, filepath.Join(dir, c.Path)); err != nil {
				return err
			}
		}
	}
	_, err = applyLayer(l.j, context.Background(), l.turn, "apply", changes, upper(dir), Then{
		Paths: []string{"refs/head"}, Do: func(context.Context) error { return l.fs(write, "refs/head", "moved\n") }})
	return err
}

func (l *life) takeBack(n int, redo bool) error {
	plan, err := l.j.Plan(context.Background(), n, redo)
	if err != nil {
		return err
	}
	report, err := l.j.Apply(context.Background(), plan)
	for _, left := range report.Left {
		err = errors.Join(err, fmt.Errorf("left %s: %s: %w", left.Path, left.Why, left.Err))
	}
	return err
}

// addedDir is a directory beside a project that lines may write to.
func addedDir(root string) string { return filepath.Join(filepath.Dir(root), "added") }

// lookBoth is the content of a project and that directory.
func lookBoth(t *testing.T, root string) map[string]string {
	t.Helper()
	all := lookAt(t, root)
	for path, what := range lookAt(t, addedDir(root)) {
		all[filepath.Join("added:", path)] = what
	}
	return all
}

// firstFiles makes the first files of the story's project.
func firstFiles(t *testing.T, root string) {
	t.Helper()
	for path, content := range map[string]string{"old": "old\n", "gone": "gone\n", "d/x": "x\n"} {
		if err := write(filepath.Join(addedDir(root), path), content); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range map[string]string{"a": "a\n", "b": "b\n", "hard/1": strings.Repeat("one file\n", 2000),
		"d/x": "x\n", "d/e/y": "y\n", "run.sh": "#!/bin/sh\n", "bytes\xff": "odd\n", "swap/in": "in\n",
		"large": strings.Repeat("large\n", 300_000)} {
		if err := write(filepath.Join(root, path), content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Link(filepath.Join(root, "hard/1"), filepath.Join(root, "hard/2")),
		os.Symlink("a", filepath.Join(root, "link")), os.Mkdir(filepath.Join(root, "empty"), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// story is the steps of a session. Each leaves the project in a state that no
// other leaves it in, or in one of an earlier step.
func story() []func(*life) error {
	return []func(*life) error{
		func(l *life) error { l.turn = 1; return l.edit("A\n", "a", "new/deep/file", "b") },
		func(l *life) error {
			l.turn = 2
			return l.command(func() error {
				return errors.Join(l.fs(write, "b", "B\n"), l.fs(remove, "d"), l.fs(write, "d", "a file\n"),
					l.fs(chmod, "run.sh", "755"),
					l.fs(remove, "link"), l.fs(link, "link", "b"), l.fs(rename, "bytes\xff",
						"bytes\xfe"), l.fs(remove, "empty"),
					l.fs(write, "hard/1", "shorter\n"))
			})
		},
		func(l *life) error {
			added := addedDir(l.root)
			l.j.place.add(added)
			in := func(path string, after State) layerChange {
				path = filepath.Join(added, path)
				return layerChange{Path: path, Dir: added, Before: l.now(path), After: after}
			}
			return l.layer([]layerChange{
				in("old", file(0o600)), in("gone", State{}), in("d", file(0o644)), in("d/x", State{}),
				in("new", State{Kind: Folder, Mode: 0o700}), in("new/f", file(0o755)), in("link", State{Kind: Link, Target: "old"}),
				{Path: "large", Before: l.now("large"), After: State{Kind: File, Mode: 0o600}},
				{Path: "made", After: State{Kind: Folder, Mode: 0o750}},
				{Path: "made/by", After: State{Kind: File, Mode: 0o644}},
				{Path: "made/in", After: State{Kind: Folder, Mode: 0o500}},
				{Path: "made/in/f", After: State{Kind: File, Mode: 0o400}},
				{Path: "made/link", After: State{Kind: Link, Target: "by"}},
				{Path: "swap/in", Before: l.now("swap/in")},
				{Path: "swap", Before: l.now("swap"), After: State{Kind: File, Mode: 0o755}},
				{Path: "run.sh", Before: l.now("run.sh")},
			}, map[string]string{"large": "small\n", "made/by": "a layer\n", "made/in/f": "deep\n",
				"swap":                      "a file now\n",
				filepath.Join(added, "old"): "OLD\n", filepath.Join(added, "d"): "d\n", filepath.Join(added, "new/f"): "f\n"})
		},
		func(l *life) error { return l.takeBack(1, false) },
		func(l *life) error { return l.takeBack(1, true) },
		func(l *life) error {
			l.turn = 3
			return l.command(func() error {
				return errors.Join(l.fs(hardLink, "a", "a2"), l.fs(remove, "hard/2"), l.fs(write, "hard/1",
					"again\n"), l.fs(remove, "d"),
					l.fs(write, "d/now", "a directory again\n"))
			})
		},
		func(l *life) error { return l.edit("last\n", "swap") },
		func(l *life) error { return l.takeBack(3, false) },
		func(l *life) error { return l.takeBack(1, true) },
	}
}

func (l *life) now(path string) State {
	state, err := l.j.look(context.Background(), path, hashOnly)
	if err != nil {
		return State{Kind: Special} // matches nothing
	}
	return state
}

// told plays the story undisturbed and returns the project before and after each
// step, and how many points there are to be killed at.
func told(t *testing.T) (states []map[string]string, points int64) {
	t.Helper()
	dir, err := tempDir(t)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "project")
	firstFiles(t, root)
	var n atomic.Int64
	l := &life{root: root, at: func(string) error { n.Add(1); return nil }}
	if l.j, err = open(Config{Dir: filepath.Join(dir, "s1"), Root: root, Budget: unhurried}, l.at); err != nil {
		t.Fatal(err)
	}
	states = append(states, lookBoth(t, root))
	for i, step := range story() {
		if err := step(l); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		states = append(states, lookBoth(t, root))
	}
	if err := l.j.Close(); err != nil {
		t.Fatal(err)
	}
	return states, n.Load()
}

// timed is how many points the timer that syncs may add to a life on a busy machine.
const timed = 10

// crash starts a life in another process that is killed at the point, one of so many. It may
// come to its end before one of the last, since its timer joined more syncs.
func crash(t *testing.T, root, dir string, at, points int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashRoot+"="+root, crashDir+"="+dir, crashAt+"="+strconv.FormatInt(at, 10))
	out, err := cmd.CombinedOutput()
	if err == nil && at > points-timed {
		return
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("killed at point %d: %v\n%s", at, err, out)
	}
}

// pointsOf are the points from 1 on, or a sample of them.
func pointsOf(t *testing.T, points int64, sample int) (some []int64) {
	t.Helper()
	for _, i := range sweep.Cases(t, sample, int(points)) {
		some = append(some, int64(i)+1)
	}
	return some
}

func TestAKillAtAnyPointLeavesTheProjectBeforeOrAfterAStep(t *testing.T) {
	t.Parallel()
	states, points := told(t)
	kills := pointsOf(t, points, 24)
	t.Logf("%d kills at %d points", len(kills), points)
	for _, at := range kills {
		dir, err := tempDir(t)
		if err != nil {
			t.Fatal(err)
		}
		root := filepath.Join(dir, "project")
		firstFiles(t, root)
		crash(t, root, filepath.Join(dir, "s1"), at, points)
		j, err := Open(Config{Dir: filepath.Join(dir, "s1"), Root: root})
		if err != nil {
			t.Fatalf("after a kill at point %d: %v", at, err)
		}
		got := lookBoth(t, root)
		if !oneOf(got, states) {
			t.Errorf("after a kill at point %d the project is between two steps: %s", at, nearest(got, states))
		}
		undoAll(t, j)
		if got := lookBoth(t, root); !maps.Equal(got, states[0]) {
			t.Errorf("after a kill at point %d undo does not restore everything: %s", at, difference(got, states[0]))
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
}

func undoAll(t *testing.T, j *Journal) {
	t.Helper()
	plan, err := j.Plan(context.Background(), 1000, false)
	if errors.Is(err, ErrNothing) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	report, err := j.Apply(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Left)+len(plan.Left)+len(plan.Cannot) > 0 {
		t.Errorf("left: %v, %v, cannot: %v", report.Left, plan.Left, plan.Cannot)
	}
}

func oneOf(got map[string]string, states []map[string]string) bool {
	for _, s := range states {
		if maps.Equal(got, s) {
			return true
		}
	}
	return false
}

// nearest says how the project differs from the state that it is most like.
func nearest(got map[string]string, states []map[string]string) string {
	best := ""
	for i, s := range states {
		if d := difference(got, s); best == "" || len(d) < len(best) {
			best = fmt.Sprintf("from state %d: %s", i, d)
		}
	}
	return best
}

func difference(got, want map[string]string) string {
	var b strings.Builder
	for path, what := range want {
		if got[path] != what {
			fmt.Fprintf(&b, "%q is %.50q, not %.50q; ", path, got[path], what)
		}
	}
	for path, what := range got {
		if _, ok := want[path]; !ok {
			fmt.Fprintf(&b, "%q is %.50q, and should not be; ", path, what)
		}
	}
	return b.String()
}

// firstProject makes a directory with a project in its first state, and a place for
// its journal.
func firstProject(t *testing.T) (dir, root, journal string) {
	t.Helper()
	dir, err := tempDir(t)
	if err != nil {
		t.Fatal(err)
	}
	root, journal = filepath.Join(dir, "project"), filepath.Join(dir, "s1")
	firstFiles(t, root)
	return dir, root, journal
}

func TestAKillAtAnyPointOfTheRecoveryIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	states, points := told(t)
	for _, at := range pointsOf(t, points, 10) {
		dir, root, journal := firstProject(t)
		crash(t, root, journal, at, points)
		// The recovery ends early at a random one of its points, once and again.
		for range 2 {
			var left atomic.Int64 // files are restored side by side
			left.Store(1 + rand.Int64N(12))
			failing := func(string) error {
				if left.Add(-1) <= 0 {
					return errStopped
				}
				return nil
			}
			if j, err := open(Config{Dir: journal, Root: root}, failing); err == nil {
				stop(t, j)
			}
		}
		j, err := Open(Config{Dir: journal, Root: root})
		if err != nil {
			t.Fatalf("after a kill at point %d: %v", at, err)
		}
		if got := lookBoth(t, root); !oneOf(got, states) {
			t.Errorf("after a kill at point %d the project is between two steps: %s", at, nearest(got, states))
		}
		undoAll(t, j)
		if got := lookBoth(t, root); !maps.Equal(got, states[0]) {
			t.Errorf("after a kill at point %d undo does not restore everything: %s", at, difference(got, states[0]))
		}
		stop(t, j)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
}

var errStopped = errors.New("stopped here")

func stop(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
