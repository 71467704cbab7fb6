package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
)

// writeCall streams n bytes of a call's arguments, 100 a tenth of a second, and returns
// the longest time in which nothing was written.
func (r *rig) writeCall(in agent.ToolInput, n int) (longest time.Duration) {
	silent := time.Duration(0)
	for ; in.Bytes <= n; in.Bytes += 100 {
		before := r.err.Len()
		r.OnNotice(agent.Notice{Kind: agent.NoticeInput, Input: &in})
		r.pass(100 * time.Millisecond)
		if silent += 100 * time.Millisecond; r.err.Len() > before {
			silent = 0
		}
		longest = max(longest, silent)
	}
	return longest
}

func TestTheScreenShowsACallThatIsWritten(t *testing.T) {
	t.Parallel()
	for _, ssh := range []bool{false, true} {
		r := newRig(func(o *Options) { o.SSH = ssh })
		r.OnThinking()
		r.pass(2 * time.Second)
		r.OnThinkingDone()
		r.OnText("I write the whole file **now.")
		r.OnNotice(agent.Notice{Kind: agent.NoticeInput, Input: &agent.ToolInput{}})
		var v vt
		v.write(r.err.String())
		if got := v.rows[len(v.rows)-1]; !strings.HasSuffix(got, "I write the whole file **now.") {
			t.Errorf("ssh %v: the text above the call is %q", ssh, got)
		}
		if longest := r.writeCall(agent.ToolInput{Tool: "write"}, 10_000); longest > 1500*time.Millisecond {
			t.Errorf("ssh %v: the screen stood still for %v", ssh, longest)
		}
		v = vt{}
		v.write(r.err.String())
		if got := string(v.row); !strings.HasPrefix(got, "• writing a tool call (write), ") || !strings.Contains(got, "s ") {
			t.Errorf("ssh %v: the line is %q", ssh, got)
		}
		r.writeCall(agent.ToolInput{Tool: strings.Repeat("long", 20), Index: 1}, 1500)
		v = vt{}
		v.write(r.err.String())
		if got := string(v.row); !strings.HasPrefix(got, "• writing a tool call, 1.") || !strings.Contains(got, " KB, 1 s ") {
			t.Errorf("ssh %v: the line of the second call is %q", ssh, got)
		}
		r.OnToolCall(call("1", "write", "a.go"))
		r.OnToolResult(call("1", "write", "a.go"), ok("+1 -0"))
		v = vt{}
		if v.write(r.err.String()); v.bad != "" || len(v.row) > 0 || !strings.Contains(v.text(), "now.\n\n✓ write a.go") {
			t.Errorf("ssh %v: %s, at the end: %q", ssh, v.bad, v.text())
		}
		if n := r.waiting(); n != 0 {
			t.Errorf("ssh %v: %d timers wait for nothing", ssh, n)
		}
	}
}

// Once a call is written, hooks may take long: the model is not said to write it then.
func TestACallThatIsWrittenIsChecked(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	r.writeCall(agent.ToolInput{Tool: "write"}, 10_000)
	r.OnNotice(agent.Notice{Kind: agent.NoticeUsage, Request: &agent.RequestReport{}})
	r.pass(4 * time.Second)
	var v vt
	v.write(r.err.String())
	if got := string(v.row); !strings.HasPrefix(got, "• checking a tool call (write), ") {
		t.Errorf("the line is %q", got)
	}
}

func TestACallThatIsWrittenIsTold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plain":  "\nI write.\n\n  writing a tool call (write)\n  still writing a tool call (write), 30.4 KB (31s)\n  write   a.go  +1 -0\n",
		"piped":  "  writing a tool call (write)\n  still writing a tool call (write), 30.4 KB (31s)\n  I write.\n  write   a.go  +1 -0\n",
		"spoken": "\nartoo: I write.\n\nnote: writing a tool call, write.\nnote: still writing a tool call, write, 30.4 kilobytes, 31 seconds.\ntool: write a.go, 1 line added, 0 removed.\n",
	} {
		r := newRig(profiles()[name])
		r.OnThinking()
		r.OnThinkingDone()
		r.OnText("I write.")
		r.writeCall(agent.ToolInput{Tool: "write"}, 400) // done before anything need be said
		r.writeCall(agent.ToolInput{Tool: "write", Bytes: 500}, 50_000)
		c := call("1", "write", "a.go")
		r.OnToolCall(c)
		r.OnToolResult(c, ok("+1 -0"))
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), strings.TrimPrefix(r.err.String(), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatCannotBeShownYetIsCounted(t *testing.T) {
	t.Parallel()
	line := func(r *rig) string {
		r.pass(time.Second)
		var v vt
		v.write(r.err.String())
		return string(v.row)
	}
	r := newRig(nil)
	r.OnThinking()
	r.pass(3 * time.Second)
	if got := line(r); !strings.HasPrefix(got, "• waiting for an answer, 4 s ") {
		t.Errorf("before anything came: %q", got)
	}
	r.OnThinkingDone()
	r.OnReasoning(strings.Repeat("hm. ", 500))
	if got := line(r); !strings.HasPrefix(got, "• thinking, 2.0 KB, 5 s ") {
		t.Errorf("thinking: %q", got)
	}
	r.OnText("A table:\n\n")
	r.OnText("| a | b |\n|---|---|\n")
	r.OnText(strings.Repeat("| x | y |\n", 100))
	if got := line(r); !strings.HasPrefix(got, "• writing, 1.0 KB, 1 s ") {
		t.Errorf("a table: %q", got)
	}
	r.OnText("\nEnd.\n")
	if got := line(r); !strings.HasPrefix(got, "• writing, 1 s ") {
		t.Errorf("after it was shown: %q", got)
	}
	r.Finish()
	if got := line(r); got != "" {
		t.Errorf("after the turn: %q", got)
	}

	r = newRig(profiles()["piped"])
	r.OnThinking()
	r.OnThinkingDone()
	for range 65 {
		r.OnText("so many words ")
		r.pass(time.Second)
	}
	r.Finish()
	if got, want := r.err.String(), "  still writing, 420 B (30s)\n  still writing, 840 B (1m00s)\n"; got != want {
		t.Errorf("a reply that is held back: %q, want %q", got, want)
	}
}

func TestASubAgentThatWritesACallIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	c := call("t1", "task", "1: count it")
	r.OnToolCall(c)
	r.writeCall(agent.ToolInput{Tool: "write", Agent: "task 1", Parent: "t1"}, 2000)
	var v vt
	v.write(r.err.String())
	got := string(v.row)
	if !strings.Contains(got, "task  1: count it") || !strings.Contains(got, "writing a tool call (write), 1.9 KB") {
		t.Errorf("the line is %q", got)
	}
	own := call("t1/x", "write", "a.go")
	own.Parent, own.Agent = "t1", "task 1"
	r.OnToolCall(own)
	r.OnToolResult(own, ok("+1 -0"))
	r.pass(time.Second)
	v = vt{}
	if v.write(r.err.String()); strings.Contains(string(v.row), "writing") {
		t.Errorf("after the call: %q", string(v.row))
	}
}

// A wire may send a call whole: nothing says that it is being written, and the row of the
// text before it is open.
func TestTheTimeStandsBehindTextThatStopped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, open string
		width            int
		set              func(*Options)
	}{
		{name: "words", text: "I write the whole file now.", open: "I write the whole file", width: 80},
		{name: "an item", text: "- one\n- two three ", open: "- two three", width: 80},
		{name: "a style", text: "It is **bold text**, ", open: "It is bold text,", width: 80},
		{name: "code", text: "Take `that` ", open: "Take that", width: 80},
		{name: "no colour", text: "Take `that` ", open: "Take `that`", width: 80, set: profiles()["nocolor"]},
		{name: "ssh", text: "some words ", open: "some words", width: 80, set: func(o *Options) { o.SSH = true }},
		{name: "wide", text: "測試測試測試測試, ", open: "測試測試測試測試,", width: 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(func(o *Options) {
				if c.set != nil {
					c.set(o)
				}
				o.Width = wide(c.width)
			})
			r.OnText(c.text)
			r.pass(990 * time.Millisecond)
			var v vt
			v.write(r.err.String())
			if got := v.text(); !strings.HasSuffix(got, c.open) {
				t.Errorf("before a second: %q", got)
			}
			for range 9 {
				before := r.err.Len()
				if r.pass(time.Second); r.err.Len() == before {
					t.Fatalf("nothing was written for a second after %q", r.err.String())
				}
			}
			v = vt{}
			v.write(r.err.String())
			if got := v.text(); !strings.Contains(got, c.open+"  ") || !strings.HasSuffix(got, " 9 s") {
				t.Errorf("after 10 s: %q", got)
			}
			r.OnText(" and more\n")
			r.Finish()
			still := newRig(func(o *Options) {
				if c.set != nil {
					c.set(o)
				}
				o.Width = wide(c.width)
			})
			still.OnText(c.text)
			still.OnText(" and more\n")
			still.Finish()
			var w vt
			v = vt{}
			v.write(r.err.String())
			w.write(still.err.String())
			if diff := cmp.Diff(w.text(), v.text()); diff != "" || v.bad != "" {
				t.Errorf("%s after it the text is not the same (-want +got):\n%s", v.bad, diff)
			}
			if n := r.waiting(); n != 0 {
				t.Errorf("%d timers wait for nothing", n)
			}
		})
	}
	r := newRig(nil)
	r.OnText("It is **bold** ")
	r.pass(1100 * time.Millisecond)
	r.OnText("so ")
	r.Finish()
	if got, want := r.err.String(), "It is \x1b[1mbold\x1b[0m  ⠋ 1 s"+strings.Repeat("\b", 7)+"\x1b[K\x1b[1m\x1b[0m so\n"; got != want {
		t.Errorf("behind a style: %q, want %q", got, want)
	}
	r = newRig(func(o *Options) { o.Width = wide(20) })
	r.OnText("ten and four ")
	r.pass(1100 * time.Millisecond)
	if got := r.err.String(); got != "ten and four  ⠋ 1 s" {
		t.Errorf("where there is room: %q", got)
	}
	r = newRig(func(o *Options) { o.Width = wide(20) })
	r.OnText("ten and five more ")
	r.pass(1100 * time.Millisecond)
	if got := r.err.String(); got != "ten and five more ⠋" {
		t.Errorf("where there is little room: %q", got)
	}
	r = newRig(func(o *Options) { o.Width = wide(20) })
	r.OnText("ten and seven more ")
	before := r.err.Len()
	r.pass(time.Minute)
	if got := r.err.String()[before:]; got != "" || r.waiting() != 0 {
		t.Errorf("where there is no room: %q, %d timers", got, r.waiting())
	}
}
