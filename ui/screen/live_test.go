package screen

import (
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
		if want := "  run     make all  3s  compiling 2 of 9 xxxxxx"[:min(width-2, 44)]; v.bad != "" || !strings.Contains(v.text(), want) {
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
