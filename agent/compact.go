package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/text"
)

// The ways there are. CompactAsk is CompactTrim where nobody can be asked.
const (
	CompactTrim Compaction = "trim" // the oldest is shortened and left out
	CompactAuto Compaction = "auto" // the model sums it up
	CompactAsk  Compaction = "ask"  // the user decides each time
)

// Compact has the model sum up the old part of the history, between two turns: the
// last steps and the user's messages stay. keep says what the summary must not leave
// out, "" for nothing. What came of it is told by notices. Where there is no summary
// to be had, what can be left out is left out instead, so that there is room in any
// case. It returns what the requests used; after an error, an interrupt (ctx done,
// whose cause it is) or a session that cannot be written, the history is as it was.
func (a *Agent) Compact(ctx context.Context, keep string, cb Callbacks) (*Response, error) {
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	a.describe(ctx)
	if err := t.requests.compactNow(ctx, keep); err != nil {
		return t.failed(ctx, err)
	}
	return t.response, a.session.conv.Sync()
}

// Summary is what stands for the part of the session that was summed up last, as the model
// is sent it; "" for nothing.
func (a *Agent) Summary() string {
	for _, m := range slices.Backward(a.session.conv.Messages()) {
		for _, part := range m.Parts {
			if text, ok := part.(provider.Text); ok && text.Note == provider.NoteSummary {
				return text.Text
			}
		}
	}
	return ""
}

// Uncompact takes the last compaction of the session back and says so, "" where there
// is none.
func (a *Agent) Uncompact() (string, error) {
	did, ok, err := a.session.conv.Uncompact()
	if err != nil || !ok {
		return "", err
	}
	text := fmt.Sprintf("the last compaction is taken back: %s sent again, about %s tokens now instead of %s",
		isAre(did.Messages, "message"), conversation.Tokens(did.After), conversation.Tokens(did.Before))
	if a.session.conv.OverBudget() {
		text += fmt.Sprintf(", more than the budget of %s: with the next message the oldest makes room again",
			conversation.Tokens(a.session.conv.Budget()))
	}
	return text, a.session.conv.Sync()
}

func isAre(n int, unit string) string {
	if n == 1 {
		return text.Count(n, unit) + " is"
	}
	return text.Count(n, unit) + " are"
}

// compactNow is Compact within its turn.
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

// compactFull has a history that passes its budget summed up, where that is wanted.
// What stays too long is trimmed after it.
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

// mostUnsummed is how many automatic summaries in a row may fail: each is paid for, and a
// model that cannot do it does not learn it.
const mostUnsummed = 3

// giveUpSumming counts one that failed, and leaves it at trims for the rest of the session
// after too many.
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

// hopeless reports whether nothing else may be tried in the place of a summary: the
// user wants an end, or the session cannot be written.
func (r *requests) hopeless(ctx context.Context, err error) bool {
	_, lost := errors.AsType[*conversation.Error](err)
	return lost || ctx.Err() != nil
}

// notSummed tells why there is no summary.
func (r *requests) notSummed(err error) {
	r.cb.notice(NoticeWarning, "no summary ("+strings.TrimSuffix(err.Error(), ".")+
		"); trimming instead")
}

// The choices of the question at a full budget. What stands before the colon is an
// answer too.
const (
	chooseSummary = "summarise: the model sums it up now, which costs a request"
	chooseTrim    = "trim: the oldest is shortened and left out"
	chooseAlways  = "always: summarise, now and whenever it is full in this session"
	chooseNever   = "never: trim, now and whenever it is full in this session"
)

// askCompact asks what is to become of a history that is too long.
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

// compact puts a summary in the place of old, and says so. After an error the history
// is as it was.
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

// priceOf tells what the requests since the first ones, n of them, came to.
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

// trim makes the history fit the budget, at the cost of the reply's share where
// it must: by a summary, where that is wanted and can be had.
func (r *requests) trim(ctx context.Context) error {
	r.session.conv.SetReserve(r.replyLimitOf(r.session.model.Defaults.MaxTokens) - r.least())
	if r.session.conv.OverBudget() {
		if err := r.compactFull(ctx); err != nil {
			return err
		}
	}
	return r.trimBy(r.session.conv.Trim, nil)
}
