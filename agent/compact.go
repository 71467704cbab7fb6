package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"artoo/conversation"
	"artoo/tool/text"
)

func isAre(n int, unit string) string {
	if n == 1 {
		return text.Count(n, unit) + " is"
	}
	return text.Count(n, unit) + " are"
}

func (r *requests) compactNow(ctx context.Context, keep string) error {
	old := r.session.conv.Old(true)
	switch {
	case r.session.foreignRules() != "":
		r.cb.notice(NoticeInfo, r.session.model.Name+" keeps its own conversation, which artoo cannot summarize; "+
			"trimming what it would be sent")
	case len(old.Messages) > 0:
		err := r.compact(ctx, old, keep)
		if err == nil || r.hopeless(ctx, err) {
			return err
		}
		r.notSummed(err)
	case r.session.conv.Budget() <= 0 || r.session.conv.EstimatedTokens() < r.session.conv.Budget()/2:
		r.cb.notice(NoticeInfo, "nothing to compact yet: recent steps are always kept")
		return nil
	default:
		r.cb.notice(NoticeInfo, "old messages are mostly yours and are never summarized; trimming instead")
	}
	did, err := r.session.conv.Compact()
	if err != nil {
		return err
	}
	if text := did.String(); text != "" {
		r.session.cached = 0
		r.cb.notice(NoticeCompacted, text)
		return r.session.remindTodo()
	}
	r.cb.notice(NoticeInfo, "the context cannot be shortened further; /clear starts a new session")
	return nil
}

// compactFull has a history over its budget summed up, where that is wanted. The rest is trimmed after it.
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
	err := r.compact(ctx, old, "")
	if err != nil && !r.hopeless(ctx, err) {
		r.notSummed(err)
		r.giveUpSumming()
		return nil
	}
	r.session.unsummed = 0
	return err
}

// mostUnsummed is how many automatic summaries in a row may fail, since each is paid for.
const mostUnsummed = 3

func (r *requests) giveUpSumming() {
	if r.session.compactMode() != CompactAuto {
		return // the user decides each time
	}
	if r.session.unsummed++; r.session.unsummed >= mostUnsummed {
		r.session.unsummed, r.session.compaction = 0, CompactTrim
		r.cb.notice(NoticeInfo, fmt.Sprintf("%d summaries in a row failed: for the rest of this session a full context is "+
			"trimmed; /compact tries again", mostUnsummed))
	}
}

// hopeless reports whether not even a trim may follow: the user wants an end, or the session cannot be written.
func (r *requests) hopeless(ctx context.Context, err error) bool {
	_, lost := errors.AsType[*conversation.Error](err)
	return lost || ctx.Err() != nil
}

func (r *requests) notSummed(err error) {
	r.cb.notice(NoticeWarning, "no summary ("+strings.TrimSuffix(err.Error(), ".")+
		"); trimming instead")
}

// The choices of the question at a full budget. What stands before the colon is an answer too.
const (
	chooseSummary = "summarise: the model sums it up now, which costs a request"
	chooseTrim    = "trim: the oldest is shortened and left out"
	chooseAlways  = "always: summarise, now and whenever it is full in this session"
	chooseNever   = "never: trim, now and whenever it is full in this session"
)

func (r *requests) askCompact(ctx context.Context) (Compaction, error) {
	answer, err := r.cb.Ask(ctx, Question{Kind: QuestionCompact, Number: 1, Of: 1, Dir: r.session.opt.Env.Dir,
		Text: fmt.Sprintf("the context is full: about %s of %s tokens. What becomes of its old part?",
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

// compact puts a summary in the place of old. After an error the history is as it was.
func (r *requests) compact(ctx context.Context, old conversation.Old, keep string) error {
	made := len(r.response.Requests)
	r.cb.notice(NoticeInfo, fmt.Sprintf("the model is asked to sum up %s of about %s tokens",
		text.Count(len(old.Messages), "old message"), conversation.Tokens(old.Tokens)))
	text, err := r.summarize(ctx, old, keep)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	did, err := r.session.conv.Summarize(old, r.session.masked(text))
	if err != nil {
		return err
	}
	r.session.cached = 0
	r.cb.notice(NoticeCompacted, did.String()+r.priceOf(made))
	return r.session.remindTodo()
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
		price = fmt.Sprintf("$%.4f", *cost)
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
