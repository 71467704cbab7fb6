package agent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/text"
)

// compactNow has the old part summed up. Without a summary nothing is left out, unless the last message did not fit.
func (r *requests) compactNow(ctx context.Context, keep string) error {
	old := r.session.conv.Old(true)
	kind, why := NoticeInfo, "nothing to compact yet: recent steps and your own messages are always kept"
	switch {
	case r.session.foreignRules() != "":
		why = r.session.model.Name + " keeps its own conversation, which artoo cannot summarise"
	case len(old.Messages) > 0:
		err := r.beforeCompact(ctx, "manual", keep)
		if err != nil {
			return err
		}
		err = r.compact(ctx, old, keep)
		if err == nil || r.hopeless(ctx, err) {
			return err
		}
		kind, why = NoticeWarning, noSummary(err)
	}
	if !r.session.full {
		r.cb.notice(kind, why+"; the history is unchanged")
		return nil
	}
	r.cb.notice(kind, why+"; trimming instead")
	did, err := r.session.conv.Compact()
	if err != nil {
		return err
	}
	if text := did.String(); text != "" {
		r.session.cached = 0
		r.cb.OnNotice(Notice{Kind: NoticeTrimmed, Text: text, Hint: "/uncompact takes it back"})
		return r.session.remind(r.inform)
	}
	r.cb.notice(NoticeInfo, "the context cannot be shortened further; /clear starts a new session")
	return nil
}

// compactFull has a history over its budget summed up, where that is wanted. The rest is trimmed
// after it.
func (r *requests) compactFull(ctx context.Context) error {
	mode := r.session.compactMode()
	if mode != CompactAuto && mode != CompactAsk || r.session.foreignRules() != "" {
		return nil
	}
	old := r.session.conv.Old(false)
	if len(old.Messages) == 0 {
		return nil
	}
	if mode == CompactAsk {
		var err error
		if mode, err = r.askCompact(ctx); err != nil || mode != CompactAuto {
			return err
		}
	}
	err := r.beforeCompact(ctx, "auto", "")
	if err == nil {
		err = r.compact(ctx, old, "")
	}
	if err != nil && !r.hopeless(ctx, err) {
		r.cb.notice(NoticeWarning, noSummary(err)+"; trimming instead")
		r.giveUpSumming(err)
		return nil
	}
	r.session.unsummed = 0
	return err
}

// mostUnsummed is how many automatic summaries in a row may fail, since each is paid for.
const mostUnsummed = 3

func (r *requests) giveUpSumming(err error) {
	if r.session.compactMode() != CompactAuto || errors.Is(err, errTooLong) {
		return // The user decides each time, or no request was made.
	}
	if r.session.unsummed++; r.session.unsummed >= mostUnsummed {
		r.session.unsummed, r.session.compaction = 0, CompactTrim
		r.cb.notice(NoticeInfo, fmt.Sprintf("%d summaries in a row failed: for the rest of this session a full context is "+
			"trimmed; /compact tries again", mostUnsummed))
	}
}

// hopeless reports whether not even a trim may follow: the user wants an end, or the session
// cannot be written.
func (r *requests) hopeless(ctx context.Context, err error) bool {
	_, lost := errors.AsType[*conversation.Error](err)
	return lost || ctx.Err() != nil
}

func noSummary(err error) string { return "no summary (" + strings.TrimSuffix(err.Error(), ".") + ")" }

// The choices of the question at a full budget. The word before the colon is an answer too.
const (
	chooseSummary = "summarise: the model summarises it now, which costs a request"
	chooseTrim    = "trim: the oldest is shortened and left out"
	chooseAlways  = "always: summarise, now and whenever it is full in this session"
	chooseNever   = "never: trim, now and whenever it is full in this session"
)

func (r *requests) askCompact(ctx context.Context) (Compaction, error) {
	answer, err := r.cb.Ask(ctx, Question{Kind: QuestionCompact, Number: 1, Of: 1, Dir: r.session.opt.Env.Dir,
		Text: fmt.Sprintf("the context is full: about %s of %s tokens. What should happen to the old part?",
			conversation.Tokens(r.session.conv.EstimatedTokens()), conversation.Tokens(r.session.conv.Budget())),
		Choices: []string{chooseSummary, chooseTrim, chooseAlways, chooseNever}})
	switch {
	case ctx.Err() != nil:
		return CompactTrim, context.Cause(ctx)
	case err != nil: // no one can answer, or no longer
		return CompactTrim, nil
	}
	switch answer.Text {
	case chooseSummary:
		return CompactAuto, nil
	case chooseAlways:
		r.session.compaction = CompactAuto
		return CompactAuto, nil
	case chooseNever:
		r.session.compaction = CompactTrim
	}
	return CompactTrim, nil
}

// compact replaces old with a summary. After an error the history is as it was.
func (r *requests) compact(ctx context.Context, old conversation.Old, keep string) error {
	made := len(r.response.Requests)
	text, err := r.summarize(ctx, old, keep)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return r.replace(old, text, made)
}

// replace puts a text, for which the requests after the first n were made, in the place of old.
func (r *requests) replace(old conversation.Old, text string, n int) error {
	did, err := r.session.conv.Summarize(old, r.session.masked(text))
	if err != nil {
		return err
	}
	price := ""
	if n < len(r.response.Requests) {
		price = r.priceOf(n)
	}
	r.session.cached = 0
	r.cb.OnNotice(Notice{Kind: NoticeCompacted, Text: did.String() + price,
		Hint: "/compact show shows it, /uncompact takes it back"})
	return r.session.remind(r.inform)
}

// startFresh leaves out all before the last step, except for the user's messages and the files that the model read.
func (r *requests) startFresh(ctx context.Context) error {
	old := r.session.conv.AllOld()
	err := conversation.ErrNoGain
	if len(old.Messages) > 0 && r.session.foreignRules() == "" {
		if err := r.beforeCompact(ctx, "manual", ""); err != nil {
			return err
		}
		requests := len(r.response.Requests)
		err = r.replace(old, "The user approved the plan of your last call. "+whatWasRead(old.Messages), requests)
	}
	if errors.Is(err, conversation.ErrNoGain) {
		r.cb.notice(NoticeInfo, "the context is unchanged: nothing to leave out")
		return nil
	}
	return err
}

// mostRead bounds the texts of read files that a fresh history begins with, in bytes.
const mostRead = 60_000

// whatWasRead are the results of the calls that read files, the latest of each call, as long as they fit.
func whatWasRead(messages []provider.Message) string {
	inputs, last := map[string]string{}, map[string]int{}
	var results []provider.ToolResult
	for _, m := range messages {
		for _, call := range m.Calls() {
			inputs[call.ID] = string(call.Input)
		}
		for _, part := range m.Parts {
			if result, ok := part.(provider.ToolResult); ok && result.Name == "read" && !result.IsError {
				last[inputs[result.CallID]] = len(results)
				results = append(results, result)
			}
		}
	}
	said, names := "", ""
	for i, result := range results {
		input := inputs[result.CallID]
		switch {
		case last[input] != i:
		case len(said)+len(result.Text) > mostRead:
			names += " " + input
		default:
			said += "\n\n" + input + ":\n" + result.Text
		}
	}
	if names != "" {
		names = "\n\nAlso read, and left out here for its length:" + names
	}
	return "What you read before, as it was then, by the inputs of your calls of read:" + cmp.Or(said, " nothing") + names
}

// priceOf is the cost, in words, of all requests after the first n.
func (r *requests) priceOf(n int) string {
	requests, tokens, cost := r.response.Requests[n:], 0, new(float64)
	for _, request := range requests {
		tokens += request.Usage.Total()
		cost = plus(cost, request.CostUSD)
	}
	price := "cost unknown"
	if cost != nil {
		price = text.Dollars(*cost)
	}
	return fmt.Sprintf(" (%s, %s tokens, %s)", text.Count(len(requests), "request"), conversation.Tokens(tokens), price)
}

// trim makes the history fit the budget, by a summary where that is wanted and can be had.
func (r *requests) trim(ctx context.Context) error {
	r.session.conv.SetReserve(r.replyLimitOf(r.session.model.Defaults.MaxTokens) - r.least())
	if r.session.conv.OverBudget() {
		if err := r.compactFull(ctx); err != nil {
			return err
		}
	}
	return r.trimBy(r.session.conv.Trim, nil)
}

// summaryForm is the request for a summary; its placeholders are the number of words and the facts that the user wants
// kept.
//
//go:embed summary.md
var summaryForm string

var summaryHeadings = []string{"Goal", "Decisions", "Files", "State", "Next"}

const wordsPerToken = 0.6

// summarizer makes the requests of one summary.
type summarizer struct {
	requests *requests // Their replies are neither shown nor kept.
	old      conversation.Old
	ask      string // the last words of each request
	again    bool   // the one second try was made
}

var errTooLong = errors.New("the old part does not fit the model's window")

// summarize has the small model sum up an old part; the session's, where that fails.
func (r *requests) summarize(ctx context.Context, old conversation.Old, keep string) (string, error) {
	if restore, ok := r.withSmall(ctx); ok {
		text, err := r.summary(ctx, old, keep)
		restore()
		if err == nil || r.hopeless(ctx, err) {
			return text, err
		}
		r.smallFailed(err)
	}
	return r.summary(ctx, old, keep)
}

func (r *requests) summary(ctx context.Context, old conversation.Old, keep string) (string, error) {
	if keep = strings.TrimSpace(keep); keep != "" {
		keep = "\n\nThe user asks you to keep in any case: " + r.session.masked(keep)
	}
	s := &summarizer{requests: r.besides(), old: old}
	s.ask = fmt.Sprintf(strings.TrimSpace(summaryForm), int(float64(old.Summary)*wordsPerToken), keep)
	tokens := old.Tokens + r.session.conv.TextTokens(s.ask)
	if budget := r.session.conv.Budget(); budget > 0 && tokens > budget {
		return "", errTooLong
	}
	by := "the model"
	if m := r.session.model; m.small {
		by = m.String()
	}
	r.cb.notice(NoticeInfo, fmt.Sprintf("asking %s to summarise %s of about %s tokens", by,
		text.Count(len(old.Messages), "old message"), conversation.Tokens(old.Tokens)))
	return s.request(ctx, tokens)
}

// besides makes requests that are no steps of the turn: their cost is its own, and their text is
// not shown.
func (r *requests) besides() *requests {
	cb := &serial{cb: silent{r.cb}, clock: r.clock}
	return &requests{session: r.session, cb: cb, clock: r.clock, response: r.response, keeper: r.keeper, timeout: r.timeout,
		steps: &atomic.Int64{}, money: &money{session: r.session, cb: cb, clock: r.clock, spent: r.money.spent}}
}

// silent passes on how requests go, and none of their text.
type silent struct{ Callbacks }

func (silent) OnText(string)      {}
func (silent) OnReasoning(string) {}

// OnNotice implements Callbacks: a call of such a reply is never run.
func (s silent) OnNotice(n Notice) {
	if n.Kind != NoticeInput {
		s.Callbacks.OnNotice(n)
	}
}

func (silent) Ask(context.Context, Question) (Answer, error) { return Answer{}, ErrNobody }

// request asks for a summary, and once more where the reply is none.
func (s *summarizer) request(ctx context.Context, tokens int) (string, error) {
	ask := s.ask
	for {
		reply, err := s.query(ctx, tokens, ask)
		if err != nil && s.requests.fallBack(ctx, err) == nil {
			continue
		}
		if e := provider.AsError(err); e != nil && e.Kind == provider.KindContext && !e.Elsewhere && e.Window > 0 {
			s.requests.takeWindow(e.Window)
		}
		if err != nil {
			return "", err
		}
		text, why, advice := s.read(reply)
		switch {
		case why == "":
			return text, nil
		case reply.Stop == provider.StopRefusal:
			return "", errors.New(why)
		case s.again:
			return "", errors.New(why + ", twice")
		}
		s.again = true
		s.requests.cb.notice(NoticeInfo, why+"; asking once more")
		ask += "\n\n" + advice
	}
}

// query makes one request. It begins as those of the conversation do, so that the provider's cache
// serves. Calls are only forbidden once the model made some: another tool_choice loses Anthropic's
// cache.
func (s *summarizer) query(ctx context.Context, tokens int, ask string) (provider.Done, error) {
	s.requests.money.aside = max(tokens, 1)
	limit := s.requests.replyLimitOf(s.requests.withThinking(s.requests.session.model.Defaults))
	if window := s.requests.window(); window > 0 {
		limit = min(limit, max(window-tokens, s.requests.least(), 1))
	}
	if !s.leavesRest(limit) {
		return provider.Done{}, errors.New("the run's caps leave too little for a summary and the next request")
	}
	limit, err := s.requests.money.reserve(ctx, limit)
	if err != nil {
		return provider.Done{}, err
	}
	messages := provider.Repair(append(slices.Clone(s.old.Messages), provider.UserText(ask)))
	messages, _ = provider.FitImages(provider.LeaveOut(messages, s.requests.session.refused.has), s.requests.session.model.Info)
	r := provider.Request{Options: s.requests.session.model.Defaults, SessionID: s.requests.session.sessionID,
		System: s.requests.session.system, Tools: s.requests.session.specs(), Messages: messages,
		NoCalls: s.requests.session.cached == 0 || s.again}
	r.MaxTokens, s.requests.limit = limit, limit
	done, err := s.requests.stream(ctx, r)
	s.requests.money.release()
	return done, err
}

// leavesRest reports whether the caps of the run also pay for the request after the summary: a
// trim costs nothing. Where they do not even pay for this one, reserve reports it.
func (s *summarizer) leavesRest(limit int) bool {
	s.requests.money.spent.reserving.Lock()
	defer s.requests.money.spent.reserving.Unlock()
	if _, err := s.requests.money.affordable(limit); err != nil {
		return true
	}
	tokens := s.requests.money.aside
	defer func() { s.requests.money.aside = tokens }()
	s.requests.money.aside += s.old.Summary + s.old.After
	_, err := s.requests.money.affordable(limit)
	return err == nil
}

// read is the summary that a reply holds. Otherwise why names the fault, and advice the remedy, for the model.
func (s *summarizer) read(reply provider.Done) (text, why, advice string) {
	text = strings.TrimSpace(textOnly(reply.Message).Text())
	switch {
	case reply.Stop == provider.StopRefusal:
		return text, cmp.Or(reply.Detail, "the model refused to summarise it"), ""
	case s.requests.isTruncated(ending{reply: reply}):
		return text, "the summary was cut at its limit",
			"Your last summary was cut at its length limit: write it again in half as many words."
	case text == "":
		return text, "the model sent no summary", "Your last reply held no text: write the summary."
	}
	from := 0
	for i, heading := range summaryHeadings {
		at := regexp.MustCompile(`(?mi)^\W*` + heading + `\b`).FindStringIndex(text)
		if at == nil {
			return text, "the model's summary has no heading " + heading,
				"Your last summary lacked the heading " + heading + ": all five have to be there."
		}
		if i == 0 {
			from = at[0]
		}
	}
	return text[from:], "", ""
}
