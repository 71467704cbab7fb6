package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

const summaryText = "## Goal\nmend the shop\n## Decisions\nnone\n## Files\nweek.go\n## State\nit fails\n## Next\nmend it"

// isSummaryRequest reports whether a request asks for a summary.
func isSummaryRequest(r provider.Request) bool {
	return strings.Contains(r.Messages[len(r.Messages)-1].Text(), "sum up the conversation so far")
}

// compacting is an agent with a budget, whose model calls until the budget is reached,
// answers the message end, and sums up with the steps in turn.
type compacting struct {
	*agent.Agent
	model  *fake.Provider
	asked  []provider.Request // requests for a summary
	result string             // the result of each call
}

func newCompacting(t *testing.T, budget int, mode agent.Compaction, summaries ...fake.Step) *compacting {
	t.Helper()
	c := &compacting{result: strings.Repeat("a line of what was found\n", 100)}
	calls := 0
	c.model = &fake.Provider{Then: func(r provider.Request) fake.Step {
		if isSummaryRequest(r) {
			c.asked = append(c.asked, r)
			if len(summaries) == 0 {
				return fake.Step{Err: errors.New("no summary is scripted")}
			}
			step := summaries[0]
			summaries = summaries[1:]
			return step
		}
		if last := r.Messages[len(r.Messages)-1]; last.Role == provider.RoleUser && strings.HasPrefix(last.Text(), "end") {
			return fake.Say("the end")
		}
		if calls++; calls > 60 {
			return fake.Say("too many calls")
		}
		if n := len(c.asked); n > 0 && c.answered(r) {
			return fake.Say("done after it")
		}
		return fake.Call(fmt.Sprint("c", calls), "look", fmt.Sprintf(`{"arg":"%d"}`, calls))
	}}
	opt := testOptions(c.model, makeTool("look", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
		return tool.Result{Text: c.result}, nil
	}))
	opt.Compact, opt.MaxContextTokens, opt.Limits.MaxTurns = mode, budget, 100
	opt.Sessions = agent.Sessions{Store: conversation.Store{Dir: t.TempDir()}}
	opt.Env.Dir = t.TempDir()
	a, err := agent.New(opt)
	must(t, err)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	c.Agent = a
	return c
}

// answered reports whether the summary, or the trim in its place, shows in a request.
func (c *compacting) answered(r provider.Request) bool {
	for _, m := range r.Messages {
		if strings.Contains(m.Text(), "left out to save room") {
			return true
		}
		for _, p := range m.Parts {
			if text, ok := p.(provider.Text); ok && text.Note == provider.NoteSummary {
				return true
			}
			if res, ok := p.(provider.ToolResult); ok && strings.Contains(res.Text, "left out to save room") {
				return true
			}
		}
	}
	return false
}

func (r *recorder) told(kind agent.NoticeKind) (texts []string) {
	for _, n := range r.notices {
		if n.Kind == kind {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

func summary() fake.Step {
	step := fake.Say("Here it is.\n\n" + summaryText)
	step.Usage = provider.Usage{Input: 4000, Output: 100}
	return step
}

func TestAFullBudgetIsSummedUp(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 8000, agent.CompactAuto, summary())
	cb := &recorder{}
	r, err := send(t, c.Agent, cb, "do it all")
	if err != nil || r.Text != "done after it" {
		t.Fatalf("%+v, %v", r, err)
	}
	told := cb.told(agent.NoticeCompacted)
	if len(told) != 1 || !strings.Contains(told[0], "the context was compacted from about") ||
		!strings.Contains(told[0], "(1 request, 4.1k tokens, $0.0050)") || len(cb.told(agent.NoticeTrimmed)) > 0 {
		t.Errorf("told %+v", cb.notices)
	}
	if lines := strings.Join(cb.lines, "\n"); strings.Contains(lines, "Goal") {
		t.Errorf("the summary was shown:\n%s", lines)
	}
	if len(c.asked) != 1 {
		t.Fatalf("%d requests for a summary", len(c.asked))
	}
	requests := c.model.Requests()
	at := slices.IndexFunc(requests, isSummaryRequest)
	before, ask, after := requests[at-1], requests[at], requests[at+1]
	// It begins as the request before it did: the provider has that in its cache.
	if ask.System != before.System || len(ask.Tools) != len(before.Tools) || !ask.NoCalls {
		t.Errorf("asked with %q, %d tools, calls allowed %v", ask.System, len(ask.Tools), !ask.NoCalls)
	}
	for i, m := range ask.Messages[:len(ask.Messages)-1] {
		if encodedMessage(t, m) != encodedMessage(t, before.Messages[i]) {
			t.Errorf("message %d is another", i)
		}
	}
	if m := after.Messages; m[0].Text() != "do it all" || !strings.HasSuffix(m[1].Text(), summaryText) ||
		strings.Contains(m[1].Text(), "Here it is") || len(m) != 2+3*2 {
		t.Errorf("after it is sent %+v", m)
	}
	// It counts for the run, the session and the response, and is no step.
	steps := len(requests) - 1
	if r.Steps != steps || len(r.Requests) != len(requests) || c.Cost().Requests != len(requests) {
		t.Errorf("%d steps, %d requests, %d in the session; %d were made", r.Steps, len(r.Requests), c.Cost().Requests,
			len(requests))
	}
}

func encodedMessage(t *testing.T, m provider.Message) string {
	t.Helper()
	raw, err := provider.Marshal(m)
	must(t, err)
	return string(raw)
}

func TestWithoutASummaryTheContextIsTrimmed(t *testing.T) {
	t.Parallel()
	cut := fake.Say(summaryText)
	cut.Stop = provider.StopMaxTokens
	refusal := fake.Say("no")
	refusal.Stop, refusal.Detail = provider.StopRefusal, "it is not to be told"
	for name, test := range map[string]struct {
		steps []fake.Step
		asked int
		why   string
	}{
		"empty":        {[]fake.Step{{}, {}}, 2, "the model sent no summary, twice"},
		"cut":          {[]fake.Step{cut, cut}, 2, "the summary was cut at its limit, twice"},
		"no headings":  {[]fake.Step{fake.Say("all is well"), fake.Say(summaryText[:60])}, 2, "no heading State, twice"},
		"refused":      {[]fake.Step{refusal}, 1, "it is not to be told"},
		"failure":      {[]fake.Step{fake.Fail(provider.KindAuth)}, 1, "scripted failure"},
		"calls a tool": {[]fake.Step{fake.Call("x", "look", `{}`), fake.Call("y", "look", `{}`)}, 2, "sent no summary, twice"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCompacting(t, 8000, agent.CompactAuto, test.steps...)
			cb := &recorder{}
			r, err := send(t, c.Agent, cb, "do it all")
			if err != nil || r.Text != "done after it" || len(c.asked) != test.asked {
				t.Fatalf("%+v, %v, asked %d times", r, err, len(c.asked))
			}
			warned := cb.told(agent.NoticeWarning)
			if len(warned) != 1 || !strings.Contains(warned[0], test.why) || !strings.Contains(warned[0], "trimming instead") ||
				len(cb.told(agent.NoticeTrimmed)) != 1 || len(cb.told(agent.NoticeCompacted)) > 0 {
				t.Errorf("told %+v", cb.notices)
			}
		})
	}
}

func TestASecondTryBringsTheSummary(t *testing.T) {
	t.Parallel()
	cut := fake.Say(summaryText[:30])
	cut.Stop = provider.StopMaxTokens
	c := newCompacting(t, 8000, agent.CompactAuto, cut, summary())
	cb := &recorder{}
	if r, err := send(t, c.Agent, cb, "do it all"); err != nil || r.Text != "done after it" {
		t.Fatalf("%+v, %v", r, err)
	}
	if told := cb.told(agent.NoticeCompacted); len(told) != 1 || !strings.Contains(told[0], "(2 requests, ") {
		t.Errorf("told %+v", cb.notices)
	}
	if last := c.asked[1].Messages; !strings.Contains(last[len(last)-1].Text(), "in half as many words") {
		t.Errorf("asked again with %q", last[len(last)-1].Text())
	}
}

// A history that does not fit is trimmed without a request, however often; the next full context that fits is summed
// up.
func TestWhatDoesNotFitIsTrimmedUnasked(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 50_000, agent.CompactAuto, summary())
	large, small := *c.Asked(), *c.Asked()
	small.Info.Context = 5000
	cb := &recorder{}
	for range 4 {
		c.SwitchModel(large)
		grow(t, c, 12)
		c.SwitchModel(small)
		mustSend(t, c.Agent, cb, "end")
	}
	if told := cb.told(agent.NoticeWarning); len(c.asked) != 0 || len(cb.told(agent.NoticeTrimmed)) != 4 || len(told) != 4 ||
		!strings.Contains(told[0], "does not fit") || strings.Contains(fmt.Sprint(cb.told(agent.NoticeInfo)), "asking the model to summarise") {
		t.Fatalf("asked %d times, told %+v", len(c.asked), cb.notices)
	}
	small.Info.Context = 8000
	c.SwitchModel(small)
	if mustSend(t, c.Agent, cb, "do it all"); len(cb.told(agent.NoticeCompacted)) != 1 || c.CompactMode() != agent.CompactAuto {
		t.Errorf("%q, told %+v", c.CompactMode(), cb.notices)
	}
}

// TestAModelThatCannotSumUpIsNotAskedForEver: each request for a summary is paid for.
func TestAModelThatCannotSumUpIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	refusal := fake.Say("no")
	refusal.Stop = provider.StopRefusal
	c := newCompacting(t, 8000, agent.CompactAuto, refusal, refusal, refusal, summary())
	calls := 0
	then := c.model.Then
	c.model.Then = func(r provider.Request) fake.Step {
		if isSummaryRequest(r) {
			return then(r)
		}
		if calls++; calls > 40 {
			return fake.Say("the end")
		}
		return fake.Call(fmt.Sprint("c", calls), "look", fmt.Sprintf(`{"arg":"%d"}`, calls))
	}
	cb := &recorder{}
	if r, err := send(t, c.Agent, cb, "do it all"); err != nil || r.Text != "the end" {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(c.asked) != 3 || len(cb.told(agent.NoticeTrimmed)) < 4 || c.CompactMode() != agent.CompactTrim ||
		strings.Count(fmt.Sprint(cb.told(agent.NoticeInfo)), "3 summaries in a row failed") != 1 {
		t.Errorf("asked %d times, told %+v", len(c.asked), cb.notices)
	}
	cb = &recorder{}
	if _, err := c.Compact(t.Context(), "", cb); err != nil || len(cb.told(agent.NoticeCompacted)) != 1 || len(c.asked) != 4 {
		t.Errorf("%v, told %+v", err, cb.notices)
	}
	if _, err := c.Clear(); err != nil || c.CompactMode() != agent.CompactAuto {
		t.Errorf("%v; in a new session %q holds", err, c.CompactMode())
	}
}

// Summaries that fail count where they follow each other.
func TestASummaryThatSucceedsEndsARowOfFailures(t *testing.T) {
	t.Parallel()
	refusal := fake.Say("no")
	refusal.Stop = provider.StopRefusal
	c := newCompacting(t, 8000, agent.CompactAuto, refusal, refusal, summary(), refusal, refusal, summary())
	calls := 0
	then := c.model.Then
	c.model.Then = func(r provider.Request) fake.Step {
		if isSummaryRequest(r) {
			return then(r)
		}
		if calls++; len(c.asked) > 5 || calls > 90 {
			return fake.Say("the end")
		}
		return fake.Call(fmt.Sprint("c", calls), "look", fmt.Sprintf(`{"arg":"%d"}`, calls))
	}
	cb := &recorder{}
	if r, err := send(t, c.Agent, cb, "do it all"); err != nil || r.Text != "the end" {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(c.asked) != 6 || c.CompactMode() != agent.CompactAuto {
		t.Errorf("asked %d times, then %q, told %+v", len(c.asked), c.CompactMode(), cb.notices)
	}
}

func TestTheUserChoosesAtAFullBudget(t *testing.T) {
	t.Parallel()
	answer := func(text string) []agent.Answer { return []agent.Answer{{Verdict: agent.Yes, Text: text}} }
	choice := func(n int) []agent.Answer {
		return answer([]string{"summarise: the model summarises it now, which costs a request",
			"trim: the oldest is shortened and left out", "always: summarise, now and whenever it is full in this session",
			"never: trim, now and whenever it is full in this session"}[n])
	}
	for name, test := range map[string]struct {
		mode    agent.Compaction
		answers []agent.Answer
		asked   int // questions to the user
		summed  bool
		next    agent.Compaction // the setting of sub-agents and later turns
	}{
		"summarise":   {agent.CompactAsk, choice(0), 1, true, agent.CompactAsk},
		"trim":        {agent.CompactAsk, choice(1), 1, false, agent.CompactAsk},
		"always":      {agent.CompactAsk, choice(2), 1, true, agent.CompactAuto},
		"never":       {agent.CompactAsk, choice(3), 1, false, agent.CompactTrim},
		"Enter":       {agent.CompactAsk, answer(""), 1, false, agent.CompactAsk},
		"nobody":      {agent.CompactAsk, nil, 1, false, agent.CompactAsk},
		"trim is set": {agent.CompactTrim, nil, 0, false, agent.CompactTrim},
		"nothing set": {"", nil, 0, false, ""},
		"auto is set": {agent.CompactAuto, nil, 0, true, agent.CompactAuto},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCompacting(t, 8000, test.mode, summary())
			c.model.Then = untilFull(c)
			cb := &recorder{answers: test.answers}
			mustSend(t, c.Agent, cb, "do it all")
			if len(cb.asked) != test.asked || len(cb.asked) > 0 && (cb.asked[0].Kind != agent.QuestionCompact ||
				!strings.Contains(cb.asked[0].Text, "the context is full: about") || len(cb.asked[0].Choices) != 4) {
				t.Errorf("asked %+v", cb.asked)
			}
			if summed := len(cb.told(agent.NoticeCompacted)) == 1; summed != test.summed ||
				(len(cb.told(agent.NoticeTrimmed)) == 1) == test.summed {
				t.Errorf("told %+v", cb.notices)
			}
			if got := c.CompactMode(); got != test.next {
				t.Errorf("then %q holds", got)
			}
			if _, err := c.Clear(); err != nil || c.CompactMode() != test.mode {
				t.Errorf("%v; in a new session %q holds", err, c.CompactMode())
			}
		})
	}
}

// untilFull has the model call until its history was shortened in any way.
func untilFull(c *compacting) func(provider.Request) fake.Step {
	calls := 0
	return func(r provider.Request) fake.Step {
		if isSummaryRequest(r) {
			return summary()
		}
		if c.answered(r) {
			return fake.Say("done after it")
		}
		calls++
		return fake.Call(fmt.Sprint("c", calls), "look", fmt.Sprintf(`{"arg":"%d"}`, calls))
	}
}

func TestAnInterruptedSummaryChangesNothing(t *testing.T) {
	t.Parallel()
	gate := fake.NewGate()
	held := summary()
	held.Gate, held.GateAfter = gate, 2
	c := newCompacting(t, 50_000, agent.CompactAuto, held)
	grow(t, c, 6)
	before, file := history(c.Agent), c.Conversation().EstimatedTokens()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("Ctrl-C")
	go func() { <-gate.Reached(); cancel(stop) }()
	cb := &recorder{}
	if _, err := c.Compact(ctx, "", cb); !errors.Is(err, stop) {
		t.Fatalf("error %v", err)
	}
	if now := history(c.Agent); !slices.Equal(now, before) || c.Conversation().EstimatedTokens() != file {
		t.Errorf("%d messages were %d", len(now), len(before))
	}
	if len(cb.told(agent.NoticeCompacted))+len(cb.told(agent.NoticeWarning)) > 0 {
		t.Errorf("told %+v", cb.notices)
	}
	if text, err := c.Uncompact(); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
