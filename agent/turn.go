package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
)

// ErrStopped ends a turn that the user stopped at a question.
var ErrStopped = errors.New("stopped by the user")

// turn is the state of one SendMessage.
type turn struct {
	*Agent
	cb       *serial
	response *Response
	clock    *runClock

	answer   strings.Builder // text of the final reply, continuations joined
	partial  string          // text of a reply that broke off, until a new one has text
	keep     []provider.Part // what else is kept of it
	attempt  attempt         // what is tried for the present reply
	limit    int             // of the last request's reply in tokens, 0 for none
	squeezed bool            // that limit is what the window left, less than it should be
	release  func()          // gives back what the run counts for the request under way

	repeats   repeats           // of calls
	steps     *atomic.Int64     // made so far, those of sub-agents too
	taken     bool              // one of them is for the request that comes next
	warned    bool              // a notice said that a step cap is near
	fewLeft   bool              // the model was told so
	moreSteps int               // that the user granted besides Limits.MaxTurns
	closing   bool              // the last request of the turn, without calls
	notes     []provider.Part   // of artoo that went along with the user's message
	perChar   float64           // bytes of a character of the user's message
	tooLarge  map[string]string // remarks on calls that were too large to be kept, by id; nil for none
	aside     int               // tokens of a request that is not of the history, 0 for one that is
	losing    provider.Usage    // of failed tries of the request that is under way
	env       *tool.Env         // what its calls run in
	loose     sync.Once         // for the notice that what only reads runs unconfined
	unchecked sync.Once         // for the notice that checks do not run
	timeout   time.Duration     // of each request, its tries included; 0 for none
}

func (a *Agent) begin(ctx context.Context, cb Callbacks) (*turn, context.Context) {
	ctx, clock := a.startClock(ctx)
	t := &turn{
		Agent:    a,
		cb:       &serial{cb: cb, mask: a.masked, clock: clock},
		response: &Response{Provider: a.model.Name, Model: a.model.Defaults.Model},
		clock:    clock,
		repeats:  repeats{},
		env:      a.turnEnv(),
		steps:    &atomic.Int64{},
	}
	if a.parent != nil {
		t.steps = a.parent.steps
	}
	return t, ctx
}

// turnEnv is the agent's Env for the calls of one turn, which Kill reaches. Calls
// that were interrupted may outlive the turn.
func (a *Agent) turnEnv() *tool.Env {
	killed, kill := context.WithCancel(context.Background())
	a.kill.Store(&kill)
	env := *a.opt.Env
	env.Kill = killed.Done()
	return &env
}

func (t *turn) end() {
	t.clock.stop()
	t.cb.close()
	for i, d := range t.response.Denied {
		t.response.Denied[i].Reason = t.masked(d.Reason)
		for k, change := range d.Changes {
			d.Changes[k] = t.masked(change)
		}
	}
	t.returnStep()
	t.response.Steps = int(t.steps.Load())
}

// notice tells the user something.
func (t *turn) notice(kind NoticeKind, text string) { t.cb.OnNotice(Notice{Kind: kind, Text: text}) }

// appendUser appends the user's message, and behind it what the model must know: a
// session is listed by its first words, which are the user's.
func (t *turn) appendUser(text string, attachments []provider.Part) error {
	t.takeFound()
	t.offerPlan()
	t.notes = append(t.unsent, t.newNotes()...)
	t.unsent = nil
	m := provider.UserText(text, slices.Concat(attachments, t.notes)...)
	var found bool
	if m.Parts, found = t.maskedParts(m.Parts); found {
		t.notice(NoticeWarning, "what looks like a key in the message is not sent: a mark stands for it. "+
			"A command can take it from a file, or from a variable that ARTOO_PASS_ENV names")
	}
	t.perChar = bytesPerChar(m.Parts)
	if err := t.conv.Append(m); err != nil {
		return err
	}
	t.turns = append(t.turns, typedText(m))
	return nil
}

// appendSteering appends what the user said while the calls ran.
func (t *turn) appendSteering(steering func() []Message) error {
	if steering == nil {
		return nil
	}
	for _, m := range steering() {
		if err := t.appendUser(m.Text, m.Attachments); err != nil {
			return err
		}
	}
	return nil
}

// finishReply appends a reply that is an answer or has calls. Of others it keeps
// what the next request needs, and reports that there is to be one.
func (t *turn) finishReply(reply provider.Done) (again bool, err error) {
	if reply.Stop == provider.StopRefusal {
		// A refused turn stays out of the history: sent again it would be
		// refused again.
		t.answer.WriteString(reply.Message.Text())
		t.partial = ""
		why := cmp.Or(reply.Detail, "the model refused to answer")
		return false, &Failure{Kind: KindRefused, Err: errors.New(why), Hint: hints[KindRefused]}
	}
	if again, err := t.retry(ending{reply: reply}); again || err != nil {
		return again, err
	}
	if len(reply.Message.Calls()) > 0 {
		t.answer.Reset() // what came so far was not the final reply
	}
	return false, t.keepReply(reply.Message)
}

// completed ends the turn with an answer.
func (t *turn) completed(reply provider.Done) (*Response, error) {
	t.answer.WriteString(reply.Message.Text())
	t.response.Text = t.answer.String()
	return t.response, t.sync()
}

// sync waits until what was said is on the disk, and brings there what can be undone.
func (t *turn) sync() error {
	if t.journal != nil {
		t.giveYours()
		t.journal.SyncSoon()
	}
	return t.conv.Sync()
}

// failed ends the turn with an error and keeps what came of the reply.
func (t *turn) failed(ctx context.Context, err error) (*Response, error) {
	// A cap or an interrupt says more than the request that it ended. What else
	// went wrong, such as a session that cannot be written, is said too.
	if cause := context.Cause(ctx); cause != nil {
		t.stillRunning()
		switch {
		case provider.AsError(err) != nil, errors.Is(err, ctx.Err()):
			err = cause
		case !errors.Is(err, cause):
			err = errors.Join(cause, err)
		}
	}
	text := t.partial
	if strings.TrimSpace(text) == "" {
		text = provider.Message{Parts: t.keep}.Text()
	}
	if strings.TrimSpace(text) != "" {
		by := t.response
		m := provider.Message{Role: provider.RoleAssistant, Provider: by.Provider, Model: by.Model, Partial: true}
		m.Parts = slices.DeleteFunc(slices.Clone(t.keep), isText)
		m.Parts = append(m.Parts, provider.Text{Text: text})
		err = withLost(err, t.conv.Append(m))
		t.answer.WriteString(t.partial)
	}
	t.response.Text = t.answer.String()
	return t.response, withLost(err, t.sync())
}

// withLost joins what could not be kept to the error that ended the turn. A session
// that cannot be written is reported once, however many of its lines are missing.
func withLost(err, lost error) error {
	_, reported := errors.AsType[*conversation.Error](err)
	if _, again := errors.AsType[*conversation.Error](lost); reported && again {
		return err
	}
	return errors.Join(err, lost)
}

func isText(p provider.Part) bool {
	_, is := p.(provider.Text)
	return is
}
