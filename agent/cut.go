package agent

import (
	"errors"
	"strings"

	"artoo/conversation"
	"artoo/provider"
)

// What the model is asked after a reply that was cut.
const (
	askRest = "Your reply was cut at its length limit. Continue exactly where it broke off, without repeating anything."
	askLess = "Your reply was cut at its length limit once more. Say what is left of it in fewer words."
	askCall = "Your reply was cut at its length limit, in the middle of a tool call, which was not run. Write less at once: a long file in several smaller edits, a long text in fewer words."
)

// cut asks on after a reply that was cut: for the same with more room where the
// cut fell into a tool call, which must never run, or the reasoning took all; for
// the rest of a text. If that is cut too the model is told to write less at once,
// and if even that is, the turn ends.
func (t *turn) cut(reply provider.Done, text string) (again bool, err error) {
	t.cuts++
	call := endsInCall(reply.Message) || strings.TrimSpace(text) == ""
	if t.cuts == 1 && call && reply.Stop == provider.StopMaxTokens && t.askWider(text) {
		return true, nil
	}
	if err := t.keepCut(reply.Message); err != nil {
		return false, err
	}
	if t.cuts > 2 {
		if t.windowFull(reply) {
			return false, &Failure{Kind: KindContext, Err: errors.New("the model's window is full and the reply is cut"), Hint: conversation.HintFull}
		}
		return false, t.cutFailure()
	}
	if t.windowFull(reply) {
		if err := t.trimHard(nil); err != nil {
			return false, err
		}
	}
	ask, notice := askRest, "the reply was cut at its limit; asking for the rest"
	switch {
	case call:
		ask, notice = askCall, "the reply was cut in the middle of a tool call; asking for less at once"
	case t.cuts == 2:
		ask, notice = askLess, "the reply was cut again; asking for the rest in fewer words"
	}
	t.cb.OnNotice(Notice{Kind: NoticeTruncated, Text: notice})
	return true, t.conv.Remind(ask)
}

// windowFull reports whether it was the window that cut the reply: its limit was
// what the window left, the server says so, or its counts fill the window.
func (t *turn) windowFull(reply provider.Done) bool {
	const full = 0.95
	window := t.window()
	return t.squeezed || reply.Stop == provider.StopContext || window > 0 && !reply.Usage.Estimated && float64(reply.Usage.Total()) >= full*float64(window)
}

// askWider asks the same again with the model's own maximum. It reports false
// where that is no more than the reply had.
func (t *turn) askWider(text string) bool {
	most := t.model.Info.MaxOutput
	if window := t.window(); window > 0 {
		most = min(most, window-t.conv.EstimatedTokens())
	}
	if most <= t.room {
		return false
	}
	t.partial = text // until something takes its place
	t.maxTokens = most
	t.cb.OnNotice(Notice{
		Kind:  NoticeTruncated,
		Text:  "the reply was cut at " + count(t.room, "token") + " before it was whole; asking again with room for " + count(t.maxTokens, "token"),
		Retry: &provider.Retry{Try: 2, Tries: 2, Discard: true},
	})
	return true
}

// keepCut keeps the text of a cut reply.
func (t *turn) keepCut(m provider.Message) error {
	message := textOnly(m)
	if t.partial != "" && strings.TrimSpace(message.Text()) == "" {
		message.Parts = []provider.Part{provider.Text{Text: t.partial}}
	}
	t.partial = ""
	if strings.TrimSpace(message.Text()) == "" {
		return nil
	}
	t.answer.WriteString(message.Text())
	return t.conv.Append(message)
}

// cutFailure ends a turn whose reply is cut still. A higher limit helps only where
// it is not the window's share that bounds the reply.
func (t *turn) cutFailure() error {
	at, hint := "its limit", "a higher ARTOO_MAX_TOKENS, or a smaller task"
	if t.room > 0 {
		at = count(t.room, "token")
	}
	if most := t.window() / replyShare; t.room > 0 && most > 0 && t.room >= most {
		hint = "a smaller task, or a model with a larger window: a reply has a quarter of it"
	}
	return &Failure{Kind: KindCap, Err: errors.New("the reply is still cut at " + at), Hint: hint}
}

func endsInCall(m provider.Message) bool {
	if len(m.Parts) == 0 {
		return false
	}
	_, ok := m.Parts[len(m.Parts)-1].(provider.ToolCall)
	return ok
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
