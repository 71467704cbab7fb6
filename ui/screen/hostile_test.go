package screen

import (
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"artoo/agent"
	"artoo/tool/sweep"
	"artoo/ui/sanitize"

	"github.com/google/go-cmp/cmp"
)

// osc8 is a link of our own: its address is plain ASCII of the web.
var osc8 = regexp.MustCompile(`\x1b\]8;;((?i:https?)://[!-~]+)?\x1b\\`)

func readHostile(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/hostile.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkRendered asserts that nothing is in rendered Markdown that a terminal
// obeys but our own colours and links, each of which ends with its row.
func checkRendered(t *testing.T, out string) {
	t.Helper()
	for _, row := range strings.Split(out, "\n") {
		if n := len(osc8.FindAllString(row, -1)); n%2 != 0 {
			t.Errorf("a link goes past its row: %q", row)
		}
	}
	out = osc8.ReplaceAllString(out, "")
	checkRows(t, out)
	checkSafe(t, sgr.ReplaceAllString(out, ""), "\u200c\u200d\ufe0f")
}

// checkSafe asserts that s holds nothing a terminal obeys, and no invisible
// characters but those that are allowed.
func checkSafe(t *testing.T, s, allowed string) {
	t.Helper()
	for _, r := range s {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || sanitize.Invisible(r) && !strings.ContainsRune(allowed, r) {
			t.Errorf("%U in %q", r, s)
		}
	}
	if !utf8.ValidString(s) {
		t.Errorf("invalid UTF-8: %q", s)
	}
}

func TestHostileMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	src := readHostile(t)
	for name, opt := range map[string]MarkdownOptions{
		"hostile-rich.golden":   {Color: true, Links: true},
		"hostile-plain.golden":  {Width: wide(40)},
		"hostile-spoken.golden": {Spoken: true, Label: "artoo: "},
	} {
		got := pieces(t, opt, src)
		checkRendered(t, got)
		golden(t, name, strings.ReplaceAll(got, "\x1b", "␛"))
		for _, gone := range []string{"\u202e", "\u2066", "\u200b", "\x9b", "\x07"} {
			if strings.Contains(got, gone) {
				t.Errorf("%s: %q came through", name, gone)
			}
		}
		rng := rand.New(rand.NewPCG(5, 6))
		for range sweep.Less(20) {
			var parts []string
			for rest := src; rest != ""; {
				n := min(1+rng.IntN(9), len(rest)) // parts runes and sequences
				parts, rest = append(parts, rest[:n]), rest[n:]
			}
			if again := pieces(t, opt, parts...); again != got {
				t.Fatalf("%s: other bytes in pieces: %s", name, cmp.Diff(got, again))
			}
		}
	}
}

// Everything that others say goes through the sanitiser, whichever way it comes
// in and whatever the profile.
func TestNothingOfOthersIsShownRaw(t *testing.T) {
	t.Parallel()
	evil := readHostile(t)
	for name, change := range profiles() {
		r := newRig(change)
		r.Banner(BannerInfo{Version: evil, Model: evil, Dir: evil, Branch: evil, Why: evil, Notes: []string{evil}})
		c := runCall("1", evil)
		c.Name, c.Access.Verb, c.Access.Object, c.Access.Why = evil, evil, evil, evil
		e := editCall("2")
		e.Access.Diff, e.Access.Object = evil, evil
		other := call("3", "", evil)
		other.Name, other.Input = evil, []byte(`{"a":"`+strings.ReplaceAll(strings.ReplaceAll(evil, `\`, ``), `"`, ``)+`"}`)
		for _, k := range []agent.Call{c, e, other} {
			r.OnToolCall(k)
			q := ask(k, 1, 2)
			q.Reason, q.Rule, q.Suggested, q.Dir = evil, evil, evil, evil
			r.QuestionAll(q)
			r.Prompt(r.Question(q))
			r.PromptDone()
			r.QuestionHelp(q)
			r.Decided(q, agent.Answer{Reason: evil, Rule: evil})
			r.OnToolResult(k, agent.CallResult{Status: agent.CallFailed, Summary: evil, Tail: evil})
		}
		r.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: evil})
		r.Note(evil)
		r.Line(evil)
		r.Row(evil, evil)
		r.Block(evil)
		r.Queued(evil)
		r.Markdown(evil)
		r.Failure(&agent.Failure{What: evil, Err: errors.New(evil), Hint: evil})
		r.Status(StatusInfo{Model: evil})
		shown := sgr.ReplaceAllString(r.err.String(), "")
		if strings.ContainsAny(shown, "\x1b\x07\x7f\b\r\u202e\u2066\u009b\u200b") {
			i := strings.IndexAny(shown, "\x1b\x07\x7f\b\r\u202e\u2066\u009b\u200b")
			t.Errorf("%s: %q", name, shown[max(0, i-60):min(len(shown), i+20)])
		}
	}
}

// A program's colours would add a meaning that its words lack; its other sequences
// are not for this terminal.
func TestToolOutputHasNoSequences(t *testing.T) {
	t.Parallel()
	tail := "\x1b[1;31mFAIL\x1b[0m: x\n\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ \x1b]52;c;aGk=\x07clip\n" +
		"\x1b[6nquery \x1bP+q544e\x1b\\dcs \u009b2Jc1 \x1b(Bset \x1b7saved\n\x1b]0;never ended\nnext \x1b[?25lline\x1b"
	want := "FAIL: x\nlink clip\nquery dcs c1 set saved\n\nnext line^["
	for name, change := range profiles() {
		r := newRig(change)
		c := runCall("1", "make")
		r.OnToolCall(c)
		r.OnToolResult(c, agent.CallResult{Status: agent.CallFailed, Summary: "exit 1", Tail: tail})
		var rows []string
		for _, l := range strings.Split(strings.TrimSpace(r.err.String()), "\n")[1:] {
			if l = strings.TrimSpace(l); !strings.HasSuffix(l, "output, last 5 lines:") && l != "end output." {
				rows = append(rows, l)
			}
		}
		if diff := cmp.Diff(want, strings.Join(rows, "\n")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzStripSequences(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;t\x07 \x1b\x1b[ \u009b1m")
	f.Fuzz(func(t *testing.T, s string) {
		checkSafe(t, sanitize.Text(sanitize.StripSequences(s), sanitize.Code), "")
	})
}

// Thirty ways to hide the effect of a command.
func TestThirtyHostileCommands(t *testing.T) {
	t.Parallel()
	for command, shown := range map[string]string{
		"ls\u202e\u2066":             "ls<U+202E><U+2066>",
		"ls\u202a":                   "ls<U+202A>",
		"ls\u2067x\u2069":            "ls<U+2067>x<U+2069>",
		"ls\u200e":                   "ls<U+200E>",
		"ls\u061c":                   "ls<U+061C>",
		"ls\t\t\t\trm -rf ~":         "ls<U+0009><U+0009><U+0009><U+0009>rm -rf ~",
		"ls\x1b[8m rm":               "ls^[[8m rm",
		"ls\x1b[2K\x1b[1Grm":         "ls^[[2K^[[1Grm",
		"ls\x1b]0;x\x07":             "ls^[]0;x^G",
		"ls\x1b]8;;http://x\x1b\\":   "ls^[]8;;http://x^[\\",
		"ls\x1bc":                    "ls^[c",
		"ls\x00rm":                   "ls^@rm",
		"ls\b\brm":                   "ls^H^Hrm",
		"ls\rrm":                     "ls^Mrm",
		"ls\vrm":                     "ls^Krm",
		"ls\frm":                     "ls^Lrm",
		"ls\x7frm":                   "ls^?rm",
		"ls\u009b2J":                 "ls^[[2J",
		"ls\u0085rm":                 "ls^[Erm",
		"ls\u200brm":                 "ls<U+200B>rm",
		"ls\u200d\u200c":             "ls<U+200D><U+200C>",
		"ls\ufeff":                   "ls<U+FEFF>",
		"ls\u2060":                   "ls<U+2060>",
		"ls\u00adrm":                 "ls<U+00AD>rm",
		"ls \U000E0072\U000E006D":    "ls <U+E0072><U+E006D>",
		"ls\ufe0f":                   "ls<U+FE0F>",
		"ls\u00a0rm":                 "ls<U+00A0>rm",
		"ls\u3000rm":                 "ls<U+3000>rm",
		"ls\u2028rm":                 "ls<U+2028>rm",
		"ls\u3164":                   "ls<U+3164>",
		"ls \u2066# \u202e; rm -rf ": "ls <U+2066># <U+202E>; rm -rf ",
	} {
		for _, name := range []string{"plain", "spoken", "nocolor"} {
			r := newRig(profiles()[name])
			r.Question(ask(runCall("1", command), 1, 1))
			if got := r.err.String(); !strings.Contains(got, "run ") || !strings.Contains(got, " "+shown+"\n") ||
				!strings.Contains(got, "warning: ") {
				t.Errorf("%s: %q: %q", name, command, got)
			}
			if all := r.QuestionAll(ask(runCall("1", command), 1, 1)); !strings.Contains(all, " "+shown+"\n") {
				t.Errorf("%s: %q in the pager: %q", name, command, all)
			}
		}
	}
}
