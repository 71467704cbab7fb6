package permission

import (
	"errors"
	"strings"
	"testing"

	"artoo/tool"
)

// The user's answer to a question loosens no rule of the system's policy, and is answered with the
// place of that rule.
func TestSessionsDoNotLoosenThePolicy(t *testing.T) {
	t.Parallel()
	fixed := func(text, at string) Rule {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Origin, r.Fixed = "/etc/artoo/policy.toml line "+at, true
		return r
	}
	root := t.TempDir()
	line := func(text string) tool.Access {
		return tool.Access{Kind: tool.KindRun, Command: text, Dir: root, Object: text}
	}
	file := tool.Access{Kind: tool.KindWrite, Paths: []string{root + "/infra/main.tf"}}
	host := tool.Access{Kind: tool.KindNetwork, Host: "example.org"}
	for _, row := range []struct {
		name   string
		access tool.Access
		rule   string
		at     string
	}{
		{"bash", line("make deploy"), "bash(make deploy)", "2"},
		{"bash", line("make deploy"), "bash(make:*)", "2"},
		{"bash", line("make deploy"), "bash", "2"},
		{"bash", line("make deploy"), "bash!(make deploy)", "2"},
		{"bash", line("cd x && make deploy PROD=1"), "bash", "2"},
		{"bash", line("$RUN deploy"), "bash($RUN deploy)", "2"},
		{"bash", line("curl example.org"), "bash", "1"},
		{"write", file, "write(infra/main.tf)", "2"},
		{"edit", file, "write", "2"},
		{"web_fetch", host, "web_fetch", "2"},
		{"web_fetch", host, "web_fetch(example.org)", "2"},
	} {
		for _, mode := range []Mode{ModeAsk, ModeEdits, ModeAuto} {
			p := &Policy{Mode: mode, Root: root, TrustsPrograms: true,
				DenyRules: []Rule{fixed("bash(curl:*)", "1")},
				AskRules: []Rule{{Tool: "bash"}, fixed("bash(make deploy:*)", "2"), fixed("write(infra/**)", "2"),
					fixed("web_fetch", "2")}}
			if row.name != "bash" {
				p.AskRules = p.AskRules[1:]
			}
			err := p.AllowInSession(row.rule, row.name, row.access)
			if err == nil || !strings.Contains(err.Error(), "/etc/artoo/policy.toml line "+row.at) {
				t.Errorf("%s allowed %v in this session, mode %s: %v", row.rule, row.access, mode, err)
			}
			r, _ := ParseRule(row.rule)
			p.session = append(p.session, r) // as if an earlier call had been allowed with it
			for _, p := range []*Policy{p, p.ForSubAgent()} {
				if d := p.Decide(row.name, row.access); d.Verdict == Run || len(d.Reasons) == 0 ||
					d.Reasons[0].Policy == "" {
					t.Errorf("%s with %s, mode %s: %+v", row.access.Object, row.rule, mode, d)
				}
			}
		}
	}
}

// A mode that the policy forbids cannot be chosen; plan can.
func TestThePolicyBoundsTheMode(t *testing.T) {
	t.Parallel()
	p := &Policy{Root: t.TempDir(), Ceiling: Ceiling{Modes: []Mode{ModeAsk}, ModesAt: "/etc/artoo/policy.toml line 3"}}
	for mode, ok := range map[Mode]bool{ModeAsk: true, ModePlan: true, ModeEdits: false, ModeAuto: false} {
		p.Mode = mode
		err := p.CheckMode()
		if (err == nil) != ok {
			t.Errorf("%s: %v", mode, err)
		}
		if wrong, is := errors.AsType[*ModeError](err); !ok &&
			(!is || !strings.Contains(wrong.Error(), p.ModesAt) || !strings.Contains(wrong.ErrorHint(), "plan, ask")) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
