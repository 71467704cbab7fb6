// Package claude has the parameters that Anthropic's models take, on whichever wire they are asked.
package claude

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// Reasoning is how a request says how hard to think.
type Reasoning struct {
	Thinking    *Thinking       // nil where there is nothing to say
	Effort      provider.Effort // "" likewise
	Temperature *float64        // nil where the model takes none beside its reasoning
	Interleaved bool            // the request asks for reasoning between calls by InterleavedBeta
}

// Thinking is the field of that name.
type Thinking struct {
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

// Is reports whether a model is one of Anthropic's.
func Is(model string) bool { return parseFamily(model).claude }

// Structures reports whether a model is known to be held to a schema. Other servers of these APIs may drop the field
// without a word.
func Structures(model string) bool {
	f := parseFamily(model)
	return f.claude && (f.major == 0 || f.major >= 4)
}

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

// Reason says in the family's words how hard to think in a reply of so many tokens to the turns. An unset effort sends
// nothing.
func Reason(req provider.Request, tokens int, turns []wire.Turn, l wire.Learned) Reasoning {
	r := Reasoning{Temperature: req.Temperature}
	f := parseFamily(req.Model)
	if !f.takesTemperature() || l.Without(wire.Temperature) {
		r.Temperature = nil
	}
	if req.Effort == "" {
		return r
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
	if req.Effort == provider.EffortOff {
		switch {
		case s == styleDefault, s == styleBudget && !f.claude:
			r.Thinking = &Thinking{Type: "disabled"}
		case s == styleAlways && !l.Without(wire.Effort):
			r.Effort = provider.EffortLow
		}
		return r
	}
	switch s {
	case styleBudget:
		r.Thinking = budget(req.Effort, tokens, turns)
		r.Interleaved = r.Thinking != nil && f.claude && f.major == 4 && !l.Without(wire.Interleaving)
	case styleAdaptive, styleDefault, styleAlways:
		r.Thinking = &Thinking{Type: "adaptive"}
		if f.major >= 5 || f.major == 0 {
			r.Thinking.Display = "summarized" // these show nothing unless asked
		}
		if !l.Without(wire.Effort) {
			r.Effort = req.Effort
		}
	}
	if r.Thinking != nil {
		r.Temperature = nil // only the default goes with thinking
	}
	return r
}

// InterleavedBeta lets a model that is given a budget think between its calls too: Claude 4 to 4.5.
const InterleavedBeta = "interleaved-thinking-2025-05-14"

// MaxTokens is the reply's length where the caller sets none.
const MaxTokens = 8192

// The smallest budget the API takes, and the least room for the answer.
const (
	minBudget = 1024
	minAnswer = 512
)

// budget gives a share of the reply's tokens to thinking; none in a short reply, or within
// a tool loop that began without a thought, which the API refuses.
func budget(effort provider.Effort, tokens int, turns []wire.Turn) *Thinking {
	if n := min(max(tokens*effort.Share()/100, minBudget), tokens-minAnswer); n >= minBudget && mayThink(turns) {
		return &Thinking{Type: "enabled", Budget: n}
	}
	return nil
}

// mayThink reports whether the tool loop at the end began with a thought: else none is taken.
func mayThink(turns []wire.Turn) bool {
	result := func(p provider.Part) bool { _, is := p.(provider.ToolResult); return is }
	first := -1
	last := len(turns) - 1
	for i := last; i >= 1; i -= 2 {
		parts := turns[i].Parts
		if !result(parts[0]) || i < last && !result(parts[len(parts)-1]) {
			break // the user spoke: a loop begins after it
		}
		first = i - 1
	}
	if first < 0 {
		return true
	}
	_, thought := turns[first].Parts[0].(provider.Reasoning)
	return thought
}
