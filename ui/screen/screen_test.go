package screen

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

// A front end embeds the Screen and adds Ask.
type frontEnd struct{ *Screen }

func (frontEnd) Ask(context.Context, agent.Question) (agent.Answer, error) {
	return agent.Answer{}, agent.ErrNobody
}

var _ agent.Callbacks = frontEnd{}

func TestNothingAboveIsTouched(t *testing.T) {
	t.Parallel()
	moves := regexp.MustCompile(`\x1b\[[0-9;?]*[^mK0-9;?]|\x1b[^\[]|\x1b\[[12]K`)
	for name, change := range profiles() {
		r := newRig(change)
		r.conversation()
		for _, out := range []string{r.out.String(), r.err.String()} {
			if bad := moves.FindString(out); bad != "" {
				t.Errorf("%s: %q", name, bad)
			}
			if strings.Contains(out, "?25l") {
				t.Errorf("%s: the cursor is hidden (D4)", name)
			}
		}
	}
}

func TestPlainHasNoEscapes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "spoken", "piped"} {
		r := newRig(profiles()[name])
		r.conversation()
		if out := r.out.String() + r.err.String(); strings.ContainsAny(out, "\x1b\r\b") {
			t.Errorf("%s: a control byte in %q", name, out)
		}
	}
}

func TestColourIsNeverTheOnlyCarrier(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, name := range []string{"rich", "nocolor"} {
		r := newRig(profiles()[name])
		r.OnToolCall(call("1", "read", "a.go"))
		r.OnToolResult(call("1", "read", "a.go"), ok("88 lines"))
		r.stream(readTour(t), 50)
		r.Finish()
		r.Question(ask(editCall("2"), 1, 1))
		r.Decided(ask(editCall("2"), 1, 1), agent.Answer{Reason: "no"})
		r.Failure(&agent.Failure{Err: errors.New("it broke"), Hint: "mend it"})
		texts[name] = sgr.ReplaceAllString(r.err.String(), "")
	}
	if diff := cmp.Diff(unmarked(texts["nocolor"]), unmarked(texts["rich"])); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(texts["nocolor"], "## Lists") || strings.Contains(texts["rich"], "## Lists") {
		t.Error("without colour a heading has its marks, and with it none")
	}
}

// unmarked are the words of a text without the marks of Markdown that a style or a line says, however its rows are
// broken.
func unmarked(text string) []string {
	text = strings.ReplaceAll(text, cartDiff, cartRows)
	text = strings.NewReplacer("\u2502", "", ">", "").Replace(text)
	text = regexp.MustCompile("(?m)^([- ]*)(?:`{3,}|~{3,}|#+ ) *").ReplaceAllString(text, "$1")
	text = regexp.MustCompile(`(?m)^( *)[*+] `).ReplaceAllString(text, "$1- ")
	// The line below a table's head is as wide as its cells.
	text = regexp.MustCompile(`-{4,}`).ReplaceAllString(text, "----")
	return strings.Fields(strings.ReplaceAll(text, "`", ""))
}

func TestStylesEndWithTheirLine(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	r.conversation()
	var v vt
	v.write(r.err.String())
	for _, row := range strings.Split(r.err.String(), "\n") {
		codes := sgr.FindAllString(row, -1)
		if len(codes)%2 != 0 {
			t.Errorf("%q", row)
		}
		for _, c := range codes {
			if regexp.MustCompile(`[\[;](3[078]|4[0-9]|9[07]|10[0-7])[;m]`).MatchString(c) {
				t.Errorf("colour %q", c)
			}
		}
	}
}

func TestNewTextIsCoalesced(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	r.OnThinking()
	for range 2500 {
		r.OnText("word ")
		r.pass(2 * time.Millisecond)
	}
	if r.err.writes > 110 || r.err.writes < 50 {
		t.Errorf("%d writes in 5 s", r.err.writes)
	}
	r.pass(interval)
	if got := len(strings.Fields(r.err.String())); got != 2500 {
		t.Errorf("%d words shown", got)
	}
}

func TestPendingTextIsShownInTime(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	r.OnText("one ")
	r.OnText("two ")
	r.OnText("three ")
	r.pass(200 * time.Millisecond)
	if got := r.err.String(); got != "one two three" {
		t.Errorf("after 200 ms: %q", got)
	}
}

// An interrupt drops only text that waits, and only on a terminal. The next output
// begins a new row.
func TestDroppedTextIsNotWritten(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	r.OnText("one ")
	r.OnText("two ")
	r.DropPending()
	r.pass(interval)
	r.OnText("three")
	r.DropPending()
	r.Stopped(3, 0)
	r.OnText("four\n")
	r.Finish()
	want := "one\x1b[33m!\x1b[0m stopped after 3 words; the text so far is kept\n\nfour\n"
	if got := r.err.String(); got != want {
		t.Errorf("got %q", got)
	}
	r = newRig(func(o *Options) { o.OutTTY, o.OutColor = false, false })
	r.OnText("one ")
	r.DropPending()
	r.OnText("two")
	r.Finish()
	if got := r.out.String(); got != "one two\n" {
		t.Errorf("the pipe got %q", got)
	}
}

func TestAPipeGetsTheSource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hold bool
		err  bool
	}{"tee": {false, true}, "headless": {true, false}, "headless on a terminal": {true, true}} {
		r := newRig(func(o *Options) { o.OutTTY, o.ErrTTY, o.Hold = false, c.err, c.hold })
		r.stream("\x1b[1mraw **b**\r\n\n", 3)
		r.Note("meanwhile")
		r.stream("| x |  \n\n\n", 1)
		r.Finish()
		r.Status(StatusInfo{Context: -1, Elapsed: time.Second})
		if got, want := r.out.String(), "\x1b[1mraw **b**\r\n\n| x |  \n"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := r.err.String(); strings.Contains(got, "raw") || !strings.HasSuffix(got, "\n") {
			t.Errorf("%s: stderr %q", name, got)
		}
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	hold := func(o *Options) { o.OutTTY, o.ErrTTY, o.ErrColor, o.Profile, o.Hold = false, false, false, Plain, true }
	retry := agent.Notice{Kind: agent.NoticeRetry,
		Retry: &provider.Retry{Try: 2, Tries: 5, Wait: time.Second, Discard: true}}
	for name, c := range map[string]struct {
		do       func(*rig)
		out, err string
	}{
		"final":   {func(r *rig) { r.OnText("an"); r.OnText("swer\n\n") }, "answer\n", ""},
		"nothing": {func(r *rig) { r.OnText("\n") }, "", ""},
		"broken":  {func(r *rig) { r.OnText("half a se") }, "half a se\n", ""},
		"continued": {func(r *rig) { r.OnText("one "); r.OnThinking(); r.OnThinkingDone(); r.OnText("two") },
			"one two\n", ""},
		"calls": {func(r *rig) {
			r.OnText("Let me\nlook.\n\n")
			r.OnToolCall(call("1", "read", "a"))
			r.OnToolResult(call("1", "read", "a"), ok("1 line"))
			r.OnText("answer")
		}, "answer\n", "  Let me\n  look.\n  read    a  1 line\n"},
		"steps": {func(r *rig) {
			r.OnText("Let me look.")
			r.OnNotice(agent.Notice{Kind: agent.NoticeStep, Text: "Bash: ls\x1b[31m\nmore"})
			r.OnText("answer")
		}, "answer\n", "  Let me look.\n  Bash: ls^[[31m more\n"},
		"discarded": {func(r *rig) { r.OnText("void"); r.OnNotice(retry); r.OnText("answer") }, "answer\n",
			"  the request failed. Try 2 of 5 in 1s.\n"},
		"void with nothing in its place": {func(r *rig) {
			r.OnText("half an answer")
			r.OnNotice(retry)
			r.OnNotice(retry)
		}, "half an answer\n",
			"  the request failed. Try 2 of 5 in 1s.\n  the request failed. Try 2 of 5 in 1s.\n"},
		"void, then only a call": {func(r *rig) {
			r.OnText("half")
			r.OnNotice(retry)
			r.OnToolCall(call("1", "read", "a"))
			r.OnToolResult(call("1", "read", "a"), ok("1 line"))
		}, "",
			"  the request failed. Try 2 of 5 in 1s.\n  read    a  1 line\n"},
		"dropped": {func(r *rig) { r.OnText("not it"); r.Discard(); r.OnText("answer") }, "answer\n", ""},
	} {
		r := newRig(hold)
		c.do(r)
		if r.out.Len() > 0 {
			t.Errorf("%s: %q came before the end", name, r.out.String())
		}
		r.Finish()
		r.Finish()
		if diff := cmp.Diff([]string{c.out, c.err}, []string{r.out.String(), r.err.String()}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestQuietShowsQuestionsAndFailuresOnly(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) {
		profiles()["piped"](o)
		o.Quiet = true
	})
	r.OnThinking()
	r.pass(time.Minute)
	r.OnText("reasoning")
	c := runCall("1", "make")
	r.OnToolCall(c)
	r.pass(time.Minute)
	r.OnToolResult(c, agent.CallResult{Status: agent.CallFailed, Tail: "boom"})
	r.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: "x"})
	r.Status(StatusInfo{})
	if got := r.err.String(); got != "" {
		t.Errorf("got %q", got)
	}
	r.Question(ask(c, 1, 1))
	r.Failure(&agent.Failure{What: "w", Err: errors.New("y\nz"), Hint: "h"})
	if got, want := r.err.String(), "  run     make\nartoo: w: y z\n  try: h\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestARetryNamesItsReason(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*provider.Error{
		"the API is overloaded (529)": {Kind: provider.KindOverloaded, Status: 529,
			Message: "Overloaded"},
		"the rate limit is reached (429)": {Kind: provider.KindRateLimit, Status: 429},
		"the connection failed: connection refused": {Kind: provider.KindNetwork,
			Err: errors.New("connection refused")},
		"no answer in time": {Kind: provider.KindTimeout},
		"the API failed: it\u2019s down ^[[2J<U+202E> now (500)": {Kind: provider.KindProvider, Status: 500,
			Message: "it\u2019s down\n\x1b[2J\u202e now."},
	} {
		if got := retryReason(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestStatusLine(t *testing.T) {
	t.Parallel()
	cost := func(f float64) *float64 { return &f }
	u := provider.Usage{Input: 100, CacheRead: 900, Output: 12}
	for want, c := range map[string]struct {
		mode StatusMode
		info StatusInfo
	}{
		"  1.0k in, 12 out, $0.06, 11s, context 9%\n": {"",
			StatusInfo{Usage: u, CostUSD: cost(0.06), Elapsed: 11 * time.Second, Context: 9}},
		"  1.0k in, 12 out, cost unknown, 2m05s\n": {StatusShort,
			StatusInfo{Usage: u, Elapsed: 125 * time.Second, Context: -1}},
		"  m, 1.0k in, 900 of it cached, 12 out, cost unknown, under 1s, context 0%\n": {StatusFull,
			StatusInfo{Model: "m", Usage: u}},
		"  about 2.5M in, 100k out, $0.0012, 1h01m\n": {"",
			StatusInfo{Usage: provider.Usage{Input: 2_500_000, Output: 99_990, Estimated: true}, CostUSD: cost(0.0012),
				Elapsed: 61 * time.Minute, Context: -1}},
		"  failed, under 1s\n": {StatusShort, StatusInfo{Outcome: OutcomeFailed, Elapsed: 20 * time.Millisecond, Context: 1}},
		"  failed, 11s, 1.0k in, 12 out, $0.06, context 9%\n": {StatusShort,
			StatusInfo{Outcome: OutcomeFailed, Usage: u, CostUSD: cost(0.06), Elapsed: 11 * time.Second, Context: 9}},
		"  of my own\n": {StatusShort, StatusInfo{Outcome: OutcomeFailed, Line: "of my own"}},
		"":              {StatusOff, StatusInfo{Usage: u}},
	} {
		r := newRig(func(o *Options) { profiles()["piped"](o); o.Status = c.mode })
		r.Status(c.info)
		if got := r.err.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestVerboseShowsReasoning(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { profiles()["plain"](o); o.Verbose = true })
	r.OnReasoning("let me \x1b[2J")
	r.OnReasoning("see\nand th")
	r.OnReasoning("en")
	r.OnText("Hi")
	r.Finish()
	if got, want := r.err.String(), "  let me ^[[2Jsee\n  and then\n\nHi\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type brokenWriter struct{ n int }

func (b *brokenWriter) Write([]byte) (int, error) {
	b.n++
	return 0, errors.New("no space")
}

func TestAWriteErrorIsToldOnce(t *testing.T) {
	t.Parallel()
	told := make(chan error, 8)
	w := &brokenWriter{}
	s := New(Options{Out: w, Err: &tape{}, Broken: func(err error) { told <- err }})
	for range 5 {
		s.OnText("text\n")
	}
	s.Finish()
	if err := <-told; err == nil || err.Error() != "no space" {
		t.Errorf("told %v", err)
	}
	if w.n != 1 || len(told) > 0 {
		t.Errorf("%d writes, %d more reports", w.n, len(told))
	}
}

func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	tp := &tape{}
	s := New(Options{Out: tp, Err: tp, OutTTY: true, ErrTTY: true, Profile: Rich, UTF8: true})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				switch (g + i) % 4 {
				case 0:
					s.OnText("word ")
				case 1:
					s.Queued("line")
				case 2:
					s.OnThinking()
				case 3:
					s.Pause()
					s.Resume()
				}
			}
		})
	}
	wg.Wait()
	s.Finish()
	for _, l := range strings.Split(tp.String(), "\n") {
		if strings.Contains(l, "queued") && !strings.HasSuffix(l, "\u2022 queued: line") {
			t.Errorf("torn line %q", l)
		}
	}
}
