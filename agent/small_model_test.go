package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/changes"
)

// withSmall gives options the small model fake/s, which costs a dollar a token.
func withSmall(opt agent.Options, p *fake.Provider) agent.Options {
	m := opt.Model
	m.Provider, m.Defaults.Model, m.Info.Price = p, "s", &provider.Price{Input: 1e6, Output: 1e6}
	opt.Small = agent.Fallback{Name: "fake/s", Model: func(context.Context) (agent.Model, error) { return m, nil }}
	return opt
}

// answerers are the models that were asked, "small" behind those that were the small one.
func answerers(r *agent.Response) (names []string) {
	for _, q := range r.Requests {
		if q.Small {
			q.Model += " small"
		}
		names = append(names, q.Model)
	}
	return names
}

func TestTheSmallModelSearches(t *testing.T) {
	t.Parallel()
	search := fake.ToolCall("t1", "task", `{"prompt":"where?","kind":"search"}`)
	for name, tc := range map[string]struct {
		call  provider.ToolCall
		small []fake.Step
		by    string
	}{
		"a search":   {search, []fake.Step{used(fake.Say("there"))}, "m,s small,m"},
		"other work": {task("t1", "where?"), nil, "m,m,m"},
		"an outage": {search, []fake.Step{used(fake.Call("c", "look", `{}`)), fake.Fail(provider.KindOverloaded)},
			"m,s small,s small,m,m"},
		"a wrong kind": {fake.ToolCall("t1", "task", `{"prompt":"where?","kind":"dig"}`), nil, "m,m,m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := steps(used(fake.Calls(tc.call)))
			for range strings.Count(tc.by, ",m") {
				own.Steps = append(own.Steps, used(fake.Say("found")))
			}
			small := steps(tc.small...)
			a, cb := anAgent(t, withSmall(withFallbacks(own), small)), &recorder{}
			r := mustSend(t, a, cb, "go")
			if by := strings.Join(answerers(r), ","); by != tc.by || r.Text != "found" || a.AnsweredBy() != "m" {
				t.Errorf("%q by %s, at last by %s", r.Text, by, a.AnsweredBy())
			}
			if name == "an outage" {
				wantLines(t, cb.texts(agent.NoticeModel),
					"task 1: fake: scripted failure; fake/m answers for the rest of this turn")
			}
		})
	}
}

func TestTaskOffersASearchOnlyWithASmallModel(t *testing.T) {
	t.Parallel()
	first := func(opt agent.Options) provider.Request {
		p := steps(fake.Say("hi"))
		opt.Model.Provider = p
		mustSend(t, anAgent(t, opt), &recorder{}, "go")
		return p.Requests()[0]
	}
	schema := func(r provider.Request) string { return string(r.Tools[len(r.Tools)-1].Schema) }
	without, with := first(withFallbacks(steps())), first(withSmall(withFallbacks(steps()), steps()))
	const kind = `,"kind":{"type":"string","description":"search: only find things, by a cheaper model"}`
	if got := strings.Replace(schema(with), kind, "", 1); got != schema(without) || got == schema(with) {
		t.Errorf("without: %s\nwith: %s", schema(without), schema(with))
	}
}

func TestAnAgentByNameKeepsItsModelInASearch(t *testing.T) {
	t.Parallel()
	call := fake.Call("t1", "task", `{"prompt":"where?","agent":"deep","kind":"search"}`)
	own := withFallbacks(steps(call, fake.Say("found"))).Model
	deep := own
	deep.Provider, deep.Defaults.Model = steps(used(fake.Say("there"))), "d"
	opt := withSmall(withFallbacks(own.Provider.(*fake.Provider)), steps())
	opt.SubAgents = []agent.SubAgent{{Name: "deep", Model: func() (agent.Model, error) { return deep, nil }}}
	opt.Tools = append(opt.Tools[:1:1], agent.OwnTools(opt.SubAgents)...)
	r := mustSend(t, anAgent(t, opt), &recorder{}, "go")
	by := strings.Join(answerers(r), ",")
	if r.Text != "found" || !strings.Contains(by, "d") || strings.Contains(by, "small") {
		t.Errorf("%q by %s", r.Text, by)
	}
}

func TestASmallModelThatCannotBeAskedIsSkippedOnce(t *testing.T) {
	t.Parallel()
	search := fake.Call("t1", "task", `{"prompt":"where?","kind":"search"}`)
	for name, tc := range map[string]struct {
		change func(*agent.Options)
		notice string
	}{
		"an error": {func(o *agent.Options) {
			o.Small.Model = func(context.Context) (agent.Model, error) { return agent.Model{}, errors.New("no key") }
		}, "the small model fake/s is skipped: no key"},
		"no price": {func(o *agent.Options) {
			o.Limits.MaxCost = 5
			made := o.Small.Model
			o.Small.Model = func(ctx context.Context) (agent.Model, error) {
				m, err := made(ctx)
				m.Info.Price = nil
				return m, err
			}
		}, "the small model fake/s is skipped: its price is unknown, so its cost cannot be capped"},
		"the same": {func(o *agent.Options) {
			same := o.Model
			o.Small.Model = func(context.Context) (agent.Model, error) { return same, nil }
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := fake.Say("there")
			opt := withSmall(withFallbacks(steps(search, there, search, there, fake.Say("found"))), steps())
			tc.change(&opt)
			cb := &recorder{}
			r := mustSend(t, anAgent(t, opt), cb, "go")
			if by := strings.Join(answerers(r), ","); r.Text != "found" || strings.Contains(by, "small") {
				t.Errorf("%q by %s", r.Text, by)
			}
			if got := strings.Join(cb.texts(agent.NoticeWarning), "\n"); got != tc.notice {
				t.Errorf("noticed %q", got)
			}
		})
	}
}

func TestTheSmallModelSumsUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		small  fake.Step
		by     string
		notice string
	}{
		"it does": {summary(), "s small", ""},
		"it fails": {fake.Fail(provider.KindOverloaded), "m",
			"the small model fake/s: fake: scripted failure; fake/m takes over"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := &fake.Provider{Then: func(r provider.Request) fake.Step {
				if isSummaryRequest(r) {
					return summary()
				}
				return used(fake.Say(strings.Repeat("word ", 400)))
			}}
			opt := withSmall(testOptions(own), steps(tc.small))
			opt.Sessions = agent.Sessions{Store: conversation.Store{Dir: t.TempDir()}}
			a, cb := made(t, opt), &recorder{}
			for range 8 {
				mustSend(t, a, cb, "and on")
			}
			r, err := a.Compact(t.Context(), "", cb)
			must(t, err)
			if by := strings.Join(answerers(r), ","); !strings.HasSuffix(by, tc.by) {
				t.Errorf("summed up by %s", by)
			}
			if got := strings.Join(cb.texts(agent.NoticeModel), "\n"); got != tc.notice {
				t.Errorf("noticed %q of %+v", got, cb.texts(agent.NoticeWarning, agent.NoticeInfo))
			}
			before := len(own.Requests())
			if mustSend(t, a, cb, "more"); len(own.Requests()) != before+1 || a.AnsweredBy() != "m" {
				t.Errorf("the next turn was answered by %s", a.AnsweredBy())
			}
		})
	}
}

// found is a report of findings, in JSON.
func found(findings ...string) fake.Step {
	return fake.Call("r", "report_findings", `{"findings":[`+strings.Join(findings, ",")+`]}`)
}

func TestTheSessionsModelReviewsWhatTheSmallOneObjectsTo(t *testing.T) {
	t.Parallel()
	const bad = `{"path":"a.go","line":1,"severity":"error","text":"bad"}`
	for name, tc := range map[string]struct {
		small    []fake.Step
		by       string
		findings int
		notice   string
	}{
		"nothing":   {[]fake.Step{found(), fake.Say("done")}, "s small,s small", 0, ""},
		"something": {[]fake.Step{found(bad), fake.Say("done")}, "s small,s small,m,m", 1, ""},
		"an outage": {[]fake.Step{fake.Fail(provider.KindOverloaded)}, "s small,m,m", 1,
			"the small model fake/s: fake: scripted failure; fake/m takes over"},
		"no report": {[]fake.Step{fake.Say("fine"), fake.Say("fine")}, "s small,s small,m,m", 1,
			"the small model fake/s: review: the model made no report; fake/m takes over"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			small := tc.small
			for i := range small {
				if small[i].Err == nil {
					small[i] = used(small[i])
				}
			}
			opt := withSmall(withFallbacks(steps(used(found(bad)), used(fake.Say("done")))), steps(small...))
			opt.Tools = []tool.Tool{makeTool("read", tool.KindRead, nil)}
			set := &changes.Set{Root: "/p", Files: []changes.File{{Path: "a.go", Kind: changes.Modified,
				Hunks: []changes.Hunk{{New: changes.Span{First: 1, Count: 1}, Lines: []string{"+bad"}}}}}}
			cb := &recorder{}
			r, err := anAgent(t, opt).ReviewChange(t.Context(), set, cb)
			must(t, err)
			if by := strings.Join(answerers(r.Response), ","); by != tc.by || len(r.Findings) != tc.findings {
				t.Errorf("%d findings by %s", len(r.Findings), by)
			}
			if got := strings.Join(cb.texts(agent.NoticeModel), "\n"); got != tc.notice {
				t.Errorf("noticed %q", got)
			}
		})
	}
}
