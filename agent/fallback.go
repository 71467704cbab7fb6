package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"artoo/provider"
)

// fallBack has the next fallback answer for the rest of the turn where the model fails for now. Else the error is err.
func (r *requests) fallBack(ctx context.Context, err error) error {
	s := r.session
	if !passing(err) || ctx.Err() != nil || s.model.Wait != nil { // A coding CLI would repeat its work.
		return err
	}
	for len(s.fallbacks) > 0 {
		next, failed := s.fallbacks[0], s.model.String()
		s.fallbacks = s.fallbacks[1:]
		switched, why := r.switchTo(ctx, next)
		switch {
		case ctx.Err() != nil:
			return err
		case why != nil:
			r.cb.notice(NoticeWarning, fmt.Sprintf("fallback %s is skipped: %v", next.Name, why))
		case switched:
			r.attempt, r.keep = attempt{}, nil
			s.gaveUp = append(slices.Clip(s.gaveUp), failed)
			r.cb.OnNotice(Notice{Kind: NoticeModel, Text: fmt.Sprintf("%v; %s answers for the rest of this turn", err, s.model),
				Retry: &provider.Retry{Try: 1, Tries: 1, Discard: true}})
			return nil
		}
	}
	return err
}

// awaitReset waits for the rate limit that refused a request to reset: unasked as long as Limits.WaitLimit allows it
// for one reply, and longer if the user says so. Else the error is err.
func (r *requests) awaitReset(ctx context.Context, err error) error {
	e := provider.AsError(err)
	if e == nil || e.Kind != provider.KindRateLimit || e.RetryAfter <= 0 || !e.Temporary() || ctx.Err() != nil {
		return err
	}
	opt := &r.session.opt
	clock := opt.Waits.orUsual().Clock
	began := clock.Now()
	at := began.Add(e.RetryAfter)
	until := provider.Moment(at, began)
	question := fmt.Sprintf("wait %s (until %s) for the rate limit of %s?", provider.InWords(e.RetryAfter), until,
		e.Provider)
	if r.attempt.waited+e.RetryAfter > opt.Limits.WaitLimit && !r.mayWait(ctx, question, at) {
		return err
	}
	left := max(at.Sub(clock.Now()), 0)
	r.cb.OnNotice(Notice{Kind: NoticeInfo,
		Text:  fmt.Sprintf("the rate limit of %s resets at %s: waiting %s", e.Provider, until, provider.InWords(left)),
		Retry: &provider.Retry{Try: 2, Tries: 2, Wait: left, Err: e, Discard: true}})
	r.cb.OnThinking()
	defer r.cb.OnThinkingDone()
	r.attempt.waited += e.RetryAfter
	if clock.Sleep(ctx, left) != nil {
		return err
	}
	return nil
}

// mayWait asks whether to wait until a rate limit resets. A yes holds for all agents of the run.
func (r *requests) mayWait(ctx context.Context, question string, at time.Time) bool {
	spent := r.money.spent
	spent.asking.Lock()
	defer spent.asking.Unlock()
	if at.Before(spent.waits) {
		return true
	}
	answer, err := r.cb.Ask(ctx, Question{Kind: QuestionLimit, Reason: question, Number: 1, Of: 1})
	if err != nil || answer.Verdict != Yes {
		return false
	}
	// Others were refused a moment later.
	spent.waits = at.Add(time.Minute)
	return true
}

// passing reports whether another model may succeed where this one failed.
func passing(err error) bool {
	switch Classify(err).Kind {
	case KindOverloaded, KindProvider, KindNetwork, KindTimeout:
		return true
	}
	return false
}

// switchTo makes a fallback the model that answers. The error says why it cannot; without one it is a model that
// failed already.
func (r *requests) switchTo(ctx context.Context, f Fallback) (switched bool, err error) {
	s := r.session
	free := s.alone(ctx)
	m, err := guard(func() (Model, error) { return f.Model(ctx) })
	free()
	if err != nil || m.String() == s.model.String() || slices.Contains(s.gaveUp, m.String()) {
		return false, err
	}
	asked := s.model.Defaults
	m.Defaults = provider.Options{MaxTokens: s.replyLimit, Temperature: asked.Temperature, Effort: asked.Effort}.Or(m.Defaults)
	first, back := s.model.String(), s.holdModel()
	if s.standIn != nil {
		s.setServerTools(s.standIn.servers) // Those that gave way did so for the fallback before.
	}
	servers := s.serverTools()
	s.setModel(m)
	s.describe(ctx)
	s.conv.SetBudget(s.budget())
	if err := r.cannotAnswer(); err != nil {
		back()
		return false, err
	}
	if s.standIn == nil {
		s.standIn = &standIn{first, servers, back}
	}
	return true, nil
}

// cannotAnswer says why the present model cannot be sent the next request; nil if it can.
func (r *requests) cannotAnswer() error {
	s := r.session
	if err := s.unpriced(s.model.Info); err != nil {
		return err
	}
	if budget := s.conv.Budget(); s.conv.OverBudget() && r.money.aside == 0 || budget > 0 && r.money.aside > budget {
		return errors.New("its window is too small for the conversation")
	}
	return nil
}

// unpriced is the error of a model whose price is not known while money is capped.
func (s *session) unpriced(info provider.ModelInfo) error {
	l := s.opt.Limits
	if (l.MaxCost > 0 || l.DailyCost > 0) && info.Price == nil && !info.Billed {
		return errors.New("its price is unknown, so its cost cannot be capped")
	}
	return nil
}

// smallModel gives Options.Small; nil where that is none, is the model that answers anyway or cannot be asked, which a
// notice says once. It is called as Fallback.Model.
func (r *requests) smallModel(ctx context.Context) func() (Model, error) {
	s := r.session
	small := s.opt.Small
	if small.Model == nil || s.model.Wait != nil || ctx.Err() != nil {
		return nil
	}
	m, err := guard(func() (Model, error) { return small.Model(ctx) })
	if err == nil {
		err = s.unpriced(m.Info)
	}
	if err != nil {
		if why := fmt.Sprintf("the small model %s is skipped: %v", small.Name, err); s.isNews(why) {
			r.cb.notice(NoticeWarning, why)
		}
		return nil
	}
	if m.String() == s.model.String() {
		return nil
	}
	m.small = true
	return func() (Model, error) { return m, nil }
}

// aloneSmall is smallModel where no call holds the session.
func (r *requests) aloneSmall(ctx context.Context) func() (Model, error) {
	defer r.session.alone(ctx)()
	return r.smallModel(ctx)
}

// smallFailed reports that the session's model takes over from the small one.
func (r *requests) smallFailed(err error) {
	s := r.session
	r.cb.notice(NoticeModel, fmt.Sprintf("the small model %s: %v; %s takes over", s.opt.Small.Name, err, s.model))
}

// withSmall has the small model answer, and no fallback in its place, until restore; ok is false where it cannot.
func (r *requests) withSmall(ctx context.Context) (restore func(), ok bool) {
	small := r.aloneSmall(ctx)
	if small == nil {
		return nil, false
	}
	s := r.session
	back, others, answered, before := s.holdModel(), s.fallingBack, s.answered, *r.response
	s.fallingBack = fallingBack{}
	m, _ := small()
	s.setModel(m)
	s.describe(ctx)
	s.conv.SetBudget(s.budget())
	return func() {
		back()
		s.fallingBack, s.answered = others, answered
		if before.Model != "" {
			r.response.Provider, r.response.Model = before.Provider, before.Model
		}
	}, true
}

// holdModel keeps the facts of the model that answers now, until restore puts it back.
func (s *session) holdModel() (restore func()) {
	before, budget, servers := s.answerer, s.conv.Budget(), s.serverTools()
	before.refused, before.cached = maps.Clone(s.refused), 0
	return func() {
		s.setServerTools(servers)
		before.answered = s.answered
		s.answerer = before
		s.conv.SetOverhead(s.system, s.specs)
		s.conv.SetBudget(budget)
	}
}

// chosenModel has the user's choice answer again.
func (s *session) chosenModel() {
	if s.standIn != nil {
		s.standIn.restore()
	}
	s.standIn = nil
}

// insteadOf is the model in whose place the present one answers, "" for none.
func (s *session) insteadOf() string {
	if s.standIn == nil {
		return ""
	}
	return s.standIn.first
}

// Quota is the state of the rate limits that the last reply reported; nil where it reported none.
func (a *Agent) Quota() *provider.Quota { return a.spent.seen() }
