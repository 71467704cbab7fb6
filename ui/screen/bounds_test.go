package screen

import (
	"errors"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"
)

// Names and commands from a model take no more room than one long line, also on
// profiles that do not count rows.
func TestWhatIsOverlongIsCut(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		r := newRig(change)
		c := call("1", strings.Repeat("n", 100<<10), "x")
		c.Access.Verb = ""
		r.OnToolCall(c)
		r.OnToolResult(c, agent.CallResult{Status: agent.CallFailed, Summary: "there is no such tool"})
		run := runCall("2", strings.Repeat("y", 100*maxOneLine))
		r.OnToolCall(run)
		r.OnToolResult(run, ok("exit 0 in 1.0s"))
		r.Failure(&agent.Failure{What: "denied: run " + run.Access.Command, Err: errors.New("nobody to ask"),
			Hint: "artoo --allow 'bash(" + run.Access.Command + ")'"})
		if n := r.err.Len(); n > 3*maxOneLine {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

func TestWaitingIsNotCalledThinking(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	r.OnThinking()
	r.pass(31 * time.Second)
	r.OnThinkingDone()
	r.pass(30 * time.Second)
	if got, want := r.err.String(), "  still waiting for an answer (30s)\n  still thinking (1m00s)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Faults of two kinds allow numbers of tries that differ.
func TestTheNumberOfTriesDoesNotChange(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	for i, tries := range []int{5, 4, 5} {
		r.OnNotice(agent.Notice{Kind: agent.NoticeRetry, Retry: &provider.Retry{Try: i + 2, Tries: tries,
			Wait: time.Second, Err: &provider.Error{Kind: provider.KindOverloaded}}})
	}
	for _, want := range []string{"Try 2 of 5 in", "Try 3 in", "Try 4 of 5 in"} {
		if !strings.Contains(r.err.String(), want) {
			t.Errorf("%q is not in %q", want, r.err.String())
		}
	}
}

func TestACostThatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	for used, want := range map[int]string{1200: "  1.2k in, 0 out, cost unknown, 1s\n", 0: "  1s\n"} {
		r := newRig(profiles()["plain"])
		r.Status(StatusInfo{Elapsed: time.Second, Context: -1, Usage: provider.Usage{Input: used}})
		if got := r.err.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The output of the user's command stands in place of the numbers, and reaches the terminal as
// text.
func TestTheStatusOfACommandIsShown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"plain": "  on main^[[2J\n", "spoken": "status: done, 2 seconds, on main^[[2J.\n"} {
		r := newRig(profiles()[name])
		r.Status(StatusInfo{Elapsed: 2 * time.Second, Context: 3, Line: "on main\x1b[2J"})
		if got := r.err.String(); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A clock of a turn stands while a question does.
func TestWaitingForTheUserIsCountedApart(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	c := runCall("1", "make")
	r.OnToolCall(c)
	r.pass(time.Second)
	r.typed(r.Question(ask(c, 1, 1)), "y")
	r.pass(20 * time.Second)
	r.Decided(ask(c, 1, 1), agent.Answer{Verdict: agent.Yes})
	r.pass(time.Second)
	if got := r.Waited(); got != 20*time.Second {
		t.Errorf("waited %v", got)
	}
}

func TestAHintBreaksAtBlanks(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { profiles()["plain"](o); o.Width = wide(40) })
	r.Failure(&agent.Failure{Err: errors.New("it broke"), Hint: "again in a few minutes, or another model with --model"})
	if got, want := r.err.String(),
		"artoo: it broke\n  try: again in a few minutes, or\n    another model with --model\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
