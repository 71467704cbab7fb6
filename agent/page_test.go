package agent_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
)

// A page that a tool made itself reaches the model as it is; other results of
// that length lose their middle.
func TestAPageIsNotCutOnceMore(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789\n", 3000)
	for _, paged := range []bool{true, false} {
		reader := makeTool("read", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
			return tool.Result{Text: long, Paged: paged}, nil
		})
		a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Call("c1", "read", `{}`), fake.Say("ok")}}, reader)
		mustSend(t, a, &recorder{}, "go")
		got := a.Conversation().Messages()[2].Parts[0].(provider.ToolResult).Text
		if (got == long) != paged {
			t.Errorf("paged %v: %d of %d bytes", paged, len(got), len(long))
		}
	}
}

func TestAPageNeverTakesMoreThanHalfOfTheWindow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, strings.Repeat("a line of a long file\n", 20_000), root, "long.txt")
	for _, c := range []struct{ budget, limit, least, most int }{
		{400_000, 10_000, 90_000, 100 << 10},
		{24_000, 10_000, 9000, 12_000},
		{3000, 10_000, 900, 1500},
		{180_000, 1000, 9000, 10_000},
		{400_000, 45_000, 90_000, 100 << 10},
		{180_000, 45_000, 80_000, 90_000},
	} {
		a := newAgentIn(t, root, newScript(), func(o *agent.Options) {
			o.Model.Info.Context, o.Sessions.Ephemeral = 0, true
			o.MaxContextTokens, o.ToolResultMaxChars = c.budget, c.limit
		})
		input, err := json.Marshal(map[string]any{"path": "long.txt", "limit": 20_000})
		must(t, err)
		r, err := builtin.Read().Run(t.Context(), a.Env(), input, io.Discard)
		if err != nil || len(r.Text) < c.least || len(r.Text) > c.most {
			t.Errorf("budget %d, limit %d: %d bytes, %v", c.budget, c.limit, len(r.Text), err)
		}
	}
}

// A source file of 2,000 lines as most are is seen whole in one call, so that three looks
// at it are three calls.
func TestALookAtALongSourceFileIsOneCall(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, strings.Repeat("\tif err := do(ctx, name); err != nil {\n", 2000), root, "long.go")
	a := newAgentIn(t, root, newScript(), func(o *agent.Options) {
		o.Model.Info.Context, o.Sessions.Ephemeral, o.MaxContextTokens = 200_000, true, 0
	})
	r, err := builtin.Read().Run(t.Context(), a.Env(), json.RawMessage(`{"path":"long.go"}`), io.Discard)
	if err != nil || strings.Contains(r.Text, "to continue") || !strings.Contains(r.Text, "\n  2000\t") {
		t.Errorf("%d bytes, ends %q, %v", len(r.Text), r.Text[max(len(r.Text)-60, 0):], err)
	}
}
