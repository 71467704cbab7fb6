package provider

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessageJSONRoundTripIsStable(t *testing.T) {
	t.Parallel()
	m := Message{
		Role: RoleAssistant, Provider: "anthropic", Model: "m",
		Parts: []Part{
			Reasoning{Text: "a<b", Form: "thinking", Opaque: "sig+/="},
			Text{Text: "x & y"},
			Image{MediaType: "image/png", Data: []byte{0, 255}},
			ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{"path":"<a>"}`)},
			ToolResult{CallID: "c1", Name: "read", Text: "ok", IsError: true},
			Reasoning{},
		},
	}
	first, err := Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","provider":"anthropic","model":"m","parts":[` +
		`{"type":"reasoning","text":"a<b","form":"thinking","opaque":"sig+/="},` +
		`{"type":"text","text":"x & y"},` +
		`{"type":"image","media_type":"image/png","data":"AP8="},` +
		`{"type":"tool_call","id":"c1","name":"read","input":{"path":"<a>"}},` +
		`{"type":"tool_result","call_id":"c1","name":"read","text":"ok","is_error":true},` +
		`{"type":"reasoning"}]}`
	if diff := cmp.Diff(want, string(first)); diff != "" {
		t.Errorf("stable form changed:\n%s", diff)
	}
	var back Message
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, back); diff != "" {
		t.Errorf("round trip:\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"role":"user","parts":[{"type":"hologram"}]}`), &back); err == nil {
		t.Error("an unknown part was accepted")
	}
}
