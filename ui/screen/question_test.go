package screen

import (
	"fmt"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/tool"

	"github.com/google/go-cmp/cmp"
)

// All of it is shown in as many rows as it takes, up to 400; of more its two ends,
// and then the question says that the pager has the rest and Unseen that it must be
// looked at.
func TestAllThatIsApprovedIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "echo %d\n", i)
		}
		return b.String()
	}
	q := ask(runCall("1", lines(500)), 1, 3)
	prompt := r.Question(q)
	if want := `approve: run "echo 0^Jecho 1^Jecho 2^Jecho 3 … ^Jecho 497^Jecho 498^Jecho 499"? 1/3 [y,n,a,A,e,p,q,?] (n) `; prompt != want {
		t.Errorf("asks %q", prompt)
	}
	if got := r.err.String(); !strings.Contains(got,
		"echo 249\n          … 150 more rows; p shows all; y counts after that\n          echo 400\n") ||
		!r.Unseen(q) {
		t.Errorf("shown: %q", tailOf(got))
	}
	if all := r.QuestionAll(q); !strings.Contains(all, "echo 300\n") || strings.Contains(all, "more rows") {
		t.Errorf("all: %q", tailOf(all))
	}
	r.err.Reset()
	if q = ask(runCall("2", lines(400)), 1, 1); r.Unseen(q) {
		t.Error("400 lines are not all shown")
	}
	r.Question(q)
	for i := range 400 {
		if !strings.Contains(r.err.String(), fmt.Sprintf("echo %d\n", i)) {
			t.Fatalf("line %d is not shown", i)
		}
	}
	long := ask(runCall("2", "echo "+strings.Repeat("é", 3000)), 1, 1)
	r.err.Reset()
	r.Question(long)
	if got := r.err.String(); !strings.Contains(got, "  run     echo "+strings.Repeat("é", 3000)+"\n") || r.Unseen(long) {
		t.Errorf("shown: %q", tailOf(got))
	}
	for name := range profiles() { // one line of 100 KB
		r := newRig(profiles()[name])
		huge := ask(runCall("2", "echo "+strings.Repeat("x", 50_000)+"; rm -rf /; "+strings.Repeat("y", 50_000)), 1, 1)
		if r.Question(huge); !r.Unseen(huge) || r.err.Len() > 40_000 || strings.Contains(r.err.String(), "rm -rf") {
			t.Errorf("%s: %d bytes are shown, unseen %v", name, r.err.Len(), r.Unseen(huge))
		}
		if !strings.Contains(r.QuestionAll(huge), "; rm -rf /; ") {
			t.Errorf("%s: not all of it is there to be paged", name)
		}
	}
	mcp := call("3", "query", "db")
	mcp.Access.Kind, mcp.Input = tool.KindNone, []byte(`{"sql":"drop table \u202e"}`)
	if prompt := r.Question(ask(mcp, 1, 1)); prompt != "approve: query db? "+choices {
		t.Errorf("asks %q", prompt)
	}
	if got := r.err.String(); !strings.Contains(got, `"sql": "drop table \u202e"`) {
		t.Errorf("shown: %q", tailOf(got))
	}
	mcp.Input = []byte("{\"sql\":\"drop\u202e\u200b\u200b\"}")
	r.Question(ask(mcp, 1, 1))
	if got := r.err.String(); !strings.HasSuffix(got, "warning: 3 hidden characters in this call\n") {
		t.Errorf("shown: %q", tailOf(got))
	}
	big := editCall("4")
	big.Access.Diff = cartDiff + strings.Repeat("+x\n", 300) + "+last \u200b\n"
	r.Question(ask(big, 1, 1))
	if got := r.err.String(); r.Unseen(ask(big, 1, 1)) || !strings.Contains(got, "+last <U+200B>\n") ||
		!strings.Contains(got, "warning: 1 hidden character in this change\n") {
		t.Errorf("shown: %q", tailOf(got))
	}
	big.Access.Diff += strings.Repeat("+y\n", 300)
	if !r.Unseen(ask(big, 1, 1)) {
		t.Error("a diff of more than 600 lines counts as seen")
	}
}

// A carriage return ends a line for some readers of a file, and on a terminal
// hides the text before it: so it is shown, and forges no line of the diff.
func TestADiffShowsItsCarriageReturns(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		r := newRig(change)
		call := editCall("1")
		call.Access.Diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n import os\n+# a comment\ros.system('rm -rf /')\r+print(1)\v\f\u0085\u2028+x\n"
		q := ask(call, 1, 1)
		r.Question(q)
		got := sgr.ReplaceAllString(r.err.String(), "")
		if r.opt.Profile == Spoken {
			got = r.QuestionAll(q)
		}
		if want := "# a comment^Mos.system('rm -rf /')^M+print(1)^K^L^[E<U+2028>+x\n"; !strings.Contains(
			folded.ReplaceAllString(got, ""), want) {
			t.Errorf("%s: %q", name, got)
		}
		if !strings.Contains(got, "warning: 6 hidden characters in this change") {
			t.Errorf("%s: no warning in %q", name, tailOf(got))
		}
	}
}

// A row that goes on with the line above cannot be taken for a line of its own.
func TestAFoldedLineForgesNone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nocolor", "ascii"} {
		r := newRig(profiles()[name])
		call := editCall("1")
		call.Access.Diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n " + strings.Repeat(" ", 78) + "+os.system('x')" +
			strings.Repeat("\t", 20) + "-gone\n+y\n"
		r.Question(ask(call, 1, 1))
		for l := range strings.SplitSeq(r.err.String(), "\n") {
			if strings.HasPrefix(l, "+os") || strings.HasPrefix(l, "-gone") ||
				cells(strings.ReplaceAll(l, "\t", "        ")) > 88 {
				t.Errorf("%s: %q", name, l)
			}
		}
	}
}

func TestTabsOfAScriptAreLayout(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "spoken", "nocolor"} {
		r := newRig(profiles()[name])
		r.Question(ask(runCall("1", "cat > Makefile <<'EOF'\nall:\n\techo hi\u00a0\n\techo ho\nEOF\nmake"), 1, 1))
		got := r.err.String()
		if !strings.Contains(got, "\techo hi<U+00A0>\n") || !strings.Contains(got, "\techo ho\n") ||
			!strings.Contains(got, "warning: 1 hidden character ") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestHostileCommandsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, shown, warning string }{
		{"ls\u202e\u2066", "ls<U+202E><U+2066>", "2 invisible direction marks"},
		{"ls\t\trm", "ls<U+0009><U+0009>rm", "2 hidden characters"},
		{"ls\x1b[8m rm", "ls^[[8m rm", "1 hidden character "},
		{"ls \U000E0072\U000E006D", "ls <U+E0072><U+E006D>", "2 hidden characters"},
		{"ls\u00a0rm", "ls<U+00A0>rm", "1 hidden character "},
		{"ls\rrm", "ls^Mrm", "1 hidden character "},
		{"ls\u200b", "ls<U+200B>", "1 hidden character "},
		{"ls\u202e\x00", "ls<U+202E>^@", "2 hidden characters"},
	} {
		r := newRig(profiles()["plain"])
		r.Question(ask(runCall("1", c.command), 1, 1))
		if got := r.err.String(); !strings.Contains(got, "  run     "+c.shown+"\n") ||
			!strings.Contains(got, "warning: "+c.warning) {
			t.Errorf("%q: %q", c.command, got)
		}
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call   agent.Call
		answer agent.Answer
		result agent.CallResult
		want   string
	}{
		{runCall("1", "make"), agent.Answer{Verdict: agent.Yes}, ok("exit 0"),
			"approve: allowed once\n  run     make  exit 0\n"},
		{editCall("1"), agent.Answer{Verdict: agent.Yes}, ok("+3 -1"), "approve: applied  internal/cart/cart.go\n"},
		{editCall("1"), agent.Answer{Verdict: agent.Yes},
			agent.CallResult{Status: agent.CallFailed, Summary: "changed since"},
			"  edit    internal/cart/cart.go  changed since\n"},
		{runCall("1", "make"), agent.Answer{Verdict: agent.YesForSession},
			ok(""), "approve: allowed in this session: bash(make)   (/permissions to change)\n  run     make  ok\n"},
		{runCall("1", "make"), agent.Answer{Verdict: agent.YesForever, Rule: "bash(x:*)"}, ok(""),
			"approve: allowed in this project: bash(x:*)   (config.toml to change)\n  run     make  ok\n"},
		{runCall("1", "make"), agent.Answer{Reason: "a\nb\x1b"}, agent.CallResult{Status: agent.CallDenied},
			"approve: denied: a b^[\n"},
		{runCall("1", "make"), agent.Answer{Verdict: agent.StopTurn}, agent.CallResult{Status: agent.CallInterrupted},
			"approve: denied; turn stopped\n"},
	} {
		r := newRig(profiles()["piped"])
		q := ask(c.call, 1, 1)
		r.OnToolCall(c.call)
		r.Question(q)
		r.err.Reset()
		r.Decided(q, c.answer)
		r.OnToolResult(c.call, c.result)
		if diff := cmp.Diff(c.want, r.err.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestResultLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		object string
		result agent.CallResult
		want   string
	}{
		{"/home/jo/src/shop/a.go", ok("1 line"), "  read    a.go  1 line\n"},
		{"/home/jo/x", ok(""), "  read    ~/x  ok\n"},
		{"a\x1b]0;x\x07\u202eb", ok("1\x1b[2J"), "  read    a^[]0;x^G<U+202E>b  1^[[2J\n"},
		{"one\ntwo\nthree", ok("x"), "  read    one … 2 more lines  x\n"},
		{"x", agent.CallResult{Status: agent.CallDenied, Summary: "rule bash(x)"}, "  read    x  denied: rule bash(x)\n"},
		{"x", agent.CallResult{Status: agent.CallUnanswered}, "  read    x  denied: no one can answer\n"},
		{"x", agent.CallResult{Status: agent.CallInterrupted}, "  read    x  interrupted\n"},
		{"x", agent.CallResult{Status: agent.CallFailed, Tail: "1\n2\n3\n4\n\x1b[31m5\n6\n"},
			"  read    x  failed\n          2\n          3\n          4\n          5\n          6\n"},
		{"", ok("done"), "  read    done\n"},
	} {
		r := newRig(profiles()["piped"])
		k := call("1", "read", c.object)
		r.OnToolCall(k)
		r.OnToolResult(k, c.result)
		if diff := cmp.Diff(c.want, r.err.String()); diff != "" {
			t.Error(diff)
		}
	}
	r := newRig(func(o *Options) { profiles()["nocolor"](o); o.Width = wide(50) })
	k := call("1", "read", strings.Repeat("long/", 20)+"x.go")
	r.OnToolCall(k)
	r.OnToolResult(k, ok("88 lines"))
	if got := strings.TrimSuffix(r.err.String(), "\n"); cells(got) > 49 || !strings.HasSuffix(got, "…  88 lines") {
		t.Errorf("%d cells: %q", cells(got), got)
	}
}
