package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
)

// prepare finds the tool, checks the input and plans the call.
func (t *turn) prepare(ctx context.Context, calls []provider.ToolCall, i int) *pending {
	c := calls[i]
	p := newPending(calls, i)
	p.tool, p.call.Input = builtin.FindCall(t.opt.Tools, c.Name, c.Input)
	if p.tool != nil && c.Raw != "" {
		if text, ok := p.tool.FromText(c.Raw); ok {
			c.Raw, p.call.Input = "", text
		}
	}
	mark := marked(string(p.call.Input))
	switch {
	case p.tool == nil:
		p.fail("unknown tool", strings.TrimSpace(fmt.Sprintf("There is no tool %q. The tools are: %s. %s", c.Name, t.toolNames(),
			tool.Instead(c.Name))))
	case c.Raw != "":
		p.fail("broken input", t.brokenInput(c))
	case mark != "" && !(p.tool.Marks && t.opt.Env != nil && t.opt.Env.Secrets != nil):
		p.fail("a mark in place of a key",
			fmt.Sprintf("Not run: %s stands for a key that you are not shown, and would be taken as it stands. "+
				"Leave that part of the text alone, name the variable or the file that holds the key, or ask the user.",
				mark))
	default:
		t.plan(ctx, p)
	}
	return p
}

func newPending(calls []provider.ToolCall, i int) *pending {
	return &pending{call: Call{ToolCall: calls[i], Index: i, Of: len(calls), Access: tool.Access{Verb: calls[i].Name}}}
}

// brokenInput tells the model why an input could not be read.
func (t *turn) brokenInput(c provider.ToolCall) string {
	raw, why := c.Raw, "is not a JSON object"
	if key, twice := provider.DuplicateKey([]byte(raw)); twice {
		why = fmt.Sprintf("names %q twice in one object, and nobody can tell which of the two is meant", key)
	}
	if json.Valid([]byte(raw)) && strings.HasPrefix(raw, "{") && why == "is not a JSON object" {
		why = "was not in the form that the server reads"
	}
	if remark := t.tooLarge[c.ID]; remark != "" {
		why = remark + " (write less at once)"
	}
	return fmt.Sprintf("The input of this call %s, so it was not run. It begins: %s", why, preview(raw, 300))
}

func (t *turn) plan(ctx context.Context, p *pending) {
	fits := true
	access, err := guard(func() (tool.Access, error) {
		if err := p.tool.Check(p.call.Input); err != nil {
			fits = false
			return tool.Access{}, err
		}
		return p.tool.Plan(ctx, t.opt.Env, p.call.Input)
	})
	if access.Verb != "" {
		p.call.Access = access
		p.call.Access.Diff = t.maskedDiff(access.Diff)
	}
	switch {
	case !fits:
		p.fail("broken input", err.Error())
	case err != nil:
		p.fail(firstLine(err.Error()), err.Error())
		return
	}
	p.call.Access.ToConfined = t.background.confines(access.To)
	if err := t.policy(p); err != nil {
		p.fail(firstLine(err.Error()), err.Error())
	}
}

// policy has the call decided. The error is a crash.
func (t *turn) policy(p *pending) (err error) {
	p.decision, err = guard(func() (permission.Decision, error) {
		return t.opt.Policy.Decide(p.tool.Name, p.call.Access), nil
	})
	p.mode = t.opt.Policy.Mode
	p.reads = onlyReads(p.tool) || p.readsAlone() || p.decision.Has(permission.ReadsOnly)
	return err
}
