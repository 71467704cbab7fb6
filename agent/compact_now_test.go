package agent_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
)

// grow has n steps of the model in the history.
func grow(t *testing.T, c *compacting, n int) {
	t.Helper()
	then, calls := c.model.Then, 0
	c.model.Then = func(r provider.Request) fake.Step {
		if calls++; calls >= n {
			return fake.Say("so far")
		}
		return fake.Call(fmt.Sprint("g", calls), "look", fmt.Sprintf(`{"arg":"%d"}`, calls))
	}
	mustSend(t, c.Agent, &recorder{}, "look around")
	c.model.Then = then
}

func TestCompactSumsUpAndIsTakenBack(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 50_000, agent.CompactTrim, summary())
	grow(t, c, 8)
	before := history(c.Agent)
	cb := &recorder{}
	r, err := c.Compact(t.Context(), "the name of the bug", cb)
	if err != nil || len(r.Requests) != 1 || r.CostUSD == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if last := c.asked[0].Messages; !strings.Contains(last[len(last)-1].Text(), "keep in any case: the name of the bug") {
		t.Errorf("asked %q", last[len(last)-1].Text())
	}
	if now := history(c.Agent); len(now) >= len(before) || len(cb.told(agent.NoticeCompacted)) != 1 {
		t.Errorf("%q, told %+v", now, cb.notices)
	}
	if got := c.Resumed(); got != nil && got.User != "look around" {
		t.Errorf("the last message is %q", got.User)
	}
	text, err := c.Uncompact()
	if err != nil || !strings.HasPrefix(text, "the last compaction is undone: ") || !slices.Equal(history(c.Agent), before) {
		t.Errorf("%q, %v: %q", text, err, history(c.Agent))
	}
	if r, err := send(t, c.Agent, &recorder{}, "end"); err != nil || r.Text != "the end" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A turn, a compaction and an undone one are on the disk when they end: the line
// that says so is the last of the session file.
func TestWhatEndsIsOnTheDisk(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 50_000, agent.CompactTrim, summary())
	steps := []struct {
		name string
		do   func() error
	}{
		{"a turn", func() error { grow(t, c, 8); return nil }},
		{"a compaction", func() error { _, err := c.Compact(t.Context(), "", &recorder{}); return err }},
		{"one that is taken back", func() error { _, err := c.Uncompact(); return err }},
	}
	written := 0
	for _, step := range steps {
		must(t, step.do())
		data, err := os.ReadFile(c.Conversation().Session().Path())
		must(t, err)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		if last := lines[len(lines)-1]; len(lines) <= written || !strings.HasPrefix(last, `{"type":"turn"`) {
			t.Errorf("%s: the last of %d lines is %.60s", step.name, len(lines), last)
		}
		written = len(lines)
	}
}

// TestWithoutASummaryNothingIsLost: whatever became of it, the next request holds all that was said.
func TestWithoutASummaryNothingIsLost(t *testing.T) {
	t.Parallel()
	cut, refusal, long := fake.Say(summaryText), fake.Say("no"), fake.Say(summaryText+strings.Repeat(" and more of it", 5000))
	cut.Stop, refusal.Stop = provider.StopMaxTokens, provider.StopRefusal
	for name, steps := range map[string][]fake.Step{
		"request error":     {fake.Fail(provider.KindNetwork)},
		"cut twice":         {cut, cut},
		"no heading, twice": {fake.Say("all is well"), fake.Say(summaryText[:60])},
		"empty":             {{}, {}},
		"only calls":        {fake.Call("x", "look", `{}`), fake.Call("y", "look", `{}`)},
		"refusal":           {refusal},
		"longer":            {long},
		"cap":               nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCompacting(t, 50_000, agent.CompactAsk, steps...)
			grow(t, c, 8)
			if used, _ := c.Spent(); steps == nil {
				c.Opt().Limits.MaxTotalTokens = used.Total() + 600
			}
			before, cb := history(c.Agent), &recorder{}
			if _, err := c.Compact(t.Context(), "", cb); err != nil {
				t.Fatal(err)
			}
			told := cb.told(agent.NoticeWarning)
			if now := history(c.Agent); !slices.Equal(now, before) || len(told) != 1 ||
				!strings.HasPrefix(told[0], "no summary (") || !strings.HasSuffix(told[0], "); the history is unchanged") ||
				len(cb.told(agent.NoticeCompacted))+len(cb.told(agent.NoticeTrimmed)) > 0 {
				t.Errorf("%d messages were %d, told %+v", len(now), len(before), cb.notices)
			}
		})
	}
}

// After a message that did not fit, old parts are left out even without a summary, and that can be undone too.
func TestCompactMakesRoomWhereAMessageDidNotFit(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 50_000, agent.CompactAsk, fake.Fail(provider.KindNetwork))
	grow(t, c, 8)
	then := c.model.Then
	c.model.Then = func(provider.Request) fake.Step { return fake.Fail(provider.KindContext) }
	if _, err := send(t, c.Agent, &recorder{}, "more"); err == nil {
		t.Fatal("it fits")
	}
	c.model.Then = then
	before, tokens, cb := history(c.Agent), c.Conversation().EstimatedTokens(), &recorder{}
	if _, err := c.Compact(t.Context(), "", cb); err != nil {
		t.Fatal(err)
	}
	if now := c.Conversation().EstimatedTokens(); now > tokens*2/3 || len(cb.told(agent.NoticeTrimmed)) != 1 ||
		!strings.HasSuffix(fmt.Sprint(cb.told(agent.NoticeWarning)), "trimming instead]") {
		t.Errorf("%d tokens were %d, told %+v", now, tokens, cb.notices)
	}
	if _, err := c.Uncompact(); err != nil || !slices.Equal(history(c.Agent), before) {
		t.Errorf("%v: %q", err, history(c.Agent))
	}
	mustSend(t, c.Agent, &recorder{}, "end")
	if _, err := c.Compact(t.Context(), "", cb); err != nil || len(cb.told(agent.NoticeTrimmed)) != 1 {
		t.Errorf("%v, told %+v", err, cb.notices)
	}
}

// TestASummaryCannotPassACap: it is reserved as every request is.
func TestASummaryCannotPassACap(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 50_000, agent.CompactAuto, summary())
	grow(t, c, 8)
	used, _ := c.Spent()
	c.Opt().Limits.MaxTotalTokens = used.Total() + 600
	cb := &recorder{}
	if _, err := c.Compact(t.Context(), "", cb); err != nil {
		t.Fatal(err)
	}
	if now, _ := c.Spent(); len(c.asked) > 0 || now != used ||
		!strings.Contains(fmt.Sprint(cb.told(agent.NoticeWarning)), "the next request needs") {
		t.Errorf("asked %d times, used %+v, told %+v", len(c.asked), now, cb.notices)
	}
}

// TestASummaryLeavesTheRestOfACap: a run that can pay for the summary or for the next
// step takes the step.
func TestASummaryLeavesTheRestOfACap(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(l *agent.Limits, c *compacting){
		"tokens": func(l *agent.Limits, c *compacting) {
			used, _ := c.Spent()
			l.MaxTotalTokens = used.Total() + c.Conversation().EstimatedTokens()*5/4
		},
		"money": func(l *agent.Limits, c *compacting) {
			_, spent := c.Spent()
			l.MaxCost = *spent + 0.01 // the summary costs 0.009 with a short reply, the step 0.006
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCompacting(t, 50_000, agent.CompactAuto, summary())
			grow(t, c, 8)
			limit(&c.Opt().Limits, c)
			cb := &recorder{}
			if _, err := c.Compact(t.Context(), "", cb); err != nil {
				t.Fatal(err)
			}
			if len(c.asked) > 0 || !strings.Contains(fmt.Sprint(cb.told(agent.NoticeWarning)), "too little") {
				t.Errorf("asked %d times, told %+v", len(c.asked), cb.notices)
			}
			if r, err := send(t, c.Agent, &recorder{}, "end"); err != nil || r.Text != "the end" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestASummaryReadsTheCache: another tool_choice loses Anthropic's, so calls are first
// forbidden where nothing is lost, or where the model made some.
func TestASummaryReadsTheCache(t *testing.T) {
	t.Parallel()
	for _, held := range []int{0, 5000} {
		c := newCompacting(t, 50_000, agent.CompactAuto, fake.Call("x", "look", `{}`), summary())
		grow(t, c, 8)
		then := c.model.Then
		c.model.Then = func(r provider.Request) fake.Step {
			step := then(r)
			step.Usage = provider.Usage{CacheRead: held, Input: 9000 - held, Output: 10}
			return step
		}
		mustSend(t, c.Agent, &recorder{}, "end")
		cb := &recorder{}
		if _, err := c.Compact(t.Context(), "", cb); err != nil || len(cb.told(agent.NoticeCompacted)) != 1 {
			t.Fatalf("%v, told %+v", err, cb.notices)
		}
		if len(c.asked) != 2 || c.asked[0].NoCalls != (held == 0) || !c.asked[1].NoCalls || slices.ContainsFunc(cb.lines, func(l string) bool { return strings.HasPrefix(l, "call") }) {
			t.Errorf("%d tokens cached: asked %+v", held, c.asked)
		}
	}
}

func TestASummaryIsNoneOfTheUsersMessages(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 50_000, agent.CompactAuto, summary())
	grow(t, c, 8)
	part := func(name string) int {
		for _, p := range c.Context().Parts {
			if p.Name == name {
				return p.Tokens
			}
		}
		return 0
	}
	before := part("summary")
	if _, err := c.Compact(t.Context(), "", &recorder{}); err != nil {
		t.Fatal(err)
	}
	if before != 0 || part("summary") < 30 || part("your messages") > 40 {
		t.Errorf("the summary had %d tokens, now %d; the user's messages %d", before, part("summary"), part("your messages"))
	}
}

// TestACodingCLISumsUpNothing: it keeps its own conversation, which a request for a
// summary would be part of.
func TestACodingCLISumsUpNothing(t *testing.T) {
	t.Parallel()
	c := newCompacting(t, 8000, agent.CompactAuto, summary())
	c.Asked().Rules = func(string) string { return "runs its own tools" }
	c.model.Then = untilFull(c)
	mustSend(t, c.Agent, &recorder{}, "do it all")
	cb := &recorder{}
	if _, err := c.Compact(t.Context(), "", cb); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(c.model.Requests(), isSummaryRequest) ||
		!strings.Contains(fmt.Sprint(cb.notices), "its own conversation") {
		t.Errorf("told %+v", cb.notices)
	}
}

func TestKeysAreMaskedInASummary(t *testing.T) {
	t.Parallel()
	leak := fake.Say(summaryText + " the key is sk-123")
	c := newCompacting(t, 50_000, agent.CompactAuto, leak)
	grow(t, c, 8)
	c.Opt().Secrets.Mask = func(text string) string { return strings.ReplaceAll(text, "sk-123", "MARK") }
	if _, err := c.Compact(t.Context(), "what sk-123 is", &recorder{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(history(c.Agent), "\n"); strings.Contains(got, "sk-123") ||
		!strings.Contains(got, "the key is MARK") ||
		strings.Contains(fmt.Sprintf("%+v", c.asked), "sk-123") {
		t.Errorf("history %q", got)
	}
}
