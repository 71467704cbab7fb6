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
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/text"
)

// subAgentPrompt ends the system prompt of every sub-agent.
const subAgentPrompt = "You are a sub-agent: another agent gave you the task in the first message. You do not see its " +
	"conversation, and no one answers you. It gets only your last reply: say there what it must know."

// HasSubAgent reports whether task has a sub-agent for a name.
func (a *Agent) HasSubAgent(name string) bool {
	_, err := subAgentNamed(a.session.opt.SubAgents, name)
	return err == nil
}

// number gives a call that is work for a sub-agent its number and its name, and returns what it is about.
func (t *turn) number(d decided) string {
	t.agent.tasks++
	in, _ := tool.Decode[taskInput](*d.tool, d.call.Input) // it was planned
	kind, _ := subAgentNamed(t.session.opt.SubAgents, in.Agent)
	label := fmt.Sprint(t.agent.tasks)
	if kind.Name != "" {
		label += " (" + kind.Name + ")"
	}
	t.subAgents[d.call.ID] = &subAgentCall{turn: t, call: d.call, name: "task " + label, kind: kind, prompt: in.Prompt,
		search: in.Kind == "search" && kind.Model == nil}
	return label + ": " + d.call.Access.Object
}

func (t *turn) runTask(ctx context.Context, d decided) (tool.Result, error) {
	w := t.subAgents[d.call.ID]
	free := t.session.alone(ctx) // Another agent may just have got a permanent rule.
	sub, err := guard(func() (*Agent, error) {
		if w.search {
			w.kind.Model = t.requests.smallModel(ctx)
		}
		return t.subAgent(w.name, w.kind)
	})
	free()
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s could not start: %w", w.name, err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-t.calls.env.Kill:
			sub.Kill()
		case <-ended:
		}
	}()
	response, err := guard(func() (*Response, error) { return sub.SendMessage(ctx, w.prompt, w) })
	if response == nil { // it crashed
		response = &Response{}
	}
	transcript := ""
	if s := sub.session.conv.Session(); s != nil {
		transcript = s.Path()
	}
	closeErr := sub.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied = append(w.denied, response.Denied...)
	w.answered = append(w.answered, response.Answered...)
	w.ended = append(w.ended, response.Background...)
	w.reach.reached(response.Reach)
	used := fmt.Sprintf("%s, %s", text.Count(len(w.done), "call"), conversation.Tokens(response.Usage.Total())+" tokens")
	result := tool.Result{Text: response.Text, Summary: used}
	if err == nil {
		result.Text = cmp.Or(result.Text, "(the sub-agent ended without a word)") + w.endedWith()
		return result, closeErr
	}
	result.IsError, result.Summary = true, firstLine(err.Error())+"; "+used
	result.Text = fmt.Sprintf("The sub-agent did not come to an end: %v\n", err)
	if len(w.done) > 0 {
		result.Text += "What it did:\n" + strings.Join(w.done, "\n") + "\n"
	}
	if response.Text != "" {
		result.Text += "What it said last:\n" + response.Text + "\n"
	}
	if transcript != "" {
		result.Text += "Its whole transcript is in " + transcript + "\n"
	}
	result.Text += w.endedWith()
	return result, closeErr
}

// endedWith names the background commands that did not come to their end, "" for none.
func (w *subAgentCall) endedWith() string {
	if len(w.ended) == 0 {
		return ""
	}
	return "\n[ended with the sub-agent, before they were done: " + text.UpTo(mostNamed, w.ended) + "]\n"
}

// modelOf is the model that answers in a sub-agent, and those that take its place.
func (t *turn) modelOf(kind SubAgent) (Model, []Fallback, error) {
	s := t.session
	// Those before the fallbacks that are left have failed.
	model, left := s.model, s.fallbacks
	if kind.Model == nil {
		return model, left, nil
	}
	own, err := kind.Model()
	switch {
	case err != nil:
		return Model{}, nil, err
	case slices.Contains(s.gaveUp, own.String()):
		return model, left, nil
	case !own.small:
		return own, s.opt.Fallbacks, nil
	case kind.own != nil:
		// The review goes on without it.
		return own, nil, nil
	}
	first := Fallback{model.String(), func(context.Context) (Model, error) { return model, nil }}
	return own, append([]Fallback{first}, left...), nil
}

// subAgent makes the agent for one call: its own conversation, the mode and rules of this moment,
// no own tools.
func (t *turn) subAgent(name string, kind SubAgent) (*Agent, error) {
	opt, env := t.session.opt, *t.session.opt.Env
	model, others, err := t.modelOf(kind)
	if err != nil {
		return nil, err
	}
	opt.Fallbacks = others
	named := func(name string) bool { return kind.Tools == nil || slices.Contains(kind.Tools, name) }
	servers := named(builtin.CallTool)
	if !servers {
		env.MCP = nil // A call by a tool's name would find it there.
	}
	opt.Tools = slices.DeleteFunc(slices.Clone(opt.Tools), func(offered tool.Tool) bool {
		if ofServers(offered.Name) {
			return !servers
		}
		return offered.ByLoop() && offered.Name != Skill || !named(offered.Name) && !named(offered.Instead)
	})
	opt.Tools = append(opt.Tools, kind.own...)
	opt.Env, opt.Policy, opt.Model = &env, t.session.opt.Policy.ForSubAgent(), model
	if kind.ReadOnly {
		opt.Policy.Mode = permission.ModePlan
	}
	opt.Limits.MaxTime = 0 // the turn's clock ends it
	if opt.Compact = t.session.compactMode(); opt.Compact == CompactAsk {
		opt.Compact = CompactTrim // the user sees nothing of this history
	}
	opt.PlanTools, opt.Journal, opt.Notice, opt.Secrets.Begin, opt.Secrets.Begun = nil, nil, nil, nil, nil
	opt.Sessions = Sessions{Ephemeral: t.session.output == "", Store: conversation.Store{Dir: t.session.output}, Version: t.session.opt.Sessions.Version}
	prompt := kind.Prompt
	if kind.own == nil { // Otherwise its prompt names the recipient.
		prompt = joined(prompt, subAgentPrompt)
	}
	opt.System = joined(opt.System, prompt)
	if opt.Workspace != nil {
		w := *opt.Workspace
		w.Append = joined(w.Append, prompt)
		w.NoProject = w.NoProject || kind.plain
		opt.Workspace, env.Files = &w, nil // A sub-agent keeps its own record of files read.
	}
	sub := newAgent(&session{opt: opt, parent: t.session, hooks: t.session.hooks, agentName: name,
		running: t.session.running, fallingBack: fallingBack{gaveUp: t.session.gaveUp}}, t.agent.spent)
	if kind.own == nil { // a part of a review has steps of its own
		sub.steps = t.requests.steps
	}
	if err := sub.open(nil); err != nil {
		return nil, err
	}
	parent := t.agent
	sub.keeper.journal, sub.keeper.approved = parent.keeper.journal, parent.keeper.approved
	sub.confined, sub.tally = parent.confined, parent.tally
	return sub, nil
}

func (w *subAgentCall) own(c Call) Call {
	c.Parent, c.Agent = w.call.ID, w.name
	c.ID = w.call.ID + "/" + c.ID
	return c
}

func (w *subAgentCall) OnToolCall(c Call) { w.turn.cb.OnToolCall(w.own(c)) }

func (w *subAgentCall) OnToolOutput(c Call, chunk string) { w.turn.cb.OnToolOutput(w.own(c), chunk) }

func (w *subAgentCall) OnToolResult(c Call, r CallResult) {
	w.mu.Lock()
	w.done = append(w.done, fmt.Sprintf("- %s %s: %s", c.Access.Verb, firstLine(c.Access.Object), cmp.Or(r.Summary, string(r.Status))))
	if c.Access.Kind == tool.KindWrite && r.Status == CallOK {
		w.files = append(w.files, c.Access.Paths...)
	}
	w.mu.Unlock()
	w.turn.cb.OnToolResult(w.own(c), r)
}

func (w *subAgentCall) OnNotice(n Notice) {
	switch n.Kind {
	case NoticeUsage:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests = append(w.requests, *n.Request)
		return
	case NoticeInput:
		in := *n.Input
		in.Parent, in.Agent = w.call.ID, w.name
		w.turn.cb.OnNotice(Notice{Kind: NoticeInput, Input: &in})
		return
	}
	if n.Kind == NoticeAnswered {
		of := *n.Answered
		of.Question.Call = w.own(of.Question.Call)
		w.turn.cb.OnNotice(Notice{Kind: n.Kind, Answered: &of})
		return
	}
	if n.Kind == NoticeRetry { // A sub-agent's text is not shown, so no text is void.
		n.Kind = NoticeInfo
	}
	w.turn.cb.OnNotice(Notice{Kind: n.Kind, Text: w.name + ": " + n.Text})
}

func (w *subAgentCall) Ask(ctx context.Context, q Question) (Answer, error) {
	q.Call = w.own(q.Call)
	return w.turn.cb.Ask(ctx, q)
}

// count counts the requests of a sub-agent as the turn's, once.
func (t *turn) count(w *subAgentCall) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		err = errors.Join(err, t.requests.report(r))
	}
	w.requests = nil
	return err
}

// conclude counts the usage and denials of a call's sub-agent as the turn's, and returns the sub-agent's effect; nil for
// other calls.
func (t *turn) conclude(call string) (effect *provider.Effect, err error) {
	w := t.subAgents[call]
	if w == nil {
		return nil, nil
	}
	err = t.count(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.response.Denied = append(t.response.Denied, w.denied...)
	t.response.Answered = append(t.response.Answered, w.answered...)
	t.response.Background = append(t.response.Background, w.ended...)
	reach := &t.response.Reach
	reach.reached(w.reach)
	if len(w.files) > 0 {
		effect = &provider.Effect{Files: t.session.namesOf(w.files)}
	}
	w.denied, w.answered, w.ended = nil, nil, nil
	return effect, err
}
