package anthropic

import (
	"encoding/json"
	"fmt"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// The two shapes of reasoning in the Messages API.
const (
	formThinking = "thinking"
	formRedacted = "redacted_thinking"
)

// decoder gathers one reply. The events of open blocks may interleave.
type decoder struct {
	wire.Reply

	stop     string
	detail   string
	started  bool // message_start came
	said     bool // something was yielded
	ended    bool // message_stop came
	repeated wire.Repeated
}

type event struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      *messageHead    `json:"message"`
	ContentBlock *blockHead      `json:"content_block"`
	Delta        *delta          `json:"delta"`
	Usage        *usage          `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

type messageHead struct {
	Model       string       `json:"model"`
	Content     []blockHead  `json:"content"`
	StopReason  *string      `json:"stop_reason"`
	StopDetails *stopDetails `json:"stop_details"`
	Usage       *usage       `json:"usage"`
}

type blockHead struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	From      *struct {
		Model string `json:"model"`
	} `json:"from"`
	To *struct {
		Model string `json:"model"`
	} `json:"to"`
}

type delta struct {
	Type        string       `json:"type"`
	Text        string       `json:"text"`
	PartialJSON string       `json:"partial_json"`
	Thinking    string       `json:"thinking"`
	Signature   string       `json:"signature"`
	StopReason  *string      `json:"stop_reason"`
	StopDetails *stopDetails `json:"stop_details"`
}

type stopDetails struct {
	Category    string  `json:"category"`
	Explanation *string `json:"explanation"`
}

// Feed implements wire.Decoder.
func (d *decoder) Feed(data string) (wire.Progress, error) {
	if text, index, ok := d.repeated.Text(data); ok {
		d.text(d.Block(index, wire.FormText), text)
		return wire.More, nil
	}
	var ev event
	if err := wire.Decode([]byte(data), &ev); err != nil {
		return wire.More, wire.Nonsense("an event of the reply", err)
	}
	if e := wire.Reported(ev.Error, data, ev.Type == "error" && wire.Present(ev.Error)); e != nil {
		return wire.More, e
	}
	switch ev.Type {
	case "message_start":
		if ev.Message != nil {
			d.start(ev.Message)
		}
	case "content_block_start":
		if ev.ContentBlock != nil {
			d.open(ev.Index, ev.ContentBlock)
		}
	case "content_block_delta":
		if ev.Delta != nil {
			d.grow(ev.Index, ev.Delta)
		}
		if ev.Message == nil && ev.ContentBlock == nil && ev.Usage == nil {
			d.repeated.Learn(data, d.OnlyText(), ev.Index)
		}
	case "message_delta":
		if ev.Delta != nil && ev.Delta.StopReason != nil {
			d.finish(*ev.Delta.StopReason, ev.Delta.StopDetails)
		}
		d.count(ev.Usage)
		if d.stop != "" && !d.Open() {
			return wire.Complete, nil
		}
	case "content_block_stop":
		d.EndBlock(ev.Index)
	case "message_stop":
		d.ended = true
		return wire.End, nil
	}
	return wire.More, nil
}

// Whole implements wire.Decoder.
func (d *decoder) Whole(data []byte) error {
	var kind event
	var m messageHead
	err := wire.Decode(data, &kind)
	if err == nil {
		err = wire.Decode(data, &m)
	}
	if err != nil || kind.Type != "message" {
		return wire.NoReply("message", data, err)
	}
	d.start(&m)
	for i := range m.Content {
		d.open(i, &m.Content[i])
	}
	if m.StopReason != nil {
		d.finish(*m.StopReason, m.StopDetails)
		d.ended = true
	}
	return nil
}

// start begins the reply. A gateway may begin it again: the events before are void.
func (d *decoder) start(m *messageHead) {
	if d.started && d.said {
		d.Pending = append(d.Pending,
			provider.Notice{Text: "the server began its reply again; the first part is dropped"})
	}
	if !d.started || d.said {
		d.Parts, d.stop, d.said = nil, "", false
	}
	d.started = true
	d.count(m.Usage)
	d.Pending = append(d.Pending, provider.Started{Model: m.Model})
}

func (d *decoder) open(index int, b *blockHead) {
	c := d.Block(index, b.Type)
	c.Form, c.ID, c.Name = b.Type, b.ID, b.Name
	switch b.Type {
	case wire.FormText:
		d.text(c, b.Text)
	case formThinking:
		c.Opaque = b.Signature
		d.reasoning(c, b.Thinking)
	case formRedacted:
		c.Opaque = b.Data
	case "tool_use":
		d.said = true
		c.Form, c.Whole = wire.FormCall, string(b.Input)
		d.Called(c.Name, index, 0)
	default:
		c.Form = ""
		if b.From != nil && b.To != nil {
			d.Pending = append(d.Pending,
				provider.Notice{Text: fmt.Sprintf("%s handed over to %s", b.From.Model, b.To.Model)})
		}
	}
}

func (d *decoder) grow(index int, dl *delta) {
	switch dl.Type {
	case "text_delta":
		d.text(d.Block(index, wire.FormText), dl.Text)
	case "thinking_delta":
		d.reasoning(d.Block(index, formThinking), dl.Thinking)
	case "signature_delta":
		d.Block(index, formThinking).Opaque += dl.Signature
	case "input_json_delta":
		c := d.Block(index, "")
		c.Text.WriteString(dl.PartialJSON)
		d.Called(c.Name, index, len(dl.PartialJSON))
	}
}

func (d *decoder) text(c *wire.Piece, s string) {
	if c.Form == wire.FormText {
		d.said = d.said || s != ""
		d.Text(&c.Text, s)
	}
}

func (d *decoder) reasoning(c *wire.Piece, s string) {
	if c.Form == formThinking {
		d.said = d.said || s != ""
		d.Reason(&c.Text, s)
	}
}

func (d *decoder) finish(reason string, details *stopDetails) {
	d.stop = reason
	if details == nil {
		return
	}
	d.detail = details.Category
	if details.Explanation != nil && *details.Explanation != "" {
		d.detail = *details.Explanation
	}
}

// whole reports whether the reply came to its end. Gateways leave out one of its two marks: the other suffices where no
// block is open.
func (d *decoder) whole() bool {
	if d.stop != "" {
		return d.ended || !d.Open()
	}
	return (d.ended || d.IsOver()) && d.Closed()
}

// Done implements wire.Decoder.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage, Detail: d.detail}
	if !d.whole() {
		return done, wire.Missing("message_stop")
	}
	done.Message = d.Message(d.Gathered())
	done.Stop = wire.Stop(d.stop, len(done.Message.Calls()) > 0)
	return done, nil
}

// usage is the API's count: cumulative, unchanged where absent. input_tokens excludes the cache.
type usage struct {
	Input         *int `json:"input_tokens"`
	CacheRead     *int `json:"cache_read_input_tokens"`
	CacheWrite    *int `json:"cache_creation_input_tokens"`
	Output        *int `json:"output_tokens"`
	OutputDetails *struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	set := func(to *int, from *int) {
		if from != nil && *from >= 0 {
			*to = wire.Count(*from)
		}
	}
	set(&d.Usage.Input, u.Input)
	set(&d.Usage.CacheRead, u.CacheRead)
	set(&d.Usage.CacheWrite, u.CacheWrite)
	set(&d.Usage.Output, u.Output)
	if u.OutputDetails != nil {
		set(&d.Usage.Reasoning, u.OutputDetails.Thinking)
	}
}
