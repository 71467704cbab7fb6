package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/proxy"
)

// ask asks about a call that the policy neither lets run nor refuses, until there is a clear answer. edit is an answer
// with another input, which is not approved yet. again says that the user was asked about the call just before.
func (c *calls) ask(ctx context.Context, d decided, again bool) (a approved, edit *Answer, over *settled) {
	a.decided = d
	agreed := d.changed != nil && d.changed.Verdict == Yes
	if agreed {
		a.by, a.final = d.changed.By, d.changed.Decision
	}
	if cause := context.Cause(ctx); cause != nil {
		return a, nil, d.interrupted(cause)
	}
	if c.session.beside && (!d.reads || d.decision.Verdict == permission.Ask) {
		return a, nil, c.deny(d, "a side question (/btw) is read-only and never prompts", false)
	}
	if d.decision.Verdict == permission.Refuse {
		over := c.deny(d, d.decision.Reason(), false)
		over.stop = d.halt
		return a, nil, over
	}
	runs := d.decision.Verdict == permission.Run && (d.changed == nil || agreed)
	if over := c.passesCap(ctx, d, c.tally.admit); over != nil || runs {
		return a, nil, over
	}
	if agreed {
		c.session.opt.Policy.Yes(d.decision)
		return a, nil, nil
	}
	if !again {
		c.questions.next()
	}
	for {
		answer, err := c.put(ctx, d, c.approval(d))
		a.by, a.final = answer.By, answer.Decision
		switch {
		case context.Cause(ctx) != nil:
			over = d.interrupted(context.Cause(ctx))
			over.stop = context.Cause(ctx)
		case errors.Is(err, ErrNobody):
			over = c.unanswered(d, err, d.decision.Reason())
		case err != nil:
			over = c.deny(d, err.Error(), false)
		case answer.Input != nil:
			return a, &answer, nil
		case answer.Verdict == StopTurn:
			over = c.deny(d, "the user stopped the turn", false)
			over.stop = ErrStopped
		case answer.Verdict == No:
			over = c.deny(d, answer.Reason, false)
		case answer.Verdict == Yes:
			c.session.opt.Policy.Yes(d.decision)
		case !c.remember(d, answer):
			continue
		}
		return a, nil, over.answeredBy(answer.By)
	}
}

// approve asks about a decided call, and decides again where the answer has another input.
func (c *calls) approve(ctx context.Context, d decided) (approved, *settled) {
	for again := false; ; again = true {
		a, edit, over := c.ask(ctx, d, again)
		if over != nil || edit == nil {
			// The answer is no answer to what is asked about the call later.
			a.changed = nil
			return a, c.decideFinally(&a, over)
		}
		if d, over = c.edited(ctx, d, *edit); over != nil {
			a.final = conversation.Decision{}
			return a, c.decideFinally(&a, over)
		}
	}
}

// edited plans and decides a call with the input of an answer, as if the model had sent it. Where that may not run the
// call stays as it was, and is denied if the answer was a yes.
func (c *calls) edited(ctx context.Context, d decided, answer Answer) (decided, *settled) {
	p := d.planned
	p.call.Input = answer.Input
	p, over := c.planInput(ctx, p)
	next, over := c.decide(ctx, p, over)
	var why string
	switch {
	case over != nil:
		why = "the edited call cannot run: " + c.session.masked(over.outcome.Text)
	case next.decision.Verdict == permission.Refuse:
		why = "the edited call is denied: " + next.decision.Reason()
	default:
		by := "user"
		if answer.By != "" {
			by = "hook or program " + answer.By
		}
		next.edited = "The " + by + " changed the input of this call before it ran, to: " + string(next.call.Input)
		next.changed = &answer
		return next, nil
	}
	if answer.Verdict == Yes {
		return d, c.deny(d, why, false).answeredBy(answer.By)
	}
	c.cb.notice(NoticeWarning, why)
	return d, nil
}

// approval is the question whether a call may run.
func (c *calls) approval(d decided) Question {
	policy, decision := c.session.opt.Policy, d.decision
	return Question{Kind: QuestionApproval, Reason: decision.Reason(), Reasons: decision.Reasons, Own: decision.Own,
		Place: decision.Place, Hosts: namesOfHosts(decision.Hosts), Network: policy.Confinement.Network,
		Rule: decision.Narrow, Suggested: decision.Suggested,
		Covers: func(rule string) error {
			_, err := policy.Covers(rule, d.tool.Name, d.call.Access)
			return err
		}}
}

// passesCap denies a call of a file tool that would pass a cap on effects, which count counts; nil where it passes none.
func (c *calls) passesCap(ctx context.Context, d decided, count func(context.Context, []effect) error) *settled {
	if c.tally == nil || d.call.Access.Kind != tool.KindWrite {
		return nil
	}
	list, err := effectsOf(d.call.Access)
	if err == nil {
		err = count(ctx, list)
	}
	if err != nil {
		return c.deny(d, err.Error(), false)
	}
	return nil
}

func (c *calls) deny(d decided, reason string, nobody bool) *settled {
	text := "Not run: this call was denied."
	status := CallDenied
	if nobody {
		text = "Not run: this call needs approval, and no one can answer (headless run). " +
			"Another way that needs no approval is welcome; report the remaining work."
		status = CallUnanswered
	}
	summary := "denied"
	if reason != "" {
		text, summary = text+" Reason: "+reason, summary+": "+firstLine(reason)
	}
	denial := d.denial(reason, nobody)
	denial.Rule, denial.Code = d.decision.Narrow, d.decision.Cause()
	c.response.Denied = append(c.response.Denied, denial)
	over := d.over(CallResult{Status: status, Text: text, Summary: summary})
	over.refusal = &reason
	return over
}

// unanswered denies a call since no one answered its question, or the hook on that question failed.
func (c *calls) unanswered(d decided, err error, reason string) *settled {
	if !errors.As(err, new(hookError)) {
		return c.deny(d, reason, true)
	}
	over := c.deny(d, err.Error(), false)
	c.response.Denied[len(c.response.Denied)-1].Nobody = true
	return over
}

// remember adds the rule of a lasting yes, and reports whether that allows this very call.
func (c *calls) remember(d decided, answer Answer) bool {
	policy := c.session.opt.Policy
	if answer.Rule == "" && d.decision.Has(permission.OwnPrograms) {
		if place := policy.NoTrust; place != "" {
			c.cb.notice(NoticeWarning, place+" lets no project run its own programs unasked")
			return false
		}
		c.trustPrograms(answer.Verdict == YesForever)
		return true
	}
	rule := cmp.Or(answer.Rule, d.decision.Narrow)
	if err := policy.AllowInSession(rule, d.tool.Name, d.call.Access); err != nil {
		c.cb.notice(NoticeWarning, err.Error())
		return false
	}
	if r, err := permission.ParseRule(rule); err == nil && r.Remark() != "" {
		c.cb.notice(NoticeInfo, r.String()+" also covers "+r.Remark())
	}
	if answer.Verdict == YesForever {
		if err := c.saveRule(rule, d); err != nil {
			c.cb.notice(NoticeWarning, "the rule holds for this session only: "+err.Error())
		}
	}
	return true
}

// saveRule keeps a rule permanently, which then also applies to the parent agent.
func (c *calls) saveRule(rule string, d decided) error {
	s := c.session
	if s.parent != nil {
		if err := s.parent.opt.Policy.AllowInSession(rule, d.tool.Name, d.call.Access); err != nil {
			return err
		}
	}
	if s.opt.SaveRule == nil {
		return errors.New("rules cannot be saved here")
	}
	if err := s.opt.SaveRule(rule); err != nil {
		return err
	}
	for ; s != nil; s = s.parent {
		s.opt.Policy.Keep(rule)
	}
	return nil
}

func (c *calls) trustPrograms(forever bool) {
	for s := c.session; s != nil; s = s.parent {
		if s.opt.Policy.TrustsPrograms = true; !forever {
			return
		}
	}
	err := errors.New("trust cannot be saved here")
	if save := c.session.opt.TrustPrograms; save != nil {
		err = save()
	}
	if err != nil {
		c.cb.notice(NoticeWarning, "the project is trusted for this session only: "+err.Error())
	}
}

// askMore asks a question about a call, before or after it has run.
func (c *calls) askMore(ctx context.Context, d decided, q Question) (Answer, error) {
	c.questions.next()
	a, err := c.put(ctx, d, q)
	if context.Cause(ctx) == nil && q.Kind != QuestionChoice {
		err = errors.Join(err, c.keep(a.Decision))
	}
	return a, err
}

// put puts a question about a call, with the number that it has by now.
func (c *calls) put(ctx context.Context, d decided, q Question) (Answer, error) {
	q.ID = c.session.questionID()
	q.Call, q.Dir, q.Number, q.Of = d.call, c.session.opt.Env.Dir, c.questions.asked, c.questions.of
	a, err := c.answer(ctx, d, q)
	masked := a
	masked.Reason, masked.Rule = c.session.masked(a.Reason), c.session.masked(a.Rule)
	a.Decision = c.cb.masks.shownQuestion(q).Decision(masked, err)
	return a, err
}

// answer is that of the hooks on questions, of which some may answer in the user's place, or the user's. A hook that
// fails is an error, which denies.
func (c *calls) answer(ctx context.Context, d decided, q Question) (Answer, error) {
	if !slices.Contains(questionsForHooks, q.Kind) {
		return c.cb.Ask(ctx, q)
	}
	hooks := c.session.hooks
	for _, k := range c.session.hooksOnCall(extension.OnQuestion, d.planned) {
		in := c.session.callInput(extension.OnQuestion, d)
		in.Question, in.Reason, in.Rule, in.Diff, in.Kind = q.ID, q.Reason, q.Rule, cmp.Or(q.Diff, q.Call.Access.Diff), string(q.Kind)
		in.Access.Outside = in.Access.Outside || q.Kind == QuestionOutside
		c.cb.clock.pause()
		answer, err := hooks.ask(ctx, c.session, c.cb, k, in)
		c.cb.clock.resume()
		switch {
		case ctx.Err() != nil:
			return Answer{}, context.Cause(ctx)
		case err != nil && k.passes(err):
			hooks.warnFailed(c.session, c.cb, k, err)
			continue
		case err != nil:
			return Answer{From: FromHook}, hookError{fmt.Errorf("the hook %w", err)}
		}
		if a, ok := c.answerOf(k, q, answer); ok {
			a.By, a.From = k.called(), FromHook
			c.answered(d, a)
			c.cb.OnNotice(Notice{Kind: NoticeAnswered, Answered: &Answered{q, a}})
			return a, nil
		}
	}
	c.session.notifyHooks(c.cb, "question", strings.TrimSpace(q.Call.Access.Verb+" "+firstLine(q.Call.Access.Object)+because(q.Reason)))
	a, err := c.cb.Ask(ctx, q)
	if err == nil && a.By != "" {
		c.answered(d, a)
	}
	return a, err
}

// answered records the answer of a hook or a program.
func (c *calls) answered(d decided, a Answer) {
	c.response.Answered = append(c.response.Answered, HookAnswer{d.tool.Name, d.call.Access.Object,
		Verdict(a.Verdict.String()), a.Reason, a.By})
}

// answerOf is a hook's answer to a question; ok is false where it gives none.
func (c *calls) answerOf(k hook, q Question, answer hookAnswer) (a Answer, ok bool) {
	warn := func(text string) { c.session.hooks.warnOnce(c.session, c.cb, k.called()+text) }
	switch stops := answer.Stop != nil && *answer.Stop; {
	case stops:
		return Answer{Verdict: StopTurn, Reason: answer.Reason}, true
	case answer.Decision == permission.Refuse:
		return Answer{Verdict: No, Reason: answer.Reason}, true
	case answer.Decision != permission.Run:
		return Answer{}, false
	case answer.Input != nil && q.Kind != QuestionApproval:
		warn(": ignored, since it allowed a different input than the one asked about")
		return Answer{}, false
	case !k.MayAnswer:
		warn(" lacks may_answer = true, so artoo ignores its allow")
		return Answer{}, false
	}
	a = Answer{Verdict: Yes, Reason: answer.Reason, Input: answer.Input}
	if answer.Rule != "" && answer.Lasting != "" && q.Covers != nil {
		if err := q.Covers(answer.Rule); err != nil {
			warn(": its rule does not apply: " + err.Error())
		} else {
			a.Verdict, a.Rule = YesForSession, answer.Rule
		}
	}
	return a, true
}

// questionsForHooks are the questions that hooks may answer.
var questionsForHooks = []QuestionKind{QuestionApproval, QuestionChanges, QuestionOutside, QuestionWhole}

func namesOfHosts(hosts []proxy.Host) (names []string) {
	for _, h := range hosts {
		names = append(names, h.String())
	}
	return names
}
