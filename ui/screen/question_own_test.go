package screen

import (
	"testing"

	"artoo/agent"
	"artoo/tool"
)

const thePlan = "# A clock for the cart\n\n1. `Cart` gets a **clock**: `New(now func() time.Time)`, in internal/cart/cart.go\n" +
	"2. the three callers pass `time.Now`\n\n| check | how |\n|---|---|\n| unit | `go test ./internal/cart` |\n\n" +
	"```go\nc := cart.New(time.Now)\n```\n\nNothing else \x1b[2Jchanges.\n"

// ownQuestions plays a plan that is refused, two that are approved, two questions of the model's
// own, and two lines for memory.
func (r *rig) ownQuestions() {
	own := func(id, verb, object string) agent.Call {
		c := call(id, verb, object)
		c.Access.Kind = tool.KindNone
		return c
	}
	plan := agent.Question{Kind: agent.QuestionPlan, Call: own("1", "plan", "for approval"), Plan: thePlan, Then: "ask"}
	r.OnToolCall(plan.Call)
	r.typed(r.Question(plan), "?")
	r.QuestionHelp(plan)
	r.typed(r.Question(plan), "n the callers first")
	r.Decided(plan, agent.Answer{Reason: "the callers first"})
	r.OnToolResult(plan.Call, ok("not approved: the callers first"))
	plan.Call, plan.Plan = own("2", "plan", "for approval"), "Callers first, then the cart."
	r.OnToolCall(plan.Call)
	r.typed(r.Question(plan), "e")
	r.Decided(plan, agent.Answer{Verdict: agent.YesForSession})
	r.OnToolResult(plan.Call, ok("approved, mode edits"))
	plan.Call = own("7", "plan", "for approval")
	r.OnToolCall(plan.Call)
	r.typed(r.Question(plan), "f")
	r.Decided(plan, agent.Answer{Verdict: agent.YesFresh})
	r.OnToolResult(plan.Call, ok("approved, mode ask"))
	choice := agent.Question{Kind: agent.QuestionChoice, Call: own("3", "ask", "Where do the prices go?"),
		Text: "Where do the prices go? Both can be tried, \x1b[31mbut only one stays.",
		Choices: []string{"SQLite: one file beside the program, nothing to install, no server that could be down",
			"Postgres\nas the orders have it"}}
	r.OnToolCall(choice.Call)
	r.typed(r.Choice(choice), "2")
	r.OnToolResult(choice.Call, ok("Postgres"))
	choice.Call, choice.Text, choice.Choices = own("4", "ask", "And the table's name?"), "And the table's name?", nil
	r.OnToolCall(choice.Call)
	r.typed(r.Choice(choice), "prices")
	r.OnToolResult(choice.Call, ok("prices"))
	memory := agent.Question{Kind: agent.QuestionMemory, Call: own("5", "remember", "the tests need \x1b[31m-race")}
	r.OnToolCall(memory.Call)
	r.typed(r.Question(memory), "?")
	r.QuestionHelp(memory)
	r.typed(r.Question(memory), "y")
	r.Decided(memory, agent.Answer{Verdict: agent.Yes})
	r.OnToolResult(memory.Call, ok("added"))
	memory.Call, memory.Number, memory.Of = own("6", "remember", "commits are signed"), 2, 2
	r.OnToolCall(memory.Call)
	r.typed(r.Question(memory), "n not here")
	r.Decided(memory, agent.Answer{Reason: "not here"})
	r.OnToolResult(memory.Call, ok("not added: not here"))
	full := agent.Question{Kind: agent.QuestionCompact,
		Text: "the context is full: about 181,234 of 180,000 tokens. What should happen to the old part?",
		Choices: []string{"summarise: the model summarises it now, which costs a request",
			"trim: the oldest is shortened and left out", "always: summarise, now and whenever it is full in this session",
			"never: trim, now and whenever it is full in this session"}}
	r.typed(r.Choice(full), "1")
	r.OnNotice(agent.Notice{Kind: agent.NoticeCompacted, Text: "the context was compacted from about 181,234 to 21,020 tokens: " +
		"a summary replaces 212 messages (1 request, 172,345 tokens, $0.0612); /uncompact takes it back"})
}

func TestPlansAndChoicesAreAskedInEveryProfile(t *testing.T) {
	t.Parallel()
	goldenOfProfiles(t, "own-questions.golden", (*rig).ownQuestions)
}
