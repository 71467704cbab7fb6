package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/conversation"
	"artoo/provider"
)

// Compaction is what happens when a history passes its budget.
type Compaction string

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
	if err := t.compactNow(ctx, keep); err != nil {
		return t.failed(ctx, err)
	}
	return t.response, a.conv.Sync()
}

// Summary is what stands for the part of the session that was summed up last, as the model
// is sent it; "" for nothing.
func (a *Agent) Summary() string {
	for _, m := range slices.Backward(a.conv.Messages()) {
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
	did, ok, err := a.conv.Uncompact()
	if err != nil || !ok {
		return "", err
	}
	text := fmt.Sprintf("the last compaction is taken back: %s sent again, about %s tokens now instead of %s",
		isAre(did.Messages, "message"), conversation.Tokens(did.After), conversation.Tokens(did.Before))
	if a.conv.OverBudget() {
		text += fmt.Sprintf(", more than the budget of %s: with the next message the oldest makes room again",
			conversation.Tokens(a.conv.Budget()))
	}
	return text, a.conv.Sync()
}

func isAre(n int, unit string) string {
	if n == 1 {
		return count(n, unit) + " is"
	}
	return count(n, unit) + " are"
}

// compactMode is what happens at a full budget in this session.
func (a *Agent) compactMode() Compaction {
	if a.compaction != "" {
		return a.compaction
	}
	return a.opt.Compact
}

// compactNow is Compact within its turn.
func (t *turn) compactNow(ctx context.Context, keep string) error {
	old := t.conv.Old(true)
	switch {
	case t.Approval() != "":
		t.notice(NoticeInfo, t.model.Name+" keeps a conversation of its own, which nobody else can sum up; "+
			"what it would get of this one is trimmed")
	case len(old.Messages) > 0:
		err := t.compact(ctx, old, keep)
		if err == nil || t.hopeless(ctx, err) {
			return err
		}
		t.notSummed(err)
	case t.conv.Budget() <= 0 || t.conv.EstimatedTokens() < t.conv.Budget()/2:
		t.notice(NoticeInfo, "nothing is old enough to be summed up: the last steps stay as they are")
		return nil
	default:
		t.notice(NoticeInfo, "no summary is asked for: what is old is nearly all in your own words, which none "+
			"stands for; it is trimmed")
	}
	did, err := t.conv.Compact()
	if err != nil {
		return err
	}
	if text := did.String(); text != "" {
		t.cached = 0
		t.notice(NoticeCompacted, text)
		return t.remindTodo()
	}
	t.notice(NoticeInfo, "nothing is left to leave out; /clear begins a new session")
	return nil
}

// compactFull has a history that passes its budget summed up, where that is wanted.
// What stays too long is trimmed after it.
func (t *turn) compactFull(ctx context.Context) error {
	mode := t.compactMode()
	if mode != CompactAuto && mode != CompactAsk || t.Approval() != "" {
		return nil
	}
	old := t.conv.Old(false)
	if len(old.Messages) == 0 {
		return nil
	}
	if mode == CompactAsk {
		var err error
		if mode, err = t.askCompact(ctx); err != nil || mode != CompactAuto {
			return err
		}
	}
	err := t.compact(ctx, old, "")
	if err != nil && !t.hopeless(ctx, err) {
		t.notSummed(err)
		t.giveUpSumming()
		return nil
	}
	t.unsummed = 0
	return err
}

// mostUnsummed is how many automatic summaries in a row may fail: each is paid for, and a
// model that cannot do it does not learn it.
const mostUnsummed = 3

// giveUpSumming counts one that failed, and leaves it at trims for the rest of the session
// after too many.
func (t *turn) giveUpSumming() {
	if t.compactMode() != CompactAuto {
		return // the user decides each time
	}
	if t.unsummed++; t.unsummed >= mostUnsummed {
		t.unsummed, t.compaction = 0, CompactTrim
		t.notice(NoticeInfo, fmt.Sprintf("%d summaries in a row failed: for the rest of this session a full context is "+
			"trimmed; /compact tries again", mostUnsummed))
	}
}

// hopeless reports whether nothing else may be tried in the place of a summary: the
// user wants an end, or the session cannot be written.
func (t *turn) hopeless(ctx context.Context, err error) bool {
	_, lost := errors.AsType[*conversation.Error](err)
	return lost || ctx.Err() != nil
}

// notSummed tells why there is no summary.
func (t *turn) notSummed(err error) {
	t.notice(NoticeWarning, "no summary of the old part was to be had ("+strings.TrimSuffix(err.Error(), ".")+
		"); it is trimmed instead")
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
func (t *turn) askCompact(ctx context.Context) (Compaction, error) {
	answer, err := t.cb.Ask(ctx, Question{Kind: QuestionCompact, Number: 1, Of: 1, Dir: t.opt.Env.Dir,
		Text: fmt.Sprintf("the context is full: about %s of %s tokens. What becomes of its old part?",
			conversation.Tokens(t.conv.EstimatedTokens()), conversation.Tokens(t.conv.Budget())),
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
		t.compaction = CompactAuto
		return CompactAuto, nil
	case chooseNever:
		t.compaction = CompactTrim
	}
	return CompactTrim, nil
}

// compact puts a summary in the place of old, and says so. After an error the history
// is as it was.
func (t *turn) compact(ctx context.Context, old conversation.Old, keep string) error {
	made := len(t.response.Requests)
	t.notice(NoticeInfo, fmt.Sprintf("the model is asked to sum up %s of about %s tokens",
		count(len(old.Messages), "old message"), conversation.Tokens(old.Tokens)))
	text, err := t.summarize(ctx, old, keep)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	did, err := t.conv.Summarize(old, t.masked(text))
	if err != nil {
		return err
	}
	t.cached = 0
	t.notice(NoticeCompacted, did.String()+t.priceOf(made))
	return t.remindTodo()
}

// priceOf tells what the requests since the first ones, n of them, came to.
func (t *turn) priceOf(n int) string {
	requests, tokens, cost := t.response.Requests[n:], 0, new(float64)
	for _, r := range requests {
		tokens += r.Usage.Total()
		cost = plus(cost, r.CostUSD)
	}
	price := "cost unknown"
	if cost != nil {
		price = fmt.Sprintf("$%.4f", *cost)
	}
	return fmt.Sprintf(" (%s, %s tokens, %s)", count(len(requests), "request"), conversation.Tokens(tokens), price)
}
