package foreign

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

const claude = `{"type":"queue-operation","operation":"enqueue","sessionId":"s1"}
{"type":"user","uuid":"u1","parentUuid":null,"cwd":"/w","sessionId":"s1","message":{"role":"user","content":"look at it"}}
{"type":"attachment","uuid":"u2","parentUuid":"u1","attachment":{"type":"date"}}
{"type":"user","uuid":"m1","parentUuid":"u2","isMeta":true,"message":{"role":"user","content":"said by the agent"}}
{"type":"assistant","uuid":"a1","parentUuid":"m1","message":{"id":"msg_1","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"msg_1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"I look."}]}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","message":{"id":"msg_1","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/w/a"}}]}}
{"type":"assistant","uuid":"side","parentUuid":"a2","isSidechain":true,"message":{"role":"assistant","content":[{"type":"text","text":"a sub-agent"}]}}
{"type":"user","uuid":"u3","parentUuid":"a3","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no such file"}]}]}}
{"type":"assistant","uuid":"old","parentUuid":"u3","message":{"id":"msg_2","role":"assistant","content":[{"type":"text","text":"an answer that was taken back"}]}}
not JSON
{"type":"assistant","uuid":"a4","parentUuid":"u3","message":{"id":"msg_3","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"It is not there."}]}}
{"type":"user","uuid":"u4","parentUuid":"a4","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AP8="}},{"type":"text","text":"and this?"}]}}
{"type":"last-prompt","lastPrompt":"and this?"}
`

const codex = `{"type":"session_meta","payload":{"id":"c1","cwd":"/w"}}
{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n</environment_context>"}]}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"where it is"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["environments.environment_context"]}}}
{"type":"turn_context","payload":{"model":"gpt-x"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"look at it"}]}}
{"type":"event_msg","payload":{"type":"user_message","message":"look at it"}}
{"type":"response_item","payload":{"type":"reasoning","encrypted_content":"x"}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]}}
{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"t1"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"t2"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"t1","output":"a b"}}
{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"t2","output":{"content":"","success":true}}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}
`

func text(role provider.Role, s string) provider.Message {
	return provider.Message{Role: role, Parts: []provider.Part{provider.Text{Text: s}}}
}

func call(id, name, input string) provider.ToolCall {
	return provider.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

func TestSessionsOfOtherAgents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file string
		want Session
	}{
		"Claude Code": {claude, Session{Agent: "Claude Code", ID: "s1", Dir: "/w", Model: "claude-x", Skipped: 1,
			Messages: []provider.Message{
				text(provider.RoleUser, "look at it"),
				{Role: provider.RoleAssistant, Model: "claude-x", Parts: []provider.Part{provider.Text{Text: "I look."},
					call("t1", "Read", `{"file_path":"/w/a"}`)}},
				resultOf("t1", "Read", "no such file", true),
				{Role: provider.RoleAssistant, Model: "claude-x", Parts: []provider.Part{provider.Text{Text: "It is not there."}}},
				{Role: provider.RoleUser, Parts: []provider.Part{provider.Image{MediaType: "image/png", Data: []byte{0, 255}},
					provider.Text{Text: "and this?"}}},
			}}},
		"Codex": {codex, Session{Agent: "Codex", ID: "c1", Dir: "/w", Model: "gpt-x", Messages: []provider.Message{
			text(provider.RoleUser, "look at it"),
			{Role: provider.RoleAssistant, Model: "gpt-x", Parts: []provider.Part{provider.Text{Text: "I look."},
				call("t1", "shell", `{"command":["ls"]}`), call("t2", "apply_patch", `{"input":"*** Begin"}`)}},
			resultOf("t1", "shell", "a b", false), resultOf("t2", "apply_patch", "(no output)", false),
			{Role: provider.RoleAssistant, Model: "gpt-x", Parts: []provider.Part{provider.Text{Text: "Done."}}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(strings.NewReader(tc.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNoSessionIsSaid(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "hello\n", `{"type":"session","id":"0"}`, `[1,2]`, `{"type":"user"}`,
		`{"type":"session_meta","payload":{"id":"c1"}}`} {
		if s, err := Read(strings.NewReader(file)); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %+v, %v", file, s, err)
		}
	}
}

// FuzzRead feeds any lines: each session read has a message of the user, and no circle of parents blocks it.
func FuzzRead(f *testing.F) {
	f.Add(claude)
	f.Add(codex)
	f.Add(strings.ReplaceAll(claude, `"parentUuid":"u1"`, `"parentUuid":"u4"`))
	f.Fuzz(func(t *testing.T, file string) {
		if s, err := Read(strings.NewReader(file)); err == nil && len(s.Messages) == 0 {
			t.Error("a session without a message")
		}
	})
}
