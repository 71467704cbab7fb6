package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/extension"
)

// withFallbacks are options whose model has the first steps, and fallbacks b, c, … those that follow.
func withFallbacks(first *fake.Provider, others ...*fake.Provider) agent.Options {
	opt := testOptions(first, makeTool("look", tool.KindRead, nil), agent.OwnTools(nil)[0])
	for i, p := range others {
		m := opt.Model
		m.Provider, m.Defaults.Model = p, string(rune('b'+i))
		opt.Fallbacks = append(opt.Fallbacks, agent.Fallback{Name: m.Defaults.Model,
			Model: func(context.Context) (agent.Model, error) { return m, nil }})
	}
	return opt
}

func steps(all ...fake.Step) *fake.Provider { return &fake.Provider{Steps: all} }

func anAgent(t *testing.T, opt agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(opt)
	must(t, err)
	return a
}

// texts are the notices of these kinds.
func (r *recorder) texts(kinds ...agent.NoticeKind) (texts []string) {
	for _, n := range r.notices {
		if slices.Contains(kinds, n.Kind) {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

func TestAFallbackAnswersForTheRestOfTheTurn(t *testing.T) {
	t.Parallel()
	first := steps(fake.Fail(provider.KindOverloaded), fake.Say("first again"))
	second := steps(fake.Call("a", "look", `{}`), fake.Step{Text: []string{"half"}, Err: &provider.Error{Kind: provider.KindNetwork, Provider: "b"}})
	third := steps(fake.Step{Text: []string{"third"}, Usage: provider.Usage{Input: 100, Output: 10}})
	opt := withFallbacks(first, second, third)
	user := opt.Model // It has failed already.
	opt.Fallbacks = slices.Insert(opt.Fallbacks, 1, agent.Fallback{Name: "m", Model: func(context.Context) (agent.Model, error) { return user, nil }})
	b := opt.Fallbacks[2].Model
	opt.Fallbacks[2].Model = func(ctx context.Context) (agent.Model, error) {
		m, err := b(ctx)
		m.Info.Price = &provider.Price{Input: 1e6, Output: 1e6} // a dollar a token
		return m, err
	}
	a, cb := anAgent(t, opt), &recorder{}
	r := mustSend(t, a, cb, "go")
	if r.Text != "third" || r.Provider != fake.Name || r.Model != "c" || a.AnsweredBy() != "fake/c" {
		t.Errorf("%q by %s/%s, %s", r.Text, r.Provider, r.Model, a.AnsweredBy())
	}
	var by []string
	for _, q := range r.Requests {
		by = append(by, q.Model)
	}
	wantLines(t, by, "m", "b", "b", "c")
	if last := r.Requests[len(r.Requests)-1]; last.CostUSD == nil || *last.CostUSD != 110 {
		t.Errorf("the cost of the model that answered: %+v", last)
	}
	wantLines(t, cb.texts(agent.NoticeModel), "fake: scripted failure; fake/b answers for the rest of this turn",
		"b: network; fake/c answers for the rest of this turn")
	if n := cb.notices[len(cb.notices)-1]; n.Retry == nil || !n.Retry.Discard {
		t.Errorf("the text of the failed reply stays: %+v", n)
	}
	messages := a.Conversation().Messages()
	for _, m := range messages {
		if m.Role == provider.RoleAssistant && m.InsteadOf != "fake/m" {
			t.Errorf("%s does not say in whose place it answers: %q", m.Model, m.InsteadOf)
		}
	}
	if a.Model().Defaults.Model != "m" {
		t.Errorf("after the turn %s", a.Model())
	}
	r = mustSend(t, a, cb, "and now")
	if r.Text != "first again" || r.Model != "m" || a.AnsweredBy() != "m" {
		t.Errorf("the next turn: %q by %s, %s", r.Text, r.Model, a.AnsweredBy())
	}
	if messages = a.Conversation().Messages(); messages[len(messages)-1].InsteadOf != "" {
		t.Errorf("%+v", messages[len(messages)-1])
	}
}

func TestOnlyPassingFailuresFallBack(t *testing.T) {
	t.Parallel()
	for kind, switches := range map[provider.ErrorKind]bool{
		provider.KindOverloaded: true, provider.KindProvider: true, provider.KindNetwork: true, provider.KindTimeout: true,
		provider.KindRateLimit: false, provider.KindAuth: false, provider.KindBilling: false, provider.KindInvalid: false,
		provider.KindContext: false, provider.KindRefused: false, provider.KindConfig: false, provider.KindCap: false,
	} {
		second := &fake.Provider{Then: func(provider.Request) fake.Step { return fake.Say("second") }}
		first := &fake.Provider{Then: func(provider.Request) fake.Step { return fake.Fail(kind) }}
		r, err := send(t, anAgent(t, withFallbacks(first, second)), &recorder{}, "go")
		if (err == nil) != switches || (r.Text == "second") != switches || (len(second.Requests()) > 0) != switches {
			t.Errorf("%s: %q, %v", kind, r.Text, err)
		}
	}
	// A model that answers with nothing fails, too.
	r := mustSend(t, anAgent(t, withFallbacks(steps(fake.Step{}, fake.Step{}), steps(fake.Say("second")))), &recorder{}, "go")
	if r.Text != "second" {
		t.Error(r.Text)
	}
}

func TestTheLastFailureEndsTheTurn(t *testing.T) {
	t.Parallel()
	first := steps(fake.Step{Text: []string{"half"}, Err: &provider.Error{Kind: provider.KindNetwork, Provider: "first"}})
	a := anAgent(t, withFallbacks(first, steps(fake.Fail(provider.KindTimeout)), steps(fake.Fail(provider.KindBilling)), steps()))
	r, err := send(t, a, &recorder{}, "go")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindBilling || r.Text != "half" {
		t.Errorf("%v, %q", err, r.Text)
	}
	if a.Model().Defaults.Model != "m" {
		t.Errorf("after the turn %s", a.Model())
	}
}

// The text of a reply that broke off is kept under the name of the model that wrote it.
func TestHalfATextKeepsItsWriter(t *testing.T) {
	t.Parallel()
	half := fake.Step{Text: []string{"half"}, Err: &provider.Error{Kind: provider.KindNetwork, Provider: "first"}}
	for _, c := range []struct {
		first, second fake.Step
		by, insteadOf string
	}{{half, fake.Fail(provider.KindTimeout), "m", ""}, {fake.Fail(provider.KindTimeout), half, "b", "fake/m"}} {
		a := anAgent(t, withFallbacks(steps(c.first), steps(c.second)))
		if _, err := send(t, a, &recorder{}, "go"); err == nil {
			t.Error("it fails nowhere")
		}
		messages := a.Conversation().Messages()
		if last := messages[len(messages)-1]; last.Text() != "half" || last.Model != c.by || last.InsteadOf != c.insteadOf {
			t.Errorf("%q by %s in place of %q, want %s in place of %q", last.Text(), last.Model, last.InsteadOf, c.by, c.insteadOf)
		}
	}
}

// A fallback that takes no functions of MCP servers calls them by mcp_call; the others have their functions.
func TestFunctionsGiveWayForOneFallbackOnly(t *testing.T) {
	t.Parallel()
	refused := fake.Step{Events: []provider.Event{}, Err: &provider.Error{Kind: provider.KindInvalid, Provider: fake.Name}}
	busy := fake.Fail(provider.KindOverloaded)
	first, second, third := steps(busy, fake.Say("first")), steps(refused, busy), steps(fake.Say("third"))
	opt := withServer(t, first, extension.Server{Direct: []string{"echo"}})
	opt.Fallbacks = withFallbacks(first, second, third).Fallbacks
	a := anAgent(t, opt)
	mustSend(t, a, &recorder{}, "go")
	mustSend(t, a, &recorder{}, "again")
	var functions []string
	for _, p := range []*fake.Provider{first, second, third} {
		for _, r := range p.Requests() {
			with := slices.ContainsFunc(r.Tools, func(s provider.ToolSpec) bool { return s.Name == "mcp__s__echo" })
			functions = append(functions, fmt.Sprint(r.Model, " ", with))
		}
	}
	wantLines(t, functions, "m true", "m true", "b true", "b false", "c true")
}

// A model that a turn has given up is not asked by its sub-agents either, as a fallback or as their own.
func TestSubAgentsDoNotAskTheModelThatWasGivenUp(t *testing.T) {
	t.Parallel()
	first := steps(fake.Fail(provider.KindOverloaded), fake.Say("the next turn"))
	second := &fake.Provider{Then: func(r provider.Request) fake.Step {
		switch {
		case strings.Contains(r.System, "You are a sub-agent"):
			return fake.Fail(provider.KindOverloaded)
		case len(r.Messages) > 1:
			return fake.Say("done")
		}
		return fake.Call("t", "task", `{"prompt":"look","agent":"own"}`)
	}}
	third := &fake.Provider{Then: func(provider.Request) fake.Step { return fake.Say("report") }}
	opt := withFallbacks(first, second, third)
	user := opt.Model
	opt.Fallbacks = slices.Insert(opt.Fallbacks, 1, agent.Fallback{Name: "m", Model: func(context.Context) (agent.Model, error) { return user, nil }})
	opt.SubAgents = []agent.SubAgent{{Name: "own", Description: "x", Model: func() (agent.Model, error) { return user, nil }}}
	opt.Tools = append(opt.Tools[:1:1], agent.OwnTools(opt.SubAgents)...)
	a := anAgent(t, opt)
	if r := mustSend(t, a, &recorder{}, "go"); r.Text != "done" || len(first.Requests()) != 1 || len(third.Requests()) != 1 {
		t.Errorf("%q, %d requests to the model given up, %d to the last", r.Text, len(first.Requests()), len(third.Requests()))
	}
	if r := mustSend(t, a, &recorder{}, "again"); r.Text != "the next turn" {
		t.Error(r.Text)
	}
}

func TestFallbacksThatCannotAnswerAreSkipped(t *testing.T) {
	t.Parallel()
	opt := withFallbacks(steps(fake.Fail(provider.KindOverloaded)), steps(), steps(), steps(), steps(), steps(fake.Say("f")))
	change := func(i int, change func(*agent.Model) error) {
		was := opt.Fallbacks[i].Model
		opt.Fallbacks[i].Model = func(ctx context.Context) (agent.Model, error) {
			m, err := was(ctx)
			must(t, err)
			return m, change(&m)
		}
	}
	opt.Limits.MaxCost = 5
	model := func(i int, change func(*agent.Model)) {
		was := opt.Fallbacks[i].Model
		opt.Fallbacks[i].Model = func(ctx context.Context) (agent.Model, error) {
			m, err := was(ctx)
			change(&m)
			return m, err
		}
	}
	change(0, func(*agent.Model) error { return errors.New("no key") })
	model(1, func(m *agent.Model) { m.Info.Price = nil })
	model(2, func(m *agent.Model) { m.Info.Context = 1500 })
	model(3, func(m *agent.Model) { m.Defaults.Model = "m" }) // the one that failed
	model(4, func(m *agent.Model) {                           // Its server knows its window.
		m.Info.Context, m.Info.Guess = 100, true
		m.Describe = func(context.Context) (provider.ModelInfo, error) {
			return provider.ModelInfo{Context: 50000, MaxOutput: 1000, Price: &provider.Price{}}, nil
		}
	})
	a, cb := anAgent(t, opt), &recorder{}
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 50000}, nil))
	r := mustSend(t, a, cb, strings.Repeat("word ", 2000))
	if r.Text != "f" || r.Model != "f" {
		t.Errorf("%q by %s", r.Text, r.Model)
	}
	wantLines(t, cb.texts(agent.NoticeWarning), "fallback b is skipped: no key",
		"fallback c is skipped: its price is unknown, so its cost cannot be capped",
		"fallback d is skipped: its window is too small for the conversation")
	wantLines(t, cb.texts(agent.NoticeModel), "fake: scripted failure; fake/f answers for the rest of this turn")
	wantLines(t, cb.texts(agent.NoticeTrimmed))
}

func TestAModelThatRunsToolsOfItsOwnHasNoFallback(t *testing.T) {
	t.Parallel()
	second := steps()
	opt := withFallbacks(steps(fake.Fail(provider.KindOverloaded)), second)
	opt.Model.Wait = func() {}
	if _, err := send(t, anAgent(t, opt), &recorder{}, "go"); err == nil || len(second.Requests()) > 0 {
		t.Errorf("%v, %d requests", err, len(second.Requests()))
	}
}

// A sub-agent goes on with the fallbacks that are left, and the options of the turn stay.
func TestSubAgentsFallBack(t *testing.T) {
	t.Parallel()
	first := steps(fake.Fail(provider.KindOverloaded))
	second := &fake.Provider{Then: func(r provider.Request) fake.Step {
		if strings.Contains(r.System, "You are a sub-agent") {
			return fake.Fail(provider.KindOverloaded)
		}
		if len(r.Messages) > 1 {
			return fake.Say("done")
		}
		return fake.Call("t", "task", `{"prompt":"look"}`)
	}}
	third := steps(fake.Say("report"))
	a, cb := anAgent(t, withFallbacks(first, second, third)), &recorder{}
	r, err := a.Send(t.Context(), agent.Message{Text: "go", Options: provider.Options{MaxTokens: 77, Effort: provider.EffortHigh}}, cb)
	if err != nil || r.Text != "done" || r.Model != "b" {
		t.Fatalf("%q by %s, %v", r.Text, r.Model, err)
	}
	if q := third.Requests()[0]; q.MaxTokens != 77 || q.Effort != provider.EffortHigh || q.Model != "c" {
		t.Errorf("%+v", q.Options)
	}
	if q := second.Requests()[0]; q.MaxTokens != 77 || q.Effort != provider.EffortHigh {
		t.Errorf("%+v", q.Options)
	}
	wantLines(t, cb.texts(agent.NoticeModel), "fake: scripted failure; fake/b answers for the rest of this turn",
		"task 1: fake: scripted failure; fake/c answers for the rest of this turn")
}

func TestASummaryFallsBack(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 50_000, agent.CompactTrim, fake.Fail(provider.KindOverloaded))
	grow(t, c, 8)
	other := *c.Asked()
	other.Provider, other.Defaults.Model = steps(summary()), "b"
	c.Opt().Fallbacks = []agent.Fallback{{Name: "b", Model: func(context.Context) (agent.Model, error) { return other, nil }}}
	cb := &recorder{}
	if _, err := c.Compact(t.Context(), "", cb); err != nil || len(cb.texts(agent.NoticeCompacted)) != 1 || len(cb.texts(agent.NoticeModel)) != 1 {
		t.Errorf("%v, %+v", err, cb.notices)
	}
	if c.Model().Defaults.Model == "b" {
		t.Error("the fallback stays")
	}
}

func TestCallsOfAFallbackAreAsked(t *testing.T) {
	t.Parallel()
	opt := withFallbacks(steps(fake.Fail(provider.KindNetwork)), steps(fake.Call("a", "run", `{"arg":"x"}`), fake.Say("done")))
	opt.Tools = append(opt.Tools, makeTool("run", tool.KindRun, nil))
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.No}}}
	if r := mustSend(t, anAgent(t, opt), cb, "go"); r.Text != "done" || len(cb.asked) != 1 || len(r.Denied) != 1 {
		t.Errorf("%q, %d questions, denied %+v", r.Text, len(cb.asked), r.Denied)
	}
}
