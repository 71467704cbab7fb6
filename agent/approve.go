package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/journal"
	"artoo/tool/text"
)

// decide asks the user if the policy says so. After an error, which ends the turn, the call has
// its outcome.
func (c *calls) decide(ctx context.Context, p *pending, stop error) error {
	if stop == nil {
		stop = context.Cause(ctx)
	}
	if p.final {
		return p.halt
	}
	if stop != nil {
		p.interrupted(stop)
		return nil
	}
	if c.session.beside && (!p.reads || p.decision.Verdict == permission.Ask) {
		c.deny(p, "a question beside the session (/btw) only reads, and nobody is asked", false)
		return nil
	}
	if p.decision.Verdict != permission.Refuse && c.passesCap(ctx, p, false) {
		return nil
	}
	if d := &p.decision; d.Verdict == permission.Ask && len(d.Keep) > 0 {
		lost, err := guard(func() (string, error) { return c.keeper.unsaved(d.Keep), nil })
		if err != nil {
			p.crashed(err)
			return nil
		}
		if lost == "" {
			d.Verdict = permission.Run
		} else {
			d.Reasons = append(d.Reasons, permission.Reason{Code: permission.NotKept, Object: lost})
		}
	}
	switch p.decision.Verdict {
	case permission.Run:
		return nil
	case permission.Ask:
		return p.asks.ask(ctx, p)
	}
	c.deny(p, p.decision.Reason(), false)
	return p.halt
}

// passesCap denies a call of a file tool that would pass a cap on effects, and reports whether it did. With lands it is
// about to run: its landed has to be called once it has ended, or is not to run.
func (c *calls) passesCap(ctx context.Context, p *pending, lands bool) bool {
	p.landed = func() {}
	if c.keeper.tally == nil || p.call.Access.Kind != tool.KindWrite {
		return false
	}
	list, err := effectsOf(p.call.Access)
	switch {
	case err != nil:
	case lands:
		var landed func()
		if landed, err = c.keeper.tally.land(ctx, list); err == nil {
			p.landed = landed
		}
	default:
		err = c.keeper.tally.admit(ctx, list)
	}
	if err != nil {
		c.deny(p, err.Error(), false)
	}
	return err != nil
}

func (c *calls) deny(p *pending, reason string, nobody bool) {
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
	p.refusal = &reason
	p.end(CallResult{Status: status, Text: text, Summary: summary})
	d := p.denial(reason, nobody)
	d.Rule, d.Code = p.decision.Narrow, p.decision.Cause()
	c.response.Denied = append(c.response.Denied, d)
}

// unanswered denies a call since no one answered its question, or the hook on that question failed.
func (c *calls) unanswered(p *pending, err error, reason string) {
	if !errors.As(err, new(hookError)) {
		c.deny(p, reason, true)
		return
	}
	c.deny(p, err.Error(), false)
	c.response.Denied[len(c.response.Denied)-1].Nobody = true
}

// askAfter asks about a command that has run.
func (c *calls) askAfter(ctx context.Context, p *pending, q Question) (Answer, error) {
	p.asks.number++
	p.asks.of = max(p.asks.of, p.asks.number)
	q.Call, q.Dir, q.Number, q.Of = p.call, c.session.opt.Env.Dir, p.asks.number, p.asks.of
	return c.ask(ctx, p, q)
}

// ask asks until there is a clear answer. The error ends the turn: an interrupt, or the user's wish.
func (a *prompter) ask(ctx context.Context, p *pending) error {
	a.number++
	a.of = max(a.of, a.number)
	for {
		decision := p.decision
		answer, err := a.calls.ask(ctx, p, Question{
			Kind: QuestionApproval, Call: p.call, Dir: a.calls.session.opt.Env.Dir, Reason: decision.Reason(), Reasons: decision.Reasons, Own: decision.Own,
			Place: decision.Place, Network: a.calls.session.opt.Policy.Confinement.Network,
			Rule: decision.Narrow, Suggested: decision.Suggested, Number: a.number, Of: a.of,
			Covers: func(rule string) error {
				_, err := a.calls.session.opt.Policy.Covers(rule, p.tool.Name, p.call.Access)
				return err
			},
		})
		switch {
		case context.Cause(ctx) != nil:
			p.interrupted(context.Cause(ctx))
			return context.Cause(ctx)
		case errors.Is(err, ErrNobody):
			a.calls.unanswered(p, err, decision.Reason())
			return nil
		case err != nil:
			a.calls.deny(p, err.Error(), false)
			return nil
		}
		if answer.Input != nil {
			err = a.replace(ctx, p, answer)
			switch {
			case err != nil && answer.Verdict == Yes:
				a.calls.deny(p, err.Error(), false)
				return nil
			case answer.Verdict == Yes:
				answer.Input = nil
				if p.decision.Verdict == permission.Run {
					return nil
				}
				_, err = a.take(p, answer)
				return err
			case err != nil:
				a.calls.cb.notice(NoticeWarning, err.Error())
			}
			continue // An edited call is not approved yet, even where a rule allows it.
		}
		if ok, err := a.take(p, answer); ok {
			return err
		}
	}
}

// replace sets the user's version of the input, as if the model had sent it.
// One that may not run leaves the call as it was, and is the error.
func (a *prompter) replace(ctx context.Context, p *pending, answer Answer) error {
	before, decision, reads, opinion, halt := p.call, p.decision, p.reads, p.opinion, p.halt
	p.opinion = permission.Opinion{} // It was about the input before.
	p.call.Input = json.RawMessage(answer.Input)
	if !a.calls.marked(p) {
		a.calls.plan(ctx, p)
		a.calls.beforeTool(ctx, p)
	}
	var err error
	switch {
	case p.final:
		err = errors.New("the edited call cannot run: " + a.calls.session.masked(p.outcome.Text))
	case p.decision.Verdict == permission.Refuse:
		err = errors.New("the edited call is denied: " + p.decision.Reason())
	default:
		by := "user"
		if answer.By != "" {
			by = "hook or program " + answer.By
		}
		p.edited = "The " + by + " changed the input of this call before it ran, to: " + string(p.call.Input)
		return nil
	}
	p.final, p.outcome, p.call, p.decision, p.reads = false, CallResult{}, before, decision, reads
	p.opinion, p.halt = opinion, halt
	return err
}

// take acts on an answer. ok is false when it must be asked again.
func (a *prompter) take(p *pending, answer Answer) (ok bool, err error) {
	switch answer.Verdict {
	case Yes:
		a.calls.session.opt.Policy.Seen.Yes(p.decision)
		return true, nil
	case YesForSession, YesForever:
		return a.remember(p, answer), nil
	case StopTurn:
		a.calls.deny(p, "the user stopped the turn", false)
		return true, ErrStopped
	}
	a.calls.deny(p, answer.Reason, false)
	return true, nil
}

// remember adds the rule of a lasting yes. One that would not allow this very call is asked again.
func (a *prompter) remember(p *pending, answer Answer) bool {
	if answer.Rule == "" && p.decision.Has(permission.OwnPrograms) {
		if place := a.calls.session.opt.Policy.NoTrust; place != "" {
			a.calls.cb.notice(NoticeWarning, place+": no project is trusted to run its own programs")
			return false
		}
		a.trustPrograms(answer.Verdict == YesForever)
		return true
	}
	rule := cmp.Or(answer.Rule, p.decision.Narrow)
	if err := a.calls.session.opt.Policy.AllowInSession(rule, p.tool.Name, p.call.Access); err != nil {
		a.calls.cb.notice(NoticeWarning, err.Error())
		return false
	}
	if r, err := permission.ParseRule(rule); err == nil && r.Remark() != "" {
		a.calls.cb.notice(NoticeInfo, r.String()+" also covers "+r.Remark())
	}
	if answer.Verdict == YesForever {
		if err := a.save(rule, p); err != nil {
			a.calls.cb.notice(NoticeWarning, "the rule holds for this session only: "+err.Error())
		}
	}
	return true
}

// save keeps a rule permanently, which then also applies to the parent agent.
func (a *prompter) save(rule string, p *pending) error {
	s := a.calls.session
	if s.parent != nil {
		if err := s.parent.opt.Policy.AllowInSession(rule, p.tool.Name, p.call.Access); err != nil {
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

func (a *prompter) trustPrograms(forever bool) {
	for s := a.calls.session; s != nil; s = s.parent {
		if s.opt.Policy.TrustsPrograms = true; !forever {
			break
		}
	}
	if !forever {
		return
	}
	err := errors.New("trust cannot be saved here")
	if save := a.calls.session.opt.TrustPrograms; save != nil {
		err = save()
	}
	if err != nil {
		a.calls.cb.notice(NoticeWarning, "the project is trusted for this session only: "+err.Error())
	}
}

// beforeTool asks the hooks before a call, in order: each sees the input that those before it
// made. Their answers go into the decision. A call that cannot run has no hooks.
func (c *calls) beforeTool(ctx context.Context, p *pending) {
	if p.final {
		return
	}
	var o permission.Opinion
	list := c.session.hooksOnTool(extension.BeforeTool, p)
	for i := 0; i < len(list); i++ {
		k, before := list[i], p.call.Input
		if p.final || o.Verdict == permission.Refuse || !c.session.opt.Policy.Concerns(k.rules, p.tool.Name, p.call.Access) {
			continue
		}
		answer, err := c.session.hooks.ask(ctx, c.session, c.cb, k, c.session.callInput(extension.BeforeTool, p))
		switch {
		case ctx.Err() != nil:
			return // decide interrupts the call
		case err != nil && k.passes(err):
			c.session.hooks.warnFailed(c.session, c.cb, k, err)
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
		case err != nil && k.passes(err):
			c.session.hooks.warnFailed(c.session, c.cb, k, err)
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

// questionsForHooks are the questions that hooks may answer.
var questionsForHooks = []QuestionKind{QuestionApproval, QuestionChanges, QuestionOutside, QuestionWhole}

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

// commandReads reports whether a call runs a command that only reads, unasked, and ends with it.
func (p *pending) commandReads() bool {
	return !p.final && p.tool.Kind == tool.KindRun && p.call.Access.Kind == tool.KindRun && !p.call.Access.Background &&
		p.decision.Verdict == permission.Run && p.reads
}

// commandChanges reports whether a call runs a command that may change something.
func (p *pending) commandChanges() bool {
	return p.tool != nil && p.tool.Kind == tool.KindRun && !p.final && !p.reads
}

// onlyReads reports whether a tool changes nothing, whatever it is called with.
func onlyReads(t *tool.Tool) bool {
	return t != nil && !t.ByLoop() && (t.Kind == tool.KindRead || t.Kind == tool.KindNone)
}

// changesHere reports whether a call may change files, or the basis of decisions over other calls.
func (p *pending) changesHere() bool {
	elsewhere := p.call.Access.Kind == tool.KindServer && (p.call.Access.Reads || !p.call.Access.Local)
	return !p.final && !onlyReads(p.tool) && !isTask(p.tool) && p.tool.Kind != tool.KindNetwork && !elsewhere && !p.commandReads()
}

func newPending(calls []provider.ToolCall, i int) *pending {
	return &pending{wire: calls[i].Name, call: Call{ToolCall: calls[i], Index: i, Of: len(calls), Access: tool.Access{Verb: calls[i].Name}}}
}

func (p *pending) end(r CallResult) {
	p.outcome, p.final = r, true
}

func (p *pending) fail(summary, text string) {
	p.end(CallResult{Status: CallFailed, Summary: summary, Text: text})
}

func (p *pending) crashed(err error) { p.fail(firstLine(err.Error()), err.Error()) }

func (p *pending) interrupted(why error) {
	text := fmt.Sprintf("interrupted: not run, since the turn was stopped (%v)", why)
	p.end(CallResult{Status: CallInterrupted, Summary: "not run", Text: text})
}

func outcomeOf(ctx context.Context, r tool.Result, err error, took time.Duration) CallResult {
	out := CallResult{Status: CallOK, Text: r.Text, Summary: r.Summary, Duration: took.Seconds()}
	switch {
	case ctx.Err() != nil && (err != nil || r.IsError):
		out.Status, out.Summary = CallInterrupted, "interrupted"
		out.Text = strings.TrimSpace("interrupted: the turn was stopped while this ran\n" + r.Text)
	case err != nil:
		out.Status, out.Text = CallFailed, err.Error()
		out.Summary = firstLine(err.Error())
	case r.IsError:
		out.Status = CallFailed
		said := r.Text
		if r.Printed != nil { // The summary says how the command ended.
			said = *r.Printed
		}
		if tail := lastLines(said, 5); tail != r.Summary {
			out.Tail = tail
		}
	}
	return out
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// effect is that of a call, for when the call is no longer sent; nil for none.
func (p *pending) effect(s *session) *provider.Effect {
	if decided := p.decided(s); decided != "" {
		return &provider.Effect{Decided: decided}
	}
	if p.final {
		return nil
	}
	a := p.call.Access
	switch {
	case a.Kind == tool.KindRun && a.Command != "" && a.To == "":
		end, _, _ := strings.Cut(p.outcome.Summary, " in ") // how long it took is no longer of use
		return &provider.Effect{Command: s.masked(a.Command), End: end}
	case a.Kind == tool.KindWrite && p.outcome.Status == CallOK && len(a.Paths) > 0:
		return &provider.Effect{Files: s.namesOf(a.Paths)}
	}
	return nil
}

// decided is the user's decision on a call, "" for none.
func (p *pending) decided(s *session) string {
	switch {
	case p.outcome.Status == CallDenied && p.refusal != nil:
		return s.masked(firstLine(p.call.Access.Object)) + " was refused" + because(firstLine(*p.refusal))
	case p.outcome.Status != CallOK:
		return ""
	}
	return s.masked(p.answered)
}

// How often one call may have one result. A failing call that is repeated gets a remark for the
// model first, and ends the turn then. Another one gets the remark once.
const (
	tellRepeats = 3
	stopRepeats = 6
	tellSame    = 5
)

// A call that takes so long, or is made again after so long, waits for something.
const (
	waitsItself  = time.Second
	waitsBetween = 20 * time.Second
)

func (p *pending) key() string { return p.call.Name + "\x00" + string(p.call.Input) + p.call.Raw }

// sumOf is the checksum of a text, which is not copied for it: it may be very long.
func sumOf(text string) (sum [sha256.Size]byte) {
	h := sha256.New()
	// Write of a hash cannot fail. The wrapper hides WriteTo, which would copy the text.
	_, _ = io.Copy(h, struct{ io.Reader }{strings.NewReader(text)})
	h.Sum(sum[:0])
	return sum
}

// count counts a call that ended, and returns the note for the model. A change by another
// call, or another result, starts the count again.
func (r repeats) count(p *pending) string {
	if p.outcome.Status == CallInterrupted {
		return ""
	}
	key, failed, result := p.key(), p.outcome.Status != CallOK, sumOf(p.outcome.Text)
	if !failed && !p.reads {
		for other := range r {
			if other != key {
				delete(r, other)
			}
		}
	}
	this := r[key]
	if this == nil || this.failed != failed || this.result != result {
		this = &repeat{result: result, failed: failed}
		r[key] = this
	}
	this.times++
	waits := p.outcome.Duration >= waitsItself.Seconds() || this.times > 1 && time.Since(this.last) >= waitsBetween
	this.last = time.Now()
	switch {
	case !failed && this.times >= tellSame && !this.notified:
		this.notified = true
		return fmt.Sprintf(
			"This very call has now given the same result %d times. It says nothing new until something changes.",
			this.times)
	case failed && waits && this.times >= tellRepeats:
		n := this.times
		this.times = tellRepeats - 1 // it may be waiting for something: that ends by itself
		if this.notified {
			return ""
		}
		this.notified = true
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"If you are waiting for something, look whether it can still come.", n)
	case failed && this.times >= tellRepeats:
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"Do something else, or say what is in the way; to wait for something, put a sleep before the call.", this.times)
	}
	return ""
}

func (r repeats) over(batch []*pending) error {
	for _, p := range batch {
		if this := r[p.key()]; this != nil && this.failed && this.times >= stopRepeats {
			return capFailure(
				fmt.Sprintf("the model made the same call of %s %d times in a row, and it failed in the same way each time",
					p.call.Name, stopRepeats), "another message that says what to do instead")
		}
	}
	return nil
}

// readsAlone reports whether a call's command runs read-only.
func (p *pending) readsAlone() bool { return p.decision.Place == permission.PlaceReadOnly }

// policy has the call decided. The error is a crash.
func (c *calls) policy(p *pending) (err error) {
	p.decision, err = guard(func() (permission.Decision, error) {
		if kind := p.call.Access.Kind; kind == tool.KindRun || kind == tool.KindServer {
			c.session.learnKeys()
		}
		if files := c.session.opt.Env.Files; files != nil && p.call.Access.Kind == tool.KindRun {
			files.Runs(c.session.opt.Policy.Runs(p.call.Access))
		}
		return c.session.opt.Policy.Decide(p.tool.Name, p.call.Access).Heeding(p.opinion, c.session.opt.Policy.Mode), nil
	})
	if rule := p.decision.Narrow; c.session.masked(rule) != rule { // It would be shown, and kept in a file.
		p.decision.Narrow, p.decision.Suggested = "", ""
	}
	p.mode = c.session.opt.Policy.Mode
	p.reads = onlyReads(p.tool) || p.readsOnServer() || p.decision.Reads
	return err
}

func (c *calls) plan(ctx context.Context, p *pending) {
	fits := true
	access, err := guard(func() (tool.Access, error) {
		if err := p.tool.Check(p.call.Input); err != nil {
			fits = false
			return tool.Access{}, err
		}
		p.call.Input = p.tool.Repair(p.call.Input) // Hooks, questions and events name properties as the tool does.
		return p.tool.Plan(ctx, c.session.opt.Env, p.call.Input)
	})
	if access.Verb != "" {
		p.call.Access = access
		p.call.Access.Diff = c.session.maskedDiff(access.Diff)
	}
	switch {
	case !fits:
		p.fail("broken input", err.Error())
	case err != nil:
		p.fail(firstLine(err.Error()), err.Error())
		return
	}
	p.call.Access.ToConfined = c.background.confines(access.To)
	if err := c.policy(p); err != nil {
		p.fail(firstLine(err.Error()), err.Error())
	}
}

// readsOnServer reports whether a call is one of a server's tool that the user lists as reading.
func (p *pending) readsOnServer() bool {
	return p.call.Access.Kind == tool.KindServer && p.call.Access.Reads
}

func (p *pending) denial(reason string, nobody bool) Denial {
	return Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: reason, Nobody: nobody}
}

func isTask(t *tool.Tool) bool { return t != nil && t.ByLoop() && t.Name == "task" }

func rowsOf(e permission.Effects) string { return text.UpTo(mostNamed, e.Short()) }

func (l *backgroundCalls) add(p *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, p)
}

func (l *backgroundCalls) confines(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return line != "" && slices.ContainsFunc(l.calls, func(p *pending) bool { return p.job.Line == line && p.confined != nil })
}

// ended removes those that have ended.
func (l *backgroundCalls) ended() (calls []*pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(p *pending) bool {
		if !p.job.Runs() {
			calls = append(calls, p)
			return true
		}
		return false
	})
	return calls
}

func (l *backgroundCalls) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.calls, func(p *pending) bool { return !p.job.Runs() })
}

func (l *backgroundCalls) running() []*pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.calls), func(p *pending) bool { return !p.job.Runs() })
}

// keepIn has the files that these commands make moved into another journal; see madeGuarded.
func (l *backgroundCalls) keepIn(j *journal.Journal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.calls {
		if p.made != nil {
			p.made.keepIn(j)
		}
	}
}

// protectRunning protects the files that a landing replaced from background commands.
func (b *backgroundCalls) protectRunning(cb *serial) {
	for _, p := range b.running() {
		if p.confined == nil {
			continue
		}
		if err := p.confined.Protect(); err != nil {
			cb.notice(NoticeWarning, "background command "+p.job.ID+" may write files that programs run automatically: "+err.Error())
		}
	}
}
