package agent

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
)

// query makes one request, and again while one that fails can be mended (see
// retries), and streams the reply. It trims the history first.
func (t *turn) query(ctx context.Context) (provider.Done, error) {
	for {
		if err := t.trim(ctx); err != nil {
			return provider.Done{}, err
		}
		request, err := t.request(ctx)
		if err != nil {
			return provider.Done{}, err
		}
		reply, err := t.stream(ctx, request)
		t.endRequest()
		if err == nil {
			reply.Message = t.withoutOversized(reply.Message)
			return reply, nil
		}
		if _, err := t.retry(ending{err: err, sent: request.Messages}); err != nil {
			return provider.Done{}, err
		}
	}
}

// request builds what is sent next, within the caps: what it may come to is reserved
// until endRequest.
func (t *turn) request(ctx context.Context) (provider.Request, error) {
	options := provider.Options{MaxTokens: t.attempt.maxTokens}.Or(t.model.Defaults)
	fitting := t.fitReply(t.withThinking(options))
	reply, err := t.reserve(ctx, fitting)
	if err != nil {
		return provider.Request{}, err
	}
	t.squeezed = t.squeezed && reply == fitting
	options.MaxTokens, t.limit = reply, reply
	repair := provider.Repair
	if t.attempt.paused {
		repair = provider.RepairPaused
	}
	messages, without := provider.FitImages(provider.LeaveOut(repair(t.conv.Messages()), t.refused.has), t.model.Info)
	if without != "" && without != t.imagesNotified {
		t.notice(NoticeInfo, without)
	}
	t.imagesNotified = without
	if t.attempt.nudge != "" {
		messages = append(slices.Clip(messages), provider.UserText(t.attempt.nudge))
	}
	return provider.Request{
		Options:   options,
		System:    t.system,
		Tools:     t.specs(),
		Messages:  messages,
		NoCalls:   t.closing,
		SessionID: t.sessionID,
	}, nil
}

// promptTokens is about how many tokens are sent with the next request.
func (t *turn) promptTokens() int {
	if t.aside > 0 {
		return t.aside
	}
	return t.conv.EstimatedTokens()
}

// specs are what the model is told of the tools it is offered.
func (a *Agent) specs() []provider.ToolSpec {
	var specs []provider.ToolSpec
	for _, tool := range a.offered() {
		specs = append(specs, provider.ToolSpec{Name: tool.Name, Description: tool.Description, Schema: tool.Schema()})
	}
	return specs
}

// stream sends the request, passes the pieces on, and accounts for the reply.
func (t *turn) stream(ctx context.Context, request provider.Request) (provider.Done, error) {
	after, err := t.spanned(ctx)
	if err != nil {
		return provider.Done{}, err
	}
	defer after()
	t.countStep()
	t.response.Stop, t.response.Detail = "", ""
	in := &incoming{began: time.Now(), prompt: t.promptTokens(), tries: 1}
	limited := ctx // by the message's timeout
	if t.timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(ctx, t.timeout)
		defer stop()
	}
	t.cb.OnThinking()
	defer t.cb.OnThinkingDone()
	for event, err := range t.model.Provider.Stream(limited, request) {
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = t.timedOut(err)
		}
		if err != nil {
			return provider.Done{}, t.broken(in, err)
		}
		switch e := event.(type) {
		case provider.Started:
			in.started, in.answers = e, true
			t.checkModel(request.Model, e.Model)
			t.cb.OnThinkingDone()
			continue
		case provider.Done:
			t.cb.OnThinkingDone()
			t.response.Stop, t.response.Detail = e.Stop, e.Detail
			if by := t.response.Model; by != e.Message.Model {
				e.Message.Answered = by
			}
			return e, t.account(e, in)
		}
		t.cb.OnThinkingDone()
		if err := t.piece(ctx, in, event, request.MaxTokens); err != nil {
			return provider.Done{}, t.broken(in, err)
		}
	}
	return provider.Done{}, t.broken(in, &provider.Error{Kind: provider.KindProvider, Provider: t.model.Name,
		Message: "the reply broke off before its end", Err: io.ErrUnexpectedEOF})
}

// piece passes on what a reply brings on its way. Text that was still buffered
// when ctx ended is neither shown nor kept.
func (t *turn) piece(ctx context.Context, in *incoming, event provider.Event, maxTokens int) error {
	switch e := event.(type) {
	case provider.TextDelta:
		if ctx.Err() != nil {
			return nil
		}
		if show := in.say(e.Text); show != "" {
			t.cb.OnText(show)
		}
	case provider.ReasoningDelta:
		if ctx.Err() == nil {
			in.bytes += len(e.Text)
			t.cb.OnReasoning(e.Text)
		}
	case provider.CallDelta:
		if all := in.input(e); ctx.Err() == nil {
			t.cb.OnNotice(Notice{Kind: NoticeInput, Input: &all})
		}
	case provider.Step:
		in.calls = nil
		if in.text.Len() > 0 {
			in.text.WriteString("\n\n") // what follows is a text of its own
		}
		t.notice(NoticeStep, e.Text)
	case provider.Refused:
		t.response.Denied = append(t.response.Denied,
			Denial{Tool: e.Tool, Object: e.Object, Reason: e.Reason, Nobody: t.opt.Policy.Mode != permission.ModePlan})
	case provider.Notice:
		kind := NoticeInfo
		if e.Warning {
			kind = NoticeWarning
		}
		t.notice(kind, e.Text)
	case provider.Retry:
		return t.nextTry(in, e, maxTokens)
	}
	return nil
}

// nextTry counts a try that failed, and lets the next one be made within what the
// caps leave then. Its error says that they leave nothing.
func (t *turn) nextTry(in *incoming, e provider.Retry, maxTokens int) error {
	if e.Err != nil && t.stopsEmpty(e) {
		return e.Err
	}
	in.void = in.void || e.Discard
	text, usage := "trying again", provider.Usage{}
	if e.Err != nil {
		text, usage = e.Err.Error(), e.Err.Usage
	}
	if !e.Own {
		t.lose(in, usage)
		t.losing = in.lost
		reply, err := t.reserveTry(maxTokens)
		if err != nil {
			return err
		}
		if e.Lower != nil && reply > 0 && reply != maxTokens {
			e.Lower(reply)
		}
	}
	in.tries = e.Try
	t.cb.OnNotice(Notice{Kind: NoticeRetry, Text: text, Retry: &e})
	t.cb.OnThinking()
	return nil
}

// broken accounts for a request that failed, keeps what came of it, and returns why
// it did.
func (t *turn) broken(in *incoming, err error) error {
	t.cb.OnThinkingDone()
	if in.text.Len() > 0 {
		t.partial = in.text.String()
	}
	if e := provider.AsError(err); e != nil {
		t.keep = e.Keep
	}
	t.accountFailure(in, err)
	return err
}

// checkModel notes the model that answers, and tells, once, when it is another
// than the one asked for. A server that does not say is taken at its word.
func (t *turn) checkModel(asked, answered string) {
	answered = cmp.Or(answered, asked)
	t.response.Model = answered
	t.answered = [2]string{t.model.Name + "/" + asked, answered}
	if pair := asked + " " + answered; modelFamily(asked) != modelFamily(answered) && t.otherModel != pair {
		t.otherModel = pair
		text := "answered by " + answered
		if asked != "default" { // of a server or a tool: whichever it is, it is the one
			text = "asked " + asked + ", " + text
		}
		t.notice(NoticeModel, text)
	}
}

// modelFamily is what stays of a model's name without the vendor before it and the
// version and date behind it.
func modelFamily(model string) string {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	model, _, _ = strings.Cut(model, ":")
	model, _, _ = strings.Cut(model, "@")
	model = strings.ReplaceAll(strings.TrimSuffix(model, "-latest"), ".", "-")
	stem, digits := model, 0
	for {
		i := strings.LastIndexByte(stem, '-')
		if i < 0 || len(stem)-i < 3 || strings.Trim(stem[i+1:], "0123456789") != "" {
			break
		}
		digits += len(stem) - i - 1
		stem = stem[:i]
	}
	if digits < 4 { // no date
		return model
	}
	return stem
}
