package agent_test

import (
	"context"
	"io"
	"maps"
	"testing"

	"artoo/agent"
	"artoo/provider/fake"
	"artoo/tool"
)

// planCounting is a tool that counts how often each of its calls is planned.
func planCounting(plans map[string]int, name string, kind tool.Kind) tool.Tool {
	return tool.New(tool.Def{Name: name, Kind: kind}, func(_ context.Context, _ *tool.Env, i in) (tool.Access, error) {
		plans[i.Arg]++
		return tool.Access{Kind: kind, Verb: name, Object: i.Arg}, nil
	}, func(context.Context, *tool.Env, in, io.Writer) (tool.Result, error) {
		return tool.Result{Text: "ok"}, nil
	})
}

// The calls of a reply are planned to number the questions, and again when their turn comes.
func TestACallIsPlannedWhenItsTurnComes(t *testing.T) {
	t.Parallel()
	plans := map[string]int{}
	calls := fake.Calls(
		fake.ToolCall("1", "read", `{"arg":"first read"}`), fake.ToolCall("2", "read", `{"arg":"second read"}`),
		fake.ToolCall("3", "write", `{"arg":"first write"}`), fake.ToolCall("4", "write", `{"arg":"second write"}`),
		fake.ToolCall("5", "read", `{"arg":"last read"}`),
	)
	a := newAgent(&fake.Provider{Steps: []fake.Step{calls, fake.Say("done")}}, planCounting(plans, "read", tool.KindRead),
		planCounting(plans, "write", tool.KindWrite))
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {}}}
	mustSend(t, a, cb, "go")
	want := map[string]int{"first read": 2, "second read": 2, "first write": 2, "second write": 2, "last read": 2}
	if !maps.Equal(plans, want) {
		t.Errorf("planned %v, want %v", plans, want)
	}
	if second := cb.asked[1]; second.Number != 2 || second.Of != 2 {
		t.Errorf("question %d of %d, want 2 of 2", second.Number, second.Of)
	}
}
