package openai

import (
	"cmp"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// Done implements wire.Decoder.
func (d *responsesDecoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage}
	if d.stop == "" {
		return done, wire.ErrCut
	}
	var parts []provider.Part
	for _, o := range d.items {
		mark, err := o.mark.opaque()
		if err != nil {
			return done, &provider.Error{Kind: provider.KindProvider, Message: "the id of an item makes no sense", Err: err}
		}
		switch o.kind {
		case "message":
			text := o.text.String()
			if o.mark.Apart {
				text = apart + text
			}
			if text != "" {
				parts = append(parts, provider.Text{Text: text, Opaque: mark})
			}
		case "reasoning":
			if o.raw != nil || o.text.Len() > 0 {
				parts = append(parts, provider.Reasoning{Text: o.text.String(), Form: formItem, Opaque: string(o.raw)})
			}
		case "function_call", "custom_tool_call":
			call := wire.NewCall(o.callID, o.name, o.args.String())
			call.Opaque = mark
			parts = append(parts, call)
		}
	}
	m := d.Message(parts)
	calls := len(m.Calls()) > 0
	if len(d.unrecognized) > 0 && !calls && m.Text() == "" && d.refusal.Len() == 0 {
		return done, &provider.Error{Kind: provider.KindProvider, Retry: new(false),
			Message: "the reply holds nothing but what was not asked for: " + strings.Join(d.unrecognized, ", ")}
	}
	done.Message = m
	done.Stop, done.Detail = responsesStop(d.stop, calls, d.refusal.String(), m.Text() == "")
	return done, nil
}

// Held implements wire.Decoder.
func (d *responsesDecoder) Held() (n int) {
	for _, o := range d.items {
		n += o.text.Len() + o.args.Len() + len(o.raw)
	}
	return n + d.refusal.Len()
}

// responsesStop maps the API's word and words what the user should know of it.
// That there are calls to run is told by the calls; only a reply that was cut or
// refused must not run them.
func responsesStop(word string, calls bool, refusal string, silent bool) (stop provider.StopReason, detail string) {
	switch {
	case word == "content_filter":
		refusal = cmp.Or(refusal, "a content filter stopped the reply")
		return provider.StopRefusal, refusal
	case word == stopAtLimit && silent && !calls:
		return provider.StopMaxTokens, "the reasoning took all the tokens of the reply"
	case word != stopCompleted:
		return provider.StopMaxTokens, word // cut short, whatever the reason
	case calls:
		return provider.StopToolUse, ""
	case refusal != "":
		return provider.StopRefusal, refusal
	}
	return provider.StopComplete, ""
}
