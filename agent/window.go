package agent

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/text"
)

// hintTools is the remedy where prompt and tools take too many tokens.
const hintTools = "--tools -all,+bash with a short --system, or a model with a larger window"

// replyLimitOf is a reply's limit in tokens: a part of the window at most, which
// may be smaller than it was thought to be when the limit was set.
func (r *requests) replyLimitOf(requested int) int {
	if r.attempt.maxTokens > 0 {
		return requested
	}
	return tightest(requested, r.window()/replyShare)
}

// withThinking is the reply's limit with an allowance for thinking on top, up to
// its maximum: thinking takes a share of the whole.
func (r *requests) withThinking(o provider.Options) int {
	share := o.Effort.Share()
	if share == 0 || !r.session.model.Info.Reasoning || r.attempt.maxTokens > 0 || o.MaxTokens <= 0 {
		return o.MaxTokens
	}
	most := o.MaxTokens * 100 / (100 - share)
	if r.session.model.Info.MaxOutput > 0 {
		most = min(most, max(r.session.model.Info.MaxOutput, o.MaxTokens))
	}
	return most
}

// least is the smallest limit that a reply is given to make a request fit.
func (r *requests) least() int { return min(leastReply, r.window()/leastShare) }

// window is the model's window in tokens, or the one learned from a refusal; 0 if unknown.
func (r *requests) window() int {
	refused, _ := r.session.conv.Window()
	return tightest(r.session.model.Info.Context, refused)
}

// fitReply lowers the limit of a reply to the room left in the window, and notes whether it did.
func (r *requests) fitReply(requested int) int {
	limit, window := r.replyLimitOf(requested), r.window()
	left := window - r.session.conv.EstimatedTokens()
	if r.truncated = window > 0 && limit > left; r.truncated {
		return max(left, r.least(), 1)
	}
	return limit
}

func (r *requests) trimHard(refused *provider.Error, believed bool) error {
	return r.trimBy(func() (conversation.Trimmed, error) { return r.session.conv.TrimHard(believed) }, refused)
}

// trimBy reports the removed parts, or why the history does not fit.
func (r *requests) trimBy(trim func() (conversation.Trimmed, error), refused *provider.Error) error {
	trimmed, err := trim()
	if text := trimmed.String(); text != "" {
		r.cb.notice(NoticeTrimmed, text)
		if err == nil {
			err = r.session.remind(r.inform)
		}
	}
	return r.contextFull(err, refused)
}

func (r *requests) inform(text string) { r.cb.notice(NoticeInfo, text) }

// learnWindow learns from the numbers of a refusal: the window, and the tokens of the request, which count as the known
// window where the server names no number. A refusal for bytes teaches nothing. believed is false where the server counts
// far more than was sent: then only its own maximum is a fact.
func (r *requests) learnWindow(e provider.Error) (believed bool) {
	if e.InBytes {
		return true
	}
	if _, accepted := r.session.conv.Window(); e.Window <= accepted { // a maximum that was passed is none
		sent := e.Requested
		if estimate := r.session.conv.EstimatedTokens(); sent == 0 && !r.session.model.Info.Guess && estimate < r.session.model.Info.Context {
			sent = r.session.model.Info.Context
		}
		r.session.conv.Refused(sent)
		return true
	}
	believed = e.Requested == 0 || r.session.conv.Plausible(e.Requested)
	if believed {
		r.session.conv.Refused(e.Requested)
	}
	r.takeWindow(e.Window)
	return believed
}

func (r *requests) takeWindow(window int) {
	r.session.model.Info.Context = tightest(r.session.model.Info.Context, window)
	budget := r.session.model.Info.Context - r.replyLimitOf(r.session.model.Defaults.MaxTokens)
	if now := r.session.conv.Budget(); budget > 0 && (now <= 0 || budget < now) {
		r.session.conv.SetBudget(budget)
	}
}

// contextFull is the failure of a history that cannot be made to fit: the part that is too long, and the remedy. A
// message that is too long by itself is withdrawn. Any other error stays as it is.
func (r *requests) contextFull(err error, refused *provider.Error) error {
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
		r.name(f, full)
	}
	withdrawn, restored, lost := r.session.conv.Withdraw()
	if withdrawn {
		r.partial, r.keep = "", nil
		r.session.unsent = r.notes
		r.session.turns = r.session.turns[:len(r.session.turns)-1]
		text := "the message was not sent, and is not part of the next request"
		if restored {
			text += "; messages trimmed for it are back"
		}
		r.cb.notice(NoticeInfo, text)
	}
	return errors.Join(f, lost)
}

// name says in f which part of a full context, except the history, is too long, and the remedy.
func (r *requests) name(f *Failure, full *conversation.FullError) {
	window := r.window()
	if window <= 0 {
		return
	}
	_, accepted := r.session.conv.Window()
	most := min(window-r.least(), full.Budget)
	if window < r.session.model.Info.Context && accepted < most { // only the part that was too long is known
		most = max(accepted, most/2)
	}
	rest := max(full.Tokens-full.Overhead-full.Latest, 0)
	few := r.session.conv.Tokens(leastMessage)
	room := most - full.Overhead - rest
	left := r.session.conv.Bytes(room * 3 / 4)
	switch {
	case full.Overhead+few > most && accepted < full.Overhead+few:
		f.Err = fmt.Errorf("the system prompt and the tools alone take about %s, and the model's window is %s",
			text.Count(full.Overhead, "token"), text.Count(window, "token"))
		f.Hint = hintTools
	// A message that has room is too long for the server alone, which says so itself.
	case full.Latest > max(rest, room) && left >= leastMessage:
		f.Err = fmt.Errorf("the message takes about %s, but there is room for only %d",
			text.Count(full.Latest, "token"), room)
		f.Hint = fmt.Sprintf("at most %d characters; put the rest into a file, and name the file",
			int(float64(left)/r.perChar))
	case full.Overhead > window/2: // it would soon be full again
		f.Hint += fmt.Sprintf("; for more room than the %d tokens beside the prompt and tools: %s",
			max(window-full.Overhead, 0), hintTools)
	}
}

// bytesPerChar is how many bytes a character of a message has, 1 without text.
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

// keptOfReply is how much of a reply is kept when another request follows it up.
type keptOfReply int

const (
	keepNone keptOfReply = iota // its text is void once a new one comes
	keepText                    // its calls and its reasoning are void
	keepAll
)
