package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/extension"
	"artoo/tool/text"
)

// foresee is how many of the calls from each one on run side by side: one, or all that read or are sub-agents' work. It
// also counts the questions to come, so that each is numbered.
func (c *calls) foresee(ctx context.Context, calls []provider.ToolCall) []int {
	c.questions = numbering{}
	groups := make([]int, len(calls))
	if len(calls) == 1 {
		return []int{1}
	}
	defer c.session.alone(ctx)()
	beside := make([]bool, len(calls))
	for i := range calls {
		p, over := c.plan(ctx, newPlanned(calls, i))
		d := decided{planned: p}
		if over == nil {
			d, over = c.byPolicy(p, permission.Opinion{})
		}
		if over == nil && d.decision.Verdict == permission.Ask {
			c.questions.of++
		}
		beside[i] = d.runsBeside()
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if groups[i] = 1; beside[i] && i+1 < len(calls) && beside[i+1] {
			groups[i] += groups[i+1]
		}
	}
	return groups
}

func newPlanned(calls []provider.ToolCall, i int) planned {
	return planned{wire: calls[i].Name, call: Call{ToolCall: calls[i], Index: i, Of: len(calls), Access: tool.Access{Verb: calls[i].Name}}}
}

// plan finds the tool of a call, and what the call would touch.
func (c *calls) plan(ctx context.Context, p planned) (planned, *settled) {
	raw := p.call.Raw
	p.tool, p.call.Input = builtin.FindCall(c.session.opt.Tools, p.wire, p.call.Input)
	if p.tool != nil && p.tool.FromText != nil && raw != "" {
		if input, ok := p.tool.FromText(raw); ok {
			raw, p.call.Input = "", input
		}
	}
	p, over := c.serverCall(p)
	switch {
	case over != nil:
		return p, over
	case p.tool == nil:
		return p, p.failed("unknown tool", strings.TrimSpace(fmt.Sprintf("There is no tool %q. The tools are: %s. %s",
			p.wire, c.session.toolNames(), tool.Instead(p.wire))))
	case raw != "":
		return p, p.failed("broken input", c.brokenInput(p.call.ID, raw))
	}
	return c.planInput(ctx, p)
}

func (c *calls) brokenInput(id, raw string) string {
	why := "is not a JSON object"
	if key, twice := provider.DuplicateKey([]byte(raw)); twice {
		why = fmt.Sprintf("has the duplicate key %q", key)
	} else if json.Valid([]byte(raw)) && strings.HasPrefix(raw, "{") {
		why = "was not in the form that the server reads"
	}
	if remark := c.session.tooLarge[id]; remark != "" {
		why = remark + " (write less at once)"
	}
	return fmt.Sprintf("The input of this call %s, so it was not run. It begins: %s", why, text.Clip(raw, 300))
}

// planInput asks the tool what a call would touch with its input.
func (c *calls) planInput(ctx context.Context, p planned) (planned, *settled) {
	env := c.session.opt.Env
	if mark := marked(string(p.call.Input)); mark != "" && !(p.tool.Marks && env != nil && env.Secrets != nil) {
		return p, p.failed("it contains a masked key", fmt.Sprintf("Not run: %s stands for a key that you are not shown, "+
			"and would be taken as it stands. Leave that part of the text alone, name the variable or the file that holds "+
			"the key, or ask the user.", mark))
	}
	fits := true
	access, err := guard(func() (tool.Access, error) {
		if err := p.tool.Check(p.call.Input); err != nil {
			fits = false
			return tool.Access{}, err
		}
		p.call.Input = p.tool.Repair(p.call.Input) // Hooks, questions and events name properties as the tool does.
		return p.tool.Plan(ctx, env, p.call.Input)
	})
	if access.Verb != "" {
		p.call.Access = access
		p.call.Access.Diff = c.session.maskedDiff(access.Diff)
	}
	switch {
	case !fits:
		return p, p.failed("broken input", err.Error())
	case err != nil:
		return p, p.failed(firstLine(err.Error()), err.Error())
	}
	p.call.Access.ToConfined = c.background.confines(access.To)
	return p, nil
}

// decide decides on a planned call: the policy, the hooks before it, and what the journal keeps.
func (c *calls) decide(ctx context.Context, p planned, over *settled) (decided, *settled) {
	if over != nil {
		return decided{planned: p}, over
	}
	d, over := c.byPolicy(p, permission.Opinion{})
	if over == nil {
		d, over = c.heedHooks(ctx, d)
	}
	if over == nil {
		d, over = c.keepFirst(ctx, d)
	}
	return d, over
}

// keepFirst has the journal keep what a command may lose, where that makes a question needless.
func (c *calls) keepFirst(ctx context.Context, d decided) (decided, *settled) {
	if len(d.decision.Keep) == 0 || ctx.Err() != nil {
		return d, nil
	}
	lost, err := guard(func() (string, error) { return c.keeper.unsaved(d.decision.Keep), nil })
	if err != nil {
		return d, d.crashed(err)
	}
	d.decision = d.decision.Kept(lost)
	return d, nil
}

// byPolicy is the policy's decision, heeding an opinion.
func (c *calls) byPolicy(p planned, o permission.Opinion) (decided, *settled) {
	policy, access := c.session.opt.Policy, p.call.Access
	d := decided{planned: p, opinion: o, mode: policy.Mode}
	var err error
	d.decision, err = guard(func() (permission.Decision, error) {
		if access.Kind == tool.KindRun || access.Kind == tool.KindServer {
			c.session.learnKeys()
		}
		if files := c.session.opt.Env.Files; files != nil && access.Kind == tool.KindRun {
			files.Runs(policy.Runs(access))
		}
		return policy.Decide(p.tool.Name, access).Heeding(o, policy.Mode), nil
	})
	if err != nil {
		return d, p.crashed(err)
	}
	if rule := d.decision.Narrow; c.session.masked(rule) != rule { // It would be shown, and kept in a file.
		d.decision.Narrow, d.decision.Suggested = "", ""
	}
	d.reads = onlyReads(p.tool) || d.readsOnServer() || d.decision.Reads
	return d, nil
}

// heedHooks asks the hooks before a call, in order: each sees the input that those before it made. Their answers go into
// the decision.
func (c *calls) heedHooks(ctx context.Context, d decided) (decided, *settled) {
	policy := c.session.opt.Policy
	var over *settled
	list := c.session.hooksOnTool(extension.BeforeTool, d.planned)
	for i := 0; i < len(list); i++ {
		k, before := list[i], d.call.Input
		if over != nil || d.opinion.Verdict == permission.Refuse || !policy.Concerns(k.rules, d.tool.Name, d.call.Access) {
			continue
		}
		answer, err := c.session.hooks.ask(ctx, c.session, c.cb, k, c.session.callInput(extension.BeforeTool, d))
		switch {
		case ctx.Err() != nil:
			return d, nil // The next stage interrupts the call.
		case err != nil && k.passes(err):
			c.session.hooks.warnFailed(c.session, c.cb, k, err)
		case err != nil:
			d.opinion = permission.Opinion{Verdict: permission.Refuse, Failed: true, Object: err.Error()}
		default:
			d, over = c.heed(ctx, d, k, answer)
		}
		if k.Source != extension.SourcePolicy && !bytes.Equal(before, d.call.Input) { // The policy's see the call that runs.
			for _, earlier := range list[:i] {
				if earlier.Source == extension.SourcePolicy {
					list = append(list, earlier)
				}
			}
		}
	}
	d.decision = d.decision.Heeding(d.opinion, policy.Mode)
	return d, over
}

// heed adds a hook's answer before a call to those of the hooks before it.
func (c *calls) heed(ctx context.Context, d decided, k hook, answer hookAnswer) (next decided, over *settled) {
	if answer.Context != "" {
		d.remarks = append(d.remarks, k.remark("adds", answer.Context))
	}
	o := d.opinion
	if answer.Input != nil && !sameJSON(answer.Input, d.call.Input) {
		if o.Verdict == permission.Run {
			o = permission.Opinion{} // It was about another input.
		}
		p := d.planned
		p.call.Input = answer.Input
		p.edited = "The hook " + k.called() + " changed the input of this call before it ran, to: " + string(answer.Input)
		halt := d.halt
		if p, over = c.planInput(ctx, p); over == nil {
			d, over = c.byPolicy(p, permission.Opinion{})
		} else {
			d.planned = p
		}
		d.halt = halt
	}
	verdict := answer.Decision
	if answer.Stop != nil && *answer.Stop {
		verdict = permission.Refuse
		d.halt = k.stopped(answer.Reason)
	}
	switch {
	case verdict == "", verdict == permission.Run && o.Verdict != "":
	case verdict == permission.Ask && o.Verdict == permission.Ask:
		o.Object += "; " + k.says(answer.Reason)
	default:
		o = permission.Opinion{Verdict: verdict, Object: k.says(answer.Reason)}
	}
	if d.opinion = o; over != nil {
		over.stop = d.halt
	}
	return d, over
}

// commandReads reports whether a call runs a command that only reads, unasked, and ends with it.
func (d decided) commandReads() bool {
	return d.tool.Kind == tool.KindRun && d.call.Access.Kind == tool.KindRun && !d.call.Access.Background &&
		d.decision.Verdict == permission.Run && d.reads
}

// runsBeside reports whether a call may run beside others.
func (d decided) runsBeside() bool {
	return d.tool != nil && (onlyReads(d.tool) || isTask(d.tool) || d.readsOnServer() || d.commandReads())
}

// changesHere reports whether a call may change files, or the basis of decisions over other calls.
func (d decided) changesHere() bool {
	elsewhere := d.call.Access.Kind == tool.KindServer && (d.call.Access.Reads || !d.call.Access.Local)
	return !onlyReads(d.tool) && !isTask(d.tool) && d.tool.Kind != tool.KindNetwork && !elsewhere && !d.commandReads()
}

// readsOnServer reports whether a call is one of a server's tool that the user lists as reading.
func (d decided) readsOnServer() bool {
	return d.call.Access.Kind == tool.KindServer && d.call.Access.Reads
}

// onlyReads reports whether a tool changes nothing, whatever it is called with.
func onlyReads(t *tool.Tool) bool {
	return t != nil && !t.ByLoop() && (t.Kind == tool.KindRead || t.Kind == tool.KindNone)
}

func isTask(t *tool.Tool) bool { return t != nil && t.ByLoop() && t.Name == "task" }
