package agent_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// writing also writes down the calls that the model is writing.
type writing struct{ recorder }

func (w *writing) OnNotice(n agent.Notice) {
	if in := n.Input; in != nil {
		w.add("writing %q %d: %d%s%s", in.Tool, in.Index, in.Bytes, in.Agent, in.Parent)
	}
	w.recorder.OnNotice(n)
}

func TestACallIsReportedWhileTheModelWritesIt(t *testing.T) {
	t.Parallel()
	begun := []provider.Event{provider.Started{}, provider.TextDelta{Text: "I look."},
		provider.CallDelta{Call: 3}, provider.CallDelta{Tool: "look", Call: 3, Bytes: 4}}
	whole := append(begun[:len(begun):len(begun)], provider.CallDelta{Call: 3, Bytes: 7},
		provider.CallDelta{Tool: "look", Call: 5, Bytes: 12},
		provider.Done{Stop: provider.StopToolUse, Tries: 1, Message: provider.Message{Role: provider.RoleAssistant,
			Provider: fake.Name, Model: "m", Parts: []provider.Part{provider.Text{Text: "I look."},
				provider.ToolCall{ID: "a", Name: "look", Input: json.RawMessage(`{"arg":"x"}`)},
				provider.ToolCall{ID: "b", Name: "look", Input: json.RawMessage(`{"arg":"y"}`)}}}})
	gone := &provider.Error{Kind: provider.KindNetwork, Provider: fake.Name}
	synctest.Test(t, func(t *testing.T) {
		p := &fake.Provider{Steps: []fake.Step{{Events: begun, Err: gone}, {Events: whole}, fake.Say("done")}}
		cb := &writing{}
		a := newAgent(&provider.Retrier{Provider: p}, makeTool("look", tool.KindRead, nil))
		a.Opt().Concurrency = 1
		if _, err := a.SendMessage(t.Context(), "go", cb); err != nil {
			t.Fatal(err)
		}
		wantLines(t, cb.lines, "thinking", "thinking done",
			"text I look.", `writing "" 0: 0`, `writing "look" 0: 4`, "notice retry", "thinking", "thinking done",
			"text I look.", `writing "" 0: 0`, `writing "look" 0: 4`, `writing "look" 0: 11`, `writing "look" 1: 12`,
			"call a 0/2", "call b 1/2", "result a ok", "result b ok", "thinking", "thinking done", "text done")
	})
}

func TestACallOfASubAgentIsReportedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	opt, _ := withTasks(map[string][]fake.Step{
		"go":       {fake.Calls(task("t1", "count it")), fake.Say("three")},
		"count it": {fake.Call("x", "look", `{"arg":"a"}`), fake.Say("there are three")},
	}, nil, makeTool("look", tool.KindRead, nil))
	cb := &writing{}
	mustSend(t, made(t, opt), cb, "go")
	wantLines(t, cb.lines[2:6], `writing "task" 0: 52`, "call t1 0/1", `writing "look" 0: 11task 1t1`, "call t1/x 0/1")
}
