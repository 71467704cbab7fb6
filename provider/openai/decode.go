package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

type decoder struct {
	wire.Reply
	quirks Quirks
	fields []string // where reasoning may come, in order of preference

	calls    calls
	details  details
	refusal  strings.Builder
	stop     string
	counted  bool // the last chunk held the count of tokens and nothing else
	repeated wire.Repeated
}

// chunk is an event of the stream or, with Message in its choices, a whole reply.
type chunk struct {
	Object  string          `json:"object"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Timings *timings        `json:"timings"`
	XGroq   *xGroq          `json:"x_groq"`
	Error   json.RawMessage `json:"error"`
}

type xGroq struct {
	Usage *usage `json:"usage"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"`
	FinishReason *string         `json:"finish_reason"`
	NativeFinish string          `json:"native_finish_reason"`
	Usage        *usage          `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningText    json.RawMessage `json:"reasoning_text"`
	ReasoningDetails []detail        `json:"reasoning_details"`
	ToolCalls        []fragment      `json:"tool_calls"`
}

// Feed implements wire.Decoder.
func (d *decoder) Feed(data string) (wire.Progress, error) {
	if text, _, ok := d.repeated.Text(data); ok && d.stop == "" {
		d.Answer(text)
		d.counted = false
		return wire.More, nil
	}
	var c chunk
	if err := wire.Decode([]byte(data), &c); err != nil {
		return wire.More, wire.Nonsense("an event of the reply", err)
	}
	err := d.take(&c, []byte(data))
	if err == nil && d.stop != "" {
		return wire.Complete, nil
	}
	if err == nil && c.onlyText() {
		d.repeated.Learn(data, d.OnlyText(), 0)
	}
	return wire.More, err
}

// onlyText reports whether a chunk holds nothing to keep but text.
func (c *chunk) onlyText() bool {
	if len(c.Choices) != 1 || c.Usage != nil || c.XGroq != nil || c.Timings != nil || wire.Present(c.Error) {
		return false
	}
	ch := &c.Choices[0]
	if ch.Index != 0 || ch.Delta == nil || ch.Message != nil || ch.Usage != nil || wire.Present(ch.Error) ||
		ch.FinishReason != nil && *ch.FinishReason != "" {
		return false
	}
	d := ch.Delta
	return d.Refusal == "" && !wire.Present(d.ReasoningContent) && !wire.Present(d.Reasoning) &&
		!wire.Present(d.ReasoningText) && len(d.ReasoningDetails)+len(d.ToolCalls) == 0
}

// says reports whether a choice holds a piece of the reply.
func (c choice) says() bool {
	d := c.Delta
	return c.Message != nil || d != nil && (d.Refusal != "" || plain(d.Content) != "" || wire.Present(d.ReasoningContent) ||
		wire.Present(d.Reasoning) || len(d.ReasoningDetails)+len(d.ToolCalls) > 0)
}

// Whole implements wire.Decoder.
func (d *decoder) Whole(data []byte) error {
	var c chunk
	err := wire.Decode(data, &c)
	if err == nil && len(c.Choices) > 0 {
		return d.takeWhole(&c, data)
	}
	return wire.NoReply("completion", data, err)
}

func (d *decoder) takeWhole(c *chunk, data []byte) error {
	err := d.take(c, data)
	if err == nil && d.stop == "" {
		d.stop = "stop" // a whole document needs no word that it ended
	}
	d.EndAnswer()
	return err
}

// take works a chunk in. An error may come with an empty list of choices.
func (d *decoder) take(c *chunk, data []byte) error {
	if !d.cutAt(c) && (wire.Present(c.Error) || c.Object == "error") { // the latter is vLLM's form
		if e := wire.Failure(data); e != nil {
			return e
		}
	}
	d.Begin(c.Model, "")
	d.counted = !slices.ContainsFunc(c.Choices, choice.says)
	d.count(c.Usage)
	if c.XGroq != nil {
		d.count(c.XGroq.Usage)
	}
	if c.Usage == nil && c.Timings != nil {
		d.count(c.Timings.usage())
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			d.takeCalls(ch)
			continue
		}
		d.count(ch.Usage)
		for _, dl := range []*delta{ch.Delta, ch.Message} {
			if dl != nil {
				if err := d.grow(dl); err != nil {
					return err
				}
			}
		}
		if wire.Present(ch.Error) && !d.cutAt(c) {
			if e := wire.Failure(ch.Error); e != nil {
				return e
			}
		}
		if ch.FinishReason != nil && *ch.FinishReason != "" {
			if err := d.finish(*ch.FinishReason, ch.NativeFinish); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutAt reports whether the reply was cut at its length, perhaps in an error.
func (d *decoder) cutAt(c *chunk) bool {
	if d.stop == "length" {
		return true
	}
	for i := range c.Choices {
		if word := c.Choices[i].FinishReason; c.Choices[i].Index == 0 && word != nil && *word == "length" {
			return true
		}
	}
	return false
}

func (d *decoder) grow(dl *delta) error {
	for _, field := range d.fields {
		if text := plain(dl.field(field)); text != "" {
			d.reasoning(field, text)
			break
		}
	}
	for i := range dl.ReasoningDetails {
		d.details.add(dl.ReasoningDetails[i])
	}
	d.content(dl.Content)
	d.refusal.WriteString(dl.Refusal)
	d.callsOf(dl)
	return nil
}

// takeCalls takes the calls of a further choice (GitHub Copilot).
func (d *decoder) takeCalls(ch *choice) {
	for _, dl := range []*delta{ch.Delta, ch.Message} {
		if dl != nil {
			d.callsOf(dl)
		}
	}
}

func (d *decoder) callsOf(dl *delta) {
	for i := range dl.ToolCalls {
		f := &dl.ToolCalls[i]
		n, fresh := d.calls.add(f)
		if fresh {
			d.Parts = append(d.Parts, d.calls.list[n].Piece)
		}
		if n >= 0 {
			d.Called(d.calls.list[n].Name, n, len(wire.Text(f.Function.Arguments)))
		}
	}
}

func (dl *delta) field(name string) json.RawMessage {
	switch name {
	case "reasoning_content":
		return dl.ReasoningContent
	case "reasoning":
		return dl.Reasoning
	case "reasoning_text":
		return dl.ReasoningText
	}
	return nil
}

func (d *decoder) content(raw json.RawMessage) {
	if !wire.Present(raw) {
		return
	}
	if raw[0] != '[' {
		d.Answer(plain(raw))
		return
	}
	var pieces []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &pieces) != nil {
		return // a list of something else is nothing to read
	}
	for _, p := range pieces {
		switch p.Type {
		case "thinking":
			var inner []struct {
				Text string `json:"text"`
			}
			if json.Unmarshal(p.Thinking, &inner) != nil {
				d.reasoning(wire.FormThinking, plain(p.Thinking))
				continue
			}
			for _, t := range inner {
				d.reasoning(wire.FormThinking, t.Text)
			}
		default:
			d.Answer(p.Text)
		}
	}
}

func (d *decoder) reasoning(form, s string) {
	if s != "" {
		d.Reason(&d.Part(form, "").Text, s)
	}
}

// Held implements wire.Decoder.
func (d *decoder) Held() int { return d.Reply.Held() + d.refusal.Len() + d.details.size }

// finish takes the words for the end, some of which report a failure.
func (d *decoder) finish(word, native string) error {
	for _, w := range []string{word, native} {
		switch w {
		case "error":
			return &provider.Error{Kind: provider.KindProvider, Code: w,
				Message: "the server cut the reply off with an error"}
		case "network_error":
			return &provider.Error{Kind: provider.KindNetwork,
				Code: w, Message: "the server lost its connection to the model"}
		case "insufficient_system_resource":
			return &provider.Error{Kind: provider.KindOverloaded, Code: w,
				Message: "the server cut the reply off for lack of resources"}
		}
	}
	d.stop = word
	d.EndAnswer()
	return nil
}

// plain is the content of a JSON string, "" for anything else.
func plain(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	return wire.Text(raw)
}

// formDetails marks reasoning of which only the opaque details are known.
const formDetails = "reasoning_details"

// Done implements wire.Decoder. A reply without a finish_reason broke off, unless it is forgotten.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage, Detail: d.refusal.String()}
	if d.stop == "" && !d.forgotten() {
		return done, wire.Missing("finish_reason")
	}
	opaque, err := d.details.marshal()
	if err != nil {
		return done, &provider.Error{Kind: provider.KindProvider, Message: "artoo cannot read the reply's reasoning", Err: err}
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

// forgotten reports whether a reply is whole without a finish_reason (NIM, GLM, Snowflake): at [DONE], where the
// arguments of all calls have come, or for calls at the count of tokens.
func (d *decoder) forgotten() bool {
	counted := d.counted && d.Usage != (provider.Usage{})
	if len(d.calls.list) > 0 {
		return d.calls.whole() && (d.IsOver() || counted)
	}
	return d.IsOver() && (d.Closed() || counted && len(d.Parts) > 0)
}

type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; a few servers send the object itself
	} `json:"function"`
}

// calls gathers the tool calls of one reply: parallel ones may share an index or ID, or have none.
type calls struct {
	list    []*slot
	byIndex map[int]int    // an index's newest call
	byID    map[string]int // an id's first call
}

type slot struct {
	*wire.Piece
	index  int
	extent wire.Extent // bytes of the arguments
}

// add works a fragment in and returns its call, -1 for none; fresh says that it begins one.
func (c *calls) add(f *fragment) (n int, fresh bool) {
	args := wire.Text(f.Function.Arguments)
	n = c.find(f, args)
	if n < 0 {
		if f.ID == "" && f.Function.Name == "" && args == "" {
			return -1, false
		}
		n, fresh = len(c.list), true
		s := &slot{Piece: &wire.Piece{Form: wire.FormCall}, index: n}
		if f.Index != nil {
			s.index = *f.Index
		}
		c.list = append(c.list, s)
		if c.byIndex == nil {
			c.byIndex, c.byID = map[int]int{}, map[string]int{}
		}
		c.byIndex[s.index] = n
	}
	s := c.list[n]
	if s.ID == "" {
		s.ID = f.ID
		if _, ok := c.byID[s.ID]; !ok {
			c.byID[s.ID] = n
		}
	}
	s.Name = cmp.Or(s.Name, f.Function.Name)
	s.Text.WriteString(args)
	s.extent.Add(args)
	return n, fresh
}

// find returns the call a fragment continues, -1 when it begins one.
func (c *calls) find(f *fragment, args string) int {
	current := len(c.list) - 1
	if f.Index != nil {
		n, ok := c.byIndex[*f.Index]
		if !ok {
			return -1
		}
		current = n
	}
	if current < 0 {
		return -1
	}
	s := c.list[current]
	switch {
	case f.ID != "" && s.ID != "" && f.ID != s.ID:
		// Another call at the same index; perhaps an older one that goes on.
		if n, ok := c.byID[f.ID]; ok && (f.Index == nil || c.list[n].index == *f.Index) {
			return n
		}
		return -1
	case f.Function.Name != "" && s.Name != "" && s.complete(f, args):
		return -1
	}
	return current
}

// complete reports whether a fragment with a name comes after the end of the call.
func (s *slot) complete(f *fragment, args string) bool {
	if !s.extent.Begun {
		return f.Function.Name != s.Name
	}
	if args = strings.TrimSpace(args); args != "" && args[0] != '{' && args[0] != '"' {
		return false
	}
	return s.extent.Ended()
}

// whole reports whether there are calls and the arguments of all have come.
func (c *calls) whole() bool {
	for _, s := range c.list {
		if !json.Valid([]byte(s.Text.String())) {
			return false
		}
	}
	return len(c.list) > 0
}
