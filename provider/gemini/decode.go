package gemini

import (
	"encoding/json"
	"net/http"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// decoder gathers one reply. Each event is a whole response with new parts.
type decoder struct {
	wire.Reply
	stop   string // the word for the end
	detail string

	events, counts int  // those that came, and of them those with the count of tokens
	counted        bool // the last one has it
}

type response struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []replyPart `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback *struct {
		BlockReason string `json:"blockReason"`
		Message     string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage      *usageMetadata  `json:"usageMetadata"`
	Model      string          `json:"modelVersion"`
	ResponseID string          `json:"responseId"`
	Error      json.RawMessage `json:"error"`
}

type replyPart struct {
	Text      string     `json:"text"`
	Thought   bool       `json:"thought"`
	Call      *replyCall `json:"functionCall"`
	Signature string     `json:"thoughtSignature"`
}

type replyCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Pieces json.RawMessage `json:"partialArgs"`
	GoesOn bool            `json:"willContinue"`
}

// usageMetadata counts the prompt with the cache, and the answer without the reasoning.
type usageMetadata struct {
	Prompt     int `json:"promptTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	ToolUse    int `json:"toolUsePromptTokenCount"`
}

// Feed implements wire.Decoder.
func (d *decoder) Feed(data string) (wire.Progress, error) {
	err := d.takeAll([]byte(data))
	if err == nil && d.stop != "" {
		return wire.Complete, nil
	}
	return wire.More, err
}

// Whole implements wire.Decoder: one response, or a list of all.
func (d *decoder) Whole(data []byte) error {
	if err := d.takeAll(data); err != nil {
		return err
	}
	if len(d.Parts) == 0 && d.stop == "" {
		return wire.NoReply("a model's answer", data, nil)
	}
	if d.stop == "" && data[0] == '{' {
		d.stop = "STOP" // a whole document needs no word that it ended
	}
	return nil
}

func (d *decoder) takeAll(data []byte) error {
	list := []json.RawMessage{data}
	if strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 16)])), "[") {
		list = nil
		if err := json.Unmarshal(data, &list); err != nil {
			return wire.Nonsense("an event of the reply", err)
		}
	}
	for _, raw := range list {
		var r response
		if err := wire.Decode(raw, &r); err != nil {
			return wire.Nonsense("an event of the reply", err)
		}
		if err := d.take(&r, raw); err != nil {
			return err
		}
	}
	return nil
}

// take works a response in. An error is looked for first: it stands alone.
func (d *decoder) take(r *response, raw []byte) error {
	if e := wire.Reported(r.Error, string(raw), false); e != nil {
		return e
	}
	d.count(r.Usage)
	d.events++
	if d.counted = r.Usage != nil && r.Usage.Candidates > 0; d.counted {
		d.counts++
	}
	if r.Feedback != nil && r.Feedback.BlockReason != "" && r.Feedback.BlockReason != "BLOCK_REASON_UNSPECIFIED" {
		return blocked(r.Feedback.BlockReason, r.Feedback.Message)
	}
	if len(r.Candidates) > 0 || r.Usage != nil {
		d.Begin(r.Model, r.ResponseID)
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Index != 0 {
			continue
		}
		for j := range c.Content.Parts {
			d.grow(&c.Content.Parts[j])
		}
		if c.FinishReason == "" || c.FinishReason == "FINISH_REASON_UNSPECIFIED" {
			continue
		}
		d.stop, d.detail = c.FinishReason, c.FinishMessage
		if e := failed(c.FinishReason, c.FinishMessage); e != nil {
			return e
		}
	}
	return nil
}

func (d *decoder) count(u *usageMetadata) {
	if u == nil || u.Prompt == 0 && u.Candidates == 0 && u.Thoughts == 0 {
		return
	}
	cached := wire.Count(u.Cached)
	reasoning := wire.Count(u.Thoughts)
	d.Usage = provider.Usage{
		Input:     max(0, wire.Count(u.Prompt)-cached) + wire.Count(u.ToolUse),
		CacheRead: cached,
		Output:    wire.Count(u.Candidates) + reasoning,
		Reasoning: reasoning,
	}
}

func (d *decoder) grow(p *replyPart) {
	if p.Call != nil {
		if p.Text != "" { // the signature is the call's
			d.grow(&replyPart{Text: p.Text, Thought: p.Thought})
		}
		d.call(p.Call, p.Signature)
		return
	}
	if p.Text == "" && p.Signature == "" {
		return
	}
	if p.Thought {
		d.Reason(&d.Part(formThought, p.Signature).Text, p.Text)
	} else {
		d.Text(&d.Part(wire.FormText, p.Signature).Text, p.Text)
	}
}

// call takes a call. Arguments in pieces, which Vertex sends on demand, are not asked for: the model gets an error that
// they could not be read.
func (d *decoder) call(c *replyCall, signature string) {
	if c.Name == "" && c.ID == "" && len(c.Args) == 0 {
		return // a further piece, or the end of them
	}
	args := c.Args
	if c.GoesOn || wire.Present(c.Pieces) {
		args = append(args, "the arguments came in pieces"...)
	}
	d.Call(c.ID, c.Name, signature, args)
}

// formThought marks a thought: a text part that says that it is one.
const formThought = "thought"

// forgotten reports whether a reply is whole without a finishReason: at [DONE], or where only the last of several
// events counts the tokens. Google's own servers count them in each.
func (d *decoder) forgotten() bool {
	last := d.counted && d.counts == 1 && d.events > 1
	return (d.IsOver() || last) && d.Closed()
}

// Done implements wire.Decoder. A reply without a finishReason broke off, unless it is forgotten.
func (d *decoder) Done() (provider.Done, error) {
	done := provider.Done{Usage: d.Usage, Detail: d.detail}
	if d.stop == "" && !d.forgotten() {
		return done, wire.Missing("finishReason")
	}
	if len(d.Parts) == 0 && wire.Stop(d.stop, false) == provider.StopComplete {
		// A slip of these models: the same request mostly gets an answer.
		return done, &provider.Error{Kind: provider.KindProvider, Code: d.stop, Message: "the reply was empty"}
	}
	done.Message = d.Message(d.Gathered())
	done.Stop = wire.Stop(d.stop, len(done.Message.Calls()) > 0)
	if done.Stop == provider.StopRefusal && done.Detail == "" {
		done.Detail = stoppedBy(d.stop)
	}
	return done, nil
}

// reasons say why the provider stopped a reply.
var reasons = map[string]string{
	"RECITATION": tooClose, "IMAGE_RECITATION": tooClose, "LANGUAGE": "it is in a language that the model does not have",
	"SPII": "it contains personal data", "SAFETY": objects, "PROHIBITED_CONTENT": objects, "BLOCKLIST": objects,
	"MODEL_ARMOR": objects, "IMAGE_SAFETY": objects, "IMAGE_PROHIBITED_CONTENT": objects,
}

const (
	tooClose = "it came too close to a copyrighted text"
	objects  = "its safety filter blocked it"
)

func stoppedBy(word string) string {
	if why := reasons[word]; why != "" {
		return "the provider stopped the reply: " + why + " (" + word + ")"
	}
	return "the provider stopped the reply (" + word + ")"
}

// slips are final words that mean a slip of the model's, which another try may fix, or an
// unknown reason.
var slips = map[string]string{
	"MALFORMED_FUNCTION_CALL": "the model wrote a call that cannot be read",
	"UNEXPECTED_TOOL_CALL":    "the model called a tool that it was not given",
	"TOO_MANY_TOOL_CALLS":     "the model made too many calls in a row",
	"MALFORMED_RESPONSE":      "the model wrote an answer that cannot be read",
	"OTHER":                   "the server cut the reply off without giving a reason",
}

// failed is the error for a final word, nil where it is the end of a reply.
func failed(word, message string) *provider.Error {
	if word == "MISSING_THOUGHT_SIGNATURE" {
		return &provider.Error{Kind: provider.KindInvalid, Status: http.StatusBadRequest, Code: word,
			Message: "the history is missing a thought_signature"}
	}
	what := slips[word]
	if what == "" {
		return nil
	}
	if message != "" {
		what += ": " + message
	}
	return &provider.Error{Kind: provider.KindProvider, Code: word, Message: what}
}

// blocked is the error for a prompt that a filter stopped.
func blocked(reason, message string) *provider.Error {
	what := "the request was blocked: " + reason
	if message != "" {
		what += ": " + message
	}
	return &provider.Error{Kind: provider.KindRefused, Code: reason, Message: what}
}
