// Package agent is the loop: a message goes to the model, the tools it calls
// are run, their results go back, until a reply calls nothing. It reports
// through Callbacks and holds no terminal.
//
// New makes an Agent of a model, tools and a policy; SendMessage is a turn, which
// takes as many requests (steps) as the model needs. ForProject makes the parts for a directory. Options also take
// hooks, skills and a schema of the answers; each has an example. A session is a conversation, in
// its file or in memory; it spans turns, and a run of the program, for which Limits
// hold, may go from one session to another.
package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
)

// New makes an agent and begins its session. The error names the missing part.
func New(opt Options) (*Agent, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Env == nil {
		opt.Env = &tool.Env{}
	}
	if w := opt.Workspace; w != nil {
		w.mask = opt.Secrets.Mask
		opt.Env.Dir = cmp.Or(opt.Env.Dir, w.Project.Dir)
	}
	if opt.Policy == nil {
		opt.Policy = &permission.Policy{Mode: permission.ModeAsk, Root: opt.Env.Dir}
		if w := opt.Workspace; w != nil {
			opt.Policy.Root, opt.Policy.Dir = w.Project.Root, w.Project.Dir
		}
	}
	opt.Policy.Seen = cmp.Or(opt.Policy.Seen, &permission.Seen{})
	hooks, err := newHooks(opt.Hooks)
	if err != nil {
		return nil, err
	}
	tally, err := newTally(opt)
	if err != nil {
		return nil, err
	}
	a := newAgent(&session{opt: opt.withSearch(), hooks: hooks, running: make(chan struct{}, 1)}, &spending{})
	a.tally = tally
	if err := a.open(opt.Sessions.First); err != nil {
		return nil, err
	}
	return a, nil
}

// SendMessage sends a text with attachments, see Send.
func (a *Agent) SendMessage(ctx context.Context, text string, cb Callbacks,
	attachments ...provider.Part) (*Response, error) {
	return a.Send(ctx, Message{Text: text, Attachments: attachments}, cb)
}

// Send appends the user's message, asks the model, runs the tools it calls, and repeats until a
// reply calls nothing. It always returns a Response, if only a partial one. An interrupt (ctx done)
// keeps the partial reply and returns ctx's cause; Classify classifies every other error. After
// any error the conversation can go on.
func (a *Agent) Send(ctx context.Context, m Message, cb Callbacks) (*Response, error) {
	defer a.session.override(m.Options)()
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	t.requests.timeout = m.Timeout
	a.session.describe(ctx)
	ctx, span := t.span(ctx, m)
	response, err := t.converse(ctx, m)
	err = cmp.Or(err, t.endOnce(ctx))
	if f := Classify(err); f == nil || f.Kind == KindContext {
		a.session.full = f != nil
	}
	err = a.session.maskedError(err)
	endTurnSpan(span, response, err)
	return response, err
}

// converse is the turn from the user's message to its answer.
func (t *turn) converse(ctx context.Context, m Message) (*Response, error) {
	if err := t.noteBackground(ctx); err != nil {
		return t.failed(ctx, err)
	}
	if err := t.beforeMessage(ctx, m.Text); err != nil {
		return t.failed(ctx, err)
	}
	if err := t.appendUser(m.Text, m.Attachments); err != nil {
		return t.failed(ctx, err)
	}
	for {
		if err := t.takeStep(ctx); err != nil {
			return t.failed(ctx, err)
		}
		reply, err := t.requests.query(ctx)
		if err != nil {
			return t.failed(ctx, err)
		}
		again, err := t.finishReply(ctx, reply)
		if err != nil {
			return t.failed(ctx, err)
		}
		if again {
			continue
		}
		calls := reply.Message.Calls()
		if len(calls) == 0 {
			return t.completed(reply)
		}
		err = t.calls.run(ctx, calls)
		if errors.Is(err, errPlan) {
			return t.planned()
		}
		if err := t.afterCalls(ctx, err); err != nil {
			return t.failed(ctx, err)
		}
		if err := t.appendSteering(ctx, m.Steering); err != nil {
			return t.failed(ctx, err)
		}
	}
}

// finishReply appends a reply that is an answer or has calls. again reports that another request
// has to follow.
func (t *turn) finishReply(ctx context.Context, reply provider.Done) (again bool, err error) {
	if reply.Stop == provider.StopRefusal {
		// A refused turn stays out of the history: sent again it would be refused again.
		t.requests.answer.WriteString(reply.Message.Text())
		t.requests.partial = ""
		why := cmp.Or(reply.Detail, "the model refused to answer")
		return false, &Failure{Kind: KindRefused, Err: errors.New(why), Hint: hints[KindRefused]}
	}
	if again, err := t.requests.tryAgain(ctx, ending{reply: reply}); again || err != nil {
		return again, err
	}
	if len(reply.Message.Calls()) > 0 {
		t.requests.answer.Reset() // The text so far was not the final reply.
		return false, t.requests.keepReply(reply.Message)
	}
	if err := t.requests.keepReply(reply.Message); err != nil {
		return false, err
	}
	return t.wantsMore(ctx, reply)
}

// wantsMore reports whether the model has to go on after a reply without calls: for a hook, for the command of Until,
// or for an answer that fits the schema.
func (t *turn) wantsMore(ctx context.Context, reply provider.Done) (more bool, err error) {
	if more, err = t.resumed(ctx, reply); more || err != nil {
		return more, err
	}
	if more, err = t.unmet(ctx); more || err != nil {
		return more, err
	}
	return t.misfit(reply)
}

// completed makes the reply the answer of the turn.
func (t *turn) completed(reply provider.Done) (*Response, error) {
	t.requests.answer.WriteString(reply.Message.Text())
	t.response.Text = t.requests.answer.String()
	return t.response, t.sync()
}

// afterCalls does what the end of the calls of a reply asks for. Its error ends the turn.
func (t *turn) afterCalls(ctx context.Context, err error) error {
	if errors.Is(err, errFresh) {
		if lost, ok := errors.AsType[*conversation.Error](err); ok {
			return lost
		}
		return t.requests.startFresh(ctx)
	}
	if over := t.calls.tally.end(); over != nil && errors.Is(err, over) && t.session.parent == nil {
		if err := t.lastWords(ctx, "A cap on this run's changes is reached"); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return err
}

// endOnce judges and ends the background commands of an agent that is sent one message alone.
func (t *turn) endOnce(ctx context.Context) error {
	if !t.session.once() {
		return nil
	}
	_, err := t.calls.followUpBackground(ctx, true)
	ended, discarded := t.agent.endBackground(func(text string) { t.cb.notice(NoticeWarning, text) })
	t.response.Background = append(t.response.Background, ended...)
	t.response.Denied = append(t.response.Denied, discarded...)
	return err
}

// FollowUp judges, between two turns, the background commands that have ended. The user's next
// message reports them to the model. The error is as of Send.
func (a *Agent) FollowUp(ctx context.Context, cb Callbacks) error {
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	return t.noteBackground(ctx)
}

// noteBackground has the user's message report commands that ended since the last turn.
func (t *turn) noteBackground(ctx context.Context) error {
	if t.session.beside {
		return nil
	}
	said, err := t.calls.followUpBackground(ctx, false)
	if said != "" {
		t.session.unsent = append(t.session.unsent, provider.Text{Note: provider.NoteBackground,
			Text: "(In the background: " + strings.TrimSuffix(said, "\n") + ")"})
	}
	return err
}
