package ui

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/tool"
	"artoo/ui/prompt/prompttest"
	"artoo/ui/screen"
	"github.com/briandowns/spinner"
)

// newTestScreen makes the screen of a test: no colours, a terminal only for
// the status.
func newTestScreen(out, err io.Writer, profile screen.Profile, now func() time.Time) *screen.Screen {
	return screen.New(screen.Options{
		Out: out, Err: err, ErrTTY: true, Conversation: true, Profile: profile, UTF8: true, Now: now,
		After: func(time.Duration, func()) (stop func()) { return func() {} },
	})
}

// The line that may change is wiped from its own row alone.
func TestResizeKeepsLinesAboveTheSpinner(t *testing.T) {
	t.Parallel()
	for _, rewraps := range []bool{true, false} {
		for how, sizes := range [][]int{{199, 150, 120, 90, 60, 30, 20, 30, 60, 100, 150, 200}, {41, 200, 20, 120, 33, 80, 20, 200}, {41}} {
			term := prompttest.New(200, 12)
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			var wake func()
			s := screen.New(screen.Options{
				Out: term, Err: term, OutTTY: true, ErrTTY: true, Conversation: true, Profile: screen.Rich, UTF8: true,
				Width: func() int { return term.Cols }, Now: func() time.Time { return now },
				After: func(_ time.Duration, f func()) func() { wake = f; return func() {} },
				Spin: func(sp *spinner.Spinner) func() {
					wake = func() { sp.PreUpdate(sp); fmt.Fprintf(sp.Writer, "\r%s|%s", sp.Prefix, sp.Suffix) }
					return func() {}
				},
			})
			for i := range 30 {
				s.Note(fmt.Sprintf("finished %02d", i))
			}
			s.OnToolCall(agent.Call{Access: tool.Access{Verb: "run", Object: strings.Repeat("long command ", 14)}})
			for _, cols := range sizes {
				now = now.Add(2 * time.Second)
				wake()
				term.Resize(cols, rewraps)
			}
			now = now.Add(2 * time.Second)
			wake()
			s.Finish()
			if term.Err != nil {
				t.Errorf("%d: %v", how, term.Err)
			}
			rows := strings.Count(term.All(), "finished ")
			if rows != 30 {
				t.Errorf("%d: %d of 30 finished lines are there:\n%s", how, rows, term.All())
			}
		}
	}
}
