package ui

import (
	"strings"

	"artoo/agent"
)

// step is what the asker does next with an answer.
type step uint8

const (
	stepAgain  step = iota // not understood: ask again
	stepDecide             // the answer is in reply.answer
	stepEdit
	stepPage
	stepHelp
)

// reply is an answer to an approval question, understood.
type reply struct {
	step   step
	answer agent.Answer
}

// parseAnswer understands what was typed at an approval question. Nothing but
// an explicit yes approves: an empty line is no, what is unknown asks again.
// Letters count as they are, since a and A differ; words in any case.
func parseAnswer(text string) reply {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if len(word) > 1 {
		word = strings.ToLower(word)
	}
	decide := func(v agent.Verdict) reply { return reply{stepDecide, agent.Answer{Verdict: v}} }
	switch word {
	case "":
		return decide(agent.No)
	case "n", "no":
		return reply{stepDecide, agent.Answer{Verdict: agent.No, Reason: rest}}
	case "a", "always":
		return reply{stepDecide, agent.Answer{Verdict: agent.YesForSession, Rule: rest}}
	case "A", "forever":
		return reply{stepDecide, agent.Answer{Verdict: agent.YesForever, Rule: rest}}
	}
	if rest != "" { // "yes but not now" is no yes
		return reply{}
	}
	switch word {
	case "y", "yes":
		return decide(agent.Yes)
	case "q", "quit":
		return decide(agent.StopTurn)
	case "e", "edit":
		return reply{step: stepEdit}
	case "p", "page":
		return reply{step: stepPage}
	case "?", "help":
		return reply{step: stepHelp}
	}
	return reply{}
}

// approves says whether the answer lets something run.
func (r reply) approves() bool {
	v := r.answer.Verdict
	return r.step == stepDecide && (v == agent.Yes || v == agent.YesForSession || v == agent.YesForever)
}

// answersThereAre is said to what is none of them.
const answersThereAre = "please answer y, n, a, A, e, p, q or ? (Enter means n)"

// refused says why an answer that would let something run does not: a part of
// it was pasted (burst), a part of what it allows was not shown yet (unseen), or
// its rule does not cover the call. It is "" for every other answer.
func (r reply) refused(q agent.Question, burst, unseen bool) string {
	switch {
	case !r.approves():
		return ""
	case burst:
		return "pasted text approves nothing: type the answer, then Enter"
	case unseen:
		return "not all of it was shown: p shows the rest; nothing is allowed before"
	case r.answer.Verdict == agent.Yes || q.Covers == nil:
		return ""
	}
	rule := r.answer.Rule
	if rule == "" {
		rule = q.Rule
	}
	if err := q.Covers(rule); err != nil {
		return "nothing is allowed by that: " + err.Error()
	}
	return ""
}
