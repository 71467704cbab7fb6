package screen

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

// Each output has the colours that were decided for it, and no others: the libraries'
// own guesses look at stdout, which is not a terminal here.
func TestEachOutputHasItsOwnColour(t *testing.T) {
	t.Setenv("NO_COLOR", "1") // has been read where it matters, in ColorDecision
	for _, c := range []struct{ outTTY, errTTY, out, err bool }{
		{false, true, false, true},
		{true, false, true, false},
		{true, true, true, false},
		{true, true, false, true},
		{true, true, false, false},
	} {
		r := newRig(func(o *Options) { o.OutTTY, o.ErrTTY, o.OutColor, o.ErrColor = c.outTTY, c.errTTY, c.out, c.err })
		k := call("1", "read", "a.go")
		r.OnToolCall(k)
		r.OnToolResult(k, ok("1 line"))
		status := r.err.String()
		r.OnText("**bold**")
		r.Finish()
		answer := r.out.String()
		if r.out == r.err {
			answer = answer[len(status):]
		}
		if got := sgr.MatchString(status); got != c.err {
			t.Errorf("%+v: status %q", c, status)
		}
		if got := sgr.MatchString(answer); got != c.out {
			t.Errorf("%+v: answer %q", c, answer)
		}
	}
}

// Neither titles nor progress marks are sent where the terminal has no Signs.
func TestNeitherTitlesNorProgress(t *testing.T) {
	t.Parallel()
	osc := regexp.MustCompile(`\x1b\][^8]|\x1b\]8[^;]|\x1b[kPX^_]`)
	for name, change := range profiles() {
		r := newRig(func(o *Options) {
			if change != nil {
				change(o)
			}
			o.Links = true
		})
		r.conversation()
		r.OnThinking()
		r.pass(time.Minute)
		if bad := osc.FindString(r.out.String() + r.err.String()); bad != "" {
			t.Errorf("%s: %q", name, bad)
		}
	}
}

func TestTheCursorIsNeverHidden(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		r := newRig(change)
		r.conversation()
		r.OnThinking()
		r.pass(time.Minute)
		r.Pause()
		r.Resume()
		if out := r.out.String() + r.err.String(); strings.Contains(out, "\x1b[?") {
			t.Errorf("%s: a mode of the terminal is changed", name)
		}
	}
}

// A word is on the screen 200 ms after its last token, at one token each 100 ms;
// of an open span at most a row is held back. A sentence that is heard comes as
// one piece, as soon as the space after it is there.
func TestAWordIsShownInTime(t *testing.T) {
	t.Parallel()
	src := "The discount week comes from the wall clock, so the test depends on the day.\n\n- an item of `code and` **words in bold** here\n\n> a quote\n\n## A heading of words\n\nthe end "
	src += "It is done. And "
	for _, name := range []string{"rich", "plain", "spoken"} {
		r := newRig(profiles()[name])
		r.OnThinking()
		sent := ""
		for _, token := range strings.SplitAfter(src, " ") {
			for half := range strings.SplitSeq(token[:len(token)/2]+"\xff"+token[len(token)/2:], "\xff") {
				if half == "" {
					continue
				}
				before := sent
				r.OnText(half)
				sent += half
				r.pass(100 * time.Millisecond)
				// The complete text before this token, without an open span.
				whole := before[:strings.LastIndexAny(before, " \n")+1]
				if name == "spoken" {
					whole = before[:max(strings.LastIndex(before, "\n"), strings.LastIndex(before, ". "))+1]
				}
				if i := openSpan(whole); i >= 0 {
					whole = whole[:i]
				}
				if got, want := bareWords(shownReply(r)),
					bareWords(whole); !strings.HasPrefix(unnumbered(got), unnumbered(want)) {
					t.Fatalf("%s: sent %q, shown %q", name, sent, got)
				}
			}
		}
	}
}

// openSpan is where a span begins that has not ended, or -1.
func openSpan(text string) int {
	row := text[strings.LastIndexByte(text, '\n')+1:]
	at := len(text) - len(row)
	for _, m := range []string{"`", "**"} {
		if n := strings.Count(row, m); n%2 == 1 {
			return at + strings.LastIndex(row, m)
		}
	}
	return -1
}

func shownReply(r *rig) string {
	var v vt
	v.write(r.err.String())
	return strings.TrimPrefix(strings.TrimSpace(v.text()), "artoo:")
}

// unnumbered takes away the words that spoken output has instead of marks.
func unnumbered(text string) string {
	return strings.NewReplacer("quote:", "", "heading:", "", "\u2502", "").Replace(text)
}

func TestAtMostTwentyWritesASecond(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		if name == "piped" || name == "tee" {
			continue // a pipe gets each piece as it comes
		}
		r := newRig(change)
		r.OnThinking()
		for range 2500 {
			r.OnText("word ")
			r.pass(2 * time.Millisecond)
		}
		if r.err.writes > 105 {
			t.Errorf("%s: %d writes in 5 s", name, r.err.writes)
		}
		if strings.Contains(r.err.String(), "?2026") {
			t.Errorf("%s: synchronised output is asked for", name)
		}
		r.Finish()
		before := r.err.Len()
		r.pass(time.Hour)
		if n := r.waiting(); n > 0 || r.err.Len() > before {
			t.Errorf("%s: idle, with %d timers, it wrote %q", name, n, r.err.String()[before:])
		}
	}
}

// A listener hears every byte: nothing is written twice, and a long wait is reported
// in the words of a line.
func TestSpokenRepaintsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	r.OnThinking()
	r.pass(61 * time.Second)
	c := runCall("1", "make")
	r.OnToolCall(c)
	r.pass(61 * time.Second)
	r.OnToolResult(c, ok("exit 0 in 61.0s"))
	r.OnText("a b ")
	r.pass(time.Minute)
	r.Finish()
	want := "note: still waiting for an answer, 30 seconds.\nnote: still waiting for an answer, 1 minute.\n" +
		"tool: run make.\ntool: still running, 31 seconds.\ntool: still running, 1 minute 1 second.\n" +
		"tool: exit 0 in 1 minute 1 second.\n\nartoo: a b\n"
	if diff := cmp.Diff(want, r.err.String()); diff != "" {
		t.Error(diff)
	}
}

// A spoken question says how much changes; its lines are read on page alone.
func TestADiffIsReadOnPage(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	q := ask(editCall("1"), 1, 1)
	prompt := r.Question(q)
	if got, want := r.err.String(), "tool: edit internal/cart/cart.go, 3 lines added, 1 removed.\n"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	if want := "approve: edit internal/cart/cart.go? Type y, n, a, capital A, e, p, q, or ? for help. Enter means no. "; prompt != want {
		t.Errorf("asked %q", prompt)
	}
	want := "tool: edit internal/cart/cart.go, 3 lines added, 1 removed.\n" +
		"added line 16: now   func() time.Time\nremoved line 18: func New() *Cart { return &Cart{} }\n" +
		"added line 19: // New takes the clock the discounts follow; pass time.Now.\n" +
		"added line 20: func New(now func() time.Time) *Cart { return &Cart{now: now} }\n"
	if diff := cmp.Diff(want, r.QuestionAll(q)); diff != "" {
		t.Error(diff)
	}
	one := editCall("2")
	one.Access.Added = 1
	one.Access.Removed = 0
	r.err.Reset()
	r.Question(ask(one, 1, 1))
	if got, want := r.err.String(), "\ntool: edit internal/cart/cart.go, 1 line added, 0 removed.\n"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	r.OnToolCall(one)
	r.OnToolResult(one, ok("+1 -0"))
	if got, want := tailOf(r.err.String()), "tool: 1 line added, 0 removed.\n"; !strings.HasSuffix(got, want) {
		t.Errorf("ended %q, want %q", got, want)
	}
}

func TestARetryIsOneLine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nocolor": "! the API is overloaded (529). Try %d of 5 in %s, Ctrl-C stops.\n",
		"plain":   "  the API is overloaded (529). Try %d of 5 in %s, Ctrl-C stops.\n",
		"spoken":  "note: the API is overloaded (529). Try %d of 5 in %s, Ctrl-C stops.\n",
		"piped":   "  the API is overloaded (529). Try %d of 5 in %s.\n",
	} {
		r := newRig(profiles()[name])
		r.opt.Width = wide(100)
		waits := []string{"1s", "16s", "2m00s"}
		if name == "spoken" {
			waits = []string{"1 second", "16 seconds", "2 minutes"}
		} else if name == "nocolor" {
			waits = []string{"1 s", "16 s", "2m00s"}
		}
		var all string
		for i, wait := range []time.Duration{400 * time.Millisecond, 16 * time.Second, 2 * time.Minute} {
			r.OnThinking()
			r.OnThinkingDone()
			r.OnNotice(agent.Notice{Kind: agent.NoticeRetry, Retry: &provider.Retry{
				Try: i + 2, Tries: 5, Wait: wait, Err: &provider.Error{Kind: provider.KindOverloaded, Status: 529}}})
			all += fmt.Sprintf(want, i+2, waits[i])
			r.pass(wait)
		}
		r.Finish()
		before := r.err.Len()
		r.pass(time.Minute)
		var v vt
		v.write(r.err.String())
		if diff := cmp.Diff(all, v.text()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if r.err.Len() != before {
			t.Errorf("%s: goes on after the turn", name)
		}
	}
}

// A request that is repeated at once has no wait to report: the line names the change.
func TestWhatIsAskedAgainAtOnceIsSaid(t *testing.T) {
	t.Parallel()
	key := agent.Notice{Kind: agent.NoticeRetry, Text: "anthropic: invalid x-api-key (401)",
		Retry: &provider.Retry{Try: 2, Tries: 2, NewKey: true,
			Err: &provider.Error{Kind: provider.KindAuth, Status: 401, Message: "invalid x-api-key"}}}
	cut := agent.Notice{Kind: agent.NoticeTruncated, Text: "the reply was cut; asking again with room for 8 tokens",
		Retry: &provider.Retry{Try: 2, Tries: 2, Discard: true}}
	for name, want := range map[string][2]string{
		"plain": {"  the key was refused: invalid x-api-key (401). Trying again with a new one.\n",
			"  the reply was cut; asking again with room for 8 tokens\n"},
		"spoken": {"note: the key was refused: invalid x-api-key (401). Trying again with a new one.\n",
			"note: the reply was cut; asking again with room for 8 tokens.\n"},
	} {
		for i, n := range []agent.Notice{key, cut} {
			r := newRig(profiles()[name])
			r.OnThinking()
			r.OnThinkingDone()
			r.OnNotice(n)
			r.Finish()
			var v vt
			v.write(r.err.String())
			if diff := cmp.Diff(want[i], v.text()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// Lines of a plan or of a sub-agent stand below each other, without boxes.
func TestListsAreShownAsLines(t *testing.T) {
	t.Parallel()
	plan := call("1", "plan", "1 of 2\n[x] read \x1b[2Jit\n    [ ] mend it\n")
	plan.Access.Kind = "none"
	var long strings.Builder
	for i := range 150 {
		fmt.Fprintf(&long, "step %d\n", i)
	}
	for name, want := range map[string]string{
		"plain":   "  plan    1 of 2  ok\n          [x] read ^[[2Jit\n              [ ] mend it\n  a list:\n    one\n    two\n",
		"nocolor": "✓ plan  1 of 2                                                              ok\n        [x] read ^[[2Jit\n            [ ] mend it\n• a list:\n    one\n    two\n",
		"spoken":  "tool: plan 1 of 2, ok.\n[x] read ^[[2Jit\n[ ] mend it\nnote: a list:\nnote: one\nnote: two\n",
	} {
		r := newRig(profiles()[name])
		r.OnToolCall(plan)
		r.OnToolResult(plan, ok(""))
		r.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: "a list:\n  one\n  two\n"})
		if diff := cmp.Diff(want, r.err.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		c := call("2", "plan", long.String())
		c.Access.Kind = "none"
		r.OnToolCall(c)
		r.OnToolResult(c, ok(""))
		if got := r.err.String(); !strings.Contains(got, "step 100\n") || strings.Contains(got, "step 101\n") ||
			!strings.HasSuffix(got, "49 more lines\n") {
			t.Errorf("%s: a long list ends %q", name, tailOf(got))
		}
	}
}

// The input of a call that is neither a command nor a change is said by its
// fields, all of them.
func TestInputIsSpoken(t *testing.T) {
	t.Parallel()
	c := call("1", "query", "db")
	c.Access.Kind = "none"
	for input, want := range map[string]string{
		`{"sql":"drop\u202e \u001b[2J","n":[1,{"a":2}],"on":true}`: "sql: drop<U+202E> ^[[2J\nn: [1,{\"a\":2}]\non: true\ntool: warning: 2 hidden characters in this call.\n",
		`{"text":"one\ntwo","none":null}`:                          "text: one\ntwo\nnone: null\n",
		`["a"]`:                                                    "[\"a\"]\n",
		`{}`:                                                       "",
	} {
		c.Input = []byte(input)
		r := newRig(profiles()["spoken"])
		r.Question(ask(c, 1, 1))
		if diff := cmp.Diff("tool: query db\n"+want, r.err.String()); diff != "" {
			t.Errorf("%s: %s", input, diff)
		}
	}
}
