package permission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"artoo/tool/sandbox"
)

// ruled are rules as a session has them.
func ruled(t *testing.T, texts ...string) (rules []Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return rules
}

// A change under a deny rule for writing never lands, and one under an ask rule is asked about in every mode, whatever
// program of a line wrote it.
func TestRulesForWritingHoldForTheChangesOfALine(t *testing.T) {
	t.Parallel()
	at := func(path string, kind sandbox.Kind) sandbox.Change {
		return judged("/p", path, kind, 0o644, 0o644)
	}
	other := at("a.txt", sandbox.Modified)
	for _, row := range []struct {
		deny, ask string
		change    sandbox.Change
		verdict   Verdict // the verdict in auto, beside a change of another file
		applied   int
	}{
		{"write(secret/**)", "", at("secret/a", sandbox.Created), Run, 1},
		{"write(secret/**)", "", at("secret/a", sandbox.Deleted), Run, 1},
		{"write(secret/**)", "", at("secret/deep/a", sandbox.Mode), Run, 1},
		{"write(secret)", "", at("secret/a", sandbox.Modified), Run, 1},
		{"edit(secret/a)", "", at("secret/a", sandbox.Modified), Run, 1},
		{"Write(./secret/*)", "", at("secret/a", sandbox.Modified), Run, 1},
		{"write(*.lock)", "", at("sub/x.lock", sandbox.Created), Run, 1},
		{"write(dist/**)", "", at("dist/x.o", sandbox.Created), Run, 1},
		{"write", "", at("secret/a", sandbox.Created), Refuse, 0},
		{"write(secret/**)", "", at("secrets", sandbox.Created), Run, 2},
		{"read(secret/**)", "", at("secret/a", sandbox.Created), Run, 2},
		{"", "write(secret/**)", at("secret/a", sandbox.Created), Ask, 2},
		{"", "write(secret/**)", at("secret/a", sandbox.Deleted), Ask, 2},
		{"", "edit(secret/a)", at("secret/a", sandbox.Mode), Ask, 2},
		{"", "write(dist/**)", at("dist/x.o", sandbox.Created), Ask, 2},
		{"", "write", at("secret/a", sandbox.Created), Ask, 2},
		{"", "write(secret/**)", at("secrets", sandbox.Created), Run, 2},
		{"", "read(secret/**)", at("secret/a", sandbox.Created), Run, 2},
		{"write(secret/**)", "write(secret/**)", at("secret/a", sandbox.Created), Run, 1},
	} {
		p := &Policy{Root: "/p", Mode: ModeAuto}
		if row.deny != "" {
			p.DenyRules = ruled(t, row.deny)
		}
		if row.ask != "" {
			p.AskRules = ruled(t, row.ask)
		}
		builds := Facts{Ignored: func([]string) map[string]bool { return map[string]bool{"/p/dist/x.o": true} }}
		j := p.Judge(t.Context(), Decision{Builds: true}, []sandbox.Change{row.change, other}, builds)
		if j.Verdict != row.verdict || len(j.Effects.Apply) != row.applied {
			t.Errorf("deny %q, ask %q, %s of %s: %s (%s), %d applied", row.deny, row.ask, row.change.Kind, row.change.Path, j.Verdict, j.Reason(), len(j.Effects.Apply))
		}
		rule := row.deny
		if row.verdict == Ask {
			rule = row.ask
		}
		named := strings.Join(j.Effects.Short(), "\n")
		if left := row.applied < 2 || row.verdict == Ask; left && !strings.Contains(named, ruled(t, rule)[0].String()) {
			t.Errorf("the rule %s is not named: %q", rule, named)
		}
		if j.Verdict == Ask && j.Rule != "" {
			t.Errorf("ask %s: %q would do", row.ask, j.Rule)
		}
		p.Mode = ModePlan
		if j := p.Judge(t.Context(), Decision{}, []sandbox.Change{row.change, other}, builds); j.Verdict != Refuse {
			t.Errorf("plan: %s", j.Verdict)
		}
	}
}

// The user's permission in this session beats an ask rule of theirs, not one of the system's policy.
func TestWhatTheSessionAllowsBeatsAnAskRuleForChanges(t *testing.T) {
	t.Parallel()
	changes := []sandbox.Change{judged("/p", "secret/a", sandbox.Created, 0o644, 0)}
	for _, fixed := range []bool{false, true} {
		want := map[bool]Verdict{false: Run, true: Ask}[fixed]
		p := &Policy{Root: "/p", Mode: ModeEdits, AskRules: ruled(t, "write(secret/**)"), AllowRules: ruled(t, "write(secret/**)", "bash")}
		p.AskRules[0].Fixed, p.AskRules[0].Origin = fixed, "/etc/artoo/policy.toml line 2"
		if j := p.Judge(t.Context(), Decision{}.because(Run, Reason{Code: RulesAllow}), changes, Facts{}); j.Verdict != Ask {
			t.Errorf("an allow rule beats it: %s", j.Reason())
		}
		if j := p.Judge(t.Context(), Decision{}.because(Run, Reason{Code: SessionAllows}), changes, Facts{}); j.Verdict != want {
			t.Errorf("fixed %t: a line that the session allows: %s", fixed, j.Verdict)
		}
		p.session = ruled(t, "write(secret/a)")
		j := p.Judge(t.Context(), Decision{}, changes, Facts{})
		if j.Verdict != want {
			t.Errorf("fixed %t: a file that the session allows: %s", fixed, j.Verdict)
		}
		if named := strings.Join(j.Effects.Short(), "\n"); fixed != strings.Contains(named, "/etc/artoo/policy.toml line 2") {
			t.Errorf("named %q", named)
		}
	}
}

// Rules cost little for each entry of a build.
func BenchmarkJudgeWithRules(b *testing.B) {
	var changes []sandbox.Change
	for i := range 20_000 {
		changes = append(changes, judged("/p", fmt.Sprintf("dist/a%d/b%d/x%d.o", i%7, i%11, i), sandbox.Created, 0o644, 0))
	}
	p := &Policy{Root: "/p", Mode: ModeAuto}
	for _, text := range []string{"write(secret/**)", "write(*.lock)", "edit(a/b/c.go)"} {
		r, err := ParseRule(text)
		if err != nil {
			b.Fatal(err)
		}
		p.DenyRules = append(p.DenyRules, r)
	}
	for b.Loop() {
		if j := p.Judge(b.Context(), Decision{Builds: true}, slices.Clone(changes), Facts{}); len(j.Effects.Apply) != len(changes) {
			b.Fatal(j.Reason())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(changes)), "ns/entry")
}
