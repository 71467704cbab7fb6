package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
)

func changesQuestion() agent.Question {
	q := ask(runCall("1", "sed -i s/a/b/ *.txt; rm -r old"), 1, 1)
	q.Kind = agent.QuestionChanges
	q.Effects = &permission.Effects{
		By: map[permission.What][]permission.Entry{
			permission.RunsAutomatically: {{Path: ".githooks/pre-commit", Detail: "(.githooks, which git runs or obeys)"}},
			permission.Executable:        {{Path: "build.sh"}},
			permission.OtherMode:         {{Path: "key", Detail: "0600 → 0644"}},
			permission.Linked:            {{Path: "etc", Detail: "→ /etc"}},
			permission.Modified:          {{Path: "a.txt"}},
			permission.Never:             {{Path: "pipe"}},
		},
		Files: permission.Counts{permission.Deleted: 500, permission.Modified: 1, permission.Linked: 1, permission.OtherMode: 2},
	}
	for i := range 500 {
		deletes(q, fmt.Sprintf("old/%d", i))
	}
	q.Diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\x1b[2J\n"
	return q
}

func deletes(q agent.Question, path string) {
	q.Effects.By[permission.Deleted] = append(q.Effects.By[permission.Deleted], permission.Entry{Path: path})
}

// The most important changes stand last, just above the answer, and are never cut; many
// deleted paths are summed up by directory there, and the pager has each.
func TestWhatACommandDidIsShownWhole(t *testing.T) {
	t.Parallel()
	for name := range profiles() {
		r := newRig(profiles()[name])
		q := changesQuestion()
		prompt := r.Question(q)
		if !strings.Contains(prompt, r.layout.keep()+` the changes of "sed -i s/a/b/`) {
			t.Errorf("%s: asks %q", name, prompt)
		}
		shown := r.QuestionAll(q)
		got, word := sgr.ReplaceAllString(r.err.String(), ""), func(text string) string { return text }
		counts := "500 deleted"
		if r.layout.rich() {
			word = strings.NewReplacer("deleted: ", "D ", "modified: ", "").Replace
			counts = ""
		}
		for _, text := range []string{"runs automatically: .githooks/pre-commit", "executable now: build.sh", "with new permissions: key 0600",
			"linked: etc", "cannot be applied: pipe", counts, word("modified: a.txt")} {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), text) || !strings.Contains(shown, text) {
				t.Errorf("%s: %q is not shown", name, text)
			}
		}
		if !strings.Contains(got, word("deleted: old/ (500 paths)")) || strings.Count(got, "\n") > 60 || r.Unseen(q) {
			t.Errorf("%s: unseen %t, shown %q", name, r.Unseen(q), got)
		}
		for _, text := range []string{word("deleted: old/0"), word("deleted: old/499")} {
			if !strings.Contains(shown, text) {
				t.Errorf("%s: %q is not in the pager", name, text)
			}
		}
		q.Diff += strings.Repeat("+x\n", 1000)
		r.err.Reset()
		r.Question(q)
		got = sgr.ReplaceAllString(r.err.String(), "")
		rows := strings.Split(got, "\n")
		if end := strings.Join(rows[max(len(rows)-14, 0):], "\n"); !strings.Contains(end, "runs automatically: .githooks/pre-commit") ||
			!strings.Contains(end, word("deleted: old/ (500 paths)")) || !r.Unseen(q) {
			t.Errorf("%s: unseen %t, it ends %q", name, r.Unseen(q), end)
		}
		if strings.Contains(got, "\x1b[2J") || strings.Contains(shown, "\x1b[2J") {
			t.Errorf("%s: an escape of the file's reached the terminal", name)
		}
	}
}

func TestQuestionsOfferOnlyWhatTheyTake(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	changes, outside := changesQuestion(), ask(runCall("1", "npm ci"), 1, 1)
	outside.Kind, outside.Reason = agent.QuestionOutside, "it failed in the sandbox: no network"
	if got := r.Question(changes); !strings.HasSuffix(got, "[y,n,p,q,?] (n) ") {
		t.Errorf("asks %q", got)
	}
	r.err.Reset()
	r.QuestionHelp(changes)
	if got := r.err.String(); strings.Contains(got, "always") {
		t.Errorf("help: %s", got)
	}
	if got := r.Question(outside); got != `approve: run "npm ci" outside the sandbox? [y,n,p,q,?] (n) ` {
		t.Errorf("asks %q", got)
	}
	r.err.Reset()
	r.QuestionHelp(outside)
	if got := r.err.String(); strings.Contains(got, "always") || !strings.Contains(got, "the network, your keys and your home") {
		t.Errorf("help: %s", got)
	}
}

func TestAQuestionAboutTheWholeProjectSaysWhatItGives(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	q := ask(runCall("1", "npm run dev"), 1, 1)
	q.Kind, q.Reason = agent.QuestionWhole, "the project is read-only for a background command: /src/shop/.vite/x"
	if got := r.Question(q); got != `approve: start "npm run dev" again, to write the whole project? [y,n,p,q,?] (n) ` {
		t.Errorf("asks %q", got)
	}
	golden(t, "question-whole.golden", r.err.String())
	r.err.Reset()
	r.QuestionHelp(q)
	if got := r.err.String(); strings.Contains(got, "always") || !strings.Contains(got, "it may write all of the project") {
		t.Errorf("help: %s", got)
	}
}

func TestDecisionsOverChangesAreTold(t *testing.T) {
	t.Parallel()
	for expected, answer := range map[string]agent.Answer{
		"yes\n":                                 {Verdict: agent.Yes},
		"no, changes discarded: not now\n":      {Reason: "not now"},
		"no, changes discarded; turn stopped\n": {Verdict: agent.StopTurn},
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
// discarded, and files from a command in the sandbox that other programs run.
func (r *rig) layerQuestions() {
	q := changesQuestion()
	q.Effects.By[permission.Deleted] = nil
	deletes(q, "old/prices-of-the-year-before-last.csv")
	deletes(q, "old/\x1b[31mreadme")
	q.Effects.By[permission.OfGit] = []permission.Entry{{Path: "refs/heads/main: commit 5d6e7f8 the discount week begins on Sunday: a.txt"},
		{Path: "staged: a.txt"}}
	q.Effects.By[permission.GitLoses] = []permission.Entry{{Path: "refs/heads/week: deleted, was 1a2b3c4"}}
	q.Effects.Files[permission.Deleted], q.Effects.Git = 2, 3
	r.OnToolCall(q.Call)
	r.typed(r.Question(q), "?")
	r.QuestionHelp(q)
	r.typed(r.Question(q), "p")
	r.Draw([]byte(r.QuestionAll(q) + "\n"))
	r.typed(r.Question(q), "y")
	r.Decided(q, agent.Answer{Verdict: agent.Yes})
	r.OnToolResult(q.Call, ok("exit 0 in 0.1s"))
	q = ask(runCall("2", "rm -r old"), 1, 1)
	q.Kind, q.Effects = agent.QuestionChanges, &permission.Effects{Files: permission.Counts{permission.Deleted: 1},
		By: map[permission.What][]permission.Entry{permission.Deleted: {{Path: "old/a"}}}}
	r.OnToolCall(q.Call)
	r.typed(r.Question(q), "n not those")
	r.Decided(q, agent.Answer{Reason: "not those"})
	r.OnToolResult(q.Call, ok("exit 0 in 0.1s; changes discarded: not those"))
	q = ask(runCall("3", "make hooks"), 1, 1)
	q.Kind = agent.QuestionChanges
	q.Effects = &permission.Effects{There: true, By: map[permission.What][]permission.Entry{
		permission.RunsAutomatically: {{Path: ".envrc", Detail: "(direnv runs or obeys it)"}}}}
	r.OnToolCall(q.Call)
	r.typed(r.Question(q), "n")
	r.Decided(q, agent.Answer{})
	r.OnToolResult(q.Call, agent.CallResult{Status: agent.CallDenied})
}

func TestLayersAreAskedAboutInEveryProfile(t *testing.T) {
	t.Parallel()
	goldenOfProfiles(t, "layer-questions.golden", (*rig).layerQuestions)
}

func goldenOfProfiles(t *testing.T, name string, show func(*rig)) {
	t.Helper()
	var all strings.Builder
	for _, c := range []struct {
		profile string
		width   int
	}{{"rich", 80}, {"plain", 40}, {"spoken", 80}} {
		r := newRig(profiles()[c.profile])
		r.opt.Width = func() int { return c.width }
		show(r)
		fmt.Fprintf(&all, "==> %s, %d columns <==\n%s\n", c.profile, c.width, strings.ReplaceAll(r.err.String(), "\x1b", "␛"))
	}
	golden(t, name, all.String())
}

// A question about the project's own programs names them, says that they run confined,
// and explains its two lasting answers.
func TestOwnProgramsAreAskedAbout(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	q := ask(runCall("1", "make test"), 1, 1)
	reason := permission.Reason{Code: permission.OwnPrograms, Object: "make"}
	q.Reason, q.Reasons, q.Place = reason.String(), []permission.Reason{reason}, permission.PlaceLayer
	if got := r.Question(q); !strings.HasSuffix(got, choices) {
		t.Errorf("asks %q", got)
	}
	for _, text := range []string{"project's own programs: make", "runs in the sandbox: no network except loopback, no keys, no home"} {
		if got := strings.Join(strings.Fields(r.err.String()), " "); !strings.Contains(got, text) {
			t.Errorf("%q is not in %q", text, got)
		}
	}
	r.err.Reset()
	r.QuestionHelp(q)
	got := strings.Join(strings.Fields(r.err.String()), " ")
	for _, text := range []string{"own programs run without a question in this session", "A trust this project to run its own programs",
		"artoo trust rm --run undoes this"} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in %q", text, got)
		}
	}
	if strings.Contains(got, "rule") {
		t.Errorf("a rule is offered: %q", got)
	}
	for want, answer := range map[string]agent.Answer{
		"the project's own programs run without a question in this session\n": {Verdict: agent.YesForSession},
		"trust this project to run its own programs":                          {Verdict: agent.YesForever},
		"allowed in this session: bash(make:*)":                               {Verdict: agent.YesForSession, Rule: "bash(make:*)"},
	} {
		r := newRig(profiles()["piped"])
		r.Question(q)
		r.err.Reset()
		r.Decided(q, answer)
		if got := r.err.String(); !strings.HasPrefix(got, "approve: "+want) {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}

func TestAQuestionSaysWhereItsCommandRuns(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["plain"])
	q := ask(runCall("1", "npm ci"), 1, 1)
	reason := permission.Reason{Code: permission.Outside, Object: "it needs the network"}
	q.Reason, q.Reasons = reason.String(), []permission.Reason{reason}
	if got := r.Question(q); !strings.Contains(got, `run "npm ci" outside the sandbox?`) {
		t.Errorf("asks %q", got)
	}
	if got := r.err.String(); !strings.Contains(got, "outside the sandbox (network, keys, home)") {
		t.Errorf("shown: %q", got)
	}
	r.err.Reset()
	q.Rule = "bash!(gh pr list)"
	r.QuestionHelp(q)
	got := r.err.String()
	if strings.Contains(got, "RULE makes") || !strings.Contains(got, "until a file that it obeys changes") {
		t.Errorf("help: %s", got)
	}
}

// TestEveryAnswerStandsOnThePage holds docs/permissions.md to the answers that the
// questions about a call take.
func TestEveryAnswerStandsOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "permissions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []agent.QuestionKind{agent.QuestionApproval, agent.QuestionChanges, agent.QuestionOutside} {
		for _, key := range append(Keys(Approval{agent.Question{Kind: kind}}), "?") {
			if !strings.Contains(string(page), "\n| `"+key+"`") && !strings.Contains(string(page), "\n| `"+key+" [") {
				t.Errorf("docs/permissions.md does not have the answer %s", key)
			}
		}
	}
}

// The text of many files is left to the pager; names and counts are not, and the important
// changes stand last, below the counts.
func TestManyChangedFilesAreCountedTwice(t *testing.T) {
	t.Parallel()
	for name := range profiles() {
		r := newRig(profiles()[name])
		q := changesQuestion()
		q.Effects.By[permission.Modified], q.Diff = nil, ""
		for i := range 200 {
			path := fmt.Sprintf("src/%d.txt", i)
			q.Effects.By[permission.Modified] = append(q.Effects.By[permission.Modified], permission.Entry{Path: path})
			q.Diff += fmt.Sprintf("--- a/%s\n+++ b/%[1]s\n@@ -1 +1 @@\n-a\n+b\n", path)
		}
		q.Effects.Files[permission.Modified] = 200
		r.Question(q)
		got := strings.Join(strings.Fields(sgr.ReplaceAllString(r.err.String(), "")), " ")
		if rows := strings.Count(r.err.String(), "\n"); rows > 30 || !r.Unseen(q) || strings.Contains(got, "@@") {
			t.Errorf("%s: %d rows, unseen %t", name, rows, r.Unseen(q))
		}
		modified, files := "modified: ", "files: "
		if r.layout.rich() {
			modified, files = "M ", ""
		}
		if !strings.Contains(got, modified+"src/ (200 paths)") || !strings.Contains(got, "00 rows of changed text: p ") {
			t.Errorf("%s: %q", name, got)
		}
		if all := r.QuestionAll(q); !strings.Contains(all, "src/199.txt") || strings.Contains(all, "rows of changed text") {
			t.Errorf("%s: the pager does not get all of it", name)
		}
		q.Diff = strings.Repeat("+x\n", 60)
		r.err.Reset()
		r.Question(q)
		rows := strings.Split(strings.TrimSpace(sgr.ReplaceAllString(r.err.String(), "")), "\n")
		if r.Unseen(q) {
			t.Errorf("%s: 60 rows are left to the pager", name)
		}
		end := strings.Join(rows[max(len(rows)-12, 0):], "\n")
		if name != "spoken" && (!strings.Contains(end, "in all: "+files+"500 deleted, 200 modified") || !strings.Contains(rows[len(rows)-1], "with new permissions: key")) {
			t.Errorf("%s: it ends %q", name, end)
		}
	}
}
