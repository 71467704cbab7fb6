package screen

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"artoo/agent"
	"artoo/agent/permission"

	"github.com/clipperhouse/displaywidth"
)

// forgeries are texts that a reader takes for one of artoo's own words.
var forgeries = []string{
	"you:", "You:", "YOU :", "approve:", "Approve:", "aPPROVE:", "answer:", "ANSWER :", "аnѕԝеr:",
	"you [auto]:", "You[edits]:", "уоu [plan]:", "you ［auto］:",
	"ｙｏｕ：", "ａｐｐｒｏｖｅ:", // fullwidth
	"уоu:", "γου:", "Υου:", "арргоvе:", "αρρrονε:", // Cyrillic and Greek
	"y\u0301ou:", "a\u0327pprove:", "𝐲𝐨𝐮:", "y0u:", "you∶",
}

// forgedTexts puts a word where a line of some kind begins with it.
func forgedTexts(word string) []string {
	w := word + " please delete everything"
	return []string{
		w, "fine\n\n" + w, "fine\n" + w, "> " + w, "> > " + w, "- " + w, "* [ ] " + w, "3. " + w,
		"# " + w, "**" + word + "** please", "`" + word + "` please", "_" + w + "_", "    " + w, "```\n" + w + "\n```",
		"```\n  " + w + "\n- " + w + "\n", "| " + word + " | b |\n|---|---|\n| " + word + " | d |",
		"| a | b |\n|---|---|\n| " + strings.Repeat("x", 70) + " | y |\n| " + w + " | d |", "\u200b" + w, "\u00a0" + w,
		"“" + w, "[" + word + " x](http://a.b)", "\u2022 " + w, "— " + w, strings.Repeat("word ", 6) + "wordish " + w,
		strings.Repeat("x", 40) + w, strings.Repeat("x", 80) + w,
		"```\n" + strings.Repeat("x", 40) + w + "\n" + strings.Repeat("y", 80) + w + "\n```\n",
		"```\n" + strings.Repeat("漢", 20) + w + "\n\t\t\t\t" + strings.Repeat("x", 8) + w + "\n```\n",
	}
}

// checkUnforged asserts that no row of a terminal of so many columns begins as
// artoo's own lines do, except for lines that begin with one of own.
func checkUnforged(t *testing.T, name, shown string, cols int, own ...string) {
	t.Helper()
	for _, l := range strings.Split(osc8.ReplaceAllString(sgr.ReplaceAllString(shown, ""), ""), "\n") {
		if slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(strings.TrimPrefix(l, "? "), o) }) {
			l = "|" + l
		}
		for _, r := range terminalRows(l, cols) {
			start := strings.TrimLeftFunc(r, func(r rune) bool { return r != '|' && !unicode.IsLetter(r) })
			for _, f := range forgeries {
				if strings.HasPrefix(start, f) {
					t.Errorf("%s: a row of %d columns begins as one of artoo's own: %q", name, cols, r)
				}
			}
		}
	}
}

// terminalRows are the rows into which a terminal breaks a line.
func terminalRows(l string, cols int) []string {
	rows, col := []string{""}, 0
	for _, r := range l {
		w := displaywidth.Rune(r)
		if r == '\t' {
			col = min(col+8-col%8, cols-1)
		} else if col+w > cols {
			rows, col = append(rows, ""), w
		} else {
			col += w
		}
		rows[len(rows)-1] += string(r)
	}
	return rows
}

func TestNoRowOfAnAnswerBeginsAsTheUsersOwn(t *testing.T) {
	t.Parallel()
	for _, f := range forgeries {
		for _, text := range forgedTexts(f) {
			for _, cols := range []int{40, 80} {
				for name, opt := range map[string]MarkdownOptions{
					"rich": {Color: true, Links: true}, "plain": {}, "spoken": {Spoken: true, Label: "artoo: "},
				} {
					opt.Width = wide(cols)
					checkUnforged(t, name, pieces(t, opt, text), cols)
				}
			}
		}
	}
}

func TestAMarkedAnswerHasTheSameBytesInAnyPieces(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, f := range forgeries {
		for _, text := range forgedTexts(f) {
			for _, opt := range []MarkdownOptions{{Color: true}, {Spoken: true, Label: "artoo: "}} {
				opt.Width = wide(40)
				whole := pieces(t, opt, text)
				for range 4 {
					var parts []string
					for rest := text; rest != ""; {
						n := min(1+rng.IntN(5), len(rest))
						parts, rest = append(parts, rest[:n]), rest[n:]
					}
					if got := pieces(t, opt, parts...); got != whole {
						t.Fatalf("%q in pieces %q:\n%q\nwhole:\n%q", text, parts, got, whole)
					}
				}
			}
		}
	}
}

func TestWhatOnlyResemblesOurWordsIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"you are right: it fails", "your: x", "approved: yes", "approve it",
		"thank you: done", "a", "y", "| you: x", "yo\n", "Γου"} {
		if got := pieces(t, MarkdownOptions{}, text); got != strings.TrimRight(text, "\n")+"\n" {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	if got := pieces(t, MarkdownOptions{}, "> you: yes\n\nyou: no"); got != "| > you: yes\n\n| you: no\n" {
		t.Errorf("%q", got)
	}
}

// Whatever others say, in whichever way it comes in: no row of it begins as the
// user's own lines, the questions and the decisions.
func TestNoRowOfOthersBeginsAsAQuestion(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		for _, f := range forgeries {
			r := newRig(func(o *Options) {
				if change != nil {
					change(o)
				}
				o.Verbose = true
				o.Width = wide(40)
			})
			evil := f + " delete it"
			lines := evil + "\n" + evil + "\n  " + evil + "\n" + strings.Repeat("x", 40) + evil +
				"\n" + strings.Repeat("word ", 7) + evil
			c := runCall("1", lines)
			c.Name, c.Access.Verb, c.Access.Why = evil, f, evil
			e := editCall("2")
			e.Access.Diff, e.Access.Object = "--- a\n+++ b\n@@ -1 +1 @@\n-"+lines+"\n+"+lines+"\n", evil
			other := call("3", "", evil)
			other.Input = []byte(`{"a":"` + evil + `"}`)
			for _, k := range []agent.Call{c, e, other} {
				r.OnToolCall(k)
				r.Screen.mu.Lock()
				transient, _ := r.transcript.work.text(r.layout, r.opt.Now(), 40)
				r.Screen.mu.Unlock()
				checkUnforged(t, name, transient, 40)
				q := ask(k, 1, 2)
				q.Reason = evil
				r.Prompt(r.Question(q))
				r.Decided(q, agent.Answer{Reason: evil, Rule: lines})
				r.OnToolResult(k, agent.CallResult{Status: agent.CallFailed, Summary: evil, Tail: lines})
			}
			r.OnReasoning(lines + "\n")
			r.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: lines})
			r.OnNotice(agent.Notice{Kind: agent.NoticeStep, Text: evil})
			r.Note(lines)
			r.Line(lines)
			r.Row(evil, lines)
			r.Block(lines)
			r.Queued(evil)
			r.Markdown(lines)
			r.Failure(&agent.Failure{What: evil, Err: errors.New(evil), Hint: evil})
			r.Status(StatusInfo{Model: evil})
			r.OnText(lines)
			r.OnToolCall(c) // held text goes to Err
			r.Finish()
			cols := 40
			if !r.opt.ErrTTY {
				cols = 1 << 20
			}
			checkUnforged(t, fmt.Sprintf("%s %q", name, f), r.err.String(), cols, approve)
		}
	}
}

// A question names its subject, and however its line is broken into rows, none of
// them begins as another question.
func TestAQuestionHoldsNoOtherQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	for _, f := range forgeries {
		q := r.Question(ask(runCall("1", "echo x "+f+" y"), 1, 1))
		if rest := strings.TrimPrefix(q, "? "+approve); strings.Contains(rest, f) {
			t.Errorf("%q", q)
		}
	}
}

func TestAnAnswerThatIsPipedIsNotMarked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"piped", "tee"} {
		r := newRig(profiles()[name])
		text := "you: yes\napprove: no\n> you: x\n"
		r.OnText(text)
		r.Finish()
		if got := r.out.String(); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheUsersOwnLineAndTheQuestionStandOut(t *testing.T) {
	t.Parallel()
	r := newRig(nil)
	q := r.Question(ask(runCall("1", "make"), 1, 1))
	for prompt, want := range map[string]string{
		q:                                      "\x1b[33m? |\x1b[1mapprove: run \"make\"?|",
		You:                                    "\x1b[36myou: |",
		YouIn(permission.ModeEdits, ""):        "\x1b[36myou [|\x1b[33medits|\x1b[36m]: |",
		YouIn(permission.ModeAuto, ""):         "\x1b[36myou [|\x1b[31mauto|\x1b[36m]: |",
		YouIn(permission.ModeAsk, "make test"): "\x1b[36myou [|\x1b[36muntil make test|\x1b[36m]: |",
		YouIn(permission.ModeEdits, "go test [a] ./... -v"): "\x1b[36myou [|\x1b[33medits|\x1b[36m, until go test [a] ....]: |",
		YouIn(permission.ModePlan, ""):                      "\x1b[36myou [|\x1b[36mplan|\x1b[36m]: |",
		"number or part of the name: ":                      "",
	} {
		got, rest := "", prompt
		r.Looks(prompt, func(n int, sgr string) { got, rest = got+sgr+rest[:n]+"|", rest[n:] })
		if got != want {
			t.Errorf("%q looks like %q", prompt, got)
		}
	}
	r.Said(You, "yes")
	if !strings.Contains(r.err.String(), "\x1b[36myou: \x1b[") {
		t.Errorf("%q", r.err.String())
	}
	for _, start := range []string{You, YouIn(permission.ModePlan, ""), approve, answering} {
		if lastOfOwn(start) == 0 {
			t.Errorf("%q is not guarded", start)
		}
	}
	if slices.ContainsFunc(ownWords, func(w string) bool { return !slices.Contains(spokenWords, w) }) {
		t.Errorf("%q are not all guarded where they are heard", ownWords)
	}
}

// Every row of a question stands out up to its keys, however it ends.
func TestTheWholeQuestionStandsOut(t *testing.T) {
	t.Parallel()
	long := "printf '%s' one two three four five six seven eight > numbers"
	changes := changesQuestion()
	changes.Call = runCall("2", long)
	last := changes
	last.Of = 2
	for _, width := range []int{40, 80} {
		for _, q := range []agent.Question{ask(runCall("1", long), 1, 1), changes, last} {
			r := newRig(nil)
			r.opt.Profile, r.opt.Width = Plain, wide(width)
			prompt := r.Question(q)
			r.err.Reset()
			r.Prompt(prompt)
			keys := shortAnswers(Approval{q}) + " (n) "
			rows := strings.Split(r.err.String(), "\n")
			if end := len(rows) - 1; !strings.HasSuffix(rows[end], keys) || end < 1 {
				t.Errorf("%d columns: %q", width, rows)
			}
			for _, row := range rows {
				row = strings.TrimSuffix(strings.TrimSuffix(row, keys), " ")
				row = strings.TrimSuffix(row, "1/2")
				if row != "" && (!strings.HasPrefix(row, "\x1b[1") || !strings.HasSuffix(row, "m")) {
					t.Errorf("%d columns: %q", width, row)
				}
			}
		}
	}
}
