package agent

import (
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
		if err := t.trim(); err != nil {
			return provider.Done{}, err
		}
		request, err := t.request()
		if err != nil {
			return provider.Done{}, err
		}
		reply, err := t.stream(ctx, request)
		if err == nil {
			reply.Message = t.withoutOversized(reply.Message)
			return reply, nil
		}
		if _, err := t.retry(ending{err: err, sent: request.Messages}); err != nil {
			return provider.Done{}, err
		}
	}
}

// request builds what is sent next, within the caps.
func (t *turn) request() (provider.Request, error) {
	options := provider.Options{MaxTokens: t.attempt.maxTokens}.Or(t.model.Defaults)
	options.MaxTokens = t.withThinking(options)
	room, err := t.checkLimits()
	if err != nil {
		return provider.Request{}, err
	}
	if room > 0 && (options.MaxTokens == 0 || room < options.MaxTokens) {
		options.MaxTokens = room
	}
	options.MaxTokens = t.fitReply(options.MaxTokens)
	t.limit = options.MaxTokens
	repair := provider.Repair
	if t.attempt.paused {
		repair = provider.RepairPaused
	}
	messages, left := provider.FitImages(provider.LeaveOut(repair(t.conv.Messages()), t.refused.has), t.model.Info)
	if left != "" && left != t.imagesTold {
		t.cb.OnNotice(Notice{Kind: NoticeInfo, Text: left})
	}
	t.imagesTold = left
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

func (t *turn) specs() []provider.ToolSpec {
	specs := make([]provider.ToolSpec, 0, len(t.opt.Tools))
	for _, tool := range t.opt.Tools {
		specs = append(specs, provider.ToolSpec{Name: tool.Name, Description: tool.Description, Schema: tool.Schema})
	}
	return specs
}

// stream sends the request, passes the pieces on, and accounts for the reply.
func (t *turn) stream(ctx context.Context, request provider.Request) (provider.Done, error) {
	if !t.closing {
		t.response.Steps++
	}
	t.response.Stop, t.response.Detail = "", ""
	in := &incoming{began: time.Now(), prompt: t.conv.EstimatedTokens(), tries: 1}
	thinking := t.think()
	defer func() { thinking.done() }() // the one of the last try
	limited := ctx                     // by the message's timeout
	if t.timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(ctx, t.timeout)
		defer stop()
	}
	for event, err := range t.model.Provider.Stream(limited, request) {
		if err != nil {
			thinking.done()
			if limited.Err() != nil && ctx.Err() == nil {
				err = t.timedOut(err)
			}
			return provider.Done{}, t.broken(in, err)
		}
		switch e := event.(type) {
		case provider.Started:
			in.started, in.answers = e, true
			t.checkModel(request.Model, e.Model)
			continue
		case provider.CallDelta:
			in.bytes += e.Bytes
			continue
		case provider.Done:
			thinking.done()
			t.response.Stop, t.response.Detail = e.Stop, e.Detail
			if by := t.response.Model; by != e.Message.Model {
				e.Message.Answered = by
			}
			return e, t.account(e, in)
		case provider.Retry:
			thinking.done()
			if err := t.again(in, e, request.MaxTokens); err != nil {
				return provider.Done{}, t.broken(in, err)
			}
			thinking = t.think()
			continue
		}
		thinking.done()
		t.piece(ctx, in, event)
	}
	return provider.Done{}, t.broken(in, &provider.Error{Kind: provider.KindProvider, Provider: t.model.Name,
		Message: "the reply broke off before its end", Err: io.ErrUnexpectedEOF})
}

// piece passes on what a reply brings on its way. Text that was still buffered
// when ctx ended is neither shown nor kept.
func (t *turn) piece(ctx context.Context, in *incoming, event provider.Event) {
	switch event.(type) {
	case provider.TextDelta, provider.ReasoningDelta:
		if ctx.Err() != nil {
			return
		}
	}
	switch e := event.(type) {
	case provider.TextDelta:
		if show := in.say(e.Text); show != "" {
			t.cb.OnText(show)
		}
	case provider.ReasoningDelta:
		in.bytes += len(e.Text)
		t.cb.OnReasoning(e.Text)
	case provider.Step:
		if in.text.Len() > 0 {
			in.text.WriteString("\n\n") // what follows is a text of its own
		}
		t.cb.OnNotice(Notice{Kind: NoticeStep, Text: e.Text})
	case provider.Refused:
		t.response.Denied = append(t.response.Denied, Denial{Tool: e.Tool, Object: e.Object, Reason: e.Reason, Nobody: t.opt.Policy.Mode != permission.ModePlan})
	case provider.Notice:
		kind := NoticeInfo
		if e.Warning {
			kind = NoticeWarning
		}
		t.cb.OnNotice(Notice{Kind: kind, Text: e.Text})
	}
}

// again counts a try that failed, and lets the next one be made within what the
// caps leave then. Its error says that they leave nothing.
func (t *turn) again(in *incoming, e provider.Retry, maxTokens int) error {
	in.void = in.void || e.Discard
	if !e.Own {
		if err := t.between(in, e, maxTokens); err != nil {
			return err
		}
	}
	in.tries = e.Try
	t.cb.OnNotice(Notice{Kind: NoticeRetry, Text: retryText(e), Retry: &e})
	return nil
}

// between counts the try that failed and lowers the limit of those that come.
func (t *turn) between(in *incoming, e provider.Retry, maxTokens int) error {
	var said provider.Usage
	if e.Err != nil {
		said = e.Err.Usage
	}
	t.lose(in, said)
	t.losing = in.lost
	room, err := t.roomLeft()
	if err != nil {
		return err
	}
	if room > 0 && (maxTokens == 0 || room < maxTokens) && e.Lower != nil {
		e.Lower(room)
	}
	return nil
}

// broken books a request that failed, keeps what came of it, and returns why it
// did.
func (t *turn) broken(in *incoming, err error) error {
	if in.text.Len() > 0 {
		t.partial = in.text.String()
	}
	if e := provider.AsError(err); e != nil {
		t.keep = e.Keep
	}
	t.accountFailure(in, err)
	return err
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

// checkModel notes the model that answers, and tells, once, when it is another
// than the one asked for. A server that does not say is taken at its word.
func (t *turn) checkModel(asked, answered string) {
	if answered == "" {
		answered = asked
	}
	t.response.Model = answered
	t.answered = [2]string{t.model.Name + "/" + asked, answered}
	if told := asked + " " + answered; !sameModel(asked, answered) && t.otherModel != told {
		t.otherModel = told
		text := "answered by " + answered
		if asked != "default" { // of a server or a tool: whichever it is, it is the one
			text = "asked " + asked + ", " + text
		}
		t.cb.OnNotice(Notice{Kind: NoticeModel, Text: text})
	}
}

// sameModel compares what stays of names without the vendors before them and
// the versions and dates behind them.
func sameModel(asked, answered string) bool { return modelFamily(asked) == modelFamily(answered) }

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
