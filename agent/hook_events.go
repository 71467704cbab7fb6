package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/extension"
)

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
				s.hooks.warnFailed(s, t.cb, k, err)
			}
			if answer.Decision == permission.Refuse {
				s.hooks.warnOnce(s, t.cb, k.called()+" cannot prevent the start of a session"+because(answer.Reason))
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
		case err != nil && k.passes(err):
			s.hooks.warnFailed(s, t.cb, k, err)
		case err != nil:
			return &Failure{Kind: KindApproval, What: "message", Err: fmt.Errorf("not sent: the hook %w", err), Hint: "fix the hook, or remove it"}
		case stops, answer.Decision == permission.Refuse:
			return &Failure{Kind: KindApproval, What: "message", Err: errors.New("not sent: denied by the hook " + k.says(answer.Reason))}
		}
		add(k, answer)
	}
	return nil
}

// resumed reports whether a hook makes the model continue after its answer; the error ends the turn.
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
			s.hooks.warnFailed(s, t.cb, k, err)
			continue
		case answer.Stop != nil && *answer.Stop:
			return false, nil
		case answer.Decision != permission.Refuse && (answer.Stop == nil || *answer.Stop):
			continue
		case t.resumes >= mostResumed:
			t.cb.notice(NoticeWarning, fmt.Sprintf("the hook %s has kept the model going %d times; the turn ends now", k.called(), mostResumed))
			return false, nil
		}
		t.resumes++
		t.requests.answer.Reset()
		t.cb.notice(NoticeStep, "the hook "+k.called()+" makes the model continue"+because(firstLine(answer.Reason)))
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
			s.hooks.warnFailed(s, r.cb, k, err)
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
		s.hooks.besides(func(ctx context.Context) {
			if _, err := s.hooks.ask(ctx, s, cb, k, in); err != nil && ctx.Err() == nil {
				s.hooks.warnFailed(s, cb, k, err)
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
			s.hooks.warnFailed(s, nil, k, err)
		}
	}
}

// endExit is the reason of a session that ends with artoo.
const endExit = "exit"

// Exiting notes the exit code for the hooks on the session's end.
func (a *Agent) Exiting(code int) { a.exitCode = code }
