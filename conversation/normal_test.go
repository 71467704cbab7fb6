package conversation

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

// TestNormal holds messages to what their line would be read back as, whether
// or not they take the short way.
func TestNormal(t *testing.T) {
	text := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "m", Parts: parts}
	}
	for name, c := range map[string]struct {
		m     provider.Message
		short bool
	}{
		"text":    {text(provider.Text{Text: "a <b> & \u2028 \"c\"\x00\n 狐"}), true},
		"several": {text(provider.Text{Text: "a"}, provider.Text{Opaque: "+/="}), true},
		"partial": {provider.Message{Role: provider.RoleAssistant, Partial: true,
			Parts: []provider.Part{provider.Text{Text: "a"}}}, true},
		"broken text":   {text(provider.Text{Text: "a\xffb"}), false},
		"broken opaque": {text(provider.Text{Text: "a", Opaque: "\xff"}), false},
		"broken model": {provider.Message{Role: provider.RoleUser, Model: "\xff",
			Parts: []provider.Part{provider.Text{Text: "a"}}}, false},
		"call": {text(provider.Text{Text: "a"},
			provider.ToolCall{ID: "1", Name: "n", Input: json.RawMessage(`{"a": 1}`)}), false},
		"reasoning": {text(provider.Reasoning{Text: "hm"}), false},
		"result, images": {provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: "1", Images: []provider.Image{}}}}, false},
	} {
		if got := onlyText(c.m); got != c.short {
			t.Errorf("%s: onlyText = %v", name, got)
		}
		got, err := normal(c.m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		line, err := provider.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		var want provider.Message
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-read back +kept)\n%s", name, diff)
		}
	}
	m := text(provider.Text{Text: "a"})
	kept, err := normal(m)
	if err != nil {
		t.Fatal(err)
	}
	m.Parts[0] = provider.Text{Text: "changed"}
	if kept.Text() != "a" {
		t.Error("what is kept changes with the caller's message")
	}
}

// TestAllFieldsAreKept fails when a field of a part is written to a session and
// not read back.
func TestAllFieldsAreKept(t *testing.T) {
	image := provider.Image{MediaType: "image/png", Data: []byte{1, 2}, Name: "n", Bytes: 2, SHA256: "s"}
	m := provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "m", Answered: "a", Partial: true,
		Parts: []provider.Part{
			provider.Text{Note: provider.NoteGit, Text: "t", Opaque: "o"},
			provider.Reasoning{Text: "t", Form: "f", Opaque: "o"},
			image,
			provider.ToolCall{ID: "i", Name: "n", Input: []byte(`{"a":1}`), Raw: "r", Opaque: "o"},
			provider.ToolResult{CallID: "i", Name: "n", Text: "t", Images: []provider.Image{image}, IsError: true,
				File: "f", Effect: &provider.Effect{Files: []string{"f"}, Command: "c", End: "e"}},
		}}
	for _, p := range m.Parts {
		v := reflect.ValueOf(p)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%T: this test leaves %s out", p, v.Type().Field(i).Name)
			}
		}
	}
	got, err := normal(m)
	must(t, err)
	if diff := cmp.Diff(m, got); diff != "" {
		t.Error(diff)
	}
}
