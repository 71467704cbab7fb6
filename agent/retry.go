package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/text"
)

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
