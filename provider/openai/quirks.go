package openai

import (
	"net/url"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// Quirks are the ways in which Chat Completions servers differ. The zero value is the plainest.
type Quirks struct {
	// MaxTokensField names the field for the reply's length; "" means max_tokens.
	MaxTokensField string
	// SystemRole is the role of the system prompt; "" means system.
	SystemRole string
	// StreamOptions asks for usage with stream_options; a few servers refuse it.
	StreamOptions bool
	// UsageInclude asks for usage with OpenRouter's own field and reads the cost.
	UsageInclude bool
	// ReasoningFields are the names of readable reasoning, the first with text wins; nil means all.
	ReasoningFields []string
	// Effort says in which form the effort is sent; one without a word is not sent.
	Effort      EffortStyle
	EffortWords map[provider.Effort]string
	// Echo chooses the reasoning that goes back to the model that made it.
	Echo Echo
	// CacheControl marks the prompt for Anthropic's cache where the model is a Claude.
	CacheControl bool
	// ParallelCalls asks outright for parallel tool calls.
	ParallelCalls bool
	// PromptCacheKey routes the requests of one session to one cache.
	PromptCacheKey bool
	// NoImages leaves a word in the place of each image.
	NoImages bool
	// Structure says when the server is asked to hold an answer to a schema.
	Structure StructureStyle
	// MergeUsers joins neighbouring user messages, for chat templates that insist on turns.
	MergeUsers bool
}

// EffortStyle is a form for the reasoning effort.
type EffortStyle string

// The forms in use.
const (
	EffortNone     EffortStyle = ""                 // not sent
	EffortField    EffortStyle = "reasoning_effort" // {"reasoning_effort":"low"}
	EffortObject   EffortStyle = "reasoning"        // OpenRouter: {"reasoning":{"effort":"low"}} or {"enabled":false}
	EffortThinking EffortStyle = "thinking"         // DeepSeek: {"thinking":{"type":"enabled"},"reasoning_effort":"low"}
)

// StructureStyle says when a server is asked to hold an answer to a schema.
type StructureStyle string

// The ways in use.
const (
	StructureNone   StructureStyle = ""       // never
	StructureStrict StructureStyle = "strict" // always, by schemas that OpenAI's strict mode takes
	StructureRouted StructureStyle = "routed" // so, too, and OpenRouter takes only servers that do
	// StructureLast is by any schema, where no tool can be called: the server constrains from the first token on.
	StructureLast StructureStyle = "last"
)

// Echo chooses the reasoning that is sent back with a reply.
type Echo string

// The ways in use.
const (
	EchoNone      Echo = ""           // nothing
	EchoSame      Echo = "same"       // the field it came in, when it came
	EchoToolTurns Echo = "tool_turns" // DeepSeek: reasoning_content on every turn with calls, also when empty
	EchoDetails   Echo = "details"    // OpenRouter: reasoning_details as they came
)

// QuirksFor returns the quirks of a provider; an unknown one is a compatible server.
func QuirksFor(name string) Quirks {
	switch name {
	case "openai":
		return Quirks{
			MaxTokensField: maxCompletion, SystemRole: "developer", StreamOptions: true,
			Effort: EffortField, EffortWords: effortWords("xhigh"),
			ParallelCalls: true, PromptCacheKey: true, Structure: StructureStrict,
		}
	case "openrouter":
		return Quirks{
			UsageInclude: true, ReasoningFields: []string{"reasoning", "reasoning_content"},
			Effort: EffortObject, EffortWords: effortWords("xhigh"),
			Echo: EchoDetails, CacheControl: true, Structure: StructureRouted,
		}
	case "deepseek":
		return Quirks{
			StreamOptions: true, ReasoningFields: []string{"reasoning_content"},
			Effort: EffortThinking, EffortWords: effortWords("max"),
			Echo: EchoToolTurns, NoImages: true,
		}
	}
	return Quirks{
		StreamOptions: true,
		Effort:        EffortField, EffortWords: effortWords("high"),
		Echo: EchoSame, MergeUsers: true, Structure: StructureLast,
	}
}

// QuirksAt returns the quirks of a provider at an address, "" being its own: another server
// called openai is a compatible one, except Azure's.
func QuirksAt(name, address string) Quirks {
	if name != "openai" || SpeaksResponses(address) {
		return QuirksFor(name)
	}
	if u, err := url.Parse(address); err == nil && strings.HasSuffix(strings.ToLower(u.Hostname()), ".azure.com") {
		return QuirksFor(name)
	}
	return QuirksFor("compatible")
}

// without is the quirks except fields that a model was found not to take.
func (q Quirks) without(l wire.Learned) Quirks {
	if l.Without(wire.LengthField) {
		q.MaxTokensField = otherLength(q.MaxTokensField)
	}
	switch {
	case l.Without(wire.ReasoningEcho):
		q.Echo = EchoNone
	case l.Without(wire.BareCalls):
		q.Echo = EchoToolTurns
	}
	if l.Without(wire.Effort) || l.Without(wire.Thinking) && q.Effort != EffortField {
		q.Effort = EffortNone
	}
	if l.Without(wire.DeveloperRole) && q.SystemRole == "developer" {
		q.SystemRole = ""
	}
	q.StreamOptions = q.StreamOptions && !l.Without(wire.StreamOptions)
	q.ParallelCalls = q.ParallelCalls && !l.Without(wire.ParallelCalls)
	q.PromptCacheKey = q.PromptCacheKey && !l.Without(wire.CacheKey)
	return q
}

const maxCompletion = "max_completion_tokens"

func otherLength(field string) string {
	if field == maxCompletion {
		return ""
	}
	return maxCompletion
}

func effortWords(highest string) map[provider.Effort]string {
	return map[provider.Effort]string{
		provider.EffortOff: "none", provider.EffortLow: "low", provider.EffortMedium: "medium",
		provider.EffortHigh: "high", provider.EffortMax: highest,
	}
}

func (q Quirks) reasoningFields() []string {
	if len(q.ReasoningFields) > 0 {
		return q.ReasoningFields
	}
	return []string{"reasoning_content", "reasoning", "reasoning_text"}
}
