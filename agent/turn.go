package agent

import (
	"context"
	"errors"
	"strings"

	"artoo/provider"
)

// ErrStopped ends a turn that the user stopped at a question.
var ErrStopped = errors.New("stopped by the user")

// turn is the state of one SendMessage.
type turn struct {
	*Agent
	cb       *serial
	response *Response
	clock    *runClock

	answer    strings.Builder // text of the final reply, continuations joined
	partial   string          // text of a reply that broke off
	continued bool            // the present reply was cut, and is continued or asked again
	prodded   bool            // the present reply was empty, and is asked again
	trimmed   bool            // the present request did not fit, and was trimmed
	maxTokens int             // overrides the reply limit for the next request
	room      int             // the reply limit of the last request, 0 for none
	failures  map[string]int  // failing calls by name and input
	warned    bool            // a notice said that a step cap is near
	losing    provider.Usage  // of failed tries of the request that is under way
}

func (a *Agent) begin(ctx context.Context, cb Callbacks) (*turn, context.Context) {
	ctx, clock := a.startClock(ctx)
	t := &turn{
		Agent:    a,
		cb:       &serial{cb: cb, clock: clock},
		response: &Response{Provider: a.ProviderName, Model: a.Defaults.Model},
		clock:    clock,
		failures: map[string]int{},
	}
	return t, ctx
}

func (t *turn) end() {
	t.clock.stop()
	t.cb.close()
}

// hear appends the user's message, and before it what the model must know.
func (t *turn) hear(text string, attachments []provider.Part) error {
	m := provider.Message{Role: provider.RoleUser}
	if t.Note != nil {
		if note := t.Note(); note != "" {
			m.Parts = append(m.Parts, provider.Text{Text: note})
		}
	}
	m.Parts = append(m.Parts, provider.UserText(text, attachments...).Parts...)
	var found bool
	if m.Parts, found = t.maskedParts(m.Parts); found {
		t.cb.OnNotice(Notice{Kind: NoticeWarning, Text: "what looks like a key in the message is not sent: a mark stands for it. A command can take it from a file, or from a variable that ARTOO_PASS_ENV names"})
	}
	return t.Conversation.Append(m)
}

// settle handles the ends of a reply that are neither an answer nor tool calls,
// and appends the reply. It reports whether to ask again.
func (t *turn) settle(ctx context.Context, reply provider.Done) (again bool, err error) {
	text, calls := reply.Message.Text(), reply.Message.Calls()
	switch {
	case reply.Stop == provider.StopRefusal:
		// A refused turn stays out of the history: sent again it would be
		// refused again.
		t.answer.WriteString(text)
		t.partial = ""
		return false, refusal(reply)
	case reply.Stop == provider.StopMaxTokens && (endsInCall(reply.Message) || strings.TrimSpace(text) == ""):
		return t.askWider(reply, text)
	case reply.Stop == provider.StopMaxTokens, reply.Stop == provider.StopContext:
		return t.continueCut(reply)
	case strings.TrimSpace(text) == "" && len(calls) == 0 && reply.Stop != provider.StopPause:
		return t.prod()
	}
	if err := t.Conversation.Append(reply.Message); err != nil {
		return false, err
	}
	if len(calls) > 0 {
		t.answer.Reset() // what came so far was not the final reply
	}
	t.partial, t.maxTokens = "", 0
	t.continued, t.prodded, t.trimmed = false, false, false
	return reply.Stop == provider.StopPause && len(calls) == 0, nil
}

// askWider asks the same again with the model's own maximum: the cut fell into
// a tool call, which must never run, or the reasoning took all the room.
func (t *turn) askWider(reply provider.Done, text string) (bool, error) {
	limit := t.room
	if t.continued || t.Info.MaxOutput <= limit {
		return false, cutFailure(limit)
	}
	t.continued = true
	t.partial = text // until something takes its place
	t.maxTokens = t.Info.MaxOutput
	t.cb.OnNotice(Notice{
		Kind:  NoticeTruncated,
		Text:  "the reply was cut at " + count(limit, "token") + " before it was whole; asking again with room for " + count(t.maxTokens, "token"),
		Retry: &provider.Retry{Try: 2, Tries: 2, Discard: true},
	})
	return true, nil
}

// continueCut keeps a cut text and asks once for the rest of it.
func (t *turn) continueCut(reply provider.Done) (bool, error) {
	message := textOnly(reply.Message)
	t.answer.WriteString(message.Text())
	if err := t.Conversation.Append(message); err != nil {
		return false, err
	}
	t.partial = ""
	if t.continued {
		if reply.Stop == provider.StopContext {
			return false, &Failure{Kind: KindContext, Err: errors.New("the model's window is full and the reply is cut"), Hint: defaultHint(KindContext, nil)}
		}
		return false, cutFailure(t.room)
	}
	t.continued = true
	if reply.Stop == provider.StopContext {
		if err := t.trimHard(); err != nil {
			return false, err
		}
	}
	t.cb.OnNotice(Notice{Kind: NoticeTruncated, Text: "the reply was cut at its limit; asking for the rest"})
	return true, t.Conversation.Append(provider.UserText("Your reply was cut at its length limit. Continue exactly where it broke off, without repeating anything."))
}

// prod asks once more after an empty reply. It is not sent unchanged: the same
// request tends to get the same nothing.
func (t *turn) prod() (bool, error) {
	if t.prodded {
		return false, &Failure{Kind: KindProvider, Err: errors.New("the model answered with nothing, twice"), Hint: "put the question in other words, or choose another model with --model"}
	}
	t.prodded = true
	t.cb.OnNotice(Notice{Kind: NoticeInfo, Text: "the model answered with nothing; asking once more"})
	return true, t.Conversation.Append(provider.UserText("Your last reply was empty. Go on with the task, or answer."))
}

// completed ends the turn with an answer.
func (t *turn) completed(reply provider.Done) (*Response, error) {
	t.answer.WriteString(reply.Message.Text())
	t.response.Text = t.answer.String()
	if err := t.Conversation.Sync(); err != nil {
		return t.response, err
	}
	return t.response, nil
}

// failed ends the turn with an error and keeps what came of the reply.
func (t *turn) failed(ctx context.Context, err error) (*Response, error) {
	// A cap or an interrupt says more than the request that it ended. What else
	// went wrong, such as a session that cannot be written, is said too.
	if cause := context.Cause(ctx); cause != nil {
		switch {
		case provider.AsError(err) != nil, errors.Is(err, ctx.Err()):
			err = cause
		case !errors.Is(err, cause):
			err = errors.Join(cause, err)
		}
	}
	if strings.TrimSpace(t.partial) != "" {
		m := provider.Message{Role: provider.RoleAssistant, Provider: t.response.Provider, Model: t.response.Model, Partial: true,
			Parts: []provider.Part{provider.Text{Text: t.partial}}}
		err = errors.Join(err, t.Conversation.Append(m))
		t.answer.WriteString(t.partial)
	}
	t.response.Text = t.answer.String()
	return t.response, errors.Join(err, t.Conversation.Sync())
}

func refusal(reply provider.Done) error {
	why := reply.Detail
	if why == "" {
		why = "the model refused to answer"
	}
	return &Failure{Kind: KindRefused, Err: errors.New(why), Hint: defaultHint(KindRefused, nil)}
}

func cutFailure(limit int) error {
	at := "its limit"
	if limit > 0 {
		at = count(limit, "token")
	}
	return &Failure{Kind: KindCap, Err: errors.New("the reply is still cut at " + at), Hint: "a higher ARTOO_MAX_TOKENS, or a smaller task"}
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
