// Package provider is the vocabulary of talking to a language model: messages,
// requests, the events of a streamed reply, usage and errors. It knows nothing
// of the rest of artoo. Each wire (Anthropic Messages, Chat Completions, …) is
// a sub-package that implements Provider; retry, repair and the catalogue are
// here because every wire needs them.
package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// Provider asks a model and streams its reply.
type Provider interface {
	// Stream sends req when iteration starts and yields the reply's events. A complete
	// reply ends with exactly one Done, a failed one with (nil, err), err being an *Error;
	// nothing follows. Breaking out of the loop or cancelling ctx closes the connection.
	// Several goroutines may call Stream; each sequence is used once.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Structurer is a Provider whose server may hold a model to a schema.
type Structurer interface {
	Provider
	// Structures reports whether the answer to req would be held to req.Schema. It asks no server, and
	// several goroutines may call it.
	Structures(req Request) bool
}

// Waiter is a Provider whose own tools may change files of the project.
type Waiter interface {
	Provider
	// Wait waits until nothing of the runs that were stopped works any more. It may be
	// called from any goroutine.
	Wait()
}

// Options are the options of one request. The zero value of each field means "unset".
type Options struct {
	Model       string   // the model's id as the provider knows it
	MaxTokens   int      // tokens of the reply, reasoning included
	Temperature *float64 // sent only when not nil
	Effort      Effort   // reasoning effort
}

// Or returns o with every unset field taken from d.
func (o Options) Or(d Options) Options {
	o.Model = cmp.Or(o.Model, d.Model)
	o.MaxTokens = cmp.Or(o.MaxTokens, d.MaxTokens)
	if o.Temperature == nil {
		o.Temperature = d.Temperature
	}
	o.Effort = cmp.Or(o.Effort, d.Effort)
	return o
}

// Request is everything a model is given for one reply. Wires encode Options, Tools and
// System before Messages, so that a body is a prefix of the next one.
type Request struct {
	Options
	System   string
	Tools    []ToolSpec
	Messages []Message
	NoCalls  bool // no tool may be called in this reply; Tools are as ever, for the history speaks of them
	// Schema is the JSON Schema that the answer has to fit, or nil. A Structurer holds the model to it
	// where it can; others do not send it.
	Schema    json.RawMessage
	SessionID string // a stable, meaningless name of the conversation for providers that route caches by it; may be empty
}

// ToolSpec describes one tool to the model. Schema is a JSON Schema object whose
// bytes never change during a session: prompt caches depend on it.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Effort says how hard a model should reason. Empty leaves it to the model.
type Effort string

// The efforts a user may ask for; each wire maps them to its own words.
const (
	EffortOff    Effort = "off"
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
	EffortMax    Effort = "max"
)

// Share is how much of a reply's tokens a model may think at this effort, in per cent.
func (e Effort) Share() int {
	switch e {
	case "", EffortOff:
		return 0
	case EffortLow:
		return 25
	case EffortMedium:
		return 50
	case EffortHigh:
		return 75
	}
	return 90
}

// StopReason says why a complete reply ended.
type StopReason string

// The stop reasons. ToolUse is decided by the presence of calls, not by the provider's word.
const (
	StopComplete  StopReason = "complete"
	StopToolUse   StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens" // cut at the reply limit; a last tool call may be incomplete
	StopRefusal   StopReason = "refusal"    // refused by the model or a filter
	StopContext   StopReason = "context"    // the window is full; the reply is truncated
	StopPause     StopReason = "pause"      // the server paused its own work: send the history again as it is
)

// Usage counts tokens. Input excludes those read from or written to the
// provider's cache, on every wire; Output includes Reasoning.
type Usage struct {
	Input      int      `json:"input_tokens"`
	CacheRead  int      `json:"cache_read_tokens"`
	CacheWrite int      `json:"cache_write_tokens"`
	Output     int      `json:"output_tokens"`
	Reasoning  int      `json:"reasoning_tokens"`
	Estimated  bool     `json:"estimated,omitempty"` // the provider sent no count; this is artoo's own guess
	CostUSD    *float64 `json:"cost_usd,omitempty"`  // the provider's own figure; nil if it sent none
}

// Prompt is the size of the request in tokens.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Total is every token of the request and its reply.
func (u Usage) Total() int { return u.Prompt() + u.Output }

// Add returns the sum of u and v. Costs add up where both are known or one of
// the two used no tokens; otherwise the sum's cost is unknown.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input:      u.Input + v.Input,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Output:     u.Output + v.Output,
		Reasoning:  u.Reasoning + v.Reasoning,
		Estimated:  u.Estimated || v.Estimated,
	}
	switch {
	case u.CostUSD != nil && v.CostUSD != nil:
		c := *u.CostUSD + *v.CostUSD
		sum.CostUSD = &c
	case u.Total() == 0:
		sum.CostUSD = v.CostUSD
	case v.Total() == 0:
		sum.CostUSD = u.CostUSD
	}
	return sum
}

// Lister is a Provider whose server can say which models it has.
type Lister interface {
	// Models lists the models for conversations, the newest first if known, with the
	// server's facts over the catalog's. Its errors are *Error. Several goroutines may call
	// it.
	Models(ctx context.Context) ([]ModelInfo, error)
}

// ListTimeout is how long a server's list of models is waited for.
const ListTimeout = 10 * time.Second

// Describer is a Provider whose server knows more of its models than a catalogue.
type Describer interface {
	// Describe returns a model's facts, the server's over the catalog's. It asks once a
	// model. Its errors are *Error, and the next call tries again. Several goroutines may
	// call it.
	Describe(ctx context.Context, model string) (ModelInfo, error)
}

// LocalHost is a Provider whose server runs the user's own models. Each method asks the
// server once, within ctx; its errors are *Error. Several goroutines may call them.
type LocalHost interface {
	// Version is the server's, never empty without an error.
	Version(ctx context.Context) (string, error)
	// Windows are the tokens that a model takes at most and those it is set to take,
	// each 0 where the server does not say.
	Windows(ctx context.Context, model string) (most, set int, err error)
	// Loaded are the models in memory now.
	Loaded(ctx context.Context) ([]LoadedModel, error)
}

// LoadedModel is a model in memory.
type LoadedModel struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`           // bytes
	Graphics int64  `json:"size_vram"`      // the part on the graphics card
	Context  int    `json:"context_length"` // its window in tokens, 0 if unknown
}

// Server is the way to a provider's server, the same for every wire. The zero
// value of every field but Name has a meaning.
type Server struct {
	Form
	Name    string // the configured name; reasoning goes back only to messages of the same name and model
	BaseURL string // may end in a version; "" means the provider's own, see Base
	// Key is asked before each request, inside its time limits; nil, or an
	// empty key, sends none. It goes into a header, never into the address.
	Key  func(context.Context) (string, error)
	HTTP *http.Client // nil means http.DefaultClient; redirects are never followed
	// Headers are sent with each request and win over the wire's own.
	Headers map[string]string
	// Idle is the longest silence between two bytes of a reply, twice as long before the
	// first. 0 means 5 minutes, or no limit for a Local server; negative means no limit.
	Idle           time.Duration
	RequestTimeout time.Duration // the whole of one request; 0 means no limit
	Local          bool          // the server is on a loopback or private address
	// Setting names the source of BaseURL for hints, a variable or a place in a file; may
	// be "".
	Setting string
	// KeyHint is the next step where the server refuses the key; may be "".
	KeyHint string
	Catalog *Catalog // facts of its models; nil means the built-in catalog
}

// Base is BaseURL, or the provider's own address; "" where none is known: a key must not reach
// another vendor's server.
func (s Server) Base() string {
	if s.BaseURL != "" {
		return s.BaseURL
	}
	f, _ := FactsOf(s.Name)
	return f.BaseURL
}
