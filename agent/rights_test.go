package agent_test

import (
	"fmt"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/shell"
)

// What a session's rights say, of which the prompt is made, is what happens.
func TestTheRightsAreWhatHappens(t *testing.T) {
	layers := permission.Confinement{Sandbox: true, Layer: true, Auto: true}
	for _, mode := range []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModeAuto, permission.ModePlan} {
		for _, can := range []permission.Confinement{layers, {Sandbox: true, Auto: true}, {Sandbox: true}, {}} {
			for n := range 5 {
				trusted, headless, readingDenied := n&1 != 0, n&2 != 0, n&4 != 0
				t.Run(fmt.Sprintf("%s, %+v, trusted %t, headless %t, reading denied %t", mode, can, trusted, headless, readingDenied),
					func(t *testing.T) {
						s := situation{mode: mode, can: can, trusted: trusted, headless: headless, readingDenied: readingDenied}
						s.compare(t)
					})
			}
		}
	}
}

// situation is what rights follow from.
type situation struct {
	mode                             permission.Mode
	can                              permission.Confinement
	trusted, headless, readingDenied bool
}

func (s situation) compare(t *testing.T) {
	policy := &permission.Policy{Mode: s.mode, Confinement: s.can, TrustsPrograms: s.trusted}
	if s.readingDenied {
		policy.DenyRules = rules(t, "bash("+permission.ReadGroup+")")
	}
	r := policy.Rights(s.headless)
	after := func(class permission.Class) permission.Fate {
		switch {
		case r.Commands != permission.Unasked || !s.can.Layer || class <= r.Lands:
			return r.Commands
		}
		return r.Beyond
	}
	for _, act := range []struct {
		tool, input string
		changes     string // what a line changes on a layer; "" for nothing
		want        permission.Fate
	}{
		{"bash", `{"command":"cat a.txt"}`, "", r.Reading},
		{"bash", `{"command":"uniq a.txt"}`, "", r.Commands},
		{"bash", `{"command":"uniq a.txt"}`, "a.txt", after(permission.Content)},
		{"bash", `{"command":"uniq a.txt"}`, ".envrc", after(permission.Guarded)},
		{"bash", `{"command":"sh build.sh"}`, "", r.Own},
		{"bash", `{"command":"npm ci"}`, "", r.Outside},
		{"bash", `{"command":"uniq a.txt","background":true}`, "", r.Background},
		{"write", `{"path":"b.txt","content":"x"}`, "", r.Edits},
		{"write", `{"path":"lefthook.yml","content":"x"}`, "", r.Guarded},
	} {
		if got := s.play(t, act.tool, act.input, act.changes); got != act.want {
			t.Errorf("%s %s, changing %q, is %s; the rights say %s", act.tool, act.input, act.changes, got, act.want)
		}
	}
}

// play is what becomes of one call.
func (s situation) play(t *testing.T, name, input, changes string) permission.Fate {
	t.Helper()
	c := &confinement{trusted: s.trusted}
	if changes != "" {
		c.list = changed(changes)
	}
	a := c.scripted(t, s.mode, fake.Calls(fake.ToolCall("c1", name, input)), fake.Say("ok"))
	all := tool.BuiltIn(tool.BashOptions{Path: shell.Find(), Confined: true, Ask: true})
	a.Opt().Tools = tool.Pick(all, []string{"bash", "shell", "write"})
	a.Policy().Confinement = s.can
	if !s.can.Sandbox {
		a.Confine(nil)
	}
	if s.readingDenied {
		a.Policy().DenyRules = rules(t, "bash("+permission.ReadGroup+")")
	}
	cb := &recorder{}
	if !s.headless {
		cb.answers = make([]agent.Answer, 5) // each is no
	}
	response, err := send(t, a, cb, "go")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(cb.asked) > 0 && !s.headless:
		return permission.Asked
	case len(response.Denied) == 0:
		return permission.Unasked
	case response.Denied[0].Changes != nil:
		return permission.Discarded
	}
	return permission.Refused
}
