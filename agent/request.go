package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/telemetry"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/text"
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

// ending is how a request ended: with a reply, or with an error.
type ending struct {
	reply provider.Done
	err   error
	sent  []provider.Message // The server refused these.
}

func (e ending) answerText() string { return strings.TrimSpace(e.reply.Message.Text()) }

func (e ending) refused() provider.Error {
	if refused := provider.AsError(e.err); refused != nil {
		return *refused
	}
	return provider.Error{}
}

// A retry is one cause to make a request again.
type retry struct {
	cause   func(*requests, ending) bool
	counter counter
	most    int // how often for one reply; 0 is as often as it happens
	keep    keptOfReply
	// change changes the next request. Its error ends the turn.
	change func(*requests, ending) error
	// giveUp is the error of a cause that came too often; nil leaves it to the rows below, else to
	// the request's own.
	giveUp func(*requests, ending) error
}

// retries is all that is requested again; the first row whose cause holds counts. A provider may
// also try again within a request (provider.Retry events). Calls are never made again by artoo.
var retries = []retry{
	//  cause                   counted   most  of the reply  the change             the final error
	{(*requests).takesNoImages, byImages, 1, keepNone, (*requests).disableImages, nil},
	{(*requests).imagesRefused, byImages, 0, keepNone, (*requests).leaveImagesOut, nil},
	{(*requests).schemaRefused, bySchema, 1, keepNone, (*requests).askedInstead, nil},
	{(*requests).tooLong, byTrim, 1, keepNone, (*requests).trimRefused, (*requests).stillTooLong},
	{(*requests).toolsRefused, byTools, 1, keepNone, (*requests).withoutFunctions, nil},
	{(*requests).emptyAndLong, byTrim, 1, keepNone, (*requests).trimEmpty, (*requests).stillEmptyAndLong},
	{(*requests).empty, byNudge, 1, keepNone, (*requests).nudgeEmpty, (*requests).stillEmpty},
	{(*requests).truncatedTooEarly, byTruncation, 1, keepNone, (*requests).raiseLimit, nil},
	{(*requests).isTruncated, byTruncation, 2, keepText, (*requests).askRest, (*requests).stillTruncated},
	{(*requests).pausedByServer, byPause, 0, keepAll, (*requests).resendPaused, nil},
}

// tryAgain reports whether to request again: the same model after a change, or else the next one.
func (r *requests) tryAgain(ctx context.Context, end ending) (again bool, err error) {
	if again, err = r.retry(end); err != nil {
		err = r.awaitReset(ctx, r.fallBack(ctx, err))
		again = err == nil
	}
	return again, err
}

// retry makes the change of the first row of retries that fits, and reports whether to request again. The error ends
// the turn; it is nil for a reply that is an answer or has calls.
func (r *requests) retry(end ending) (again bool, err error) {
	for _, row := range retries {
		spent := row.most > 0 && r.attempt.made[row.counter] >= row.most
		if spent && row.giveUp == nil || !row.cause(r, end) {
			continue
		}
		if end.err == nil {
			if err := r.keepOf(end.reply.Message, row.keep); err != nil {
				return false, err
			}
		}
		if spent {
			return false, row.giveUp(r, end)
		}
		r.attempt.made[row.counter]++
		err = row.change(r, end)
		return err == nil, err
	}
	return false, end.err
}

func (r *requests) keepReply(m provider.Message) error {
	if err := r.session.conv.Append(m); err != nil {
		return err
	}
	r.attempt, r.partial = attempt{}, ""
	return nil
}

func (r *requests) keepOf(m provider.Message, what keptOfReply) error {
	text := textOnly(m)
	said := strings.TrimSpace(text.Text()) != ""
	switch what {
	case keepAll:
		return r.keepReply(m)
	case keepNone:
		if said {
			r.hold(text.Text()) // until something replaces it
		}
		return nil
	}
	if !said && r.partial != "" {
		text.Parts, said = []provider.Part{provider.Text{Text: r.partial}}, true
	}
	r.partial = ""
	if !said {
		return nil
	}
	r.answer.WriteString(text.Text())
	return r.session.conv.Append(text)
}

// hold keeps the text of a reply that broke off, with the model that wrote it: a fallback may answer next.
func (r *requests) hold(text string) {
	r.partial, r.partialBy = text, [2]string{r.response.Provider, r.response.Model}
}

func (r *requests) tooLong(end ending) bool {
	refused := end.refused()
	return refused.Kind == provider.KindContext && !refused.Elsewhere || r.wordless(refused) && r.nearlyFull()
}

// wordless reports whether a server refused a request without a word, as some do with one that is
// too long.
func (r *requests) wordless(refused provider.Error) bool {
	return refused.Status == http.StatusBadRequest && refused.Code == "" &&
		strings.EqualFold(refused.Message, http.StatusText(http.StatusBadRequest))
}

// nearlyFull reports whether the request fills most of the window, or of a safe guess at it.
func (r *requests) nearlyFull() bool {
	const most, unknown = 0.7, 8000
	sent, window := r.session.conv.EstimatedTokens(), tightest(r.session.model.Info.Context, r.session.conv.Budget())
	return window > 0 && float64(sent) >= most*float64(window) || r.session.model.Info.Guess && sent >= unknown
}

// trimRefused trims for a request that the provider found too long, whatever was estimated.
func (r *requests) trimRefused(end ending) error {
	refused := end.refused()
	return r.trimHard(&refused, r.learnWindow(refused))
}

func (r *requests) stillTooLong(end ending) error {
	refused := end.refused()
	r.learnWindow(refused)
	return r.contextFull(r.session.conv.Full(), &refused)
}

func (r *requests) empty(end ending) bool {
	return end.err == nil && end.answerText() == "" && len(end.reply.Message.Calls()) == 0 && !r.isTruncated(end) &&
		!r.pausedByServer(end)
}

// emptyAndLong reports whether an empty reply may mean that the window is full, as it does for
// some servers.
func (r *requests) emptyAndLong(end ending) bool {
	switch {
	case !r.empty(end) && !end.refused().Empty:
		return false
	case r.attempt.made[byTrim] > 0:
		return true
	case end.reply.Usage.Output > r.least():
		return false // it wrote something that cannot be seen
	}
	return r.nearlyFull()
}

func (r *requests) trimEmpty(ending) error {
	r.cb.notice(NoticeInfo, "the reply was empty, perhaps because the request was too long; trying once more with less")
	return r.trimHard(nil, true)
}

func (r *requests) stillEmptyAndLong(ending) error {
	return &Failure{Kind: KindContext, Hint: conversation.HintFull,
		Err: errors.New("the replies are empty, as from servers when a request is too long")}
}

// stopsEmpty reports whether a second empty reply shows a full window: then no third try is made.
func (r *requests) stopsEmpty(e provider.Retry) bool {
	return e.Try > 2 && r.emptyAndLong(ending{err: e.Err})
}

// nudgeEmpty: a request that is sent unchanged tends to get the same nothing.
func (r *requests) nudgeEmpty(ending) error {
	r.cb.notice(NoticeInfo, "the reply was empty; trying once more")
	r.attempt.nudge = "Your last reply was empty. Go on with the task, or answer."
	return nil
}

func (r *requests) stillEmpty(ending) error {
	return &Failure{Kind: KindProvider, Err: errors.New("the reply was empty twice"),
		Hint: "rephrase the question, or choose another model with --model"}
}

func (r *requests) pausedByServer(end ending) bool {
	return end.reply.Stop == provider.StopPause && len(end.reply.Message.Calls()) == 0
}

func (r *requests) resendPaused(ending) error {
	r.attempt.paused = true
	return nil
}

// Requests to the model after a reply that was cut.
const (
	askRest = "Your reply was cut at its length limit. Continue exactly where it broke off, without repeating anything."
	askLess = "Your reply was cut at its length limit once more. Give the rest in fewer words."
	askCall = "Your reply was cut at its length limit, in the middle of a tool call, which was not run. " +
		"Write less at once: a long file in several smaller edits, a long text in fewer words."
)

func (r *requests) isTruncated(end ending) bool {
	return end.reply.Stop == provider.StopMaxTokens || end.reply.Stop == provider.StopContext
}

// truncatedCall reports whether a cut reply ends in a tool call, which must never run, or has no text.
func (end ending) truncatedCall() bool {
	parts := end.reply.Message.Parts
	if end.answerText() == "" {
		return true
	}
	_, call := parts[len(parts)-1].(provider.ToolCall)
	return call
}

// truncatedTooEarly reports whether a longer reply may be whole, and the rest of this one would not do.
func (r *requests) truncatedTooEarly(end ending) bool {
	return end.reply.Stop == provider.StopMaxTokens && (end.truncatedCall() || r.session.schema() != nil) && r.longest() > r.limit
}

// longest is the longest reply the model can give now, in tokens.
func (r *requests) longest() int {
	most := r.session.model.Info.MaxOutput
	if window := r.window(); window > 0 {
		most = min(most, window-r.session.conv.EstimatedTokens())
	}
	return most
}

func (r *requests) raiseLimit(ending) error {
	r.attempt.maxTokens = r.longest()
	r.cb.OnNotice(Notice{
		Kind: NoticeTruncated,
		Text: "the reply was cut at " + text.Count(r.limit, "token") + "; trying again with room for " +
			text.Count(r.attempt.maxTokens, "token"),
		Retry: &provider.Retry{Try: 2, Tries: 2, Discard: true},
	})
	return nil
}

// askRest asks for the rest of a text, or for less at once.
func (r *requests) askRest(end ending) error {
	if r.windowFull(end.reply) {
		if err := r.trimHard(nil, true); err != nil {
			return err
		}
	}
	ask, notice := askRest, "the reply was cut at its limit; asking for the rest"
	switch {
	case end.truncatedCall():
		ask, notice = askCall, "the reply was cut in the middle of a tool call; asking for smaller steps"
	case r.attempt.made[byTruncation] > 1:
		ask, notice = askLess, "the reply was cut again; asking for the rest in fewer words"
	}
	r.cb.notice(NoticeTruncated, notice)
	return r.session.conv.Remind(ask)
}

// leastWindow is the smallest window in tokens that a server, Ollama's, is set up with.
const leastWindow = 2000

// windowFull reports whether it was the window that cut the reply.
func (r *requests) windowFull(reply provider.Done) bool {
	const full = 0.95
	window, usage := r.window(), reply.Usage
	return r.truncated || reply.Stop == provider.StopContext || !usage.Estimated &&
		(window > 0 && float64(usage.Total()) >= full*float64(window) ||
			r.session.model.Info.Guess && usage.Total() >= leastWindow && usage.Output > 0 &&
				float64(usage.Output) < full*float64(r.limit))
}

// stillTruncated is the failure of a reply that is cut after all. A higher limit may not help it.
func (r *requests) stillTruncated(end ending) error {
	if r.windowFull(end.reply) {
		return &Failure{Kind: KindContext, Err: errors.New("the model's window is full, so the reply was cut"),
			Hint: conversation.HintFull}
	}
	at, hint := "its limit", "a higher ARTOO_MAX_TOKENS, or a smaller task"
	if r.limit > 0 {
		at = text.Count(r.limit, "token")
	}
	if most := r.window() / replyShare; r.limit > 0 && most > 0 && r.limit >= most {
		hint = "a smaller task, or a model with a larger window (a reply gets a quarter of it)"
	}
	return &Failure{Kind: KindCap, Err: errors.New("the reply is still cut at " + at), Hint: hint}
}

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

// bytesPerToken is the most that a token of a call's input has: JSON and code have fewer.
const bytesPerToken = 4

// withoutOversized is a reply whose calls fill at most half of the context's budget. Others are
// not run, and only their beginning is kept, in Raw: the last steps are never left out, so that
// no later request would fit.
func (r *requests) withoutOversized(m provider.Message) provider.Message {
	left := r.session.conv.Budget() / 2 * bytesPerToken
	if left <= 0 {
		return m // there is no budget
	}
	parts := make([]provider.Part, len(m.Parts))
	for i, p := range m.Parts {
		if c, ok := p.(provider.ToolCall); ok {
			if left -= len(c.Input) + len(c.Raw); left < 0 {
				p = r.oversized(c)
			}
		}
		parts[i] = p
	}
	m.Parts = parts
	return m
}

// oversized is the kept part of a call that is too large, with a remark for its result.
func (r *requests) oversized(c provider.ToolCall) provider.ToolCall {
	whole := cmp.Or(c.Raw, string(c.Input))
	if r.session.tooLarge == nil {
		r.session.tooLarge = map[string]string{}
	}
	r.session.tooLarge[c.ID] = fmt.Sprintf("has %d bytes, more than the context has room for", len(whole))
	c.Input, c.Raw = json.RawMessage("{}"), text.Clip(whole, 300)
	return c
}

func (r *requests) takesNoImages(end ending) bool {
	return end.refused().Code == provider.CodeNoImages && r.session.model.Info.Images
}

func (r *requests) disableImages(ending) error {
	r.session.model.Info.Images = false
	return nil
}

func (r *requests) imagesRefused(end ending) bool { return end.refused().Images }

// leaveImagesOut learns from a request that was refused for its images. Which of them, servers
// rarely say: the older half is left out from now on, until the rest is taken.
func (r *requests) leaveImagesOut(end ending) error {
	images := provider.Images(end.sent)
	if len(images) == 0 {
		r.session.refused = nil // refused without any: they were not at fault
		return end.err
	}
	if r.session.refused == nil {
		r.session.refused = imageSet{}
	}
	older := images[:(len(images)+1)/2]
	for _, img := range older {
		r.session.refused[sha256.Sum256(img.Data)] = true
	}
	r.cb.notice(NoticeInfo, fmt.Sprintf("%s: %s left out from now on", end.err, text.Count(len(older), "image")))
	return nil
}

// toolsRefused reports whether the definition of a server's tool may be why a request was refused: the
// model has answered none with these tools.
func (r *requests) toolsRefused(end ending) bool {
	s := r.session
	return end.refused().Kind == provider.KindInvalid && s.answered[0] != s.model.Name+"/"+s.model.Defaults.Model &&
		slices.ContainsFunc(s.opt.Tools, func(t tool.Tool) bool { return t.Kind == tool.KindServer && t.Name != builtin.CallTool })
}

// withoutFunctions has mcp_find and mcp_call stand for all tools of servers. Which tool is at fault,
// providers say in words only.
func (r *requests) withoutFunctions(end ending) error {
	r.session.setServerTools(builtin.TwoTools(r.session.opt.Env.MCP))
	r.session.conv.SetOverhead(r.session.system, r.session.specs)
	r.cb.notice(NoticeWarning, fmt.Sprintf("%v: trying again with MCP tools behind mcp_call, not as functions", end.err))
	return nil
}

// schemaRefused reports whether the server does not hold the model to the schema after all.
func (r *requests) schemaRefused(end ending) bool { return end.refused().Code == provider.CodeNoSchema }

// askedInstead leaves it to the next request to ask for the schema.
func (r *requests) askedInstead(ending) error { return nil }
