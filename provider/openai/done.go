package openai

import (
	"artoo/provider"
	"artoo/provider/internal/wire"
)

// formDetails marks reasoning of which only the opaque details are known.
const formDetails = "reasoning_details"

// Done implements wire.Decoder. A reply without a finish_reason is one that
// broke off, unless it ends in calls that are whole: some servers (NIM, GLM)
// forget the word there.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.usage, Detail: d.refusal.String()}
	if d.stop == "" && !d.calls.whole() {
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
