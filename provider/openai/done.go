package openai

import (
	"slices"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// formDetails marks reasoning of which only the opaque details are known.
const formDetails = "reasoning_details"

// Done implements wire.Decoder. A reply without a finish_reason broke off, unless it is forgotten.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage, Detail: d.refusal.String()}
	if d.stop == "" && !d.forgotten() {
		return done, wire.ErrCut
	}
	opaque, err := d.details.marshal()
	if err != nil {
		return done, &provider.Error{Kind: provider.KindProvider, Message: "the reply's reasoning makes no sense", Err: err}
	}
	if opaque != "" { // all details belong to the reply; its first thought carries them
		first := slices.IndexFunc(d.Parts, func(p *wire.Piece) bool { return p.Form != wire.FormText && p.Form != wire.FormCall })
		if first < 0 {
			first = 0
			d.Parts = slices.Insert(d.Parts, 0, &wire.Piece{Form: formDetails})
		}
		d.Parts[first].Opaque = opaque
	}
	done.Message = d.Message(d.Gathered())
	done.Stop = wire.Stop(d.stop, len(d.calls.list) > 0)
	if done.Stop == provider.StopComplete && d.refusal.Len() > 0 {
		done.Stop = provider.StopRefusal
	}
	return done, nil
}

// forgotten reports whether a reply is whole without a finish_reason (NIM, GLM, Snowflake): whole
// calls need [DONE] or the count of tokens, a text both.
func (d *decoder) forgotten() bool {
	counted := d.Usage != (provider.Usage{})
	if len(d.calls.list) > 0 {
		return d.calls.whole() && (d.over || counted)
	}
	return d.over && counted && len(d.Parts) > 0
}
