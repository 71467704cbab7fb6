package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/telemetry"
)

// request builds the next request, within the caps, and reserves its highest cost.
func (r *requests) request(ctx context.Context) (provider.Request, error) {
	if err := r.askForSchema(); err != nil {
		return provider.Request{}, err
	}
	options := provider.Options{MaxTokens: r.attempt.maxTokens}.Or(r.session.model.Defaults)
	fitting := r.fitReply(r.withThinking(options))
	reply, err := r.money.reserve(ctx, fitting)
	if err != nil {
		return provider.Request{}, err
	}
	r.truncated = r.truncated && reply == fitting
	options.MaxTokens, r.limit = reply, reply
	repair := provider.Repair
	if r.attempt.paused {
		repair = provider.RepairPaused
	}
	messages, without := provider.FitImages(provider.LeaveOut(repair(r.session.conv.Messages()), r.session.refused.has), r.session.model.Info)
	if without != "" && without != r.session.imagesNotified {
		r.cb.notice(NoticeInfo, without)
	}
	r.session.imagesNotified = without
	if r.attempt.nudge != "" {
		messages = append(slices.Clip(messages), provider.UserText(r.attempt.nudge))
	}
	var schema []byte
	if s := r.session.schema(); s != nil && !r.closing && r.answer.Len() == 0 { // a server would restart the answer
		schema = s.text
	}
	return provider.Request{
		Options:   options,
		System:    r.session.system,
		Tools:     r.session.specs(),
		Messages:  messages,
		NoCalls:   r.closing || r.attempt.last,
		Schema:    schema,
		SessionID: r.session.sessionID,
	}, nil
}

// stream sends the request, passes the pieces on, and accounts for the reply.
func (r *requests) stream(ctx context.Context, request provider.Request) (reply provider.Done, err error) {
	after, err := r.spanned(ctx)
	if err != nil {
		return provider.Done{}, err
	}
	defer after()
	if !r.closing && !r.taken { // a repeated try
		r.steps.Add(1)
	}
	r.taken = false
	r.response.Stop, r.response.Detail = "", ""
	in := &incoming{model: request.Model, began: time.Now(), prompt: r.money.promptTokens(), tries: 1}
	ctx, span := r.session.opt.Telemetry.Start(ctx, telemetry.Operation{Name: telemetry.Chat, Of: request.Model,
		Provider: provider.ConventionName(r.session.model.Name)})
	defer func() { endRequest(span, in.report, reply, err) }()
	limited := ctx // The message's timeout bounds it.
	if r.timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(ctx, r.timeout)
		defer stop()
	}
	r.cb.OnThinking()
	defer r.cb.OnThinkingDone()
	for event, err := range r.session.model.Provider.Stream(limited, request) {
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = r.timedOut(err)
		}
		if err != nil {
			return provider.Done{}, r.broken(in, err)
		}
		switch e := event.(type) {
		case provider.Started:
			in.started, in.answers = e, true
			r.checkModel(request.Model, e.Model)
			in.model = r.response.Model
			r.cb.OnThinkingDone()
			continue
		case provider.Quota:
			in.quota = &e
			r.money.see(in.quota)
			continue
		case provider.Done:
			r.cb.OnThinkingDone()
			r.response.Stop, r.response.Detail = e.Stop, e.Detail
			if by := r.response.Model; by != e.Message.Model {
				e.Message.Answered = by
			}
			e.Message.InsteadOf = r.session.insteadOf()
			r.money.see(in.quota)
			return e, r.account(e, in)
		}
		r.cb.OnThinkingDone()
		if err := r.piece(ctx, in, event, request.MaxTokens); err != nil {
			return provider.Done{}, r.broken(in, err)
		}
	}
	return provider.Done{}, r.broken(in, &provider.Error{Kind: provider.KindProvider, Provider: r.session.model.Name,
		Message: "the reply ended early", Err: io.ErrUnexpectedEOF})
}

// piece passes on a piece of a reply. Text that was still buffered when ctx ended is neither
// shown nor kept.
func (r *requests) piece(ctx context.Context, in *incoming, event provider.Event, maxTokens int) error {
	switch e := event.(type) {
	case provider.TextDelta:
		if ctx.Err() != nil {
			return nil
		}
		if show := in.say(e.Text); show != "" {
			r.cb.OnText(show)
		}
	case provider.ReasoningDelta:
		if ctx.Err() == nil {
			in.bytes += len(e.Text)
			r.cb.OnReasoning(e.Text)
		}
	case provider.CallDelta:
		if all := in.input(e); ctx.Err() == nil {
			r.cb.OnNotice(Notice{Kind: NoticeInput, Input: &all})
		}
	case provider.Step:
		in.calls = nil
		if in.text.Len() > 0 {
			in.text.WriteString("\n\n") // A new text begins.
		}
		r.cb.notice(NoticeStep, e.Text)
	case provider.Refused:
		r.response.Denied = append(r.response.Denied,
			Denial{Tool: e.Tool, Object: e.Object, Reason: e.Reason, Nobody: r.session.opt.Policy.Mode != permission.ModePlan})
	case provider.Notice:
		kind := NoticeInfo
		if e.Warning {
			kind = NoticeWarning
		}
		r.cb.notice(kind, e.Text)
	case provider.Retry:
		return r.nextTry(in, e, maxTokens)
	}
	return nil
}

// nextTry counts a try that failed, and lets the next one be made. The error means that the caps
// leave nothing.
func (r *requests) nextTry(in *incoming, e provider.Retry, maxTokens int) error {
	if e.Err != nil && r.stopsEmpty(e) {
		return e.Err
	}
	in.void = in.void || e.Discard
	text, usage := "trying again", provider.Usage{}
	if e.Err != nil {
		text, usage = e.Err.Error(), e.Err.Usage
	}
	if !e.Own {
		r.lose(in, usage)
		r.money.lost = in.lost
		reply, err := r.money.reserveTry(maxTokens)
		if err != nil {
			return err
		}
		if e.Lower != nil && reply > 0 && reply != maxTokens {
			e.Lower(reply)
		}
	}
	in.tries, in.quota = e.Try, nil
	r.cb.OnNotice(Notice{Kind: NoticeRetry, Text: text, Retry: &e})
	r.cb.OnThinking()
	return nil
}

// broken accounts for a request that failed, keeps the part that came, and returns why.
func (r *requests) broken(in *incoming, err error) error {
	r.cb.OnThinkingDone()
	if in.text.Len() > 0 {
		r.hold(in.text.String())
	}
	if e := provider.AsError(err); e != nil {
		r.keep = e.Keep
	}
	r.accountFailure(in, err)
	return err
}

// checkModel notes the model that answers, and reports, once, that it is another than the one
// asked for.
func (r *requests) checkModel(asked, answered string) {
	answered = cmp.Or(answered, asked)
	r.response.Provider, r.response.Model = r.session.model.Name, answered
	if r.session.fellBack = ""; r.session.standIn != nil {
		r.session.fellBack = r.session.model.Name + "/" + answered
	}
	r.session.answered = [2]string{r.session.model.Name + "/" + asked, answered}
	text := "answered by " + answered
	if asked != "default" { // "default" of a server or a tool is whichever model answers.
		text = "asked " + asked + ", " + text
	}
	if modelFamily(asked) != modelFamily(answered) && r.session.isNews(text) {
		r.cb.notice(NoticeModel, text)
	}
}

// modelFamily is a model's name without vendor, version and date.
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

type incoming struct {
	model   string // It was asked, or says that it answers.
	began   time.Time
	started provider.Started
	prompt  int // about how many tokens were sent
	tries   int

	text strings.Builder // The last try that delivered text wrote it.
	void bool            // That try failed, so new text replaces it.
	// worded reports that some of the text is more than spaces.
	worded bool

	answers bool // the current try has begun to answer
	// bytes counts the text, reasoning and calls of the current try; calls are those that it is
	// writing.
	bytes int
	calls map[int]ToolInput
	// known and lost are the usage of failed tries: as far as the server reported it, and with an estimate.
	known, lost provider.Usage
	report      RequestReport // how it ended; the zero value where nothing was used
	// quota is what the current try reported; nil for nothing.
	quota *provider.Quota
}

// say adds a piece of text and returns the text to show now. Blanks wait for a word, since a reply
// of spaces alone is requested again.
func (in *incoming) say(text string) (show string) {
	if in.void {
		in.void, in.worded = false, false
		in.text.Reset()
	}
	in.text.WriteString(text)
	in.bytes += len(text)
	if in.worded {
		return text
	}
	if show = in.text.String(); strings.TrimSpace(show) == "" {
		return ""
	}
	in.worded = true
	return show
}

func (in *incoming) input(piece provider.CallDelta) ToolInput {
	all, known := in.calls[piece.Call]
	if !known {
		all.Index = len(in.calls)
	}
	if in.calls == nil {
		in.calls = map[int]ToolInput{}
	}
	all.Tool = cmp.Or(piece.Tool, all.Tool)
	all.Bytes += piece.Bytes
	in.bytes += piece.Bytes
	in.calls[piece.Call] = all
	return all
}

// lose counts a try that failed. said is its usage by the server: often nothing, or too little.
func (r *requests) lose(in *incoming, said provider.Usage) {
	in.known = in.known.Add(said)
	lost := said
	if in.answers || in.bytes > 0 || said.Total() > 0 {
		if lost.Prompt() == 0 {
			lost.Input, lost.Estimated = in.prompt, true
		}
		if output := r.session.conv.Tokens(in.bytes); output > lost.Output {
			lost.Output, lost.Estimated = output, true
		}
		if lost.Estimated && !said.Estimated {
			lost.CostUSD = nil // The server priced only part of the attempt, so discard its price.
		}
	}
	in.lost = in.lost.Add(lost)
	in.answers, in.bytes, in.calls = false, 0, nil
}

// account records a complete reply, with the usage of the tries before it: that says nothing of the
// history's size.
func (r *requests) account(reply provider.Done, in *incoming) error {
	own := without(reply.Usage, in.known)
	if own.Total() == 0 {
		own = provider.Usage{Input: in.prompt, Estimated: true}
		for _, p := range reply.Message.Parts {
			own.Output += r.session.conv.PartTokens(p)
		}
	}
	if !reply.Several && r.money.aside == 0 {
		r.session.conv.Observe(own)
	}
	r.session.cached = own.CacheRead + own.CacheWrite
	return r.recordUsage(in, reply.RequestID, max(1, reply.Tries), in.lost, own)
}

func (r *requests) accountFailure(in *incoming, err error) {
	e := provider.AsError(err)
	if e == nil {
		e = &provider.Error{}
	}
	r.lose(in, without(e.Usage, in.known))
	if in.lost.Total() == 0 {
		return
	}
	id := cmp.Or(e.RequestID, in.started.RequestID)
	// The caller must see the request's own error; the file fails again at the end of the turn.
	_ = r.recordUsage(in, id, in.tries, in.lost)
}

func (r *requests) recordUsage(in *incoming, id string, tries int, parts ...provider.Usage) error {
	report := RequestReport{ID: id, Model: in.model, Millis: time.Since(in.began).Milliseconds(), Tries: tries}
	report.Quota, report.CostUSD, report.Small = in.quota, new(float64), r.session.model.small
	for _, usage := range parts {
		if usage.Total() == 0 && usage.CostUSD == nil {
			continue
		}
		report.Usage = report.Usage.Add(usage)
		report.CostUSD = plus(report.CostUSD, provider.Cost(usage, r.session.model.Info.Price))
	}
	in.report = report
	r.money.settle(report)
	return r.report(report)
}

// report keeps the usage of a request, also of a sub-agent.
func (r *requests) report(report RequestReport) error {
	r.response.Usage = r.response.Usage.Add(report.Usage)
	if r.response.Requests == nil {
		r.response.CostUSD = new(float64)
	}
	r.response.CostUSD = plus(r.response.CostUSD, report.CostUSD)
	r.response.Requests = append(r.response.Requests, report)
	r.cb.OnNotice(Notice{Kind: NoticeUsage, Request: &report})
	return r.session.conv.RecordUsage(report.Model, report.Usage, report.CostUSD)
}

func (r *requests) timedOut(err error) error {
	late := provider.Error{Provider: r.session.model.Name}
	if e := provider.AsError(err); e != nil {
		late = *e
	}
	late.Kind, late.Message = provider.KindTimeout, ""
	late.Err = fmt.Errorf("not done after %s: %w", r.timeout, context.DeadlineExceeded)
	return &late
}

// spanned has the journal span a request to a provider that runs tools of its own. The func
// follows the request's end. The step of a run that was stopped ends with it, and the turn does
// not wait. After an error the request must not be made.
func (r *requests) spanned(ctx context.Context) (after func(), err error) {
	wait, j := r.session.model.Wait, r.keeper.journal
	if wait == nil || j == nil {
		return func() {}, nil
	}
	r.keeper.giveYours(r.cb)
	step := j.BeginRun(r.session.turnNumber(), r.session.model.Name)
	if _, err := step.Snapshot(ctx); err != nil {
		_, endErr := step.End()
		return nil, &Failure{Kind: KindInternal, What: r.session.model.Name,
			Err: fmt.Errorf("not run, since its changes could not be undone: %w", errors.Join(err, endErr))}
	}
	return func() {
		report := make(chan string, 1)
		r.keeper.runs.Go(func() {
			wait()
			report <- lostBy(r.keeper.closeStep(step))
		})
		select {
		case text := <-report:
			if text != "" {
				r.cb.notice(NoticeWarning, text)
			}
		case <-time.After(interruptGrace):
			r.keeper.runs.Go(func() {
				if text := <-report; text != "" {
					r.session.notify(text)
				}
			})
		}
	}, nil
}
