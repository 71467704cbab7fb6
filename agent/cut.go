package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"artoo/conversation"
	"artoo/provider"
)

// What the model is asked after a reply that was cut.
const (
	askRest = "Your reply was cut at its length limit. Continue exactly where it broke off, without repeating anything."
	askLess = "Your reply was cut at its length limit once more. Say what is left of it in fewer words."
	askCall = "Your reply was cut at its length limit, in the middle of a tool call, which was not run. " +
		"Write less at once: a long file in several smaller edits, a long text in fewer words."
)

func (t *turn) cut(end ending) bool {
	return end.reply.Stop == provider.StopMaxTokens || end.reply.Stop == provider.StopContext
}

// cutShort reports whether a cut reply holds no text that could be continued: the
// cut fell into a tool call, which must never run, or the reasoning took all.
func (end ending) cutShort() bool {
	parts := end.reply.Message.Parts
	if end.text() == "" {
		return true
	}
	_, call := parts[len(parts)-1].(provider.ToolCall)
	return call
}

// cutTooEarly reports whether a longer reply may be whole.
func (t *turn) cutTooEarly(end ending) bool {
	return end.reply.Stop == provider.StopMaxTokens && end.cutShort() && t.longest() > t.limit
}

// longest is the longest reply the model can give now, in tokens.
func (t *turn) longest() int {
	most := t.model.Info.MaxOutput
	if window := t.window(); window > 0 {
		most = min(most, window-t.conv.EstimatedTokens())
	}
	return most
}

func (t *turn) raiseLimit(ending) error {
	t.attempt.maxTokens = t.longest()
	t.cb.OnNotice(Notice{
		Kind: NoticeTruncated,
		Text: "the reply was cut at " + count(t.limit, "token") + " before it was whole; asking again with room for " +
			count(t.attempt.maxTokens, "token"),
		Retry: &provider.Retry{Try: 2, Tries: 2, Discard: true},
	})
	return nil
}

// askRest asks for the rest of a text, or for less at once.
func (t *turn) askRest(end ending) error {
	if t.windowFull(end.reply) {
		if err := t.trimHard(nil); err != nil {
			return err
		}
	}
	ask, notice := askRest, "the reply was cut at its limit; asking for the rest"
	switch {
	case end.cutShort():
		ask, notice = askCall, "the reply was cut in the middle of a tool call; asking for less at once"
	case t.attempt.made[byCut] > 1:
		ask, notice = askLess, "the reply was cut again; asking for the rest in fewer words"
	}
	t.notice(NoticeTruncated, notice)
	return t.conv.Remind(ask)
}

// leastWindow is the smallest window in tokens that a server is set up with: Ollama's
// was 2,048 once.
const leastWindow = 2000

// windowFull reports whether it was the window that cut the reply: its limit was
// what the window left, the server says so, its counts fill the window, or, where
// nobody told the window, they stay well below the limit.
func (t *turn) windowFull(reply provider.Done) bool {
	const full = 0.95
	window, usage := t.window(), reply.Usage
	return t.squeezed || reply.Stop == provider.StopContext || !usage.Estimated &&
		(window > 0 && float64(usage.Total()) >= full*float64(window) ||
			t.model.Info.Guess && usage.Total() >= leastWindow && usage.Output > 0 &&
				float64(usage.Output) < full*float64(t.limit))
}

// stillCut is the failure of a reply that is cut after all. A higher limit helps
// only where it is not the window's share that bounds the reply.
func (t *turn) stillCut(end ending) error {
	if t.windowFull(end.reply) {
		return &Failure{Kind: KindContext, Err: errors.New("the model's window is full and the reply is cut"),
			Hint: conversation.HintFull}
	}
	at, hint := "its limit", "a higher ARTOO_MAX_TOKENS, or a smaller task"
	if t.limit > 0 {
		at = count(t.limit, "token")
	}
	if most := t.window() / replyShare; t.limit > 0 && most > 0 && t.limit >= most {
		hint = "a smaller task, or a model with a larger window: a reply has a quarter of it"
	}
	return &Failure{Kind: KindCap, Err: errors.New("the reply is still cut at " + at), Hint: hint}
}

// textOnly is what of a cut message may go back to the model.
func textOnly(m provider.Message) provider.Message {
	m.Partial = true
	var kept []provider.Part
	for _, p := range m.Parts {
		if text, ok := p.(provider.Text); ok {
			kept = append(kept, provider.Text{Text: text.Text})
		}
	}
	m.Parts = kept
	return m
}

// bytesPerToken is what a token of a call's input holds at most, in bytes: JSON
// and code have fewer.
const bytesPerToken = 4

// withoutOversized is a reply whose calls fill at most half of the context's
// budget: of the others only the beginning is kept, in Raw, and they are not run.
// With all of it in the history no later request could be sent, since the last
// steps are never left out.
func (t *turn) withoutOversized(m provider.Message) provider.Message {
	left := t.conv.Budget() / 2 * bytesPerToken
	if left <= 0 {
		return m // there is no budget
	}
	parts := make([]provider.Part, len(m.Parts))
	for i, p := range m.Parts {
		if c, ok := p.(provider.ToolCall); ok {
			if left -= len(c.Input) + len(c.Raw); left < 0 {
				p = t.oversized(c)
			}
		}
		parts[i] = p
	}
	m.Parts = parts
	return m
}

// oversized is what is kept of a call that is too large, with a remark for the
// one that answers it.
func (t *turn) oversized(c provider.ToolCall) provider.ToolCall {
	whole := cmp.Or(c.Raw, string(c.Input))
	if t.tooLarge == nil {
		t.tooLarge = map[string]string{}
	}
	t.tooLarge[c.ID] = fmt.Sprintf("has %d bytes, more than the context has room for", len(whole))
	c.Input, c.Raw = json.RawMessage("{}"), preview(whole, 300)
	return c
}
