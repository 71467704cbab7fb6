package agent

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"artoo/conversation"
	"artoo/provider"
)

// What a reply has at least: below leastReply tokens, or a sixteenth of a small
// window, a model says nothing of use.
const (
	leastReply = 512
	leastShare = 16
	// leastMessage is the length in bytes of a message that must be possible.
	leastMessage = 200
	replyShare   = 4 // a reply reserves at most this part of the window
)

// hintTools is what the user can do where prompt and tools take too many tokens.
const hintTools = "--tools -all,+bash with a short --system, or a model with a larger window"

// tightest is the smallest of the bounds that are set, 0 where none is.
func tightest(bounds ...int) (least int) {
	for _, bound := range bounds {
		if bound > 0 && (least == 0 || bound < least) {
			least = bound
		}
	}
	return least
}

// replyLimitOf is a reply's limit in tokens: a part of the window at most, which
// may be smaller than it was thought to be when the limit was set.
func (t *turn) replyLimitOf(requested int) int {
	if t.attempt.maxTokens > 0 {
		return requested
	}
	return tightest(requested, t.window()/replyShare)
}

// withThinking is the reply's limit with what the model may think on top, up to
// its maximum: thinking takes a share of the whole.
func (t *turn) withThinking(o provider.Options) int {
	share := o.Effort.Share()
	if share == 0 || !t.model.Info.Reasoning || t.attempt.maxTokens > 0 || o.MaxTokens <= 0 {
		return o.MaxTokens
	}
	most := o.MaxTokens * 100 / (100 - share)
	if t.model.Info.MaxOutput > 0 {
		most = min(most, max(t.model.Info.MaxOutput, o.MaxTokens))
	}
	return most
}

// least is the smallest limit that a reply is given to make a request fit.
func (t *turn) least() int { return min(leastReply, t.window()/leastShare) }

// window is the model's window in tokens, 0 where nobody knows: what is said of
// it, or less where a request was refused that should have fitted.
func (t *turn) window() int {
	refused, _ := t.conv.Window()
	return tightest(t.model.Info.Context, refused)
}

// fitReply lowers the limit of a reply to what the window leaves, and notes
// whether it did.
func (t *turn) fitReply(requested int) int {
	limit, window := t.replyLimitOf(requested), t.window()
	left := window - t.conv.EstimatedTokens()
	if t.squeezed = window > 0 && limit > left; t.squeezed {
		return max(left, t.least(), 1)
	}
	return limit
}

// trim makes the history fit the budget, at the cost of the reply's share where
// it must: by a summary, where that is wanted and can be had.
func (t *turn) trim(ctx context.Context) error {
	t.conv.SetReserve(t.replyLimitOf(t.model.Defaults.MaxTokens) - t.least())
	if t.conv.OverBudget() {
		if err := t.compactFull(ctx); err != nil {
			return err
		}
	}
	return t.trimBy(t.conv.Trim, nil)
}

func (t *turn) trimHard(refused *provider.Error) error {
	return t.trimBy(t.conv.TrimHard, refused)
}

// trimBy says what went, since nothing leaves the history silently, or why it does
// not fit.
func (t *turn) trimBy(trim func() (conversation.Trimmed, error), refused *provider.Error) error {
	trimmed, err := trim()
	if text := trimmed.String(); text != "" {
		t.notice(NoticeTrimmed, text)
		if err == nil {
			err = t.remindTodo()
		}
	}
	return t.contextFull(err, refused)
}

// learnWindow takes the numbers of a refusal: the model's window, and how many
// tokens what was sent has. Where there are none, what was sent has as many as a
// window that somebody told of. A refusal for bytes teaches nothing of either.
func (t *turn) learnWindow(e provider.Error) {
	if e.InBytes {
		return
	}
	if e.Window <= 0 {
		sent := e.Requested
		if estimate := t.conv.EstimatedTokens(); sent == 0 && !t.model.Info.Guess && estimate < t.model.Info.Context {
			sent = t.model.Info.Context
		}
		t.conv.Refused(sent)
		return
	}
	t.conv.Refused(e.Requested)
	t.takeWindow(e.Window)
}

// takeWindow takes the model's window from its server's words.
func (t *turn) takeWindow(window int) {
	t.model.Info.Context = tightest(t.model.Info.Context, window)
	budget := t.model.Info.Context - t.replyLimitOf(t.model.Defaults.MaxTokens)
	if now := t.conv.Budget(); budget > 0 && (now <= 0 || budget < now) {
		t.conv.SetBudget(budget)
	}
}

// contextFull is the failure of a history that cannot be made to fit. It says what is
// too long and what to do about it, with the provider's words where it refused. A
// message that is too long by itself is taken out of what is sent next. Any other
// error stays as it is.
func (t *turn) contextFull(err error, refused *provider.Error) error {
	full, ok := errors.AsType[*conversation.FullError](err)
	if !ok {
		return err
	}
	f := &Failure{Kind: KindContext, Err: err, Hint: conversation.HintFull}
	if refused != nil {
		f.Err = fmt.Errorf("%w, and nothing more can be left out", refused)
		if refused.Hint != "" && refused.Window == 0 {
			f.Hint = refused.Hint + "; " + conversation.HintFull
		}
	}
	if refused == nil || !refused.InBytes {
		t.name(f, full)
	}
	withdrawn, restored, lost := t.conv.Withdraw()
	if withdrawn {
		t.partial, t.keep = "", nil // of a reply to it
		t.unsent = t.notes
		t.turns = t.turns[:len(t.turns)-1]
		text := "the message was not sent, and is no part of what is sent next"
		if restored {
			text += "; what was trimmed for it is back"
		}
		t.notice(NoticeInfo, text)
	}
	return errors.Join(f, lost)
}

// name says in f which part of a full context is too long, where it is not the
// history, and what helps.
func (t *turn) name(f *Failure, full *conversation.FullError) {
	window := t.window()
	if window <= 0 {
		return
	}
	_, accepted := t.conv.Window()
	most := min(window-t.least(), full.Budget)
	if window < t.model.Info.Context && accepted < most { // all that is known is what was too long
		most = max(accepted, most/2)
	}
	rest := max(full.Tokens-full.Overhead-full.Latest, 0)
	few := t.conv.Tokens(leastMessage)
	left := t.conv.Bytes((most - full.Overhead - rest) * 3 / 4)
	switch {
	case full.Overhead+few > most && accepted < full.Overhead+few:
		f.Err = fmt.Errorf("the system prompt and the tools alone have about %s, and the model's window is %s",
			count(full.Overhead, "token"), count(window, "token"))
		f.Hint = hintTools
	case full.Latest > rest && left >= leastMessage:
		f.Err = fmt.Errorf("the message has about %s, and beside the rest there is room for %d",
			count(full.Latest, "token"), most-full.Overhead-rest)
		f.Hint = fmt.Sprintf("at most %d characters; put the rest into a file, and name the file",
			int(float64(left)/t.perChar))
	case full.Overhead > window/2: // it would soon be full again
		f.Hint += fmt.Sprintf("; for more room than the %d tokens beside the prompt and tools: %s",
			max(window-full.Overhead, 0), hintTools)
	}
}

// bytesPerChar is how many bytes a character of a message has, 1 of one without
// text.
func bytesPerChar(parts []provider.Part) float64 {
	bytes, chars := 0, 0
	for _, p := range parts {
		if text, ok := p.(provider.Text); ok {
			bytes += len(text.Text)
			chars += utf8.RuneCountInString(text.Text)
		}
	}
	if chars == 0 {
		return 1
	}
	return float64(bytes) / float64(chars)
}
