package agent

import (
	"context"
	"errors"
	"strings"

	"artoo/conversation"
	"artoo/provider"
)

// ask makes one request and streams its reply. It trims the history first, and
// once more if the provider says that it is too long.
func (t *turn) ask(ctx context.Context) (provider.Done, error) {
	for {
		if err := t.trim(); err != nil {
			return provider.Done{}, err
		}
		request, err := t.request()
		if err != nil {
			return provider.Done{}, err
		}
		reply, err := t.stream(ctx, request)
		if e := provider.AsError(err); e != nil && e.Kind == provider.KindContext && !t.trimmed {
			t.trimmed = true
			room, budget := e.Window-t.replyLimit(), t.Conversation.Budget()
			if e.Window > 0 && room > 0 && (budget <= 0 || room < budget) {
				t.Conversation.SetBudget(room)
			}
			if err := t.trimHard(); err != nil {
				return provider.Done{}, err
			}
			continue
		}
		return reply, err
	}
}

func (t *turn) trim() error {
	trimmed, err := t.Conversation.Trim()
	return t.tellTrimmed(trimmed, err)
}

func (t *turn) trimHard() error {
	trimmed, err := t.Conversation.TrimHard()
	return t.tellTrimmed(trimmed, err)
}

// request builds what is sent next, within the caps.
func (t *turn) request() (provider.Request, error) {
	options := provider.Options{MaxTokens: t.maxTokens}.Or(t.Defaults)
	options.MaxTokens = t.replyLimit()
	room, err := t.checkLimits()
	if err != nil {
		return provider.Request{}, err
	}
	if room > 0 && room < options.MaxTokens {
		options.MaxTokens = room
	}
	return provider.Request{
		Options:   options,
		System:    t.System,
		Tools:     t.specs(),
		Messages:  provider.Repair(t.Conversation.Messages()),
		SessionID: t.SessionID,
	}, nil
}

func (t *turn) replyLimit() int {
	if t.maxTokens > 0 {
		return t.maxTokens
	}
	return t.Defaults.MaxTokens
}

func (t *turn) specs() []provider.ToolSpec {
	specs := make([]provider.ToolSpec, 0, len(t.Tools))
	for _, tool := range t.Tools {
		specs = append(specs, provider.ToolSpec{Name: tool.Name, Description: tool.Description, Schema: tool.Schema})
	}
	return specs
}

// stream sends the request, passes the pieces on, and accounts for the reply.
func (t *turn) stream(ctx context.Context, request provider.Request) (provider.Done, error) {
	t.response.Steps++
	began := now()
	thinking := t.think()
	defer thinking.done()
	var text strings.Builder
	var started provider.Started
	for event, err := range t.Provider.Stream(ctx, request) {
		if err != nil {
			thinking.done()
			t.partial = text.String()
			t.accountFailure(request, err, started, began)
			return provider.Done{}, err
		}
		if _, started := event.(provider.Started); !started {
			thinking.done()
		}
		switch e := event.(type) {
		case provider.Started:
			started = e
			t.checkModel(request.Model, e.Model)
		case provider.TextDelta:
			text.WriteString(e.Text)
			t.cb.OnText(e.Text)
		case provider.ReasoningDelta:
			t.cb.OnReasoning(e.Text)
		case provider.Retry:
			if e.Discard {
				text.Reset()
			}
			t.cb.OnNotice(Notice{Kind: NoticeRetry, Text: retryText(e), Retry: &e})
			thinking = t.think()
		case provider.Notice:
			t.cb.OnNotice(Notice{Kind: NoticeInfo, Text: e.Text})
		case provider.Done:
			t.partial = text.String()
			return e, t.account(request, e, began)
		}
	}
	t.partial = text.String()
	return provider.Done{}, &provider.Error{Kind: provider.KindProvider, Provider: t.ProviderName, Message: "the reply ended without an end", Err: errors.ErrUnsupported}
}

// thinking keeps OnThinking and OnThinkingDone in pairs.
type thinking struct {
	cb   *serial
	over bool
}

func (t *turn) think() *thinking {
	t.cb.OnThinking()
	return &thinking{cb: t.cb}
}

func (th *thinking) done() {
	if !th.over {
		th.over = true
		th.cb.OnThinkingDone()
	}
}

func retryText(r provider.Retry) string {
	if r.Err == nil {
		return "trying again"
	}
	return r.Err.Error()
}

// checkModel tells when another model answers than the one asked for. Servers
// add dates and vendors to names; only a different family counts.
func (t *turn) checkModel(asked, answered string) {
	if answered == "" {
		return
	}
	t.response.Model = answered
	if !sameModel(asked, answered) {
		t.cb.OnNotice(Notice{Kind: NoticeModel, Text: "asked " + asked + ", answered by " + answered})
	}
}

func sameModel(asked, answered string) bool {
	a, b := strings.ToLower(asked), strings.ToLower(answered)
	return strings.Contains(a, b) || strings.Contains(b, strings.TrimSuffix(a, "-latest")) || baseName(a) == baseName(b)
}

func baseName(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	model, _, _ = strings.Cut(model, ":")
	return model
}

// tellTrimmed says what went; nothing leaves the history silently.
func (t *turn) tellTrimmed(trimmed conversation.Trimmed, err error) error {
	if trimmed != (conversation.Trimmed{}) {
		t.cb.OnNotice(Notice{Kind: NoticeTrimmed, Text: trimmed.String()})
	}
	return err
}
