package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"artoo/agent"
)

func TestTheLastLineOfARunningCommandIsSeenAndLeavesNothing(t *testing.T) {
	for _, width := range []int{20, 40, 80} {
		r := newRig(func(o *Options) { o.Width = wide(width) })
		c := runCall("1", "make all")
		r.OnToolCall(c)
		r.OnToolOutput(c, "first\n\x1b[31mcompiling 1 of 9\x1b[0m\r")
		r.OnToolOutput(c, "compiling 2 of 9\t"+strings.Repeat("x", 200)+"\x1b[2J\u202e\n\n")
		r.pass(3 * time.Second)
		var v vt
		v.write(r.err.String())
		if want := "  run     make all  3s  compiling 2 of 9 xxxxxx"[:min(width-2, 44)]; v.bad != "" ||
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
	for _, want := range []string{"make all", "2s, no output so far\n", "3s, output so far\n          line 2983 of xxx",
		"          line 2999 of", "          10%\n          20%\n", "exit 0 in 3.0s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if strings.Contains(text, "line 2982") || strings.Contains(r.err.String(), "\x1b[31m") ||
		strings.Contains(text, "\napprove:") {
		t.Errorf("shown %q", text)
	}
	if r.SoFar() {
		t.Error("a call that has ended is shown")
	}
}

func TestWhatIsKeptOfARunningCommandIsItsEnd(t *testing.T) {
	var r running
	for i := range 20_000 {
		r.keep(fmt.Sprintf("%d\n", i))
	}
	if n := len(r.output); n < maxHeard || n > 2*maxHeard || !strings.HasSuffix(string(r.output), "\n19998\n19999\n") {
		t.Errorf("%d bytes are kept", n)
	}
	r.keep(strings.Repeat("y", 5*maxHeard) + "z")
	if n := len(r.output); n != maxHeard || r.output[n-1] != 'z' || r.output[0] != 'y' {
		t.Errorf("%d bytes are kept of one chunk", n)
	}
}
