package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/text"
)

func (a *Agent) begin(ctx context.Context, cb Callbacks) (*turn, context.Context) {
	s := a.session
	s.tooLarge, s.fallbacks = nil, s.opt.Fallbacks
	ctx, clock := s.startClock(ctx)
	t := &turn{agent: a, subAgents: map[string]*subAgentCall{}, session: s, clock: clock, cb: &serial{cb: cb, clock: clock, masks: s},
		response: &Response{Provider: s.model.Name, Model: s.model.Defaults.Model}}
	t.requests = &requests{session: s, cb: t.cb, clock: clock, response: t.response, keeper: a.keeper, steps: &atomic.Int64{},
		money: &money{session: s, cb: t.cb, clock: clock, spent: a.spent}}
	if a.steps != nil {
		t.requests.steps = a.steps
	}
	if s.parent == nil {
		a.keeper.turnBefore = s.turnNumber()
		a.tally.begin()
		s.gaveUp = nil
	}
	t.calls = &calls{session: s, cb: t.cb, response: t.response, keeper: a.keeper, tally: a.tally,
		servers: a.confined, background: a.background, own: t,
		env: a.turnEnv(), repeats: repeats{}}
	return t, ctx
}

// turnEnv is the agent's Env for the calls of one turn, which Kill reaches and which may outlive
// the turn.
func (a *Agent) turnEnv() *tool.Env {
	killed, kill := context.WithCancel(context.Background())
	a.kill.Store(&kill)
	env := *a.session.opt.Env
	env.Kill = killed.Done()
	return &env
}

// Kill kills the processes that an interrupted turn left running, at once. It may be called from any goroutine,
// and more than once.
func (a *Agent) Kill() {
	if kill := a.kill.Load(); kill != nil {
		(*kill)()
	}
}

// KillAfter has a turn whose ctx ends killed once it had wait to end by itself. stop is called after the turn.
func (a *Agent) KillAfter(ctx context.Context, wait time.Duration) (stop func()) {
	over := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		select {
		case <-over:
		case <-time.After(wait):
			a.Kill()
		}
	})
	return func() { close(over); forget() }
}

func (t *turn) end() {
	t.clock.stop()
	t.cb.close()
	t.changed()
	t.session.chosenModel()
	for i, d := range t.response.Denied {
		t.response.Denied[i].Object, t.response.Denied[i].Reason = t.session.masked(d.Object), t.session.masked(d.Reason)
		for k, change := range d.Changes {
			d.Changes[k] = t.session.masked(change)
		}
	}
	for i, h := range t.response.Answered {
		t.response.Answered[i].Object, t.response.Answered[i].Reason = t.session.masked(h.Object), t.session.masked(h.Reason)
	}
	t.returnStep()
	t.response.Steps = int(t.requests.steps.Load())
}

// appendUser appends the user's message, and behind it notes: a session is listed by its first words.
func (t *turn) appendUser(text string, attachments []provider.Part) error {
	t.requests.notes, t.session.unsent = t.session.unsent, nil
	if !t.session.beside { // Changes are news to the session itself.
		t.session.takeFound()
		t.offerPlan()
		t.requests.notes = append(t.requests.notes, t.agent.notes.next(t.session)...)
	}
	t.requests.notes = append(t.requests.notes, t.requests.schemaNote()...)
	m := provider.UserText(text, slices.Concat(attachments, t.requests.notes)...)
	var found bool
	t.session.learnKeys() // a line of the user's may have printed a part of one
	if m.Parts, found = t.session.maskedParts(m.Parts); found {
		t.cb.notice(NoticeWarning, "a likely key in the message was masked before sending. "+
			"A command can take it from a file, or from a variable that ARTOO_PASS_ENV names")
	}
	t.requests.perChar = bytesPerChar(m.Parts)
	if err := t.session.conv.Append(m); err != nil {
		return err
	}
	t.session.turns = append(t.session.turns, typedText(m))
	return nil
}

// appendSteering appends the messages that the user sent while the calls ran.
func (t *turn) appendSteering(ctx context.Context, steering func() []Message) error {
	if steering == nil {
		return nil
	}
	for _, m := range steering() {
		if err := t.beforeMessage(ctx, m.Text); err != nil {
			t.cb.notice(NoticeWarning, err.Error())
			continue
		}
		if err := t.appendUser(m.Text, m.Attachments); err != nil {
			return err
		}
	}
	return nil
}

// offerPlan offers the tools of plan mode from the moment on at which it is on. They
// stay: each change of the tools costs the provider's cache.
func (t *turn) offerPlan() {
	if t.session.opt.Policy.Mode != permission.ModePlan || t.session.schema() != nil { // a plan fits no schema
		return
	}
	var more []tool.Tool
	for _, offered := range t.session.opt.PlanTools {
		if !slices.ContainsFunc(t.session.opt.Tools, func(o tool.Tool) bool { return o.Name == offered.Name }) {
			more = append(more, offered)
			t.agent.notes.settings.Tools = append(t.agent.notes.settings.Tools, offered.Name)
		}
	}
	if more == nil {
		return
	}
	t.session.opt.Tools = append(slices.Clip(t.session.opt.Tools), more...)
	t.session.conv.SetOverhead(t.session.system, t.session.specs)
	if t.session.conv.MessageCount() > 0 {
		t.cb.notice(NoticeInfo, offeredNow(more[0].Name))
	}
}

// sync waits until the conversation is on the disk, and brings the undo data there.
func (t *turn) sync() error {
	if t.agent.keeper.journal != nil {
		t.agent.keeper.giveYours(t.cb)
		t.agent.keeper.journal.SyncSoon()
	}
	return t.session.conv.Sync()
}

// failed ends the turn with an error and keeps the part of the reply that arrived.
func (t *turn) failed(ctx context.Context, err error) (*Response, error) {
	// A cap or an interrupt explains more than the request that it ended. Other errors, as of the
	// session, are joined.
	if cause := context.Cause(ctx); cause != nil {
		t.stillRunning()
		switch {
		case provider.AsError(err) != nil, errors.Is(err, ctx.Err()):
			err = cause
		case !errors.Is(err, cause):
			err = errors.Join(cause, err)
		}
	}
	text := t.requests.partial
	if strings.TrimSpace(text) == "" {
		text = provider.Message{Parts: t.requests.keep}.Text()
	}
	if strings.TrimSpace(text) != "" {
		by := t.requests.partialBy
		if t.requests.partial == "" {
			by = [2]string{t.response.Provider, t.response.Model}
		}
		m := provider.Message{Role: provider.RoleAssistant, Provider: by[0], Model: by[1], Partial: true}
		if m.InsteadOf = t.session.insteadOf(); m.InsteadOf == by[0]+"/"+by[1] { // No fallback began to answer.
			m.InsteadOf = ""
		}
		m.Parts = slices.DeleteFunc(slices.Clone(t.requests.keep), isText)
		m.Parts = append(m.Parts, provider.Text{Text: text})
		err = withLost(err, t.session.conv.Append(m))
		t.requests.answer.WriteString(t.requests.partial)
	}
	t.response.Text = t.requests.answer.String()
	return t.response, withLost(err, t.sync())
}

func isText(p provider.Part) bool {
	_, is := p.(provider.Text)
	return is
}

// query makes one request, and again while one that fails can be fixed (see
// retries) or a fallback takes over, and streams the reply. It trims the history first.
func (r *requests) query(ctx context.Context) (provider.Done, error) {
	for {
		if err := r.trim(ctx); err != nil {
			return provider.Done{}, err
		}
		request, err := r.request(ctx)
		if err != nil {
			return provider.Done{}, err
		}
		reply, err := r.stream(ctx, request)
		r.money.release()
		if err == nil {
			reply.Message = r.withoutOversized(reply.Message)
			return reply, nil
		}
		if _, err := r.tryAgain(ctx, ending{err: err, sent: request.Messages}); err != nil {
			return provider.Done{}, err
		}
	}
}

// fewSteps is how many requests are left when a note says so to the model.
const fewSteps = 5

// takeStep takes one of the turn's steps, which sub-agents share, for the next request. If they are used up and the
// user does not allow more, one last request asks for a report, and the error ends the turn.
func (t *turn) takeStep(ctx context.Context) error {
	most := t.session.opt.Limits.MaxTurns
	if most <= 0 {
		return nil
	}
	for {
		used := t.requests.steps.Load()
		left := most + t.moreSteps - int(used)
		if left <= 0 {
			if err := t.stepsUsed(ctx); err != nil {
				return err
			}
			continue
		}
		if !t.requests.steps.CompareAndSwap(used, used+1) {
			continue
		}
		t.requests.taken = true
		t.warnSteps()
		if left <= fewSteps && !t.fewLeft && most >= 2*fewSteps {
			t.fewLeft = true
			return t.remindOf(fmt.Sprintf("%d more replies with tool calls are possible now. "+
				"Bring the task to a state that can be left, and say what is left to do.", left))
		}
		return nil
	}
}

// warnSteps reports once that four fifths of the turn's steps are used.
func (t *turn) warnSteps() {
	used, most := int(t.requests.steps.Load()), t.session.opt.Limits.MaxTurns+t.moreSteps
	if !t.stepsNear && most > 4 && float64(used) >= capNear*float64(most) {
		t.stepsNear = true
		t.cb.notice(NoticeCap, fmt.Sprintf("%d of this turn's %d steps are used", used, most))
	}
}

func (t *turn) returnStep() {
	if t.requests.taken {
		t.requests.steps.Add(-1)
	}
	t.requests.taken = false
}

// stepsUsed asks whether to go on. The error ends the turn.
func (t *turn) stepsUsed(ctx context.Context) error {
	used, most := int(t.requests.steps.Load()), t.session.opt.Limits.MaxTurns
	highest := t.session.opt.Limits.HighestTurns
	more := highest <= 0 || most+t.moreSteps+most <= highest
	if ctx.Err() == nil && t.session.parent == nil && more { // The parent's turn asks for a sub-agent's.
		question := fmt.Sprintf("this turn has used %s; continue for %d more?", text.Count(used, "step"), most)
		answer, err := t.cb.Ask(ctx, Question{Kind: QuestionSteps, Reason: question, Number: 1, Of: 1})
		if err == nil && answer.Verdict == Yes {
			t.moreSteps += most
			t.stepsNear, t.fewLeft = false, false
			return nil
		}
	}
	over := capFailure(fmt.Sprintf("the turn's cap of %s is reached", text.Count(used, "step")),
		`artoo -c "go on" (in a conversation: go on), or a higher --max-turns`)
	if err := t.lastWords(ctx, "The steps of this turn are used up"); err != nil && ctx.Err() != nil {
		return err
	}
	return over
}

// lastWords has the model report how far it came, without calls.
func (t *turn) lastWords(ctx context.Context, why string) error {
	t.requests.closing = true
	if err := t.remindOf(why + ": no tool can be called now. " +
		"Say in a few sentences what is done, what is left, and how to go on."); err != nil {
		return err
	}
	reply, err := t.requests.query(ctx)
	if err != nil {
		return err
	}
	message := textOnly(reply.Message)
	message.Partial = reply.Stop != provider.StopComplete
	t.requests.answer.Reset()
	t.requests.answer.WriteString(message.Text())
	return t.session.conv.Append(message)
}

func (t *turn) stillRunning() {
	n := 0
	for _, c := range t.agent.Background() {
		if c.Runs {
			n++
		}
	}
	if n > 0 && !t.session.once() {
		t.cb.notice(NoticeInfo, text.Count(n, "background command")+" still running; /status lists them")
	}
}

// planned ends the turn with a plan that no one can approve.
func (t *turn) planned() (*Response, error) {
	t.response.Text, t.response.Stop = t.requests.answer.String(), provider.StopComplete
	t.cb.OnText(t.response.Text)
	return t.response, t.session.conv.Sync()
}

// errFresh has the turn go on with a history that holds the plan and what was read, as the user wants.
var errFresh = errors.New("a fresh history is wanted")

// errPlan ends a turn whose plan no one can approve: the plan is its answer.
var errPlan = errors.New("the plan is the answer")
