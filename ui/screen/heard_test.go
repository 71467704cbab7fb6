package screen

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
)

// utterances are the texts that a renderer writes, one each.
type utterances struct{ all []string }

func (u *utterances) Write(p []byte) (int, error) {
	u.all = append(u.all, string(p))
	return len(p), nil
}

// A screen reader speaks each piece as it arrives: a sentence or a line has to
// come whole, however slowly the model writes it.
func TestASentenceIsOneUtterance(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"The two calls are in main.go and cart.go. Both need it!  Shall I? Yes": {
			"artoo: The two calls are in main.go and cart.go.", " Both need it!", "  Shall I?", " Yes\n"},
		"See e.g. `a.go`, Dr. No, vs. 3. or 1.5 of them. \"Really?\" (Yes.) Done.\n": {
			"artoo: See e.g. a.go, Dr. No, vs. 3. or 1.5 of them.", " \"Really?\"", " (Yes.)", " Done.\n"},
		"First:\n- one of them\n- two, a. b\n\n1. three. four\n": {
			"artoo: First:\n", "- one of them\n", "- two, a. b\n", "\n", "1. three.", " four\n"},
		"**It is done.** And `x. y` too.\n":   {"artoo: It is done.", " And x. y too.\n"},
		"今日は雨です。明日は晴れます。":                     {"artoo: 今日は雨です。", "明日は晴れます。\n"},
		"# A head. Two\n\ntext\n":             {"artoo: heading: A head.", " Two\n", "\n", "text\n"},
		strings.Repeat("on and ", 600) + "\n": nil, // without an end it is not held back for ever
	} {
		var u utterances
		m := NewMarkdown(MarkdownOptions{Out: to(&u), Spoken: true, Label: "artoo: "})
		for _, piece := range strings.Split(text, "") {
			m.Add(piece)
		}
		m.Close()
		if want == nil && len(u.all) >= 2 && len(u.all[0]) < maxUnsaid+20 {
			continue
		}
		if diff := cmp.Diff(want, u.all); diff != "" {
			t.Errorf("%.40q: %s", text, diff)
		}
	}
}

// Untrusted text never begins a spoken line as artoo's own lines begin, neither a
// text by itself nor the subject of a question.
func TestNothingHeardIsTakenForArtoosOwn(t *testing.T) {
	t.Parallel()
	const forged = "note: approved, and all that follows"
	for name, show := range map[string]func(r *rig){
		"block":    func(r *rig) { r.Block("output\n" + forged + "\n") },
		"question": func(r *rig) { r.Question(ask(runCall("1", "echo\n"+forged), 1, 1)) },
	} {
		for _, profile := range []string{"spoken", "plain"} {
			r := newRig(profiles()[profile])
			show(r)
			marked := strings.Contains(r.err.String(), "\n"+guardMark+forged)
			if !strings.Contains(r.err.String(), forged) || marked != (profile == "spoken") {
				t.Errorf("%s, %s: %q", name, profile, r.err.String())
			}
		}
	}
}

func TestACommandIsSpokenOnce(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	first, second := runCall("1", "go test ./..."), runCall("2", "go vet ./...")
	r.OnToolCall(first)
	r.pass(95 * time.Second)
	r.OnToolResult(first, ok("exit 0 in 95.0s"))
	r.OnToolCall(second)
	r.typed(r.Question(ask(second, 1, 1)), "y")
	r.Decided(ask(second, 1, 1), agent.Answer{Verdict: agent.Yes})
	r.OnToolResult(second, ok("exit 0 in 1.0s"))
	got := r.err.String()
	for _, command := range []string{"go test ./...", "go vet ./..."} {
		if n := strings.Count(got, command); n != 1 {
			t.Errorf("%q is spoken %d times in %q", command, n, got)
		}
	}
	for _, sentence := range []string{"tool: still running, 31 seconds.\n", "tool: exit 0 in 1 minute 35 seconds.\n",
		"tool: exit 0 in 1 second.\n"} {
		if !strings.Contains(got, sentence) {
			t.Errorf("%q is not said in %q", sentence, got)
		}
	}
	// Of two that run side by side, each has to be named.
	r.OnToolCall(first)
	r.OnToolCall(second)
	r.pass(time.Second)
	r.err.Reset()
	r.OnToolResult(first, ok("exit 0 in 1.0s"))
	r.OnToolResult(second, ok("exit 0 in 1.0s"))
	if want := "tool: run go test ./..., exit 0 in 1 second.\ntool: run go vet ./..., exit 0 in 1 second.\n"; r.err.String() != want {
		t.Errorf("side by side: %q, want %q", r.err.String(), want)
	}
}

func TestTheEndOfATurnIsHeard(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[Outcome]string{"": "done", OutcomeDone: "done", OutcomeStopped: "stopped",
		OutcomeFailed: "failed"} {
		for _, mode := range []StatusMode{StatusShort, StatusFull, StatusOff} {
			r := newRig(func(o *Options) { profiles()["spoken"](o); o.Status = mode })
			r.Status(StatusInfo{Outcome: outcome, Elapsed: 71 * time.Second, Context: -1,
				Usage: provider.Usage{Input: 18200, Output: 412}})
			if got, want := r.err.String(), "status: "+want+", 1 minute 11 seconds"; !strings.HasPrefix(got, want) {
				t.Errorf("%s, %s: %q, want %q", outcome, mode, got, want)
			}
		}
	}
	r := newRig(profiles()["spoken"])
	r.Status(StatusInfo{Outcome: OutcomeFailed, Context: 1})
	if got := r.err.String(); got != "status: failed, less than a second.\n" {
		t.Errorf("a failure: %q", got)
	}
	r = newRig(func(o *Options) { o.Status = StatusOff })
	r.Status(StatusInfo{Elapsed: time.Second})
	if got := r.err.String(); got != "" {
		t.Errorf("seen, with the status off: %q", got)
	}
}

// Nothing is wrapped where it is heard: a row of the terminal is no sentence.
func TestNothingSpokenIsWrapped(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { profiles()["spoken"](o); o.Width = wide(30) })
	r.stream(strings.Repeat("a sentence of several words goes on, ", 9)+"to here.\n", 3)
	r.Finish()
	r.Note(strings.Repeat("a note of several words goes on, ", 9))
	if n := strings.Count(strings.TrimSpace(strings.ReplaceAll(r.err.String(), "\n\n", "\n")), "\n"); n != 1 {
		t.Errorf("%d line ends in %q", n, r.err.String())
	}
}

func TestWhatACommandShowsHasNoLabel(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	r.Row("/help [PAGE]      ", "this; keys, approvals")
	r.Text("!COMMAND runs it\n  and so on")
	if got, want := r.err.String(), "/help [PAGE]: this; keys, approvals\n!COMMAND runs it\nand so on\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The banner shows no number that was not counted.
func TestTheBannerInventsNoNumber(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		r := newRig(change)
		r.Banner(BannerInfo{Version: "v", Model: "m", Dir: "/d", Branch: "main"})
		if n := regexp.MustCompile(`\d+`).FindString(r.err.String()); n != "" {
			t.Errorf("%s: %q has a number", name, r.err.String())
		}
	}
}

func TestADurationInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 seconds", time.Second: "1 second", 1900 * time.Millisecond: "1.9 seconds",
		59600 * time.Millisecond: "1 minute",
		125 * time.Second:        "2 minutes 5 seconds", 2*time.Hour + time.Second: "2 hours 1 second",
		100 * time.Millisecond: "0.1 seconds",
	} {
		if got := spokenSpan(d); got != want {
			t.Errorf("%v is said as %q, want %q", d, got, want)
		}
	}
	for result, want := range map[string]string{
		"exit 1 in 1.9s": "exit 1 in 1.9 seconds", "timed out after 120s": "timed out after 2 minutes",
		"exit 0 in 12m3s": "exit 0 in 12 minutes 3 seconds",
		"+1 -0":           "1 line added, 0 removed", "88 lines": "88 lines", "in s": "in s",
		"4 hits in 2 files": "4 hits in 2 files",
	} {
		if got := spokenResult(result); got != want {
			t.Errorf("%q is said as %q, want %q", result, got, want)
		}
	}
}
