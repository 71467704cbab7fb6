package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

type responsesDecoder struct {
	wire.Reply
	most int // tokens that the reply was asked to have at most, 0 for no limit

	items        []*outputItem
	spoken       *outputItem // the newest with text for the user
	stop         string      // why the reply ended; "" while it has not
	refusal      strings.Builder
	unrecognized []string // kinds of items that were left out
}

// responsesEvent is any event of the stream.
type responsesEvent struct {
	Type         string          `json:"type"`
	OutputIndex  *int            `json:"output_index"`
	ItemID       string          `json:"item_id"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        json.RawMessage `json:"delta"`
	Text         json.RawMessage `json:"text"`
	Arguments    json.RawMessage `json:"arguments"`
	Name         string          `json:"name"`
	Item         json.RawMessage `json:"item"`
	Response     *responsesReply `json:"response"`
	Error        json.RawMessage `json:"error"`
}

// responsesReply is the response in an event, or a whole one.
type responsesReply struct {
	Object     string            `json:"object"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *responsesUsage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// responsesUsage counts tokens; the input includes those from the cache.
type responsesUsage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	InputDetails *struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails *struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// The words for the end of a reply that are not the server's own.
const (
	stopCompleted = "completed"
	stopCutShort  = "incomplete" // no reason was given
	stopAtLimit   = "max_output_tokens"
)

// Feed implements wire.Decoder.
func (d *responsesDecoder) Feed(data string) (wire.Progress, error) {
	var ev responsesEvent
	if err := wire.Decode([]byte(data), &ev); err != nil {
		return wire.More, wire.Nonsense("an event of the reply", err)
	}
	if e := wire.Reported(ev.Error, data, ev.Type == "error"); e != nil {
		return wire.More, e
	}
	if !strings.HasPrefix(ev.Type, "response.") {
		return wire.More, nil // pings, and whatever comes
	}
	model := ""
	if ev.Response != nil {
		model = ev.Response.Model
	}
	d.Begin(model, "")
	switch ev.Type {
	case "response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled":
		if ev.Response == nil {
			ev.Response = &responsesReply{}
		}
		ev.Response.Status = cmp.Or(ev.Response.Status, strings.TrimPrefix(ev.Type, "response."))
		if err := d.finish(ev.Response, ev.Type); err != nil {
			return wire.More, err
		}
		return wire.End, nil
	}
	d.take(&ev)
	return wire.More, nil
}

// Whole implements wire.Decoder.
func (d *responsesDecoder) Whole(data []byte) error {
	var r responsesReply
	err := wire.Decode(data, &r)
	if err != nil || r.Status == "" || r.Object != "response" {
		return wire.NoReply("response", data, err)
	}
	d.Begin(r.Model, "")
	switch r.Status {
	case "queued", "in_progress":
		return nil // the server works on without us: no reply came
	}
	return d.finish(&r, "response."+r.Status)
}

func (d *responsesDecoder) take(ev *responsesEvent) {
	kind := strings.TrimPrefix(ev.Type, "response.")
	switch kind {
	case "output_item.added", "output_item.done":
		var it itemHead
		if wire.Decode(ev.Item, &it) != nil || it.Type == "" {
			return // an event without an item says nothing
		}
		if kind == "output_item.added" {
			o := d.added(ev.OutputIndex, &it)
			if d.open(o, &it); o.kind == "function_call" || o.kind == "custom_tool_call" {
				d.arguments(o, "")
			}
			return
		}
		o := d.find(ev.OutputIndex, it.ID, it.Type)
		d.open(o, &it)
		d.close(o, &it, ev.Item)
	case "output_text.delta":
		d.text(d.find(ev.OutputIndex, ev.ItemID, "message"), plain(ev.Delta))
	case "output_text.done":
		if o := d.find(ev.OutputIndex, ev.ItemID, "message"); o.text.Len() == 0 {
			d.text(o, plain(ev.Text))
		}
	case "refusal.delta":
		d.find(ev.OutputIndex, ev.ItemID, "message").refused = true
		d.refusal.WriteString(plain(ev.Delta))
	case "reasoning_summary_text.delta":
		d.reasoning(d.find(ev.OutputIndex, ev.ItemID, "reasoning"), section{"summary", ev.SummaryIndex}, plain(ev.Delta))
	case "reasoning_text.delta":
		d.reasoning(d.find(ev.OutputIndex, ev.ItemID, "reasoning"), section{"content", ev.ContentIndex}, plain(ev.Delta))
	case "function_call_arguments.delta":
		d.arguments(d.find(ev.OutputIndex, ev.ItemID, "function_call"), wire.Text(ev.Delta))
	case "function_call_arguments.done":
		o := d.find(ev.OutputIndex, ev.ItemID, "function_call")
		o.setArguments(wire.Text(ev.Arguments))
		o.name = cmp.Or(o.name, ev.Name)
	case "custom_tool_call_input.delta":
		d.arguments(d.find(ev.OutputIndex, ev.ItemID, "custom_tool_call"), plain(ev.Delta))
	}
}

// finish takes the last event, whose response may hold parts that no event before brought.
func (d *responsesDecoder) finish(r *responsesReply, event string) error {
	d.count(r.Usage)
	if e := wire.Reported(r.Error, string(r.Error), false); e != nil {
		return e
	}
	switch {
	case r.Incomplete != nil && r.Incomplete.Reason != "":
		d.stop = r.Incomplete.Reason
	case r.Status == "completed" && d.most > 0 && d.Usage.Output >= d.most:
		d.stop = stopAtLimit // llama.cpp calls it completed all the same
	case r.Status == "completed", r.Status == "done":
		d.stop = stopCompleted
	case r.Status == "incomplete":
		d.stop = stopCutShort
	default:
		return &provider.Error{Kind: provider.KindProvider, Code: event,
			Message: "the server gave up on the reply without a reason (" + r.Status + ")"}
	}
	d.complete(r.Output)
	d.dropCustomCalls()
	return nil
}

func (d *responsesDecoder) count(u *responsesUsage) {
	if u == nil {
		return
	}
	out := provider.Usage{Output: wire.Count(u.Output)}
	if u.InputDetails != nil {
		out.CacheRead, out.CacheWrite = wire.Count(u.InputDetails.Cached), wire.Count(u.InputDetails.CacheWrite)
	}
	out.Input = max(0, wire.Count(u.Input)-out.CacheRead-out.CacheWrite)
	if u.OutputDetails != nil {
		out.Reasoning = wire.Count(u.OutputDetails.Reasoning)
	}
	d.Usage = out
}

// Done implements wire.Decoder.
func (d *responsesDecoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage}
	if d.stop == "" && d.IsOver() && d.closed() { // gateways leave out response.completed
		d.stop = stopCompleted
		d.dropCustomCalls()
	}
	if d.stop == "" {
		return done, wire.Missing("response.completed")
	}
	var parts []provider.Part
	for _, o := range d.items {
		mark, err := o.mark.opaque()
		if err != nil {
			return done, &provider.Error{Kind: provider.KindProvider, Message: "artoo cannot read the id of an item", Err: err}
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
			Message: "the reply holds only unrequested items: " + strings.Join(d.unrecognized, ", ")}
	}
	done.Message = m
	done.Stop, done.Detail = responsesStop(d.stop, calls, d.refusal.String(), m.Text() == "")
	return done, nil
}

// closed reports whether the reply says something, and all its items are done.
func (d *responsesDecoder) closed() bool {
	said := false
	for _, o := range d.items {
		call := o.kind == "function_call"
		if !o.done || call && !json.Valid([]byte(cmp.Or(o.args.String(), "{}"))) {
			return false
		}
		said = said || call || o.kind == "message" && !wire.Blank(o.text.String())
	}
	return said || d.refusal.Len() > 0
}

// Held implements wire.Decoder.
func (d *responsesDecoder) Held() (n int) {
	for _, o := range d.items {
		n += o.text.Len() + o.args.Len() + len(o.raw)
	}
	return n + d.refusal.Len()
}

// responsesStop maps the API's word to a reason and a detail for the user.
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
