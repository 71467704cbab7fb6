package anthropic

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

// style is how a model family wants to be told to think; else it answers 400.
type style int

const (
	styleNone style = iota // cannot think (before 3.7)
	// {"type":"enabled","budget_tokens":N}: 3.7 to 4.5, and other vendors' models behind this API
	styleBudget
	styleAdaptive // {"type":"adaptive"} and an effort; off when the field is absent: 4.6 to 4.8, Sonnet 5
	// the same, but on by default, {"type":"disabled"} switches it off: Opus 5 and whatever comes
	styleDefault
	styleAlways // cannot be switched off: Mythos, Fable
)

type family struct {
	claude bool
	name   string // opus, sonnet, haiku, mythos, fable or ""
	major  int
	minor  int
}

func isClaude(model string) bool { return parseFamily(model).claude }

// numbers finds the first number of an ID behind claude, with the one that may follow; no date.
var numbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^0-9a-z])(\d{1,2})(?:[^0-9a-z](\d{1,2}))?(?:[^0-9]|$)`)
})

// parseFamily reads ids such as claude-3-7-sonnet-20250219, claude-opus-4-6,
// anthropic/claude-sonnet-4.5, us.anthropic.claude-haiku-4-5-20251001-v1:0.
func parseFamily(model string) family {
	_, rest, found := strings.Cut(strings.ToLower(model), "claude")
	f := family{claude: found}
	if !found {
		return f
	}
	for _, name := range []string{"opus", "sonnet", "haiku", "mythos", "fable"} {
		if strings.Contains(rest, name) {
			f.name = name
		}
	}
	if found := numbers().FindStringSubmatch(rest); found != nil {
		f.major, _ = strconv.Atoi(found[1]) // digits only; a missing minor is 0
		f.minor, _ = strconv.Atoi(found[2])
	}
	return f
}

func (f family) style() style {
	version := f.major*100 + f.minor
	switch {
	case !f.claude:
		return styleBudget
	case f.name == "mythos" || f.name == "fable":
		return styleAlways
	case f.major == 0:
		return styleDefault // an alias without a version is the newest model
	case version < 307:
		return styleNone
	case version <= 405:
		return styleBudget
	case f.major == 4, f.name == "sonnet" && f.major == 5:
		return styleAdaptive
	}
	return styleDefault
}

// takesTemperature reports whether the family accepts a temperature: up to Opus 4.6.
func (f family) takesTemperature() bool {
	return !f.claude || f.major > 0 && f.major*100+f.minor <= 406 && f.style() != styleAlways
}

// think says in the family's words how hard to think. An unset effort sends nothing.
func (b *body) think(effort provider.Effort, messages []message, l wire.Learned) {
	f := parseFamily(b.Model)
	if !f.takesTemperature() {
		b.Temperature = nil
	}
	if effort == "" {
		return
	}
	s := f.style()
	switch {
	case l.Without(wire.Thinking):
		s = styleNone
	case l.Without(wire.NotThinking):
		s = styleAlways
	case l.Without(wire.FixedThinking):
		s = styleAdaptive
	case l.Without(wire.AdaptiveThinking):
		s = styleBudget
	}
	if effort == provider.EffortOff {
		switch {
		case s == styleDefault, s == styleBudget && !f.claude:
			b.Thinking = &thinking{Type: "disabled"}
		case s == styleAlways && !l.Without(wire.Effort):
			b.OutputConfig = &outputConfig{Effort: string(provider.EffortLow)}
		}
		return
	}
	switch s {
	case styleBudget:
		b.budget(effort, messages)
	case styleAdaptive, styleDefault, styleAlways:
		b.Thinking = &thinking{Type: "adaptive"}
		if f.major >= 5 || f.major == 0 {
			b.Thinking.Display = "summarized" // these show nothing unless asked
		}
		if !l.Without(wire.Effort) {
			b.OutputConfig = &outputConfig{Effort: string(effort)}
		}
		b.Temperature = nil // only the default goes with thinking
	}
}

// interleavedBeta lets a model that is given a budget think between its calls too.
const interleavedBeta = "interleaved-thinking-2025-05-14"

// interleaves reports whether the request asks for reasoning between calls: Claude 4 to 4.5.
func (b *body) interleaves(l wire.Learned) bool {
	f := parseFamily(b.Model)
	return f.claude && f.major == 4 && b.Thinking != nil && b.Thinking.Budget > 0 && !l.Without(wire.Interleaving)
}

// The smallest budget the API takes, and the least room for the answer.
const (
	minBudget = 1024
	minAnswer = 512
)

// budget gives a share of the reply's tokens to thinking; none in a short reply, or within
// a tool loop that began without a thought, which the API refuses.
func (b *body) budget(effort provider.Effort, messages []message) {
	if !mayThink(messages) {
		return
	}
	n := min(max(b.MaxTokens*effort.Share()/100, minBudget), b.MaxTokens-minAnswer)
	if n < minBudget {
		return
	}
	b.Thinking = &thinking{Type: "enabled", Budget: n}
	b.Temperature = nil
}

// mayThink reports whether the tool loop at the end began with a thought: else none is taken.
func mayThink(messages []message) bool {
	first := -1
	last := len(messages) - 1
	for i := last; i >= 1; i -= 2 {
		content := messages[i].Content
		if content[0].Type != "tool_result" || i < last && content[len(content)-1].Type != "tool_result" {
			break // the user spoke: a loop begins after it
		}
		first = i - 1
	}
	if first < 0 {
		return true
	}
	begin := messages[first].Content[0].Type
	return begin == formThinking || begin == formRedacted
}
