package conversation

import (
	"strings"
	"testing"

	"artoo/provider"
)

// near allows for the marks around messages.
func near(t *testing.T, what string, got, want int) {
	t.Helper()
	if d := got - want; d > want/20+15 || -d > want/20+15 {
		t.Errorf("%s: %d tokens, want about %d", what, got, want)
	}
}

func TestEstimateStartsFromTheProvidersCount(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	overhead(c, 7000)
	near(t, "overhead alone", c.EstimatedTokens(), 2000)
	add(t, c, user(strings.Repeat("abcdefg", 1000)))
	near(t, "before any count", c.EstimatedTokens(), 4000)

	c.Messages()
	c.Observe(provider.Usage{Input: 1000, CacheRead: 4000, CacheWrite: 600, Output: 900, Reasoning: 400})
	near(t, "counted", c.EstimatedTokens(), 5600)
	counted := c.EstimatedTokens()
	add(t, c, calling("", "c1"))
	if grown := c.EstimatedTokens() - counted; grown <= 0 || grown > 100 {
		t.Errorf("a reply of a few words, far from the count of 500, counts as %d", grown)
	}
	add(t, c, user("no"))
	c.Messages()
	c.Observe(provider.Usage{Input: 5700, Output: 900, Reasoning: 400})
	add(t, c, said(provider.RoleAssistant, strings.Repeat("a word ", 250)))
	near(t, "the reply at its count, without reasoning that is not sent back", c.EstimatedTokens(), 5700+500)
	before := c.EstimatedTokens()
	addResult(t, c, result("c1", strings.Repeat("abcdefg", 1000)))
	if got := c.EstimatedTokens() - before; got < 2000 || got > 3500 {
		t.Errorf("7,000 bytes since count as %d", got)
	}
}

func TestObserveAfterTheReplyWasAppended(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	add(t, c, user(strings.Repeat("abcdefg", 1000)))
	c.Messages()
	add(t, c, said(provider.RoleAssistant, strings.Repeat("abcdefg", 100)))
	c.Observe(provider.Usage{Input: 5000, Output: 200})
	near(t, "prompt and the reply since", c.EstimatedTokens(), 5200)
}

// New text is estimated at the model's own rate from the first count on, within
// bounds that no tokenizer in use leaves.
func TestWhatTheModelCountsIsLearnedWithinBounds(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("the words of a text ", 2000) // about 10,000 tokens
	for name, tc := range map[string]struct {
		prompt, replies int
		least, most     int // bounds for the same text once more
	}{
		"dense":          {20_000, 1, 18_000, 22_000},
		"sparse":         {7_000, 1, 6_000, 8_500},
		"a token a byte": {40_000, 2, 38_000, 42_000},
		"never more":     {100_000, 20, 55_000, 61_000},
		"implausible":    {2_000, 20, 10_000, 11_500},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Config{}, nil)
			overhead(c, 7)
			add(t, c, user(text))
			for range tc.replies {
				c.Messages()
				c.Observe(provider.Usage{Input: tc.prompt})
			}
			before := c.EstimatedTokens()
			add(t, c, user(text))
			if got := c.EstimatedTokens() - before; got < tc.least || got > tc.most {
				t.Errorf("it is %d tokens", got)
			}
		})
	}
}

// A model's count for prose helps to estimate its other texts, and its count for Chinese hardly changes the estimate of
// prose that it counted before.
func TestEachKindIsLearnedByItself(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	overhead(c, 7)
	prose, chinese := strings.Repeat("the words of a text ", 500), strings.Repeat("\u4e2d\u6587\u7684\u5b57", 500)
	prompt := 0
	say := func(text string, tokens int) {
		add(t, c, user(text))
		c.Messages()
		prompt += tokens
		c.Observe(provider.Usage{Input: prompt})
	}
	more := func(text string) int { return c.TextTokens(text) }
	first := more(chinese)
	say(prose, 3000)
	if got := more(chinese); got < first+first/10 {
		t.Errorf("Chinese is %d tokens, it was %d: the model counts more for prose than was thought", got, first)
	}
	say(chinese, 3200)
	say(chinese, 3200)
	if got := more(chinese); got < 2900 || got > 3500 {
		t.Errorf("Chinese is %d tokens", got)
	}
	if got := more(prose); got < 2700 || got > 3300 {
		t.Errorf("prose is %d tokens", got)
	}
}

func TestCountsThatAreNotTrusted(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	add(t, c, user(strings.Repeat("abcdefg", 10_000)))
	want := c.EstimatedTokens()
	c.Messages()
	for _, u := range []provider.Usage{{}, {Input: 3, Estimated: true}, {Input: 90, Output: 5}, {Output: 7}} {
		c.Observe(u)
		if got := c.EstimatedTokens(); got != want {
			t.Errorf("%+v moved the estimate from %d to %d", u, want, got)
		}
	}
}

func TestImagesCountAndOverheadMayChange(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	add(t, c, provider.UserText("see", provider.Image{MediaType: "image/png", Data: make([]byte, 1<<20)}))
	near(t, "an image", c.EstimatedTokens(), 1600)
	overhead(c, 3500)
	c.Messages()
	c.Observe(provider.Usage{Input: 2600})
	overhead(c, 7000)
	near(t, "more tools after the count", c.EstimatedTokens(), 3600)
}

func TestResumedAccountingStartsFromTheFile(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	overhead(c, 20_000)
	add(t, c, user("hello"))
	c.Messages()
	u := provider.Usage{Input: 9000, Output: 30}
	c.Observe(u)
	must(t, c.RecordUsage("claude-test", u, nil))
	add(t, c, said(provider.RoleAssistant, strings.Repeat("answer ", 14)))
	must(t, c.RecordUsage("other", provider.Usage{Input: 70_000, Output: 1}, nil)) // a sub-agent's
	want := c.EstimatedTokens()
	near(t, "live", want, 9030)
	must(t, s.Close())

	s, err := st.Open(s.ID())
	must(t, err)
	defer s.Close()
	c = New(Config{}, s)
	near(t, "resumed", c.EstimatedTokens(), want)
	overhead(c, 20_000)
	near(t, "resumed, overhead known", c.EstimatedTokens(), want)
	overhead(c, 27_000)
	near(t, "resumed, more overhead", c.EstimatedTokens(), want+7000*9000/20_000)
}

func TestWhatAConversationCost(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	for _, session := range []*Session{nil, st.Create(testHeader())} {
		c := New(Config{}, session)
		if cost := c.Cost(); cost == nil || *cost != 0 || c.MessageCount() != 0 {
			t.Errorf("before anything: %v", cost)
		}
		add(t, c, user("go"))
		must(t, c.RecordUsage("m", provider.Usage{Input: 100, CacheRead: 0, Output: 10}, new(0.25)))
		must(t, c.RecordUsage("m", provider.Usage{Input: 20, CacheRead: 280, Output: 10}, new(0.5)))
		if cost := c.Cost(); cost == nil || *cost != 0.75 || c.MessageCount() != 1 {
			t.Errorf("%v", cost)
		}
		must(t, c.RecordUsage("m", provider.Usage{Input: 20}, nil))
		if cost := c.Cost(); cost != nil {
			t.Errorf("with a price that is not known: %f", *cost)
		}
		if session != nil {
			must(t, session.Close())
		}
	}
}
