package ollama

import (
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

type decoder struct {
	wire.Reply
	asked *attempt
	stop  string
}

type line struct {
	Model   string `json:"model"`
	Message *struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
		Calls    []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Read       int             `json:"prompt_eval_count"`
	Wrote      int             `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

// Feed implements wire.Decoder.
func (d *decoder) Feed(data string) (wire.Progress, error) {
	var l line
	if err := wire.Decode([]byte(data), &l); err != nil {
		return wire.More, wire.Nonsense("a line of the reply", err)
	}
	if err := d.take(&l, data); err != nil {
		return wire.More, err
	}
	if d.stop != "" {
		return wire.End, nil
	}
	return wire.More, nil
}

// Whole implements wire.Decoder; replies of this wire never come so.
func (d *decoder) Whole(data []byte) error {
	_, err := d.Feed(string(data))
	return err
}

// take works a line in. One without a message is an error.
func (d *decoder) take(l *line, data string) error {
	if wire.Present(l.Error) || l.Message == nil && !l.Done {
		if e := wire.Failure([]byte(data)); e != nil {
			return e
		}
		return &provider.Error{Kind: provider.KindProvider, Message: words(data)}
	}
	if d.Begin(l.Model, ""); len(d.Parts) == 0 {
		d.warn(d.asked.lost()...)
	}
	if m := l.Message; m != nil {
		d.Said(m.Thinking, "")
		d.Answer(m.Content)
		for _, c := range m.Calls {
			d.Call(c.ID, c.Function.Name, "", c.Function.Arguments)
		}
	}
	if l.Done || l.DoneReason != "" {
		d.EndAnswer()
		return d.end(l)
	}
	return nil
}

// badCall are the server's words about a call that it cannot read itself.
const badCall = "error parsing tool call"

// words is the message of a line that is no reply.
func words(data string) string {
	var said map[string]string
	if err := wire.Decode([]byte(data), &said); err == nil && said[badCall] != "" {
		return badCall + ": " + said[badCall]
	}
	return data
}

// end takes the last line: the word for the end and the counts.
func (d *decoder) end(l *line) error {
	d.Usage = provider.Usage{Input: wire.Count(l.Read), Output: wire.Count(l.Wrote)}
	d.stop = l.DoneReason
	switch {
	case d.stop == "":
		d.stop = "stop" // older servers say no more than that it is done
	case (d.stop == "load" || d.stop == "unload") && len(d.Parts) == 0:
		return &provider.Error{Kind: provider.KindProvider, Code: d.stop,
			Message: "the server loaded the model and answered nothing"}
	}
	asked := d.asked
	d.warn(cut(asked.size, l.Read, asked.facts.window, asked.loaded)...)
	return nil
}

func (d *decoder) warn(texts ...string) {
	for _, text := range texts {
		d.Pending = append(d.Pending, provider.Notice{Text: text, Warning: true})
	}
}

// Done implements wire.Decoder.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage}
	if d.stop == "" && !(d.IsOver() && d.Closed()) {
		return done, wire.Missing(`"done":true`)
	}
	done.Message = d.Message(d.Gathered())
	done.Stop = wire.Stop(d.stop, len(done.Message.Calls()) > 0)
	if f := d.asked.facts; d.stop == "length" && f.window > 0 && d.Usage.Total() >= f.window-1 {
		done.Stop = provider.StopContext // nothing of the window was left
	}
	return done, nil
}

// unreadable makes a reply of one that the server gave up for a call.
func (d *decoder) unreadable(e *provider.Error, tools []provider.ToolSpec) provider.Done {
	_, raw, found := strings.Cut(e.Message, "raw=")
	if !found {
		raw = e.Message
	}
	raw, _, _ = strings.Cut(raw, ", err=")
	return d.Unreadable(e, strings.Trim(raw, "'`"), tools)
}
