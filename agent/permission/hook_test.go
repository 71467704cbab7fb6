package permission

import "testing"

// The opinion of hooks ranks between deny and ask rules above, and allow rules and the mode below.
func TestTheWeightOfWhatHooksSay(t *testing.T) {
	t.Parallel()
	asks := func(code Code) Decision { return Decision{}.because(Ask, Reason{Code: code}) }
	runs := func(code Code) Decision { return Decision{}.because(Run, Reason{Code: code}) }
	for _, test := range []struct {
		name  string
		d     Decision
		says  Verdict
		mode  Mode
		want  Verdict
		cause Code
	}{
		{"a deny rule and an allow", Decision{}.because(Refuse, Reason{Code: RuleDenies}), Run, ModeAsk, Refuse,
			RuleDenies},
		{"a deny rule and a deny", Decision{}.because(Refuse, Reason{Code: RuleDenies}), Refuse, ModeAsk, Refuse,
			RuleDenies},
		{"an allow rule and a deny", runs(RuleAllows), Refuse, ModeAuto, Refuse, HookDenies},
		{"the session's rule and a deny", runs(SessionAllows), Refuse, ModeAsk, Refuse, HookDenies},
		{"the session's rule and an ask", runs(SessionAllows), Ask, ModeAsk, Run, SessionAllows},
		{"an ask rule and an allow", asks(RuleAsks), Run, ModeAsk, Ask, RuleAsks},
		{"a rule that may deny and an allow", asks(RuleMayDeny), Run, ModeAsk, Ask, RuleMayDeny},
		{"files that others run and an allow", asks(AlwaysAsked), Run, ModeAuto, Ask, AlwaysAsked},
		{"a line outside the sandbox and an allow", asks(Outside), Run, ModeAuto, Ask, Outside},
		{"a secret and an allow", asks(MovesSecret), Run, ModeAuto, Ask, MovesSecret},
		{"an allow rule and an ask", runs(RuleAllows), Ask, ModeAuto, Ask, HookAsks},
		{"reading and an ask", runs(ReadsOnly), Ask, ModeAsk, Ask, HookAsks},
		{"the mode and an allow", asks(OtherHost), Run, ModeAsk, Run, HookAllows},
		{"a changed definition and an allow", asks(ToolChanged), Run, ModeAuto, Ask, ToolChanged},
		{"plan and an allow", Decision{}.because(Refuse, Reason{Code: PlanMode}), Run, ModePlan, Refuse, PlanMode},
		{"a layer in plan and an allow", runs(OnLayer), Run, ModePlan, Run, OnLayer},
		{"no opinion", asks(OtherHost), "", ModeAsk, Ask, OtherHost},
	} {
		got := test.d.Heeding(Opinion{Verdict: test.says, Object: "guard"}, test.mode)
		if got.Verdict != test.want || got.Cause() != test.cause {
			t.Errorf("%s: %s because of %s", test.name, got.Verdict, got.Cause())
		}
		if test.mode == ModePlan && got.Covers > test.d.Covers {
			t.Errorf("%s: changes land in plan mode", test.name)
		}
	}
	kept := asks(AlwaysAsked)
	kept.Keep = []string{"/x"}
	if d := kept.Heeding(Opinion{Verdict: Ask}, ModeAsk); d.Keep != nil {
		t.Error("a hook's ask is passed over because the journal holds the files")
	}
	if d := asks(OwnPrograms).Heeding(Opinion{Verdict: Run}, ModeAuto); d.Covers > Content {
		t.Error("a hook's allow covers more than content")
	}
}
