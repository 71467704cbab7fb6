package screen

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

// statusKinds prints every kind of prose that artoo says of itself.
func statusKinds(r *rig) {
	r.Banner(BannerInfo{Version: "0.9.0", Model: "claude-sonnet-4-5", Dir: "/home/jo/src/shop", Branch: "main",
		Why: "TERM=dumb", Notes: []string{"provider anthropic, the only one set up"}})
	r.Note("the first line of a note that is long enough for two rows\n  - and a further one that has an indent of its own")
	r.Row("/approval [MODE]  ", "shows or sets what is asked before it runs")
	r.Row("/x  ", "a row with room for its text beside the head of it")
	r.Queued("and add a test for Sunday 23:59 in the time zone of the server")
	r.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: "80 % of the money of this run is spent by now"})
	r.OnNotice(agent.Notice{Retry: &provider.Retry{Try: 2, Tries: 5, Wait: 8 * time.Second,
		Err: &provider.Error{Kind: provider.KindOverloaded, Status: 529}}})
	q := ask(editCall("1"), 1, 1)
	q.Call.Access.Why, q.Reason = "the path is a link that leads to another place", "no rule allows it and the mode is ask"
	r.Question(q)
	r.QuestionHelp(q)
	r.Decided(q, agent.Answer{Reason: "use the package that is in the distribution instead"})
	r.Failure(&agent.Failure{Err: errors.New("no answer: the API is overloaded (529) after 5 tries")})
	r.Stopped(61, 1)
	r.Status(StatusInfo{Usage: provider.Usage{Input: 18200, Output: 412}, Elapsed: 11 * time.Second, Context: 9})
}

// The line of a call and the lines of a diff, which stay whole.
var verbatim = regexp.MustCompile(`^([•*] edit |  edit |tool: edit |added line|removed line)`)

// folded is the mark where a line of a diff goes on in the next row.
var folded = regexp.MustCompile("\n *(?:↪|>) ")

// ofDiff is a row of a diff as people read it, which may end in a blank of its line.
var ofDiff = regexp.MustCompile(`^ *[0-9]+ [-+ ] `)

// receipt are the rows after a turn, which a narrow terminal does not show whole.
var receipt = regexp.MustCompile(`(?m)^(?:──|--) .*\n(?:   .*\n)*`)

func TestChromeBreaksAtBlanks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rich", "nocolor", "plain", "spoken", "ascii", "tee"} {
		wide := newRig(profiles()[name])
		wide.opt.Width = func() int { return 1000 }
		statusKinds(wide)
		want := strings.Fields(receipt.ReplaceAllString(sgr.ReplaceAllString(wide.err.String(), ""), ""))
		for _, width := range []int{30, 40, 57, 80} {
			narrow := newRig(profiles()[name])
			narrow.opt.Width = func() int { return width }
			statusKinds(narrow)
			// A line of a diff is broken anywhere, and the row that goes on is marked.
			got := folded.ReplaceAllString(sgr.ReplaceAllString(narrow.err.String(), ""), "")
			if name == "spoken" && got != wide.err.String() {
				t.Errorf("a spoken transcript depends on the width: %s", cmp.Diff(wide.err.String(), got))
			}
			if diff := cmp.Diff(want, strings.Fields(receipt.ReplaceAllString(got, ""))); diff != "" {
				t.Errorf("%s in %d columns: other words: %s", name, width, diff)
			}
			for _, row := range strings.Split(got, "\n") {
				if name != "spoken" && cells(row) >= width && strings.Contains(strings.TrimSpace(row), " ") &&
					!verbatim.MatchString(row) && !strings.Contains(cartDiff, row) && !ofDiff.MatchString(row) {
					t.Errorf("%s: wider than %d columns: %q", name, width, row)
				}
				if strings.HasSuffix(row, " ") && !strings.Contains(cartDiff, row) && !ofDiff.MatchString(row) {
					t.Errorf("%s: blanks at the end of %q", name, row)
				}
			}
			for _, row := range strings.SplitAfter(narrow.err.String(), "\n") {
				if n := strings.Count(row, "\x1b["); n%2 != 0 {
					t.Errorf("%s: a style goes past its row: %q", name, row)
				}
			}
		}
	}
}

func TestNarrowChrome(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["nocolor"])
	r.opt.Width = func() int { return 40 }
	statusKinds(r)
	golden(t, "narrow.golden", r.err.String())
}

// Text that a user approves or copies keeps its spaces and its line.
func TestVerbatimIsNotBroken(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["nocolor"])
	r.opt.Width = func() int { return 40 }
	c := call("1", "bash", "")
	c.Access.Kind, c.Access.Command = "run", "printf '%s   %s'  one two three | sort --reverse --unique"
	r.Question(ask(c, 1, 1))
	r.Block("a block of text keeps its rows, however long")
	for _, want := range []string{c.Access.Command, "\na block of text keeps its rows, however long\n"} {
		if !strings.Contains(r.err.String(), want) {
			t.Errorf("no %q in %q", want, r.err.String())
		}
	}
}

// A hint breaks at spaces, whatever quotes it holds, and a quoted part only where it is
// longer than a row.
func TestHintsBreakBetweenWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width      int
		hint, rows string
	}{
		{40, "artoo --allow 'bash(go test ./...)' -p 'run the tests again'",
			"  try: artoo --allow\n    'bash(go test ./...)' -p\n    'run the tests again'\n"},
		{80, "artoo --allow 'bash(go test ./...)' -p 'run the tests again'",
			"  try: artoo --allow 'bash(go test ./...)' -p 'run the tests again'\n"},
		{40, "set ANTHROPIC_API_KEY to the provider's own key, or 'artoo login'",
			"  try: set ANTHROPIC_API_KEY to the\n    provider's own key, or\n    'artoo login'\n"},
		{30, `artoo --deny="read(a b)" --ask 'write(one/two/**) and more of it' here`,
			"  try: artoo\n    --deny=\"read(a b)\" --ask\n    'write(one/two/**) and\n    more of it' here\n"},
	} {
		r := newRig(profiles()["nocolor"])
		r.opt.Width = func() int { return c.width }
		r.Failure(&agent.Failure{Err: errors.New("refused"), Hint: c.hint})
		if got := r.err.String(); got != "✗ artoo: refused\n"+c.rows {
			t.Errorf("%d columns: %q", c.width, got)
		}
	}
}

// A text that has little room beside its head stands below it.
func TestARowWithoutRoomGoesBelowItsHead(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["nocolor"])
	r.opt.Width = wide(40)
	r.Row("/copy [N|osc52]       ", "the last answer")
	r.Row("/approval [MODE]      ", "shows or sets what is asked before it runs")
	r.Row("/help [PAGE]  ", "all pages that there are of the help")
	want := "  /copy [N|osc52]       the last answer\n  /approval [MODE]\n    shows or sets what is asked before\n    it runs\n" +
		"  /help [PAGE]  all pages that there\n                are of the help\n"
	if got := r.err.String(); got != want {
		t.Errorf("%q", got)
	}
}

func TestUnseenRowsAreNotBroken(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["piped"])
	text := strings.TrimSpace(strings.Repeat("word ", 60))
	r.Note(text)
	if want := "  " + text + "\n"; r.err.String() != want {
		t.Errorf("%q", r.err.String())
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("some words   of which one is muchlongerthantheothers", 12)
	f.Add("  你好 世界  ", 10)
	f.Fuzz(func(t *testing.T, text string, width int) {
		r := newRig(profiles()["nocolor"])
		r.opt.Width = func() int { return width }
		text = line(text)
		got := r.layout.wrap(text, "  ", "    ")
		if diff := cmp.Diff(strings.Fields(text), strings.Fields(got)); diff != "" {
			t.Errorf("%q in %d: %s", text, width, diff)
		}
		checkSafe(t, got, "")
		if strings.Count(got, "\n") > 1 && strings.Contains(got, "\n\n") || !strings.HasSuffix(got, "\n") {
			t.Errorf("%q in %d: %q", text, width, got)
		}
	})
}

// Programs that run while artoo is stopped leave the cursor anywhere; the reply must
// not rely on it.
func TestAReplyGoesOnInARowOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["nocolor"])
	r.OnThinking()
	r.OnText("some words of a reply ")
	r.pass(interval)
	r.Pause()
	before := r.err.String()
	if !strings.HasSuffix(before, "reply\n") {
		t.Errorf("stopped at %q", before)
	}
	r.Resume()
	r.OnText("and more\n")
	r.Finish()
	if got, want := r.err.String()[len(before):], "and more\n"; got != want {
		t.Errorf("went on with %q, want %q", got, want)
	}
}

func TestMarkdownReadsLikeAnAnswer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nocolor": "• w w\n\nbold 世\n\n> ",
		"ascii":   "* w w\n\nbold 世\n\n> ",
		"spoken":  "note: w w.\n\nartoo: bold 世\n\n> ",
		"piped":   "  w w\n**bold** 世\n> ",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(profiles()[name])
			r.Queued("w w")
			r.Markdown("**bold** 世")
			r.Prompt("> ")
			if got := strings.Replace(r.err.String(), "queued: ", "", 1); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestALongResultStandsBelow(t *testing.T) {
	t.Parallel()
	long := "notes.txt: exists and was not read yet; read it before replacing it"
	for _, c := range []struct {
		name, profile string
		width         int
		result        string
		want          string
	}{
		{"short", "nocolor", 40, "+2 -0", "✓ write notes.txt                 +2 −0\n"},
		{"long", "nocolor", 40, long,
			"✓ write notes.txt\n        exists and was not read yet;\n        read it before replacing it\n"},
		{"plain", "plain", 80, long, "  write   notes.txt  exists and was not read yet; read it before replacing it\n"},
		{"spoken", "spoken", 40, long,
			"tool: write notes.txt, exists and was not read yet; read it before replacing it.\n"},
		{"piped", "piped", 40, long, "  write   notes.txt  exists and was not read yet; read it before replacing it\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(profiles()[c.profile])
			r.opt.Width = func() int { return c.width }
			r.OnToolCall(call("1", "write", "notes.txt"))
			r.OnToolResult(call("1", "write", "notes.txt"), ok(c.result))
			if diff := cmp.Diff(c.want, r.err.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongResultOfAStartedCall(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	r.opt.Width = func() int { return 40 }
	r.OnToolCall(call("1", "run", "make"))
	r.pass(time.Second)
	r.OnToolResult(call("1", "run", "make"), ok("exit 2 in 1.0s, and it was told what was withheld"))
	want := "  run     make\n  run     exit 2 in 1.0s, and it was\n          told what was withheld\n"
	if diff := cmp.Diff(want, r.err.String()); diff != "" {
		t.Error(diff)
	}
}

// Without UTF-8 a character takes eight cells, which count.
func TestWithoutUTF8RowsFit(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["ascii"])
	run := runCall("1", "echo 日本 é; exit 1")
	r.OnToolCall(run)
	r.OnToolResult(run, agent.CallResult{Status: agent.CallFailed, Summary: "exit 1 in 0.0s",
		Tail: strings.Repeat("日", 70)})
	r.Note("日本語の文章 of a user who types in two scripts, one of which is not shown here")
	for _, row := range strings.Split(r.err.String(), "\n") {
		if cells(row) >= 80 {
			t.Errorf("wider than 80 columns: %q", row)
		}
	}
}

func TestSpokenBannerLabelsItsNotes(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	r.Banner(BannerInfo{Version: "1", Model: "m", Dir: "/d", Notes: []string{"provider x, the only one set up"}})
	if want := "\nnote: provider x, the only one set up.\n"; !strings.HasSuffix(r.err.String(), want) {
		t.Errorf("%q does not end %q", r.err.String(), want)
	}
}

func TestAnAppliedChangeBreaksAtBlanks(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	r.opt.Width = func() int { return 30 }
	edit := editCall("1")
	r.OnToolCall(edit)
	r.Decided(ask(edit, 1, 1), agent.Answer{Verdict: agent.Yes})
	r.OnToolResult(edit, ok("+3 -1"))
	if got, want := r.err.String(), "approve: applied\n  internal/cart/cart.go\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSpokenReasoningIsToldFromTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["spoken"])
	r.opt.Verbose = true
	r.OnReasoning("so it is\nor is it")
	r.OnText("Yes.")
	r.Finish()
	if got, want := r.err.String(), "thinking: so it is\nthinking: or is it\n\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// If the head of a row is wider than the terminal, it is broken at its spaces.
func TestAWideHeadIsBrokenAtItsBlanks(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { profiles()["nocolor"](o); o.Width = wide(40) })
	r.Row("12  20261124-150000-ab12  2 hours ago  14 messages  $0.12  ", "Fix the discount week")
	r.Row("files       never started  tools not listed yet  ", "")
	want := "  12  20261124-150000-ab12  2 hours ago\n    14 messages  $0.12\n    Fix the discount week\n" +
		"  files       never started  tools not\n    listed yet\n"
	if got := r.err.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// On a wide terminal prose stays readable; tables and code take the room that they need.
func TestProseOfAWideTerminalIsNarrow(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("some words of prose ", 12)
	code, table := strings.Repeat("x", 150), "| a | b |\n|---|---|\n| "+strings.Repeat("w ", 60)+"| end |\n"
	for _, name := range []string{"rich", "plain"} {
		r := newRig(profiles()[name])
		r.opt.Width = wide(200)
		r.stream("# A\n\n"+words+"\n\n- "+words+"\n\n```\n"+code+"\n```\n\n"+table, 7)
		r.Finish()
		r.Note(words)
		r.Markdown("> " + words)
		shown := sgr.ReplaceAllString(r.err.String(), "")
		for l := range strings.SplitSeq(shown, "\n") {
			if strings.Contains(l, "prose") && cells(l) > 100 {
				t.Errorf("%s: a row of %d cells: %s", name, cells(l), l)
			}
		}
		if !strings.Contains(shown, "\n"+code+"\n") || strings.Contains(shown, "a: w") {
			t.Errorf("%s: the code or the table is not whole:\n%s", name, shown)
		}
	}
}

// An item of a list that takes more than one row hangs by its dash.
func TestItemsOfAListHang(t *testing.T) {
	t.Parallel()
	lay := layout{opt: &Options{ErrTTY: true, Profile: Rich, Width: func() int { return 20 }}}
	want := "  to start:\n  - start a server,\n    or name one\n  - or wait\n"
	if got := lay.prose("to start:\n- start a server, or name one\n- or wait", margin); got != want {
		t.Errorf("got\n%s", got)
	}
}
