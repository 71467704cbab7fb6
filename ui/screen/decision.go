package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/agent"
)

func (q Approval) keys() [][2]string {
	no, page, quit := [2]string{"n", "no; n REASON tells the model why"}, [2]string{"p", "show all of it in the pager"},
		[2]string{"q", "no, and stop this turn"}
	switch q.Kind {
	case agent.QuestionChanges:
		rows := [][2]string{
			{"y", "yes, apply the changes"},
			{"n", "no, discard them; the model gets the output, and n REASON tells it why"},
			page, quit,
		}
		if q.Effects != nil && q.Effects.There {
			rows[0][1], rows[1][1] = "yes, keep the files", "no, move them away; the model gets the output, and n REASON tells it why"
		}
		return rows
	case agent.QuestionPlan:
		return [][2]string{
			{"y", "yes, carry it out: mode " + string(q.Then)},
			{"e", "yes, and edits inside the project run unasked: mode edits"},
			{"f", "yes, in a fresh context: your messages, the plan and the files read"},
			{"n", "no, plan mode stays on; n REASON tells the model what to change"},
			page, quit,
		}
	case agent.QuestionMemory:
		return [][2]string{{"y", "yes, later sessions in this project begin with it"}, no, quit}
	case agent.QuestionOutside:
		return [][2]string{{"y", "yes, run it again, with the network, your keys and your home"}, no, page, quit}
	case agent.QuestionWhole:
		return [][2]string{
			{"y", "yes, start it again; it may write all of the project except files that programs run automatically"},
			no, page, quit,
		}
	}
	wider := "a RULE: that rule instead"
	if q.Suggested != "" && q.Suggested != q.Rule {
		wider = "a " + q.Suggested + ": that rule instead"
	}
	lasting := [][2]string{
		{"a", "always in this session: " + q.Rule},
		{"", wider},
		{"A", "always, for this project: saved in your config file"},
	}
	if outside(q) {
		always := "always in this session, until a file that it obeys changes: "
		lasting = [][2]string{{"a", always + q.Rule}, lasting[2]}
	}
	if q.OwnPrograms() {
		lasting = [][2]string{
			{"a", "yes, and the project's own programs run without a question in this session"},
			{"A", "trust this project to run its own programs: in the sandbox, without a question, in later " +
				"versions too; artoo trust rm --run undoes this"},
		}
	}
	if q.Rule == "" && !q.OwnPrograms() { // no rule would cover it
		lasting = nil
	}
	return slices.Concat([][2]string{{"y", "yes, this once"}, no}, lasting, [][2]string{{"e", "edit it first"}, page, quit})
}

// Decided prints the answer to a question and the rule that now holds, except for a change that
// was allowed once: its result line says so. After Confirm the caller calls Decided, with
// the zero Answer when no answer came.
func (s *Screen) Decided(q agent.Question, a agent.Answer) {
	s.do(func(t *transcript) {
		t.endAsking()
		// The outcome shows what the user decided.
		shown := a.By == "" && s.layout.rich()
		r := cmp.Or(t.work.running(q.Call.ID), &running{})
		r.since = s.opt.Now() // it begins now, not when the model asked for it
		r.said = r.since
		rule := line(cmp.Or(a.Rule, q.Rule))
		switch q.Kind {
		case agent.QuestionPlan:
			r.decision = final
			t.decide(planDecided(q, a), markOf(a))
			return
		case agent.QuestionMemory:
			r.decision = final
			t.decide(memoryDecided(a), markOf(a))
			return
		}
		if q.Kind == agent.QuestionChanges {
			r.effects, r.lost = q.Effects, a.Verdict != agent.Yes
			if !shown {
				t.decide(keptOrNot(q, a)+by(a), markOf(a))
			}
			return
		}
		text, own := "", q.OwnPrograms() && a.Rule == ""
		switch {
		case own && a.Verdict == agent.YesForSession:
			text = "the project's own programs run without a question in this session"
		case own && a.Verdict == agent.YesForever:
			text = "trust this project to run its own programs" + s.layout.remark("artoo trust rm --run undoes this")
		case a.Verdict == agent.Yes:
			if a.By == "" && q.Call.Access.Diff != "" && t.work.running(q.Call.ID) != nil {
				r.decision = applied
				return
			}
			if shown {
				return
			}
			text = "allowed once"
		case a.Verdict == agent.YesForSession:
			text = fmt.Sprintf("allowed in this session: %s%s", rule, s.layout.remark("/permissions to change"))
		case a.Verdict == agent.YesForever:
			text = fmt.Sprintf("allowed in this project: %s%s", rule, s.layout.remark("config.toml to change"))
		case a.Verdict == agent.StopTurn:
			r.decision = denied
			text = "denied; turn stopped"
		default:
			r.decision = denied
			text = prefixed("denied", line(a.Reason))
		}
		if len(a.Input) > 0 && r.decision != denied {
			text += ", as edited"
		}
		t.decide(text+by(a), markOf(a))
	})
}

// by names the hook that answered; "" for the user.
func by(a agent.Answer) string {
	if a.By == "" {
		return ""
	}
	return ", by the hook " + line(a.By)
}

// keptOrNot is the decision about a layer's changes. The call's result says that they were
// applied.
func keptOrNot(q agent.Question, a agent.Answer) string {
	no := either(q.Effects != nil && q.Effects.There, "no", "no, changes discarded")
	switch a.Verdict {
	case agent.Yes:
		return "yes"
	case agent.StopTurn:
		return no + "; turn stopped"
	}
	if a.Reason != "" {
		return no + ": " + line(a.Reason)
	}
	return no
}

// decidedLine is a decision in the transcript. It begins as its question does, so that nothing
// else can look like it.
func (lay *layout) decidedLine(text string, m mark) string {
	if lay.rich() {
		return lay.below(m, text)
	}
	rows := lay.wrap(lay.words(text, strings.TrimRight(text, ".")+"."), approve, lay.before(""))
	return string(ours) + lay.ink(bold).Sprint(approve) + lay.painted(rows[len(approve):], m.text())
}

// decide prints a decision, which belongs to the question above.
func (t *transcript) decide(text string, m mark) {
	last := t.lastRun
	t.must(t.layout.decidedLine(text, m))
	if t.layout.rich() {
		t.last, t.lastRun = block, last
	}
}

// markOf is the mark of a decision.
func markOf(a agent.Answer) mark {
	no := slices.Contains([]agent.Verdict{agent.No, agent.StopTurn, agent.Cancel}, a.Verdict)
	return either(no, markFailed, markDone)
}

// remark sets a hint apart from a rule, whose end must be clear.
func (lay *layout) remark(hint string) string {
	return lay.words("   ("+hint+")", "; "+hint)
}

// Waited is how long questions have stood open since the screen was made.
func (s *Screen) Waited() time.Duration {
	return read(s, func(t *transcript) time.Duration { return t.waited })
}

func (t *transcript) endAsking() {
	if !t.asking {
		return
	}
	t.asking = false
	waited := t.opt.Now().Sub(t.askedAt)
	t.waited += waited
	t.work.waited(waited)
}
