package screen

import (
	"errors"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
)

// The row after a turn says what happened, and on a narrow terminal at least what changed and what left the sandbox.
func TestTheReceipt(t *testing.T) {
	t.Parallel()
	cost := 0.06
	whole := StatusInfo{Usage: provider.Usage{Input: 18200, Output: 412}, CostUSD: &cost, Elapsed: 38 * time.Second,
		Context: 9, Reach: agent.Reach{Modified: 2, Deleted: 1}}
	outside, failed, talk, networked, loose := whole, whole, whole, whole, whole
	networked.Reach.Networked, loose.NoWalls = []string{"npm ci"}, true
	outside.Reach = agent.Reach{Created: 1, Outside: []string{"git push",
		"npm ci --foreground-scripts --no-audit --no-fund", "x"}, Network: []string{"packages.example"}}
	failed.Outcome, talk.Reach = OutcomeFailed, agent.Reach{}
	for _, c := range []struct {
		profile string
		width   int
		mode    StatusMode
		info    StatusInfo
		want    string
	}{
		{"nocolor", 100, "", whole,
			"── 2 files changed, 1 deleted · nothing left the sandbox · $0.06 · 38 s · context 9 % · /undo\n"},
		{"nocolor", 80, "", whole,
			"── 2 files changed, 1 deleted · nothing left the sandbox · $0.06 · 38 s\n   context 9 % · /undo\n"},
		{"nocolor", 59, "", whole, "── 2 files changed, 1 deleted · nothing left the sandbox\n"},
		{"nocolor", 40, "", whole, "── 2 files changed, 1 deleted\n   nothing left the sandbox\n"},
		{"ascii", 200, "", whole,
			"-- 2 files changed, 1 deleted, nothing left the sandbox, $0.06, 38 s, context 9 %, /undo\n"},
		{"nocolor", 200, "", outside,
			"── 1 file created · left the sandbox: git push, npm ci --foreg … dit --no-fund and 1 more" +
				" · network: packages.example · $0.06 · 38 s · context 9 % · /undo\n"},
		{"nocolor", 200, "", failed,
			"── failed; kept: 2 files changed, 1 deleted · nothing left the sandbox · $0.06 · 38 s" +
				" · context 9 % · /undo\n"},
		{"nocolor", 200, "", networked,
			"── 2 files changed, 1 deleted · network: npm ci · $0.06 · 38 s · context 9 % · /undo\n"},
		{"nocolor", 200, "", loose,
			"── 2 files changed, 1 deleted · no sandbox · $0.06 · 38 s · context 9 % · /undo\n"},
		{"nocolor", 200, "", talk, "── nothing changed · nothing left the sandbox · $0.06 · 38 s · context 9 %\n"},
		{"nocolor", 200, StatusFull, talk,
			"── nothing changed · nothing left the sandbox · $0.06 · 18.2k in · 412 out · 38 s · context 9 %\n"},
		{"nocolor", 200, StatusOff, whole, ""},
		{"nocolor", 200, "", StatusInfo{Elapsed: time.Second, Context: -1}, ""},
		{"nocolor", 200, "", StatusInfo{Outcome: OutcomeFailed, Context: -1},
			"── failed; nothing changed · nothing left the sandbox · under 1 s\n"},
		{"nocolor", 200, "", StatusInfo{Line: "on main\x1b[2J", Context: -1}, "── on main^[[2J\n"},
		{"rich", 200, "", outside, ""},
	} {
		r := newRig(profiles()[c.profile])
		r.opt.Width, r.opt.Status = wide(c.width), c.mode
		r.Status(c.info)
		if got := r.err.String(); c.profile == "rich" {
			if !strings.Contains(got, "\x1b[33mleft the sandbox: git push") {
				t.Errorf("%q", got)
			}
		} else if got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
}

// After a user's first questions the sandbox is explained in short, and ? explains it still. What a line outside can
// reach is never shortened.
func TestTheSandboxIsExplainedOnce(t *testing.T) {
	t.Parallel()
	left := 1
	explain := func() bool { left--; return left >= 0 }
	r := newRig(profiles()["nocolor"])
	r.ExplainBy(explain)
	reason := permission.Reason{Code: permission.OwnPrograms, Object: "go test"}
	question := func(id string) agent.Question {
		q := ask(runCall(id, "go test ./..."), 1, 1)
		q.Reason, q.Reasons, q.Place = reason.String(), []permission.Reason{reason}, permission.PlaceLayer
		return q
	}
	shown := func(q agent.Question) string {
		r.err.Reset()
		r.Question(q)
		return strings.Join(strings.Fields(r.err.String()), " ")
	}
	const full = "runs in the sandbox: no network except loopback, no keys, no home; artoo checks its changes afterwards"
	for range 2 {
		if got := shown(question("1")); !strings.Contains(got, full+" this runs the project's own programs: go test") {
			t.Errorf("the first question: %q", got)
		}
	}
	got := shown(question("2"))
	if got != "• run go test ./... the project's own programs, confined: no network, keys or home" {
		t.Errorf("a later question: %q", got)
	}
	r.err.Reset()
	r.QuestionHelp(question("2"))
	if got := strings.Join(strings.Fields(r.err.String()), " "); !strings.Contains(got, full) {
		t.Errorf("help: %q", got)
	}
	outside := question("3")
	outside.Kind, outside.Reason = agent.QuestionOutside, "it failed in the sandbox: no network"
	got = shown(outside)
	if !strings.Contains(got, "outside the sandbox it has the network, your keys and your home it failed") {
		t.Errorf("a question about a line outside: %q", got)
	}
}

// Text that streams is not cut by what the user typed meanwhile.
func TestAQueuedLineWaitsForTheEndOfALine(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["nocolor"])
	r.OnText("one two ")
	r.Queued("and then this")
	r.OnText("three\n\nfour ")
	r.Queued("y")
	r.OnText("five")
	r.Finish()
	want := "one two three\n• queued: and then this\n\nfour five\n\n• queued: y\n" +
		"  no question waits; y goes to the model (/queue removes it)\n"
	if got := r.err.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A failure takes at most four rows, and its next step is whole.
func TestAFailureIsShort(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["nocolor"])
	r.opt.Width = wide(40)
	r.Failure(&agent.Failure{What: "no answer", Err: errors.New(strings.Repeat("many words ", 50)),
		Hint: "again in a few minutes, or choose another model"})
	rows := strings.Split(strings.TrimSuffix(r.err.String(), "\n"), "\n")
	if len(rows) > 4 || !strings.HasSuffix(rows[1], "…") || rows[3] != "    choose another model" {
		t.Errorf("%q", rows)
	}
}
