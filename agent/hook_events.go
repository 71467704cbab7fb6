package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/extension"
)

// beforeTool asks the hooks before a call, in order: each sees the input that those before it
// made. Their answers go into the decision. A call that cannot run has no hooks.
func (c *calls) beforeTool(ctx context.Context, p *pending) {
	if p.final {
		return
	}
	var o permission.Opinion
	list := c.session.hooksOn(extension.BeforeTool, claudeTool(p.tool.Name, p.call.Access.Kind))
	for i := 0; i < len(list); i++ {
		k, before := list[i], p.call.Input
		if p.final || o.Verdict == permission.Refuse || !c.session.opt.Policy.Concerns(k.rules, p.tool.Name, p.call.Access) {
			continue
		}
		answer, err := c.session.hooks.ask(ctx, c.session, c.cb, k, c.session.callInput(extension.BeforeTool, p))
		switch {
		case ctx.Err() != nil:
			return // decide interrupts the call
		case err != nil && k.Warn:
			c.session.hooks.warnOnce(c.session, c.cb, err.Error())
		case err != nil:
			o = permission.Opinion{Verdict: permission.Refuse, Failed: true, Object: err.Error()}
		default:
			o = c.heed(ctx, p, k, o, answer)
		}
		if k.Source != extension.SourcePolicy && !bytes.Equal(before, p.call.Input) { // The policy's see the call that runs.
			for _, earlier := range list[:i] {
				if earlier.Source == extension.SourcePolicy {
					list = append(list, earlier)
				}
			}
		}
	}
	p.opinion = o
	p.decision = p.decision.Heeding(o, c.session.opt.Policy.Mode)
}

// heed adds a hook's answer before a call to those of other hooks.
func (c *calls) heed(ctx context.Context, p *pending, k hook, o permission.Opinion, answer hookAnswer) permission.Opinion {
	if answer.Context != "" {
		p.hookContext = append(p.hookContext, k.remark("adds", answer.Context))
	}
	if answer.Input != nil && !sameJSON(answer.Input, p.call.Input) {
		if o.Verdict == permission.Run {
			o = permission.Opinion{} // It was about another input.
		}
		p.call.Input = answer.Input
		p.edited = "The hook " + k.called() + " changed the input of this call before it ran, to: " + string(answer.Input)
		if !c.marked(p) {
			c.plan(ctx, p)
		}
	}
	verdict, stops := answer.Decision, answer.Stop != nil && *answer.Stop
	if stops {
		verdict = permission.Refuse
		p.halt = k.stopped(answer.Reason)
	}
	switch {
	case verdict == "", verdict == permission.Run && o.Verdict != "":
		return o
	case verdict == permission.Ask && o.Verdict == permission.Ask:
		o.Object += "; " + k.says(answer.Reason)
		return o
	}
	return permission.Opinion{Verdict: verdict, Object: k.says(answer.Reason)}
}

// says names the hook with its reason.
func (k hook) says(reason string) string { return k.called() + because(reason) }

// remark is a hook's message to the model. Each line is quoted, so that none seems to have another author.
func (k hook) remark(does, text string) string {
	return "[the hook " + k.called() + " " + does + ":\n> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n]"
}

// stopped is the error that ends a turn because a hook says so.
func (k hook) stopped(reason string) error {
	return &Failure{Kind: KindApproval, What: "the hook " + k.called(), Err: errors.New("stopped the turn" + because(reason))}
}

// questionsForHooks are the questions that hooks may answer.
var questionsForHooks = []QuestionKind{QuestionApproval, QuestionChanges, QuestionOutside, QuestionWhole}

// ask asks the hooks on questions, of which those that may answer do so in the user's place, and
// then the user. A hook that fails is an error, which denies.
func (c *calls) ask(ctx context.Context, p *pending, q Question) (Answer, error) {
	q.ID = c.session.questionID()
	if !slices.Contains(questionsForHooks, q.Kind) {
		return c.cb.Ask(ctx, q)
	}
	for _, k := range c.session.hooksOnCall(extension.OnQuestion, p) {
		in := c.session.callInput(extension.OnQuestion, p)
		in.Question, in.Reason, in.Rule, in.Diff, in.Kind = q.ID, q.Reason, q.Rule, cmp.Or(q.Diff, q.Call.Access.Diff), string(q.Kind)
		in.Access.Outside = in.Access.Outside || q.Kind == QuestionOutside
		c.cb.clock.pause()
		answer, err := c.session.hooks.ask(ctx, c.session, c.cb, k, in)
		c.cb.clock.resume()
		switch {
		case ctx.Err() != nil:
			return Answer{}, context.Cause(ctx)
		case err != nil && k.Warn:
			c.session.hooks.warnOnce(c.session, c.cb, err.Error())
			continue
		case err != nil:
			return Answer{}, hookError{fmt.Errorf("the hook %w", err)}
		}
		if a, ok := c.answerOf(k, q, answer); ok {
			a.By = k.called()
			c.answeredBy(p, a)
			c.cb.OnNotice(Notice{Kind: NoticeAnswered, Answered: &Answered{q, a}})
			return a, nil
		}
	}
	c.session.notifyHooks(c.cb, "question", strings.TrimSpace(q.Call.Access.Verb+" "+firstLine(q.Call.Access.Object)+because(q.Reason)))
	a, err := c.cb.Ask(ctx, q)
	if err == nil && a.By != "" {
		c.answeredBy(p, a)
	}
	return a, err
}

// answeredBy records the hook or program that answered a question.
func (c *calls) answeredBy(p *pending, a Answer) {
	p.answeredBy = a.By
	c.response.Answered = append(c.response.Answered, HookAnswer{p.tool.Name, p.call.Access.Object,
		Verdict(a.Verdict.String()), a.Reason, a.By})
}

// answerOf is a hook's answer to a question; ok is false where it gives none.
func (c *calls) answerOf(k hook, q Question, answer hookAnswer) (a Answer, ok bool) {
	switch stops := answer.Stop != nil && *answer.Stop; {
	case stops:
		return Answer{Verdict: StopTurn, Reason: answer.Reason}, true
	case answer.Decision == permission.Refuse:
		return Answer{Verdict: No, Reason: answer.Reason}, true
	case answer.Decision != permission.Run:
		return Answer{}, false
	case answer.Input != nil && q.Kind != QuestionApproval:
		c.session.hooks.warnOnce(c.session, c.cb, k.called()+": its allow is of another input than the one in question, and does not count")
		return Answer{}, false
	case !k.MayAnswer:
		c.session.hooks.warnOnce(c.session, c.cb, k.called()+" has no may_answer = true: its allow is not taken for your yes")
		return Answer{}, false
	}
	a = Answer{Verdict: Yes, Reason: answer.Reason, Input: answer.Input}
	if answer.Rule != "" && answer.Lasting != "" && q.Covers != nil {
		if err := q.Covers(answer.Rule); err != nil {
			c.session.hooks.warnOnce(c.session, c.cb, k.called()+": its rule does not hold: "+err.Error())
		} else {
			a.Verdict, a.Rule = YesForSession, answer.Rule
		}
	}
	return a, true
}

// afterTool shows the hooks after a call its outcome. Their additions follow the result.
func (c *calls) afterTool(ctx context.Context, p *pending, e ended) {
	list := c.session.hooksOnCall(extension.AfterTool, p)
	if len(list) == 0 || ctx.Err() != nil {
		return
	}
	in := c.session.callInput(extension.AfterTool, p)
	said := outcomeOf(ctx, e.result, e.err, e.took)
	in.Status, in.Text, in.Millis = said.Status, &said.Text, new(e.took.Milliseconds())
	for _, k := range list {
		answer, err := c.session.hooks.ask(ctx, c.session, c.cb, k, in)
		if err != nil {
			c.session.hooks.warnOnce(c.session, c.cb, err.Error())
			continue
		}
		if answer.Decision == permission.Refuse && answer.Reason != "" {
			p.hookContext = append(p.hookContext, k.remark("objects", answer.Reason))
		}
		if answer.Context != "" {
			p.hookContext = append(p.hookContext, k.remark("adds", answer.Context))
		}
		if answer.Stop != nil && *answer.Stop {
			p.stop = cmp.Or(p.stop, k.stopped(answer.Reason))
		}
	}
}

// beforeMessage runs the hooks of a session that begins, and shows a message to those that may deny
// it. Their additions go along with the message. The error is the denial.
func (t *turn) beforeMessage(ctx context.Context, text string) error {
	s := t.session
	if s.parent != nil {
		return nil
	}
	add := func(k hook, answer hookAnswer) {
		if answer.Context != "" {
			s.unsent = append(s.unsent, provider.Text{Note: provider.NoteHook, Text: k.remark("adds", answer.Context)})
		}
	}
	if source := s.source; source != "" && !s.beside {
		s.source = ""
		for _, k := range s.hooksOn(extension.SessionStart, source) {
			in := s.hookInput(extension.SessionStart)
			in.Source = source
			answer, err := s.hooks.ask(ctx, s, t.cb, k, in)
			if err != nil {
				s.hooks.warnOnce(s, t.cb, err.Error())
			}
			if answer.Decision == permission.Refuse {
				s.hooks.warnOnce(s, t.cb, k.called()+" cannot keep a session from its start"+because(answer.Reason))
			}
			add(k, answer)
		}
	}
	for _, k := range s.hooksOn(extension.OnMessage, "") {
		in := s.hookInput(extension.OnMessage)
		in.Text = &text
		answer, err := s.hooks.ask(ctx, s, t.cb, k, in)
		switch stops := answer.Stop != nil && *answer.Stop; {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && k.Warn:
			s.hooks.warnOnce(s, t.cb, err.Error())
		case err != nil:
			return &Failure{Kind: KindApproval, What: "message", Err: fmt.Errorf("not sent: the hook %w", err), Hint: "fix the hook, or remove it"}
		case stops, answer.Decision == permission.Refuse:
			return &Failure{Kind: KindApproval, What: "message", Err: errors.New("not sent: denied by the hook " + k.says(answer.Reason))}
		}
		add(k, answer)
	}
	return nil
}

// resumed reports whether a hook has the model go on after its answer; the error ends the turn.
func (t *turn) resumed(ctx context.Context, reply provider.Done) (again bool, err error) {
	s, event := t.session, extension.OnStop
	if s.parent != nil {
		event = extension.OnAgentStop
	}
	for _, k := range s.hooksOn(event, s.agentName) {
		in := s.hookInput(event)
		in.Text, in.Turns, in.CostUSD = new(reply.Message.Text()), new(int(t.requests.steps.Load())), t.response.CostUSD
		in.Active = new(t.resumes > 0)
		answer, err := s.hooks.ask(ctx, s, t.cb, k, in)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case err != nil:
			s.hooks.warnOnce(s, t.cb, err.Error())
			continue
		case answer.Stop != nil && *answer.Stop:
			return false, nil
		case answer.Decision != permission.Refuse && (answer.Stop == nil || *answer.Stop):
			continue
		case t.resumes >= mostResumed:
			t.cb.notice(NoticeWarning, fmt.Sprintf("the hook %s has had the model go on %d times: the turn ends now", k.called(), mostResumed))
			return false, nil
		}
		t.resumes++
		t.requests.answer.Reset()
		t.cb.notice(NoticeStep, "the hook "+k.called()+" has the model go on"+because(firstLine(answer.Reason)))
		text := k.remark("has you go on; this is not from the user", answer.Reason+"\n"+answer.Context)
		return true, s.conv.Append(provider.Message{Role: provider.RoleUser,
			Parts: []provider.Part{provider.Text{Note: provider.NoteHook, Text: s.masked(text)}}})
	}
	return false, nil
}

// beforeCompact asks the hooks whether old messages may be replaced by a summary; the error is the
// denial. keep is the user's own wish.
func (r *requests) beforeCompact(ctx context.Context, trigger, keep string) error {
	s := r.session
	for _, k := range s.hooksOn(extension.BeforeCompact, trigger) {
		in := s.hookInput(extension.BeforeCompact)
		in.Trigger, in.Text = trigger, &keep
		answer, err := s.hooks.ask(ctx, s, r.cb, k, in)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			s.hooks.warnOnce(s, r.cb, err.Error())
		}
		if answer.Decision == permission.Refuse {
			return errors.New("denied by the hook " + k.says(answer.Reason))
		}
	}
	return nil
}

// notifyHooks calls the user through hooks, which no caller waits for. Where no one can answer no one
// is called.
func (s *session) notifyHooks(cb *serial, kind, text string) {
	w := s.opt.Workspace
	if w != nil && w.Headless {
		return
	}
	for _, k := range s.hooksOn(extension.OnNotify, claudeNotice(kind)) {
		in := s.hookInput(extension.OnNotify)
		in.Kind, in.Text = kind, new(s.masked(text))
		s.hooks.mu.Lock()
		ctx := s.hooks.noticing
		s.hooks.mu.Unlock()
		s.hooks.notices.Go(func() {
			if _, err := s.hooks.ask(ctx, s, cb, k, in); err != nil && ctx.Err() == nil {
				s.hooks.warnOnce(s, cb, err.Error())
			}
		})
	}
}

// endNotices waits for the hooks on notify, as long as a hook on the session's end may take, and
// ends those that still run.
func (h *hooks) endNotices() {
	h.mu.Lock()
	stop := h.stop
	h.mu.Unlock()
	timer := time.AfterFunc(extension.Hook{On: extension.SessionEnd}.Limit(), stop)
	defer timer.Stop()
	h.notices.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop()
	h.noticing, h.stop = context.WithCancel(context.Background())
}

// endSession runs the hooks on the end of a session in which something was said.
func (a *Agent) endSession(reason string) {
	s := a.session
	if s.parent != nil || s.source != "" {
		return
	}
	s.source = "ended"
	s.hooks.endNotices()
	for _, k := range s.hooksOn(extension.SessionEnd, reason) {
		in := s.hookInput(extension.SessionEnd)
		in.Reason = reason
		if reason == endExit {
			in.ExitCode = &a.exitCode
		}
		if _, err := s.hooks.ask(context.Background(), s, nil, k, in); err != nil {
			s.hooks.warnOnce(s, nil, err.Error())
		}
	}
}

// endExit is the reason of a session that ends with artoo.
const endExit = "exit"

// Exiting notes the exit code for the hooks on the session's end.
func (a *Agent) Exiting(code int) { a.exitCode = code }

// marked refuses a call whose input holds a mark in place of a key, and reports whether it did.
func (c *calls) marked(p *pending) bool {
	mark := marked(string(p.call.Input))
	if mark == "" || p.tool.Marks && c.session.opt.Env != nil && c.session.opt.Env.Secrets != nil {
		return false
	}
	p.fail("a mark in place of a key",
		fmt.Sprintf("Not run: %s stands for a key that you are not shown, and would be taken as it stands. "+
			"Leave that part of the text alone, name the variable or the file that holds the key, or ask the user.",
			mark))
	return true
}
