package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"artoo/provider"
)

func (d *claudeEvents) stream(r *reply, data []byte) {
	var e struct {
		Type    string        `json:"type"`
		Index   int           `json:"index"`
		Message claudeMessage `json:"message"`
		Block   claudeBlock   `json:"content_block"`
		Delta   struct {
			claudeBlock
			Input string `json:"partial_json"` // a piece of a call's arguments
			Stop  string `json:"stop_reason"`
		} `json:"delta"`
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "message_start":
		d.next(r, e.Message.ID)
		if model := bareModel(e.Message.Model); model != "" {
			r.model = model
		}
	case "content_block_start":
		if e.Block.Type == "text" && !d.joined {
			r.block()
		}
		d.joined = d.joined && e.Block.Type != "text"
		if e.Block.Type == "tool_use" {
			d.writes = e.Block.Name
			r.calling(d.writes, e.Index, 0)
		}
	case "content_block_delta":
		d.text = d.text || e.Delta.Text != ""
		d.thinking = d.thinking || e.Delta.Thinking != ""
		r.think(e.Delta.Thinking)
		r.say(e.Delta.Text)
		if e.Delta.Type == "input_json_delta" {
			r.calling(d.writes, e.Index, len(e.Delta.Input))
		}
	case "message_delta":
		d.refused, d.joined = e.Delta.Stop == "refusal", e.Delta.Stop == "max_tokens"
	}
}

// next begins a message. The text of one that broke off or was filtered is void.
func (d *claudeEvents) next(r *reply, id string) {
	switch {
	case d.refused:
		r.void(d.begun, d.again(r, provider.KindRefused, "the reply was stopped by a filter"))
	case d.here && r.more(d.sure):
		r.void(d.sure, d.again(r, provider.KindNetwork, "the reply broke off"))
	}
	d.message, d.text, d.thinking, d.refused, d.here = id, false, false, false, true
	d.begun, d.sure = r.here(), r.here()
}

// again is a try that follows at once.
func (d *claudeEvents) again(r *reply, kind provider.ErrorKind, why string) provider.Retry {
	d.tries++
	return provider.Retry{Try: d.tries + 1, Tries: d.tries + 1, Own: true,
		Err: &provider.Error{Kind: kind, Provider: ClaudeName, Message: why, RequestID: r.session}}
}

// retry reports claude's own retry, and takes back the text of the broken message.
func (d *claudeEvents) retry(r *reply, e claudeEvent) {
	why := strings.ReplaceAll(e.Error, "_", " ")
	if why == "unknown" || why == "" {
		why = "no connection"
		if d.here && r.more(d.sure) {
			why = "the reply broke off"
		}
	}
	wait := time.Duration(e.RetryDelay * float64(time.Millisecond)).Round(100 * time.Millisecond)
	if e.Attempt <= 1 { // a new request
		d.waited = 0
	}
	if d.waited += wait; d.waited > r.mayWait {
		r.failure, r.abort = &failure{status: e.ErrorStatus, kind: kindOf(why, e.ErrorStatus), after: wait,
			text: fmt.Sprintf("%s; claude would wait longer than ARTOO_MAX_RETRY_TIME", why)}, true
		return
	}
	d.tries = max(d.tries, e.Attempt)
	r.void(d.sure, provider.Retry{
		Own: true,
		Try: e.Attempt + 1, Tries: max(e.MaxRetries, e.Attempt) + 1,
		Wait: wait,
		Err: &provider.Error{Kind: kindOf(why, e.ErrorStatus), Provider: ClaudeName, Status: e.ErrorStatus, Message: why,
			RequestID: r.session},
	})
	d.sure = r.here()
}

// assistant takes whole blocks of a message. Streamed blocks come once more.
func (d *claudeEvents) assistant(r *reply, e claudeEvent) {
	m, blocks := readMessage(e.Message)
	if e.Error != "" { // claude's own words, which the result has too
		d.fault = e.Error
		return
	}
	r.begin(e.SessionID, bareModel(m.Model))
	if d.here && m.ID != d.message && r.more(d.sure) { // given whole after its stream broke off
		d.next(r, m.ID)
	}
	streamed := m.ID != "" && m.ID == d.message
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if !streamed || !d.text {
				r.block()
				r.say(b.Text)
			}
		case "thinking":
			if !streamed || !d.thinking {
				r.think(b.Thinking)
			}
		case "tool_use":
			if _, again := d.calls[b.ID]; !again || b.ID == "" {
				d.calls[b.ID] = b.Name
				if plan := planOf(b); plan != "" {
					r.block()
					r.say(plan)
				} else {
					r.step(b.Name, about(b.Input))
				}
			}
		}
	}
	d.sure = r.here()
}

// claudePrice is the price of claude's model, or of the most similar name in its family; or nil.
func claudePrice(c *provider.Catalog, model string) *provider.Price {
	info, _ := c.Lookup("anthropic", model)
	price, most := info.Price, 0
	for _, m := range c.Models("anthropic") {
		same := 0
		for same < min(len(m.ID), len(model)) && m.ID[same] == model[same] {
			same++
		}
		if family := strings.Count(model[:same], "-") >= 2; info.Price == nil && family && same > most && m.Price != nil {
			price, most = m.Price, same // the newest come first
		}
	}
	return price
}
