package agent_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"artoo/conversation"
	"artoo/provider/fake"
	"artoo/tool"
)

// TestACallLargerThanTheWindowIsNotKept: with it in the history no later request
// would fit.
func TestACallLargerThanTheWindowIsNotKept(t *testing.T) {
	t.Parallel()
	p := narrow(t, 8000, 4)
	then, huge := p.Then, fmt.Sprintf(`{"arg":"%s"}`, strings.Repeat("x", 200_000))
	p.Steps = []fake.Step{fake.Call("c1", "look", huge)}
	ran := 0
	look := makeTool("look", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
		ran++
		return tool.Result{Text: "looked"}, nil
	})
	a := newAgent(p, look)
	a.Asked().Info.Context = 8000
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 6000, OutputDir: t.TempDir()}, nil))
	p.Then = then
	cb := &recorder{}
	for _, message := range []string{"go", "and now?"} {
		if r, err := send(t, a, cb, message); err != nil || r.Text != "noted" {
			t.Fatalf("%s: %+v, %v", message, r, err)
		}
	}
	kept := strings.Join(history(a), "\n")
	if ran != 0 || len(kept) > 10_000 || !strings.Contains(kept, "200010 bytes") {
		t.Errorf("ran %d times; the history is %d bytes: %.2000s", ran, len(kept), kept)
	}
}
