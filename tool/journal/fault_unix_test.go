//go:build unix

package journal

import (
	"errors"
	"maps"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestAnyWriteThatFailsLosesNothing lets one write after another fail as if the disk
// were full. The project is then before or after a step, and undo restores
// everything.
func TestAnyWriteThatFailsLosesNothing(t *testing.T) {
	t.Parallel()
	states, points := told(t)
	for _, at := range pointsOf(t, points, 10) {
		dir, root, journal := firstProject(t)
		failed := tellFailing(t, root, journal, at)
		j, err := Open(Config{Dir: journal, Root: root})
		if err != nil {
			t.Fatalf("after a failure at point %d: %v", at, err)
		}
		if got := lookBoth(t, root); !oneOf(got, states) {
			t.Errorf("after a failure at point %d the project is between two steps: %s", at, nearest(got, states))
		}
		undoAll(t, j)
		if got := lookBoth(t, root); !maps.Equal(got, states[0]) {
			t.Errorf("after a failure at point %d (%s) undo does not restore everything: %s", at, failed,
				difference(got, states[0]))
		}
		stop(t, j)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
}

// tellFailing plays the story up to the step in which the point fails, and returns
// the kind of that point.
func tellFailing(t *testing.T, root, journal string, at int64) (failed string) {
	t.Helper()
	var n atomic.Int64
	l := &life{root: root, at: func(point string) error {
		if n.Add(1) == at {
			failed = point
			return syscall.ENOSPC
		}
		return nil
	}}
	var err error
	if l.j, err = open(Config{Dir: journal, Root: root, Budget: unhurried}, l.at); err != nil {
		t.Fatal(err)
	}
	for i, step := range story() {
		before := lookBoth(t, root)
		err := step(l)
		if err == nil {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("step %d, with a failure at point %d (%s): %v", i+1, at, failed, err)
		}
		if whole := i == 2 || i == 3 || i == 4 || i >= 7; whole && !maps.Equal(lookBoth(t, root), before) {
			t.Errorf("step %d, which failed at point %d (%s), is done in part: %s", i+1, at, failed,
				difference(lookBoth(t, root), before))
		}
		break
	}
	stop(t, l.j)
	return failed
}
