package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

func TestCaps(t *testing.T) {
	t.Parallel()
	endless := func() *fake.Provider {
		n := 0
		return &fake.Provider{Then: func(provider.Request) fake.Step {
			n++
			st := fake.Call(fmt.Sprintf("c%d", n), "look", fmt.Sprintf(`{"arg":"%d"}`, n))
			st.Usage = provider.Usage{Input: 1000, Output: 1000}
			return st
		}}
	}
	look := makeTool("look", tool.KindRead, nil)
	cases := []struct {
		name   string
		limits agent.Limits
		price  *provider.Price
		kind   agent.Kind
		steps  int
	}{
		{"steps", agent.Limits{MaxTurns: 3}, nil, agent.KindCap, 3},
		{"tokens", agent.Limits{MaxTotalTokens: 7000}, nil, agent.KindCap, 3},
		{"money", agent.Limits{MaxCost: 0.045}, &provider.Price{Input: 10, Output: 10}, agent.KindCap, 2},
		{"money of long prompts", agent.Limits{MaxCost: 0.045}, &provider.Price{Input: 1, Output: 1, Tiers: []provider.Tier{
			{Above: 900, Price: provider.Price{Input: 10, Output: 10}}}}, agent.KindCap, 2},
		{"money of unknown price", agent.Limits{MaxCost: 1}, nil, agent.KindUsage, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := endless()
			a := newAgent(p, look)
			a.Opt().Limits, a.Asked().Info.Price = c.limits, c.price
			cb := &recorder{}
			r, err := send(t, a, cb, "go")
			f := agent.Classify(err)
			if f == nil || f.Kind != c.kind {
				t.Fatalf("error %v, want kind %q", err, c.kind)
			}
			if r.Steps != c.steps {
				t.Errorf("%d steps, want %d (%v)", r.Steps, c.steps, err)
			}
			if c.kind == agent.KindUsage && !strings.Contains(f.Hint, `[provider.fake.models."m"]`) {
				t.Errorf("hint %q does not name the key", f.Hint)
			}
			if c.name == "money" && (len(cb.notices) == 0 || cb.notices[0].Kind != agent.NoticeCap) {
				t.Errorf("no warning before the cap: %+v", cb.notices)
			}
		})
	}
}

// TestWhatIsReadFromACacheOfUnknownPriceCostsAsInput: the bill will count it so.
func TestWhatIsReadFromACacheOfUnknownPriceCostsAsInput(t *testing.T) {
	t.Parallel()
	n := 0
	p := &fake.Provider{Then: func(provider.Request) fake.Step {
		n++
		st := fake.Call(fmt.Sprintf("c%d", n), "look", fmt.Sprintf(`{"arg":"%d"}`, n))
		st.Usage = provider.Usage{CacheRead: 1000}
		return st
	}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	a.Opt().Limits, a.Asked().Info.Price = agent.Limits{MaxCost: 0.015}, &provider.Price{Input: 10} // a cent each
	r, err := send(t, a, &recorder{}, "go")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap {
		t.Fatalf("error %v", err)
	}
	if cost := *r.CostUSD; r.Steps != 1 || cost > 0.015 {
		t.Errorf("%d steps for $%.3f, where a second does not fit", r.Steps, cost)
	}
}

// A server that resets the connection after much of each reply, and reports
// nothing, does not get more than the cap.
func TestLostRepliesCountAgainstTheCaps(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]agent.Limits{"money": {MaxCost: 0.04}, "tokens": {MaxTotalTokens: 3600}} {
		synctest.Test(t, func(t *testing.T) {
			long := fake.Step{Text: []string{strings.Repeat("words ", 1000)},
				Err: &provider.Error{Kind: provider.KindNetwork, Provider: "fake",
					Usage: provider.Usage{Input: 100, Output: 1}}}
			p := &fake.Provider{Then: func(provider.Request) fake.Step { return long }}
			a := newAgent(&provider.Retrier{Provider: p})
			a.Opt().Limits, a.Asked().Info.Price = limits, &provider.Price{Input: 3, Output: 15}
			r, err := a.SendMessage(t.Context(), "go", &recorder{})
			if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap {
				t.Errorf("%s: error %v", name, err)
			}
			if n := len(p.Requests()); n != 2 {
				t.Errorf("%s: %d requests, want two of about $0.026 and 1,800 tokens each", name, n)
			}
			if !r.Usage.Estimated || r.Usage.Output < 3000 || r.CostUSD == nil || *r.CostUSD < 0.04 || r.Text == "" {
				t.Errorf("%s: %+v", name, r)
			}
			requests := p.Requests()
			if first, second := requests[0].MaxTokens, requests[1].MaxTokens; second > first ||
				name == "money" && second > 950 {
				t.Errorf("%s: the second try may answer with %d tokens, the first with %d", name, second, first)
			}
		})
	}
}

func TestMaxTimeStandsStillWhileTheUserIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := makeTool("bash", tool.KindRun, func(ctx context.Context, arg string, _ io.Writer) (tool.Result, error) {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
			return tool.Result{Text: "x"}, ctx.Err()
		})
		n := 0
		p := &fake.Provider{Then: func(provider.Request) fake.Step {
			n++
			return fake.Call(fmt.Sprintf("c%d", n), "bash", fmt.Sprintf(`{"arg":"make %d"}`, n))
		}}
		a := newAgent(p, slow)
		a.Opt().Limits.MaxTime = 10 * time.Second
		cb := &recorder{onAsk: func(agent.Question) { <-time.After(time.Hour) }} // fake time
		for range 20 {
			cb.answers = append(cb.answers, agent.Answer{Verdict: agent.Yes})
		}
		_, err := a.SendMessage(t.Context(), "go", cb)
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap {
			t.Fatalf("error %v", err)
		}
		if len(cb.asked) != 4 {
			t.Errorf("%d commands of 3 s began within 10 s, want 4", len(cb.asked))
		}
		a.Close()
	})
}

func TestAfterACapTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	n := 0
	p := &fake.Provider{Then: func(provider.Request) fake.Step {
		n++
		if n > 3 {
			return fake.Say("done")
		}
		return fake.Call(fmt.Sprint("c", n), "look", fmt.Sprintf(`{"arg":"%d"}`, n))
	}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	a.Opt().Limits.MaxTurns = 2
	_, err := send(t, a, &recorder{}, "go")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap || f.Hint == "" {
		t.Errorf("error %v", err)
	}
	usable(t, a)
	if r, err := send(t, a, &recorder{}, "go on"); err != nil || r.Text != "done" || r.Steps != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// At the cap the model says, without tools, how far it came; the user of a
// conversation may let it go on.
func TestTheLastStepSaysWhatIsDone(t *testing.T) {
	t.Parallel()
	model := func() *fake.Provider {
		n := 0
		return &fake.Provider{Then: func(req provider.Request) fake.Step {
			if n++; req.NoCalls {
				return fake.Say("half of it is done")
			}
			return fake.Call(fmt.Sprint("c", n), "look", fmt.Sprintf(`{"arg":"%d"}`, n))
		}}
	}
	p := model()
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	a.Opt().Limits.MaxTurns = 12
	cb := &recorder{}
	r, err := send(t, a, cb, "go")
	f := agent.Classify(err)
	if f == nil || f.Kind != agent.KindCap || !strings.Contains(f.Hint, "artoo -c") || r.Text != "half of it is done" ||
		r.Steps != 12 {
		t.Errorf("%+v, %v", r, err)
	}
	requests := p.Requests()
	if len(requests) != 13 {
		t.Fatalf("%d requests, want 12 steps and the last words", len(requests))
	}
	said := func(req provider.Request) string { return req.Messages[len(req.Messages)-1].Text() }
	if !strings.Contains(said(requests[7]), "5 more replies") || strings.Contains(said(requests[6]), "more replies") ||
		!strings.Contains(said(requests[12]), "steps of this turn are used up") {
		t.Errorf("the model hears %q, %q, %q", said(requests[6]), said(requests[7]), said(requests[12]))
	}
	if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionSteps ||
		!strings.Contains(cb.asked[0].Reason, "turn has used 12 steps") {
		t.Errorf("asked %+v", cb.asked)
	}
	reminders := 0
	for _, line := range history(a) {
		if strings.HasPrefix(line, "user [Not from the user") {
			reminders++
		}
	}
	if lines := history(a); reminders != 1 || lines[len(lines)-1] != "assistant half of it is done" {
		t.Errorf("%d reminders, the history ends with %q", reminders, lines[len(lines)-1])
	}
	usable(t, a)

	p = model()
	a = newAgent(p, makeTool("look", tool.KindRead, nil))
	a.Opt().Limits.MaxTurns = 3
	if r, err = send(t, a, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.No}}},
		"go"); r.Steps != 6 || agent.Classify(err).Kind != agent.KindCap {
		t.Errorf("granted once: %d steps, %v", r.Steps, err)
	}
}

// Waiting for a server is no senseless repeat, and a call that says something new
// each time is none either.
func TestPollingDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	n := 0
	for name, poll := range map[string]func(context.Context, string, io.Writer) (tool.Result, error){
		"with a sleep": func(context.Context, string, io.Writer) (tool.Result, error) {
			<-time.After(2 * time.Second)
			return tool.Result{Text: "connection refused", IsError: true}, nil
		},
		"with other words": func(context.Context, string, io.Writer) (tool.Result, error) {
			n++
			return tool.Result{Text: fmt.Sprintf("%d of 100", n), IsError: true}, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			steps := 0
			p := &fake.Provider{Then: func(provider.Request) fake.Step {
				if steps++; steps > 15 {
					return fake.Say("up")
				}
				return fake.Call(fmt.Sprint("c", steps), "poll", `{"arg":"curl"}`)
			}}
			a := newAgent(p, makeTool("poll", tool.KindNone, poll))
			if _, err := a.SendMessage(t.Context(), "go", &recorder{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if told := strings.Count(strings.Join(history(a), "\n"), "has now failed"); told > 1 {
				t.Errorf("%s: the model is told %d times", name, told)
			}
			if strings.Contains(strings.Join(history(a), "\n"), "will fail again") {
				t.Errorf("%s: untrue words", name)
			}
			a.Close()
		})
	}
}

// A call that succeeds in the same way again and again is noticed once.
func TestTheSameResultIsNoticedOnce(t *testing.T) {
	t.Parallel()
	steps := 0
	p := &fake.Provider{Then: func(provider.Request) fake.Step {
		if steps++; steps > 15 {
			return fake.Say("well")
		}
		return fake.Call(fmt.Sprint("c", steps), "look", `{"arg":"x"}`)
	}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	mustSend(t, a, &recorder{}, "go")
	if told := strings.Count(strings.Join(history(a), "\n"), "has now given the same result 5 times"); told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestThinkingComesOnTop(t *testing.T) {
	t.Parallel()
	for effort, want := range map[provider.Effort]int{"": 8000, provider.EffortOff: 8000, provider.EffortMedium: 16_000,
		provider.EffortHigh: 32_000, provider.EffortMax: 50_000} {
		p := &fake.Provider{Steps: []fake.Step{fake.Say("x")}}
		a := newAgent(p)
		a.Asked().Info = provider.ModelInfo{Context: 200_000, MaxOutput: 64_000, Reasoning: true}
		a.Asked().Defaults.MaxTokens, a.Asked().Defaults.Effort = 8000, effort
		mustSend(t, a, &recorder{}, "go")
		if r, _ := p.Last(); r.MaxTokens != want {
			t.Errorf("%q: the reply may have %d tokens, want %d", effort, r.MaxTokens, want)
		}
	}
}

func TestCapsBoundTheReply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		limits agent.Limits
		reply  int // the default
		most   int
	}{
		{"tokens", agent.Limits{MaxTotalTokens: 700}, 1000, 700},
		{"tokens, no limit of the reply", agent.Limits{MaxTotalTokens: 700}, 0, 700},
		{"money", agent.Limits{MaxCost: 0.008}, 1000, 800},
		{"both", agent.Limits{MaxCost: 0.008, MaxTotalTokens: 700}, 1000, 700},
		{"a short reply", agent.Limits{MaxTotalTokens: 300}, 200, 200},
		{"far away", agent.Limits{MaxCost: 5, MaxTotalTokens: 1e6}, 1000, 1000},
	} {
		p := &fake.Provider{Steps: []fake.Step{fake.Say("x")}}
		a := newAgent(p)
		a.Opt().Limits, a.Asked().Defaults.MaxTokens = c.limits, c.reply
		mustSend(t, a, &recorder{}, "go")
		if r, _ := p.Last(); r.MaxTokens > c.most || r.MaxTokens < c.most-60 {
			t.Errorf("%s: the reply may have %d tokens, want about %d", c.name, r.MaxTokens, c.most)
		}
	}
}

func TestMaxTimeOverSeveralTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := makeTool("slow", tool.KindNone, func(ctx context.Context, _ string, _ io.Writer) (tool.Result, error) {
			select {
			case <-time.After(4 * time.Second):
				return tool.Result{Text: "x"}, nil
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		})
		n := 0
		p := &fake.Provider{Then: func(provider.Request) fake.Step {
			if n++; n%2 == 0 {
				return fake.Say("ok")
			}
			return fake.Call(fmt.Sprint("c", n), "slow", `{}`)
		}}
		a := newAgent(p, slow)
		a.Opt().Limits.MaxTime = 10 * time.Second
		a.Spend(time.Second)
		for range 2 {
			if _, err := a.SendMessage(t.Context(), "go", &recorder{}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour) // between turns nothing counts
		}
		began := time.Now()
		cb := &recorder{}
		_, err := a.SendMessage(t.Context(), "go", cb)
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap {
			t.Fatalf("error %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the third turn took %s of the one second that was left", took)
		}
		pairs(t, cb.lines)
		usable(t, a)
		if _, err := a.SendMessage(t.Context(), "go", cb); agent.Classify(err).Kind != agent.KindCap {
			t.Errorf("after the end: %v", err)
		}
		a.Close()
	})
}

func TestTheSameFailingCall(t *testing.T) {
	t.Parallel()
	fails := makeTool("fails", tool.KindNone,
		func(context.Context, string, io.Writer) (tool.Result, error) { return tool.Result{}, errors.New("no") })
	p := &fake.Provider{Then: func(req provider.Request) fake.Step {
		return fake.Call(fmt.Sprintf("c%d", len(req.Messages)), "fails", `{"arg":"x"}`)
	}}
	a := newAgent(p, fails)
	_, err := send(t, a, &recorder{}, "go")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap {
		t.Fatalf("error %v", err)
	}
	if n := len(p.Requests()); n != 6 {
		t.Errorf("%d requests, want 6", n)
	}
	results := history(a)
	if strings.Contains(results[4], "failed 2 times") ||
		!strings.Contains(results[6], "has now failed 3 times with the same result") {
		t.Errorf("the third result does not say so: %q", results)
	}

	// Another call that changes something restarts the count.
	n := 0
	p = &fake.Provider{Then: func(req provider.Request) fake.Step {
		n++
		switch {
		case n > 20:
			return fake.Say("done")
		case n%2 == 0:
			return fake.Call(fmt.Sprintf("c%d", n), "change", `{"arg":"x"}`)
		}
		return fake.Call(fmt.Sprintf("c%d", n), "fails", `{"arg":"x"}`)
	}}
	a = newAgent(p, fails, makeTool("change", tool.KindWrite, nil))
	a.Opt().Limits.MaxTurns = 50
	a.Opt().Policy.Mode = permission.ModeEdits
	if _, err := send(t, a, &recorder{}, "go"); err != nil {
		t.Errorf("a test that fails between edits ended the turn: %v", err)
	}
}

// TestMaxTimeCountsTheQuestionsAboutTheModel: a server that never describes its model costs no more time than the run
// has.
func TestMaxTimeCountsTheQuestionsAboutTheModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &fake.Provider{}
		a := newAgent(p)
		a.Opt().Limits.MaxTime = 2 * time.Second
		a.Asked().Describe = func(ctx context.Context) (provider.ModelInfo, error) {
			<-ctx.Done()
			return provider.ModelInfo{}, ctx.Err()
		}
		began := time.Now()
		_, err := send(t, a, &recorder{}, "go")
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap || time.Since(began) != 2*time.Second ||
			len(p.Requests()) != 0 {
			t.Errorf("%v after %s and %d requests", err, time.Since(began), len(p.Requests()))
		}
	})
}
