package screen

import (
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutATransientLineCallsAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	c := runCall("1", "make")
	r.OnToolCall(c)
	r.pass(499 * time.Millisecond)
	if got := r.err.String(); got != "" {
		t.Fatalf("too early: %q", got)
	}
	r.pass(time.Millisecond)
	if got, want := r.err.String(), "  run     make\n"; got != want {
		t.Fatalf("after half a second: %q, want %q", got, want)
	}
	r.pass(65*time.Second - time.Millisecond)
	r.OnToolResult(c, ok("exit 0 in 65.5s"))
	r.OnThinking()
	r.pass(61 * time.Second)
	want := "  run     make\n  run     still running (30s)\n  run     still running (1m00s)\n" +
		"  run     exit 0 in 65.5s\n  still waiting for an answer (30s)\n  still waiting for an answer (1m00s)\n"
	// The first report comes 30 s after the start line.
	want = strings.Replace(want, "(30s)\n  run     still running (1m00s)", "(31s)\n  run     still running (1m01s)", 1)
	if diff := cmp.Diff(want, r.err.String()); diff != "" {
		t.Error(diff)
	}
}

func TestParallelCallsAreWholeLines(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "nocolor"} {
		r := newRig(profiles()[name])
		a, b := runCall("1", "make a"), runCall("2", "make b")
		r.OnToolCall(a)
		r.OnToolCall(b)
		r.pass(2 * time.Second)
		r.OnToolResult(b, ok("exit 0"))
		r.pass(2 * time.Second)
		r.OnToolResult(a, ok("exit 0"))
		var v vt
		v.write(r.err.String())
		text := strings.Join(strings.Fields(v.text()), " ")
		if !strings.HasSuffix(strings.ReplaceAll(text, "✓ ", ""), "run make b exit 0 run make a exit 0") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestTheTransientLineStaysInItsRow(t *testing.T) {
	t.Parallel()
	for _, width := range []int{10, 30, 80} {
		r := newRig(func(o *Options) { o.Width = wide(width) })
		r.Line("above 1")
		r.Line("above 2")
		c := runCall("1", "測試測試測試測試測試測試測試測試測試測試 --long 👨‍👩‍👧 option")
		r.OnToolCall(c)
		r.pass(12 * time.Second)
		var v vt
		v.write(r.err.String())
		if diff := cmp.Diff([]string{"above 1", "above 2"}, v.rows); diff != "" {
			t.Errorf("%d: %s", width, diff)
		}
		if last := strings.ReplaceAll(string(v.row), "\x00", ""); last == "" || cells(last) >= width {
			t.Errorf("%d: %d cells: %q", width, cells(last), last)
		}
		r.Note("x")
		v = vt{}
		v.write(r.err.String())
		if len(v.rows) != 3 || v.rows[2] != "• x" {
			t.Errorf("%d: the progress line was not wiped: %q", width, v.rows)
		}
	}
}

func TestThePaceOfTheTransientLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ssh    bool
		bytes  int
		writes int
	}{{false, 1000, 20}, {true, 500, 10}} {
		for name, begin := range map[string]func(*rig){
			"thinking": func(r *rig) { r.OnThinking() },
			"call":     func(r *rig) { r.OnToolCall(runCall("1", "go test ./... -race")) },
		} {
			r := newRig(func(o *Options) { o.SSH = c.ssh })
			begin(r)
			r.pass(499 * time.Millisecond)
			if r.err.Len() > 0 {
				t.Errorf("%s: shown before its time", name)
			}
			r.pass(9501 * time.Millisecond)
			if r.err.Len() == 0 || r.err.Len() >= c.bytes || r.err.writes > c.writes {
				t.Errorf("%s over ssh=%v: %d bytes in %d writes", name, c.ssh, r.err.Len(), r.err.writes)
			}
		}
	}
}

func TestTransientLineIsAwayWhileOthersOwnTheRow(t *testing.T) {
	t.Parallel()
	q := ask(runCall("1", "make"), 1, 1)
	for name, c := range map[string]struct{ begin, end func(*rig) }{
		"paused": {func(r *rig) { r.Pause() }, func(r *rig) { r.Resume() }},
		"question": {func(r *rig) { r.OnToolCall(q.Call); r.Question(q) },
			func(r *rig) { r.Decided(q, agent.Answer{Verdict: agent.Yes}) }},
		"prompt":   {func(r *rig) { r.Prompt("> ") }, nil},
		"finished": {func(r *rig) { r.Finish() }, nil},
	} {
		r := newRig(nil)
		r.OnThinking()
		r.pass(5 * time.Second)
		c.begin(r)
		before := r.err.Len()
		r.pass(time.Minute)
		if got := r.err.String()[before:]; got != "" {
			t.Errorf("%s: wrote %q", name, got)
		}
		if n := r.waiting(); n != 0 {
			t.Errorf("%s: %d timers wait for nothing (P3)", name, n)
		}
		if c.end != nil {
			c.end(r)
			before = r.err.Len()
			r.pass(2 * time.Second)
			if r.err.Len() == before {
				t.Errorf("%s: the progress line did not come back", name)
			}
		}
	}
}

func TestTimeOfAQuestionDoesNotCount(t *testing.T) {
	t.Parallel()
	other, asked := runCall("1", "make other"), runCall("2", "make")
	for name, want := range map[string]string{
		"plain":   "  run     make  exit 0\n  run     make other  still running (31s)\n",
		"nocolor": "  run     make other",
	} {
		r := newRig(profiles()[name])
		r.OnToolCall(other)
		r.OnToolCall(asked)
		before := 400 * time.Millisecond
		if name == "nocolor" {
			before = 1400 * time.Millisecond
		}
		r.pass(before)
		q := ask(asked, 1, 1)
		r.Question(q)
		r.pass(time.Minute)
		r.Decided(q, agent.Answer{Verdict: agent.Yes})
		written := r.err.Len()
		if name == "nocolor" {
			r.pass(1100 * time.Millisecond)
			var v vt
			v.write(r.err.String())
			if got := v.text(); !strings.HasSuffix(got, "and 1 more  2 s ⠹") {
				t.Errorf("%s: %q", name, tailOf(got))
			}
			r.OnToolResult(other, ok("exit 0"))
			r.pass(2 * time.Second)
			v = vt{}
			v.write(r.err.String())
			if got := v.text(); !strings.HasSuffix(got, " 3 s ⠸") {
				t.Errorf("%s: %q", name, tailOf(got))
			}
			continue
		}
		r.pass(200 * time.Millisecond)
		r.OnToolResult(asked, ok("exit 0"))
		r.pass(30 * time.Second)
		got := strings.TrimPrefix(r.err.String()[written:], "  run     make other\n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTransientLineCountsRetriesDown(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	r.OnThinking()
	r.OnNotice(agent.Notice{Kind: agent.NoticeRetry, Retry: &provider.Retry{Try: 2, Tries: 5, Wait: 8 * time.Second}})
	r.OnThinking() // the agent begins the next try at once
	var v vt
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{3 * time.Second, "• waiting 5 s"}, {5 * time.Second, "• waiting for an answer "},
		{2 * time.Second, "• waiting for an answer, 2 s "}} {
		r.pass(c.after)
		v = vt{}
		v.write(r.err.String())
		if got := string(v.row); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestTransientLineCountsDownToTheResetOfALimit(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	r.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: "the rate limit resets",
		Retry: &provider.Retry{Try: 2, Tries: 2, Wait: 2 * time.Hour}})
	r.OnThinking()
	r.pass(time.Hour)
	var v vt
	v.write(r.err.String())
	got, said := string(v.row), v.text()
	if !strings.HasPrefix(got, "• waiting 1h00m") || !strings.Contains(said, "the rate limit resets") {
		t.Errorf("%q", said)
	}
}
