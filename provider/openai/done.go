package openai

import (
	"artoo/provider"
	"artoo/provider/internal/wire"
)

// formDetails marks reasoning of which only the opaque details are known.
const formDetails = "reasoning_details"

// Done implements wire.Decoder. A reply without a finish_reason is one that
// broke off, unless something else says that it is over: see forgotten.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage, Detail: d.refusal.String()}
	if d.stop == "" && !d.forgotten() {
		return done, wire.ErrCut
	}
	var parts []provider.Part
	opaque, err := d.details.marshal()
	if err != nil {
		return done, &provider.Error{Kind: provider.KindProvider, Message: "the reply's reasoning makes no sense", Err: err}
	}
	for _, g := range d.parts {
		switch g.form {
		case "text":
			parts = append(parts, provider.Text{Text: g.text.String()})
		case "call":
			s := d.calls.list[g.call]
			parts = append(parts, wire.NewCall(s.id, s.name, s.args.String()))
		default:
			parts = append(parts, provider.Reasoning{Text: g.text.String(), Form: g.form, Opaque: opaque})
			opaque = "" // all details belong to the reply; its first thought carries them
		}
	}
	if opaque != "" {
		parts = append([]provider.Part{provider.Reasoning{Form: formDetails, Opaque: opaque}}, parts...)
	}
	done.Message = d.Message(parts)
	done.Stop = stopReason(d.stop, len(d.calls.list) > 0, d.refusal.Len() > 0)
	return done, nil
}

// forgotten reports whether a reply is whole without a finish_reason, which some servers
// (NIM, GLM, Snowflake) forget: whole calls need [DONE] or the count of tokens, a text
// both.
func (d *decoder) forgotten() bool {
	counted := d.Usage != (provider.Usage{})
	if len(d.calls.list) > 0 {
		return d.calls.whole() && (d.over || counted)
	}
	return d.over && counted && len(d.parts) > 0
}

// unreadable makes a reply of one that the server gave up for a call.
func (d *decoder) unreadable(e *provider.Error, raw string, tools []provider.ToolSpec) provider.Done {
	var parts []provider.Part
	for _, g := range d.parts {
		if g.form == "text" {
			parts = append(parts, provider.Text{Text: g.text.String()})
		}
	}
	return d.Unreadable(e, parts, raw, tools)
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
