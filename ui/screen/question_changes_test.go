package screen

import (
	"fmt"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
)

func changesQuestion() agent.Question {
	q := ask(runCall("1", "sed -i s/a/b/ *.txt; rm -r old"), 1, 1)
	q.Kind = agent.QuestionChanges
	q.Effects = &permission.Effects{
		OthersRun:   []string{".githooks/pre-commit (.githooks, which git runs or obeys)"},
		Executables: []string{"build.sh"}, Modes: []string{"key 0600 → 0644"}, Links: []string{"etc → /etc"},
		Modified: []string{"a.txt"}, Never: []string{"pipe"},
	}
	for i := range 500 {
		q.Effects.Deleted = append(q.Effects.Deleted, fmt.Sprintf("old/%d", i))
	}
	q.Diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\x1b[2J\n"
	return q
}

// What matters most is never cut: each deleted path is there, however many.
func TestWhatACommandDidIsShownWhole(t *testing.T) {
	for name := range profiles() {
		r := newRig(profiles()[name])
		q := changesQuestion()
		prompt := r.Question(q)
		if !strings.Contains(prompt, `keep what "sed -i s/a/b/`) || !strings.Contains(prompt, "did in") {
			t.Errorf("%s: asks %q", name, prompt)
		}
		shown := r.QuestionAll(q)
		got := r.err.String()
		for _, text := range []string{"others run it: .githooks/pre-commit", "executable now: build.sh", "permissions: key 0600",
			"link: etc", "deleted: old/0", "deleted: old/499", "never applied: pipe", "500 deleted"} {
			if !strings.Contains(got, text) || !strings.Contains(shown, text) {
				t.Errorf("%s: %q is not shown", name, text)
			}
		}
		if strings.Contains(got, "\x1b[2J") || strings.Contains(shown, "\x1b[2J") {
			t.Errorf("%s: an escape of the file's reached the terminal", name)
		}
	}
}

func TestQuestionsOfferOnlyWhatTheyTake(t *testing.T) {
	r := newRig(profiles()["nocolor"])
	changes, outside := changesQuestion(), ask(runCall("1", "npm ci"), 1, 1)
	outside.Kind, outside.Reason = agent.QuestionOutside, "it ran once, confined, and failed at a wall: no network"
	if got := r.Question(changes); !strings.HasSuffix(got, "[y,n,n!,a,p,q,?] (n) ") {
		t.Errorf("asks %q", got)
	}
	if got := r.Question(outside); got != `approve: run "npm ci" outside of the sandbox, in ~/src/shop? [y,n,p,q,?] (n) ` {
		t.Errorf("asks %q", got)
	}
	r.err.Reset()
	r.QuestionHelp(outside)
	if got := r.err.String(); strings.Contains(got, "always") || !strings.Contains(got, "network, keys and home") {
		t.Errorf("help: %s", got)
	}
}

func TestDecisionsOverChangesAreTold(t *testing.T) {
	for expected, answer := range map[string]agent.Answer{
		"changes applied\n":                       {Verdict: agent.Yes},
		"changes discarded: not now\n":            {Reason: "not now"},
		"changes discarded, output withheld\n":    {Verdict: agent.Withhold},
		"changes discarded, and the turn stops\n": {Verdict: agent.StopTurn},
	} {
		r := newRig(profiles()["piped"])
		q := changesQuestion()
		r.Question(q)
		r.err.Reset()
		r.Decided(q, answer)
		if got := r.err.String(); got != "approve: "+expected {
			t.Errorf("%q, expected %q", got, expected)
		}
	}
}

// layerQuestions plays a layer that is applied after its help was read, one that is
// thrown away, and what a command in the sandbox made for others to run.
func (r *rig) layerQuestions() {
	q := changesQuestion()
	q.Effects.Deleted = []string{"old/prices-of-the-year-before-last.csv", "old/\x1b[31mreadme"}
	q.Effects.Created, q.Effects.InGit = []string{"b.txt"}, 2
	q.Effects.Git = []string{"refs/heads/main: 1a2b3c4 → 5d6e7f8 the discount week begins on Sunday", "staged: a.txt"}
	r.OnToolCall(q.Call)
	r.typed(r.Question(q), "?")
	r.QuestionHelp(q)
	r.typed(r.Question(q), "p")
	r.Draw([]byte(r.QuestionAll(q) + "\n"))
	r.typed(r.Question(q), "y")
	r.Decided(q, agent.Answer{Verdict: agent.Yes})
	r.OnToolResult(q.Call, ok("exit 0 in 0.1s"))
	q = ask(runCall("2", "rm -r old"), 1, 1)
	q.Kind, q.Effects = agent.QuestionChanges, &permission.Effects{Deleted: []string{"old/a"}}
	r.OnToolCall(q.Call)
	r.typed(r.Question(q), "n not those")
	r.Decided(q, agent.Answer{Reason: "not those"})
	r.OnToolResult(q.Call, ok("exit 0 in 0.1s; changes discarded: not those"))
	q = ask(runCall("3", "make hooks"), 1, 1)
	q.Kind = agent.QuestionChanges
	q.Effects = &permission.Effects{There: true, OthersRun: []string{".envrc (direnv runs or obeys it)"},
		Created: []string{".envrc"}}
	r.OnToolCall(q.Call)
	r.typed(r.Question(q), "n!")
	r.Decided(q, agent.Answer{Verdict: agent.Withhold})
	r.OnToolResult(q.Call, agent.CallResult{Status: agent.CallDenied})
}

func TestLayersAreAskedAboutInEveryProfile(t *testing.T) {
	var all strings.Builder
	for _, c := range []struct {
		profile string
		width   int
	}{{"rich", 80}, {"nocolor", 80}, {"nocolor", 40}, {"plain", 80}, {"plain", 40}, {"spoken", 80}, {"spoken", 40}} {
		r := newRig(profiles()[c.profile])
		r.opt.Width = func() int { return c.width }
		r.layerQuestions()
		fmt.Fprintf(&all, "==> %s, %d columns <==\n%s\n", c.profile, c.width, strings.ReplaceAll(r.err.String(), "\x1b", "␛"))
	}
	golden(t, "layer-questions.golden", all.String())
}
