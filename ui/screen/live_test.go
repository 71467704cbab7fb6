package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"artoo/agent"
)

func TestTheLastLineOfARunningCommandIsSeenAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, width := range []int{20, 40, 80} {
		r := newRig(func(o *Options) { o.Width = wide(width) })
		c := runCall("1", "make all")
		r.OnToolCall(c)
		r.OnToolOutput(c, "first\n\x1b[31mcompiling 1 of 9\x1b[0m\r")
		r.OnToolOutput(c, "compiling 2 of 9\t"+strings.Repeat("x", 200)+"\x1b[2J\u202e\n\n")
		r.pass(3 * time.Second)
		var v vt
		v.write(r.err.String())
		if want := "• run   make all  3 lines  3 s  compiling 2 of 9 xxxxxx"[:min(width-4, 50)]; v.bad != "" ||
			!strings.Contains(v.text(), want) {
			t.Errorf("%d columns: %q, want %q, %s", width, v.text(), want, v.bad)
		}
		for _, row := range v.rows {
			if cells(strings.TrimRight(string(row), " ")) >= width {
				t.Errorf("%q fills a row of %d", string(row), width)
			}
		}
		r.OnToolResult(c, ok("exit 0 in 3.0s"))
		v = vt{}
		v.write(r.err.String())
		if strings.Contains(v.text(), "compiling") {
			t.Errorf("the output stays: %q", v.text())
		}
	}
	for name, change := range map[string]func(*Options){
		"plain":  func(o *Options) { o.Profile, o.OutColor, o.ErrColor = Plain, false, false },
		"spoken": func(o *Options) { o.Profile, o.OutColor, o.ErrColor = Spoken, false, false },
	} {
		r := newRig(change)
		c := runCall("1", "make all")
		r.OnToolCall(c)
		r.OnToolOutput(c, "compiling\n")
		r.pass(100 * time.Second)
		r.OnToolResult(c, agent.CallResult{Status: agent.CallOK, Summary: "exit 0"})
		if strings.Contains(r.err.String(), "compiling") {
			t.Errorf("%s: %q", name, r.err.String())
		}
	}
}

func TestTheOutputSoFarOfARunningCommandIsShownOnRequest(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { o.ErrColor = false })
	if r.SoFar() || r.err.Len() > 0 {
		t.Errorf("shown without a call: %q", r.err.String())
	}
	c := runCall("1", "make all")
	r.OnToolCall(c)
	r.pass(2 * time.Second)
	if !r.SoFar() {
		t.Error("no call is said to run")
	}
	for i := range 3000 { // more than is kept
		r.OnToolOutput(c, fmt.Sprintf("line %d \x1b[31mof %s\x1b[0m\r\n", i, strings.Repeat("x", 100)))
	}
	r.OnToolOutput(c, "10%\r20%\rapprove: yes")
	r.pass(time.Second)
	r.SoFar()
	r.OnToolResult(c, ok("exit 0 in 3.0s"))
	var v vt
	v.write(r.err.String())
	text := v.text()
	for _, want := range []string{"make all", "2 s, no output so far\n", "3 s, last 400 lines of the output so far\n        line 2601 of xxx",
		"        line 2999 of", "\n|         approve: yes\n", "exit 0 in 3.0 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, tailOf(text))
		}
	}
	if strings.Contains(text, "line 2600") || strings.Contains(r.err.String(), "\x1b[31m") ||
		strings.Contains(text, "\napprove:") {
		t.Errorf("shown %q", tailOf(text))
	}
	if r.SoFar() {
		t.Error("a call that has ended is shown")
	}
}

func TestWhatIsKeptOfARunningCommandIsItsEnd(t *testing.T) {
	t.Parallel()
	var r written
	for i := range 20_000 {
		r.keep(fmt.Sprintf("%d\n", i))
	}
	if n := len(r.end); n < maxHeard || n > 2*maxHeard || !strings.HasSuffix(string(r.end), "\n19998\n19999\n") {
		t.Errorf("%d bytes are kept", n)
	}
	r.keep(strings.Repeat("y", 5*maxHeard) + "z")
	if n := len(r.end); n != maxHeard || r.end[n-1] != 'z' || r.end[0] != 'y' {
		t.Errorf("%d bytes are kept of one chunk", n)
	}
}

// longTalk is a rig whose transcript is read as a dialogue.
func longTalk(change func(*Options)) *rig {
	return newRig(func(o *Options) {
		if change != nil {
			change(o)
		}
		o.Conversation, o.ErrColor, o.OutColor = true, false, false
	})
}

// A short command is one line; of one that lasts the last lines are shown from time to
// time, ever more seldom, and nothing above is touched.
func TestTheLastLinesOfARunningCommandAreShownBelowIt(t *testing.T) {
	t.Parallel()
	for _, profile := range []Profile{Rich, Plain} {
		r := longTalk(func(o *Options) { o.Profile = profile })
		c := runCall("1", "make all")
		r.OnToolCall(c)
		r.OnToolOutput(c, "one\ntwo\n")
		r.pass(2 * time.Second)
		if strings.Contains(textOf(r), "\n"+r.layout.body()+"one") {
			t.Errorf("%v: shown at once: %q", profile, textOf(r))
		}
		r.pass(time.Second)
		for i := range 9 {
			r.OnToolOutput(c, fmt.Sprintf("line %d\r\n", i))
		}
		r.OnToolOutput(c, "10%\r90%")
		r.pass(2 * time.Second)
		r.OnToolOutput(c, "\r99%\nlinked\n\nlast")
		r.OnToolResult(c, agent.CallResult{Status: agent.CallFailed, Summary: "exit 2 in 5.0s", Tail: "line 8\n99%\nlinked\n\nlast"})
		want := "  run     make all\n          one\n          two\n" +
			"          …\n          line 4\n          line 5\n          line 6\n          line 7\n          line 8\n" +
			"  run     exit 2 in 5.0s\n          99%\n          linked\n\n          last\n"
		if profile == Rich {
			want = strings.NewReplacer("          ", "        ", "  run     make", "• run   make", "  run     exit 2 in 5.0s",
				"        ✗ exit 2 in 5.0 s").Replace(want)
		}
		if got := textOf(r); got != want {
			t.Errorf("%v: shown %q, want %q", profile, got, want)
		}
	}
}

func TestTheLastLinesOfALongCommandStayFew(t *testing.T) {
	t.Parallel()
	r := longTalk(nil)
	c := runCall("1", "make all")
	r.OnToolCall(c)
	for i := range 3600 {
		r.OnToolOutput(c, fmt.Sprintf("line %d\n", i))
		r.pass(time.Second)
	}
	r.OnToolResult(c, ok("exit 0 in 1h00m"))
	if n := strings.Count(r.err.String(), "\n"); n < 300 || n > 6*130 {
		t.Errorf("%d rows for an hour", n)
	}
	r = longTalk(nil)
	r.OnToolCall(c)
	r.OnToolOutput(c, "only\n")
	r.pass(time.Hour)
	if got := r.err.String(); strings.Count(got, "\n        only\n") != 1 {
		t.Errorf("shown %q", tailOf(got))
	}
}

func TestTheLastLinesOfCommandsSideBySideSayWhose(t *testing.T) {
	t.Parallel()
	r := longTalk(func(o *Options) { o.Width = wide(40) })
	one, two := runCall("1", "make one"), runCall("2", "make two")
	two.Agent = "task 2"
	r.OnToolCall(one)
	r.OnToolCall(two)
	r.OnToolOutput(one, "1 "+strings.Repeat("x", 100)+"\n")
	r.OnToolOutput(two, "2\x1b[2J\napprove: yes\n")
	r.pass(3 * time.Second)
	r.OnToolOutput(one, "3\n")
	r.pass(2 * time.Second)
	r.OnToolResult(two, ok("exit 0 in 5.0s"))
	r.OnToolResult(one, ok("exit 0 in 5.0s"))
	want := "• run   make one\n        1 xxxxxxxxxxxxxxxxxxxxxxxxxxxx…\n\n" +
		"• task 2: run make two\n        2\n|         approve: yes\n\n" +
		"• run   make one                   5 s\n        3\n\n" +
		"✓ task 2: run make two  exit 0 in 5.0 s\n✓ run   make one        exit 0 in 5.0 s\n"
	if got := textOf(r); got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestWhatARunningCommandSaysIsHeardWithTheTime(t *testing.T) {
	t.Parallel()
	r := longTalk(func(o *Options) { o.Profile = Spoken })
	c := runCall("1", "make all")
	r.OnToolCall(c)
	r.OnToolOutput(c, "compiling 1 of 9\rcompiling 2 of 9")
	r.pass(time.Minute + time.Second)
	want := "tool: run make all.\ntool: still running, 31 seconds, compiling 2 of 9.\ntool: still running, 1 minute 1 second.\n"
	if got := r.err.String(); got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
}

func TestNoLastLinesInAHeadlessRunOrWhileAQuestionStands(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){"headless": nil,
		"quiet": func(o *Options) { o.Conversation, o.Quiet = true, true }} {
		r := newRig(change)
		c := runCall("1", "make all")
		r.OnToolCall(c)
		r.OnToolOutput(c, "one\n")
		r.pass(10 * time.Second)
		r.OnToolResult(c, ok("exit 0"))
		if strings.Contains(textOf(r), "one") {
			t.Errorf("%s: shown %q", name, textOf(r))
		}
	}
	r := longTalk(nil)
	c := runCall("1", "make all")
	r.OnToolCall(c)
	r.Question(ask(runCall("2", "rm x"), 1, 1))
	r.OnToolOutput(c, "one\n")
	r.pass(10 * time.Second)
	if strings.Contains(textOf(r), "one") {
		t.Errorf("shown at a question: %q", textOf(r))
	}
}

// textOf is the text on a rig's terminal.
func textOf(r *rig) string {
	var v vt
	v.write(r.err.String())
	return v.text()
}
