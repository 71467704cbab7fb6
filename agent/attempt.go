package agent

import (
	"errors"
	"net/http"
	"strings"

	"artoo/conversation"
	"artoo/provider"
)

// attempt is what the next request for the present reply does otherwise than the
// first one. The zero value is a first request; a reply that is kept whole ends it
// (see turn.keepReply).
type attempt struct {
	made      [counters]int // how often each counter's requests were made again
	maxTokens int           // goes over the reply limit, 0 for that
	nudge     string        // is said besides, and no part of the history
	paused    bool          // ends with the reply that the server paused, as it is
}

// ending is how a request ended: with a reply, or with an error.
type ending struct {
	reply provider.Done
	err   error
	sent  []provider.Message // what was refused
}

func (e ending) text() string { return strings.TrimSpace(e.reply.Message.Text()) }

func (e ending) refused() provider.Error {
	if refused := provider.AsError(e.err); refused != nil {
		return *refused
	}
	return provider.Error{}
}

// A retry is one cause to make a request again.
type retry struct {
	cause   func(*turn, ending) bool
	counter counter // of the requests of this cause, and of others that count with it
	most    int     // how often for one reply; 0 is as often as it happens
	keep    keep    // what stays of the reply
	// change says what the next request does otherwise. Its error ends the turn.
	change func(*turn, ending) error
	// giveUp is the error of what happened more often; nil leaves it to the rows
	// below, and at last to the request's own error.
	giveUp func(*turn, ending) error
}

type counter int

const (
	byImages counter = iota
	byTrim
	byNudge
	byCut
	byPause
	counters
)

type keep int

const (
	keepNone keep = iota // its text is void once a new one comes
	keepText             // its calls and its reasoning are void
	keepAll
)

// retries is all that is requested again; the first row whose cause holds counts.
// Besides, a provider may try again within a request (provider.Retry events), which
// voids the text of a try once the next one delivers some. Calls are never made
// again by artoo (see repeats for those that the model repeats).
var retries = []retry{
	//  cause                   counted   most  of the reply  what is changed        what it comes to at last
	{(*turn).takesNoImages, byImages, 1, keepNone, (*turn).disableImages, nil},
	{(*turn).imagesRefused, byImages, 0, keepNone, (*turn).leaveImagesOut, nil},
	{(*turn).tooLong, byTrim, 1, keepNone, (*turn).trimRefused, (*turn).stillTooLong},
	{(*turn).emptyAndLong, byTrim, 1, keepNone, (*turn).trimEmpty, (*turn).stillEmptyAndLong},
	{(*turn).empty, byNudge, 1, keepNone, (*turn).nudgeEmpty, (*turn).stillEmpty},
	{(*turn).cutTooEarly, byCut, 1, keepNone, (*turn).raiseLimit, nil},
	{(*turn).cut, byCut, 2, keepText, (*turn).askRest, (*turn).stillCut},
	{(*turn).pausedByServer, byPause, 0, keepAll, (*turn).resendPaused, nil},
}

// retry reports whether to request again, after it changed what has to be
// changed. Else the error is that of the turn, nil for a reply that is an answer or
// has calls.
func (t *turn) retry(end ending) (again bool, err error) {
	for _, r := range retries {
		spent := r.most > 0 && t.attempt.made[r.counter] >= r.most
		if spent && r.giveUp == nil || !r.cause(t, end) {
			continue
		}
		if end.err == nil {
			if err := t.keepOf(end.reply.Message, r.keep); err != nil {
				return false, err
			}
		}
		if spent {
			return false, r.giveUp(t, end)
		}
		t.attempt.made[r.counter]++
		err = r.change(t, end)
		return err == nil, err
	}
	return false, end.err
}

// keepReply appends a reply: what was tried for it is over.
func (t *turn) keepReply(m provider.Message) error {
	if err := t.conv.Append(m); err != nil {
		return err
	}
	t.attempt, t.partial = attempt{}, ""
	return nil
}

// keepOf keeps a part of a reply that is requested again.
func (t *turn) keepOf(m provider.Message, what keep) error {
	text := textOnly(m)
	said := strings.TrimSpace(text.Text()) != ""
	switch what {
	case keepAll:
		return t.keepReply(m)
	case keepNone:
		if said {
			t.partial = text.Text() // until something takes its place
		}
		return nil
	}
	if !said && t.partial != "" {
		text.Parts, said = []provider.Part{provider.Text{Text: t.partial}}, true
	}
	t.partial = ""
	if !said {
		return nil
	}
	t.answer.WriteString(text.Text())
	return t.conv.Append(text)
}

func (t *turn) tooLong(end ending) bool {
	refused := end.refused()
	return refused.Kind == provider.KindContext && !refused.Elsewhere || t.wordless(refused) && t.nearlyFull()
}

// wordless reports whether a server refused a request without a word, as some do with
// one that is too long.
func (t *turn) wordless(refused provider.Error) bool {
	return refused.Status == http.StatusBadRequest && refused.Code == "" &&
		strings.EqualFold(refused.Message, http.StatusText(http.StatusBadRequest))
}

// nearlyFull reports whether what was sent fills most of the window, or of what is a
// safe guess where nobody told its size.
func (t *turn) nearlyFull() bool {
	const most, unknown = 0.7, 8000
	sent, window := t.conv.EstimatedTokens(), tightest(t.model.Info.Context, t.conv.Budget())
	return window > 0 && float64(sent) >= most*float64(window) || t.model.Info.Guess && sent >= unknown
}

// trimRefused trims for a request that the provider found too long, whatever was
// estimated.
func (t *turn) trimRefused(end ending) error {
	refused := end.refused()
	t.learnWindow(refused)
	return t.trimHard(&refused)
}

func (t *turn) stillTooLong(end ending) error {
	refused := end.refused()
	t.learnWindow(refused)
	return t.contextFull(t.conv.Full(), &refused)
}

func (t *turn) empty(end ending) bool {
	return end.err == nil && end.text() == "" && len(end.reply.Message.Calls()) == 0 && !t.cut(end) &&
		!t.pausedByServer(end)
}

// emptyAndLong reports whether an empty reply may mean that the window is full, as
// some servers answer then.
func (t *turn) emptyAndLong(end ending) bool {
	switch {
	case !t.empty(end) && !end.refused().Empty:
		return false
	case t.attempt.made[byTrim] > 0:
		return true
	case end.reply.Usage.Output > t.least():
		return false // it wrote something that cannot be seen
	}
	return t.nearlyFull()
}

func (t *turn) trimEmpty(ending) error {
	t.notice(NoticeInfo, "the model answered with nothing, perhaps because too much was sent; asking once more with less")
	return t.trimHard(nil)
}

func (t *turn) stillEmptyAndLong(ending) error {
	return &Failure{Kind: KindContext, Hint: conversation.HintFull,
		Err: errors.New("the model answers with nothing, as servers do when what was sent is too long for them")}
}

// stopsEmpty reports whether a reply without anything in it, when it comes a second
// time, is the sign of a full window: the same request is then not tried again.
func (t *turn) stopsEmpty(e provider.Retry) bool {
	return e.Try > 2 && t.emptyAndLong(ending{err: e.Err})
}

// nudgeEmpty: a request that is sent unchanged tends to get the same nothing.
func (t *turn) nudgeEmpty(ending) error {
	t.notice(NoticeInfo, "the model answered with nothing; asking once more")
	t.attempt.nudge = "Your last reply was empty. Go on with the task, or answer."
	return nil
}

func (t *turn) stillEmpty(ending) error {
	return &Failure{Kind: KindProvider, Err: errors.New("the model answered with nothing, twice"),
		Hint: "put the question in other words, or choose another model with --model"}
}

func (t *turn) pausedByServer(end ending) bool {
	return end.reply.Stop == provider.StopPause && len(end.reply.Message.Calls()) == 0
}

func (t *turn) resendPaused(ending) error {
	t.attempt.paused = true
	return nil
}
