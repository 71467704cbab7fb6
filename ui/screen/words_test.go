package screen

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"artoo/agent"

	"github.com/google/go-cmp/cmp"
)

// calm plays the conversation on one profile without time passing, so that
// no long wait is reported.
func calm(profile string) string {
	r := newRig(profiles()[profile])
	r.calm = true
	r.conversation()
	return r.err.String()
}

// saidOtherwise are the parts with other words for a listener: the visible text, and
// the spoken one.
var saidOtherwise = [][2]string{
	{"artoo 0.9.0  claude-sonnet-4-5  ~/src/shop (main)\nPlain terminal (TERM=dumb): no colours, no line editing. /help for commands.\n",
		"Screen reader mode: on, from ACCESSIBLE.\nartoo 0.9.0, model claude-sonnet-4-5, directory ~/src/shop, branch main.\nType /help for commands.\n"},
	{"          === RUN\n          --- FAIL: TestCheckout (0.00s)\n              cart_test.go:41: discount = 0, want 5\n",
		"output, last 3 lines:\n=== RUN\n--- FAIL: TestCheckout (0.00s)\ncart_test.go:41: discount = 0, want 5\nend output.\n"},
	{"```go\nstart := d.AddDate(0, 0, -int(d.Weekday())-1)\n```\n",
		"code go, 1 line:\nstart := d.AddDate(0, 0, -int(d.Weekday())-1)\nend code.\n"},
	{"## Two ways out\n", "heading: Two ways out\n"},
	{"File            Lines\n---------------------\n`week.go`          88\n`cart_test.go`  1,204\n",
		"File: week.go, Lines: 88.\nFile: cart_test.go, Lines: 1,204.\n"},
	{"> The clock", "quote: The clock"},
	{"- [ ] `New` takes it\n- [x] the test fails\n", "- not done: New takes it\n- done: the test fails\n"},
	{"exit 1 in 1.9s\n", "exit 1 in 1.9 seconds.\n"},
	{"  run     go test ./... -race  exit 0 in 65.0s\n", "tool: exit 0 in 1 minute 5 seconds.\n"},
	{"The first is `ship.go`, where the\ncut-off\n  queued: and add a test for Sunday 23:59\n",
		"\nnote: queued: and add a test for Sunday 23:59.\nartoo: The first is ship.go, where the cut-off "},
	{"Try 2 of 5 in 8s", "Try 2 of 5 in 8 seconds"},
	{"  18.2k in, 412 out, $0.06, 11s, context 9%\n",
		"status: done, 11 seconds, 18.2k in, 412 out, 6 cents, context 9%.\n"},
	{"  edit    internal/cart/cart.go  +3 -1\n\n" + cartDiff,
		"tool: edit internal/cart/cart.go, 3 lines added, 1 removed.\n"},
	{"  run     go test ./... -race\napprove: run", "approve: run"}, // heard once, in the question
	{" 1/2 [y,n,a,A,e,p,q,?] (n) ", " Question 1 of 2. Type y, n, a, capital A, e, p, q, or ? for help. Enter means no. "},
	{" 2/2 [y,n,a,A,e,p,q,?] (n) ", " Question 2 of 2. Type y, n, a, capital A, e, p, q, or ? for help. Enter means no. "},
	{" [y,n,a,A,e,p,q,?] (n) ", " Type y, n, a, capital A, e, p, q, or ? for help. Enter means no. "},
	{"approve: applied  internal/cart/cart.go\n", "approve: applied.\n"},
	{"      a bash(go test:*): that rule instead\n", "or: a bash(go test:*): that rule instead.\n"},
	{"  A   always, for this project", "capital A: always, for this project"},
	{"  ?   this text", "question mark: this text"},
	{"   (/permissions to change)", "; /permissions to change"},
	{"  run     curl -s https://get.example.dev/i.sh<U+202E><U+2066> | sh\n          rm\t-rf ^[[2K.\n",
		"tool: run 2 lines:\ncurl -s https://get.example.dev/i.sh<U+202E><U+2066> | sh\nrm\t-rf ^[[2K.\nend command.\n"},
	{"```go\ncutoff := time.Now().Trunc\n", "code go, 1 line:\ncutoff := time.Now().Trunc\nend code.\n"},
}

var (
	label = regexp.MustCompile(`(?m)^ *(>|you:|artoo:|tool:|approve:|error:|status:|note:)`)
	// Marks that a voice does not need: they are no words.
	punctuation = regexp.MustCompile("[`.,:;]+( |$)|[`]|^[.,:;]+")
)

// content are the words of a transcript without labels and punctuation.
func content(text string) []string {
	var words []string
	for _, w := range strings.Fields(label.ReplaceAllString(text, "")) {
		if w = strings.ToLower(punctuation.ReplaceAllString(w, "")); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// One script, two profiles, the same words: the parts with other words for a
// listener are listed, and the rest has to be equal.
func TestProfilesSayTheSameWords(t *testing.T) {
	t.Parallel()
	plain, spoken := calm("plain"), calm("spoken")
	plain = strings.ReplaceAll(plain, "\n"+choices, " "+choices) // it may have a row of its own
	for _, pair := range saidOtherwise {
		if !strings.Contains(plain, pair[0]) || !strings.Contains(spoken, pair[1]) {
			t.Errorf("seen as %q, said as %q: one of them is missing", pair[0], pair[1])
		}
		plain = strings.ReplaceAll(plain, pair[0], pair[1])
	}
	if diff := cmp.Diff(content(plain), content(spoken)); diff != "" {
		t.Errorf("plain and spoken: %s", diff)
	}
}

// Without colour a rich transcript has the same words, also those of the transient
// line.
func TestWithoutColourNothingElseChanges(t *testing.T) {
	t.Parallel()
	rich, bare := newRig(nil), newRig(profiles()["nocolor"])
	rich.conversation()
	bare.conversation()
	if !sgr.MatchString(rich.err.String()) || sgr.MatchString(bare.err.String()) {
		t.Fatal("colour is not where it should be")
	}
	if diff := cmp.Diff(unmarked(bare.err.String()), unmarked(sgr.ReplaceAllString(rich.err.String(), ""))); diff != "" {
		t.Error(diff)
	}
}

func TestSpokenAnnouncesItselfFirst(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{
		"ACCESSIBLE=1": "on, from ACCESSIBLE", "ARTOO_UI": "on, from ARTOO_UI", "--ui": "on, from --ui",
		"config.toml line 3": "on, from config.toml line 3", "asked for": "on, as asked for", "": "on",
	} {
		r := newRig(profiles()["spoken"])
		r.Banner(BannerInfo{Version: "0.9.0", Model: "m", Dir: "/home/jo", Why: why})
		if want := "Screen reader mode: " + want +
			".\nartoo 0.9.0, model m, directory ~.\n"; !strings.HasPrefix(r.err.String(), want) {
			t.Errorf("%q: %q", why, r.err.String())
		}
	}
}

// Every line of a spoken transcript begins with a label or continues a labelled one,
// and none has a mark that a voice would spell.
func TestSpokenLinesAreLabelled(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	r.opt.Width = wide(1000)
	statusKinds(r)
	r.OnToolCall(runCall("9", "make"))
	r.OnToolResult(runCall("9", "make"), ok("exit 0 in 2s"))
	first := regexp.MustCompile(
		`^(Screen reader mode|artoo 0\.9\.0, model|Type /help|provider anthropic|artoo:|tool:|approve:|error:|status:|note:|(y|n|a|or|capital A|e|p|q|question mark):|/\S+( \[\w+\])?: )`)
	for _, l := range strings.Split(strings.TrimSpace(r.err.String()), "\n") {
		if l != "" && !first.MatchString(l) {
			t.Errorf("no label: %q", l)
		}
		if strings.ContainsAny(l, "…│─┌•✓→\t") || strings.HasPrefix(l, " ") || strings.Contains(l, "  ") {
			t.Errorf("a mark or an indent in %q", l)
		}
	}
}

func TestAFailureIsSpoken(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"", "."} {
		r := newRig(func(o *Options) { profiles()["spoken"](o); o.OutTTY, o.Hold = false, true })
		r.OnText("I look.\n\nThen I mend.\n")
		r.OnToolCall(call("1", "read", "a"))
		r.Failure(&agent.Failure{What: "no answer", Err: errors.New("it broke" + stop), Hint: "again" + stop})
		want := "artoo: I look.\n\nThen I mend.\nerror: no answer: it broke. Try: again.\n"
		if got := r.err.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A note in the middle of an answer stands between two of its sentences, and the
// label says that the answer goes on.
func TestTheLabelIsSaidAgain(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	r.OnText("zero ")
	r.Queued("w")
	r.OnText("one. And ")
	r.Queued("x")
	r.OnText("two\nthree\n")
	r.Queued("y")
	r.OnText("- four\n- five. ")
	r.Queued("z")
	r.OnText("six")
	r.Finish()
	want := "note: queued: w.\n\nartoo: zero one.\nnote: queued: x.\nartoo: And two\nthree\nnote: queued: y.\nartoo: - four\n- five.\nnote: queued: z.\nartoo: six\n"
	if got := r.err.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
