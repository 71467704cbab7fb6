package openai

import (
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// formDetails marks reasoning of which only the opaque details are known.
const formDetails = "reasoning_details"

// Done implements wire.Decoder. A reply without a finish_reason is one that
// broke off, unless something else says that it is over: see forgotten.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.usage, Detail: d.refusal.String()}
	if d.stop == "" && !d.forgotten() {
		return done, wire.ErrCut
	}
	m := provider.Message{Role: provider.RoleAssistant, Provider: d.provider, Model: d.model}
	calls := make([]provider.ToolCall, len(d.calls.list))
	for i, s := range d.calls.list {
		calls[i] = wire.NewCall(s.id, s.name, s.args.String())
	}
	wire.UniqueIDs(calls, d.history)
	opaque, err := d.details.marshal()
	if err != nil {
		return done, &provider.Error{Kind: provider.KindProvider, Message: "the reply's reasoning makes no sense", Err: err}
	}
	for _, g := range d.parts {
		switch g.form {
		case "text":
			m.Parts = append(m.Parts, provider.Text{Text: g.text.String()})
		case "call":
			m.Parts = append(m.Parts, calls[g.call])
		default:
			m.Parts = append(m.Parts, provider.Reasoning{Text: g.text.String(), Form: g.form, Opaque: opaque})
			opaque = "" // all details belong to the reply; its first thought carries them
		}
	}
	if opaque != "" {
		m.Parts = append([]provider.Part{provider.Reasoning{Form: formDetails, Opaque: opaque}}, m.Parts...)
	}
	done.Message = m
	done.Stop = stopReason(d.stop, len(calls) > 0, d.refusal.Len() > 0)
	return done, nil
}

// forgotten reports whether a reply is whole though its finish_reason is missing.
// Some servers (NIM, GLM) forget it behind calls, Snowflake behind any answer:
// then [DONE] or the count of tokens must have come behind calls that are whole,
// and behind a text both. A connection that merely ends may have done so between
// two calls.
func (d *decoder) forgotten() bool {
	counted := d.usage != (provider.Usage{})
	if len(d.calls.list) > 0 {
		return d.calls.whole() && (d.over || counted)
	}
	return d.over && counted && len(d.parts) > 0
}

// unreadable makes a reply of one that the server gave up, since it could not read
// the model's call: the model is then told what it wrote, where the same request
// would most likely get the same call.
func (d *decoder) unreadable(e *provider.Error, raw string, tools []provider.ToolSpec) provider.Done {
	m := provider.Message{Role: provider.RoleAssistant, Provider: d.provider, Model: d.model}
	for _, g := range d.parts {
		if g.form == "text" {
			m.Parts = append(m.Parts, provider.Text{Text: g.text.String()})
		}
	}
	calls := []provider.ToolCall{{Name: wire.LikelyTool(raw, tools), Input: json.RawMessage("{}"), Raw: strings.ToValidUTF8(raw, "\uFFFD")}}
	wire.UniqueIDs(calls, d.history)
	m.Parts = append(m.Parts, calls[0])
	return provider.Done{Message: m, Stop: provider.StopToolUse, Detail: e.Message, Usage: e.Usage, RequestID: e.RequestID, Tries: 1}
}

// stopReason maps the words in use. That there are calls to run is told by the
// calls; only a reply that was cut or refused must not run them.
func stopReason(word string, calls, refusal bool) provider.StopReason {
	switch word {
	case "length", "max_tokens":
		return provider.StopMaxTokens
	case "content_filter", "sensitive":
		return provider.StopRefusal
	case "model_context_window_exceeded":
		return provider.StopContext
	}
	switch {
	case calls:
		return provider.StopToolUse
	case refusal:
		return provider.StopRefusal
	}
	return provider.StopComplete
}
