package screen

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"artoo/agent"
)

// QuestionHelp prints what the letters of a question mean, with the rules that
// `a` and `A` would make.
func (s *Screen) QuestionHelp(q agent.Question) {
	s.do(func() {
		wider := "a RULE makes that rule instead"
		if q.Suggested != "" && q.Suggested != q.Rule {
			wider = "a " + q.Suggested + " makes that rule instead"
		}
		rows := [][2]string{
			{"y", "yes, this once"},
			{"n", "no; n REASON tells the model why"},
			{"a", "always in this session: " + cmp.Or(q.Rule, "just this call")},
			{"", wider},
			{"A", "the same for good, for this project: kept in your config file"},
			{"e", "edit it first"},
			{"p", "show all of it in the pager"},
			{"q", "no, and stop this turn"},
			{"?", "this text; Enter alone means no"},
		}
		switch q.Kind {
		case agent.QuestionChanges:
			rows = [][2]string{
				{"y", "yes, apply the changes"},
				{"n", "no, throw them away; the model gets the output, and n REASON tells it why"},
				{"n!", "no, and the model does not get the output either"},
				{"a", "yes, and always in this session for this line, as long as it touches the same and no more"},
				{"p", "show all of it in the pager"},
				{"q", "no, and stop this turn"},
				{"?", "this text; Enter alone means no"},
			}
		case agent.QuestionPlan:
			rows = [][2]string{
				{"y", "yes, carry it out: mode " + string(q.Then)},
				{"e", "yes, and edits inside the project run unasked: mode edits"},
				{"n", "no, plan mode stays on; n REASON tells the model what to change"},
				{"p", "show all of it in the pager"},
				{"q", "no, and stop this turn"},
				{"?", "this text; Enter alone means no"},
			}
		case agent.QuestionOutside:
			rows = [][2]string{
				{"y", "yes, run it once more with network, keys and home"},
				{"n", "no; n REASON tells the model why"},
				{"p", "show all of it in the pager"},
				{"q", "no, and stop this turn"},
				{"?", "this text; Enter alone means no"},
			}
		}
		if s.opt.Profile == Spoken {
			s.must(s.spokenKeys(rows))
			return
		}
		var b strings.Builder
		for _, r := range rows {
			b.WriteString(s.wrap(line(r[1]), fmt.Sprintf("  %-3s ", r[0]), "      "))
		}
		s.must(b.String())
	})
}

// Decided prints the answer to a question and the rule that now holds; the
// transient line may come back. A change that was allowed once is told by its
// result line instead. Whoever called Question calls Decided, with the zero
// Answer when none came.
func (s *Screen) Decided(q agent.Question, a agent.Answer) {
	s.do(func() {
		s.endAsking()
		r := s.running(q.Call.ID)
		if r == nil {
			r = &running{}
		}
		r.since = s.opt.Now() // it begins now, not when the model asked for it
		r.said = r.since
		rule := line(cmp.Or(a.Rule, q.Rule))
		if q.Kind == agent.QuestionPlan {
			r.decision = told
			s.must(s.decidedLine(planDecided(q, a)))
			return
		}
		if q.Kind == agent.QuestionChanges {
			s.must(s.decidedLine(keptOrNot(a)))
			return
		}
		text := ""
		switch a.Verdict {
		case agent.Yes:
			if q.Call.Access.Diff != "" && s.running(q.Call.ID) != nil {
				r.decision = applied
				return
			}
			text = "allowed once"
		case agent.YesForSession:
			text = fmt.Sprintf("allowed in this session: %s%s", rule, s.remark("/permissions to change"))
		case agent.YesForever:
			text = fmt.Sprintf("allowed in this project: %s%s", rule, s.remark("config.toml to change"))
		case agent.StopTurn:
			r.decision = denied
			text = "denied, and the turn stops"
		default:
			r.decision = denied
			text = "denied"
			if a.Reason != "" {
				text += ": " + line(a.Reason)
			}
		}
		if len(a.Input) > 0 && r.decision != denied {
			text += ", as edited"
		}
		s.must(s.decidedLine(text))
	})
}

// keptOrNot tells what became of a layer's changes.
func keptOrNot(a agent.Answer) string {
	switch a.Verdict {
	case agent.Yes:
		return "changes applied"
	case agent.YesForSession, agent.YesForever:
		return "changes applied, and from now on in this session for this line as long as it does the same"
	case agent.StopTurn:
		return "changes discarded, and the turn stops"
	case agent.Withhold:
		return "changes discarded, output withheld"
	}
	if a.Reason != "" {
		return "changes discarded: " + line(a.Reason)
	}
	return "changes discarded"
}

// decidedLine is a decision in the transcript. It begins as its question does,
// so that nothing else can look like it.
func (s *Screen) decidedLine(text string) string {
	if s.opt.Profile == Spoken {
		text = strings.TrimRight(text, ".") + "."
	}
	rows := s.wrap(text, approve, s.hanging())
	return string(ours) + s.styles.prompt.Sprint(approve) + rows[len(approve):]
}

// remark sets a hint apart from a rule, whose end must be clear.
func (s *Screen) remark(hint string) string {
	if s.opt.Profile == Spoken {
		return "; " + hint
	}
	return "   (" + hint + ")"
}

// appliedLine is the result line of a change that was allowed once.
func (s *Screen) appliedLine(c agent.Call) string {
	if s.opt.Profile == Spoken {
		return s.decidedLine("applied once")
	}
	return s.decidedLine("applied once  " + s.object(c))
}

func (s *Screen) running(id string) *running {
	for _, r := range s.calls {
		if r.call.ID == id {
			return r
		}
	}
	return nil
}

func (s *Screen) startAsking() {
	if !s.asking {
		s.asking, s.askedAt = true, s.opt.Now()
	}
}

// Waited is how long questions have stood open since the screen was made.
func (s *Screen) Waited() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waited
}

// endAsking lets the clocks of what is running go on where they stood.
func (s *Screen) endAsking() {
	if !s.asking {
		return
	}
	s.asking = false
	waited := s.opt.Now().Sub(s.askedAt)
	s.waited += waited
	for _, r := range s.calls {
		r.since, r.said = r.since.Add(waited), r.said.Add(waited)
	}
}
