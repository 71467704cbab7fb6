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
	c := New(Config{}, nil)
	c.SetOverhead(7000)
	near(t, "overhead alone", c.EstimatedTokens(), 2000)
	add(t, c, user(strings.Repeat("abcdefg", 1000)))
	near(t, "before any count", c.EstimatedTokens(), 4000)

	c.Messages()
	c.Observe(provider.Usage{Input: 1000, CacheRead: 4000, CacheWrite: 600, Output: 900, Reasoning: 400})
	near(t, "counted", c.EstimatedTokens(), 5600)
	add(t, c, calling("", "c1"))
	near(t, "a reply far from its count is estimated", c.EstimatedTokens(), 5615)
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
	c := New(Config{}, nil)
	add(t, c, user(strings.Repeat("abcdefg", 1000)))
	c.Messages()
	add(t, c, said(provider.RoleAssistant, strings.Repeat("abcdefg", 100)))
	c.Observe(provider.Usage{Input: 5000, Output: 200})
	near(t, "prompt and the reply since", c.EstimatedTokens(), 5200)
}

func TestRatioIsCorrectedAndClamped(t *testing.T) {
	text := strings.Repeat("x", 40_000)
	for name, tc := range map[string]struct {
		prompt, replies int
		lo, hi          float64
	}{
		"dense":        {20_000, 8, 1.99, 2.1},
		"sparse":       {8_000, 8, 4.9, 5.1},
		"never below":  {1_000_000, 20, minRatio, minRatio + 0.01},
		"never above":  {3_000, 20, maxRatio - 0.01, maxRatio},
		"implausible":  {100, 20, defaultRatio, defaultRatio},
		"a small step": {20_000, 1, 2.6, 2.9},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Config{}, nil)
			c.SetOverhead(1)
			add(t, c, user(text))
			for range tc.replies {
				c.Messages()
				c.Observe(provider.Usage{Input: tc.prompt})
			}
			if r := c.meter.ratio; r < tc.lo || r > tc.hi {
				t.Errorf("ratio %f", r)
			}
		})
	}
}

func TestCountsThatAreNotTrusted(t *testing.T) {
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
	c := New(Config{}, nil)
	add(t, c, provider.UserText("see", provider.Image{MediaType: "image/png", Data: make([]byte, 1<<20)}))
	near(t, "an image", c.EstimatedTokens(), 1600)
	c.SetOverhead(3500)
	c.Messages()
	c.Observe(provider.Usage{Input: 2600})
	c.SetOverhead(7000)
	near(t, "more tools after the count", c.EstimatedTokens(), 3600)
}

func TestResumedAccountingStartsFromTheFile(t *testing.T) {
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	c.SetOverhead(20_000)
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
	c.SetOverhead(20_000)
	near(t, "resumed, overhead known", c.EstimatedTokens(), want)
	c.SetOverhead(27_000)
	near(t, "resumed, more overhead", c.EstimatedTokens(), want+2000)
}
