package converse

import (
	"encoding/json"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// decoder gathers one reply. The events of blocks may interleave.
type decoder struct {
	wire.Reply
	model string // the address named it, and no event does
	stop  string
	ended bool // messageStop came, or metadata, which only follows it
}

// event has one field, by its type.
type event struct {
	Start      *struct{} `json:"messageStart"`
	BlockStart *struct {
		Index int `json:"contentBlockIndex"`
		Start struct {
			Call *replyCall `json:"toolUse"`
		} `json:"start"`
	} `json:"contentBlockStart"`
	Delta *struct {
		Index int `json:"contentBlockIndex"`
		Delta struct {
			Text      string         `json:"text"`
			Call      *replyCall     `json:"toolUse"`
			Reasoning *replyThinking `json:"reasoningContent"`
		} `json:"delta"`
	} `json:"contentBlockDelta"`
	BlockStop *struct {
		Index int `json:"contentBlockIndex"`
	} `json:"contentBlockStop"`
	Stop *struct {
		Reason string `json:"stopReason"`
	} `json:"messageStop"`
	Metadata *struct {
		Usage *usage `json:"usage"`
	} `json:"metadata"`
	Error json.RawMessage `json:"error"`
}

type replyCall struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // a piece of text in a stream
}

type replyThinking struct {
	Text      string         `json:"text"`
	Signature string         `json:"signature"`
	Redacted  string         `json:"redactedContent"`
	Whole     *reasoningText `json:"reasoningText"` // only in a document
}

// Feed implements wire.Decoder.
func (d *decoder) Feed(data string) (wire.Progress, error) {
	var ev event
	if err := wire.Decode([]byte(data), &ev); err != nil {
		return wire.More, wire.Nonsense("an event of the reply", err)
	}
	if e := wire.Reported(ev.Error, data, wire.Present(ev.Error)); e != nil {
		return wire.More, e
	}
	switch {
	case ev.Start != nil:
		d.Begin(d.model, "")
	case ev.BlockStart != nil:
		if call := ev.BlockStart.Start.Call; call != nil {
			d.open(ev.BlockStart.Index, call)
		}
	case ev.Delta != nil:
		delta := ev.Delta.Delta
		switch {
		case delta.Call != nil:
			c := d.Block(ev.Delta.Index, wire.FormCall)
			piece := wire.Text(delta.Call.Input)
			c.Text.WriteString(piece)
			d.Called(c.Name, ev.Delta.Index, len(piece))
		case delta.Reasoning != nil:
			d.think(ev.Delta.Index, delta.Reasoning)
		default:
			d.Text(&d.Block(ev.Delta.Index, wire.FormText).Text, delta.Text)
		}
	case ev.BlockStop != nil:
		d.EndBlock(ev.BlockStop.Index)
	case ev.Stop != nil:
		d.stop, d.ended = ev.Stop.Reason, true
		return wire.Complete, failed(d.stop)
	case ev.Metadata != nil:
		d.count(ev.Metadata.Usage)
		d.ended = true
		return wire.End, nil
	}
	return wire.More, nil
}

// Whole implements wire.Decoder.
func (d *decoder) Whole(data []byte) error {
	var reply struct {
		Output struct {
			Message struct {
				Content []struct {
					Text      string         `json:"text"`
					Call      *replyCall     `json:"toolUse"`
					Reasoning *replyThinking `json:"reasoningContent"`
				} `json:"content"`
			} `json:"message"`
		} `json:"output"`
		Stop  string `json:"stopReason"`
		Usage *usage `json:"usage"`
	}
	if err := wire.Decode(data, &reply); err != nil || reply.Stop == "" {
		return wire.NoReply("a model's answer", data, err)
	}
	d.Begin(d.model, "")
	for i, c := range reply.Output.Message.Content {
		switch {
		case c.Call != nil:
			d.open(i, c.Call).Whole = string(c.Call.Input)
		case c.Reasoning != nil:
			if whole := c.Reasoning.Whole; whole != nil {
				c.Reasoning.Text, c.Reasoning.Signature = whole.Text, whole.Signature
			}
			d.think(i, c.Reasoning)
		default:
			d.Text(&d.Block(i, wire.FormText).Text, c.Text)
		}
	}
	d.stop = reply.Stop
	d.count(reply.Usage)
	return failed(d.stop)
}

func (d *decoder) open(index int, call *replyCall) *wire.Piece {
	c := d.Block(index, wire.FormCall)
	c.Form, c.ID, c.Name = wire.FormCall, call.ID, call.Name
	d.Called(c.Name, index, 0)
	return c
}

func (d *decoder) think(index int, r *replyThinking) {
	if r.Redacted != "" {
		d.Block(index, formRedacted).Opaque += r.Redacted
		return
	}
	c := d.Block(index, formText)
	c.Opaque += r.Signature
	d.Reason(&c.Text, r.Text)
}

// failed is the error for a word that means a slip of the model's, which another try may fix, else nil.
func failed(stop string) error {
	if stop == "malformed_model_output" || stop == "malformed_tool_use" {
		return &provider.Error{Kind: provider.KindProvider, Code: stop, Message: "the model wrote an answer that cannot be read"}
	}
	return nil
}

// Done implements wire.Decoder.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage}
	if d.stop == "" && !((d.ended || d.IsOver()) && d.Closed()) {
		return done, wire.Missing("messageStop")
	}
	done.Message = d.Message(d.Gathered())
	done.Stop = wire.Stop(d.stop, len(done.Message.Calls()) > 0)
	if done.Stop == provider.StopRefusal {
		done.Detail = "the provider stopped the reply (" + d.stop + ")"
	}
	return done, nil
}

// usage counts the input without the cache.
type usage struct {
	Input      int `json:"inputTokens"`
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cacheReadInputTokens"`
	CacheWrite int `json:"cacheWriteInputTokens"`
}

func (d *decoder) count(u *usage) {
	if u != nil {
		d.Usage = provider.Usage{Input: wire.Count(u.Input), Output: wire.Count(u.Output), CacheRead: wire.Count(u.CacheRead),
			CacheWrite: wire.Count(u.CacheWrite)}
	}
}
