package conversation

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

// TestAllFieldsAreKept fails when a field of a part is written to a session and
// not read back.
func TestAllFieldsAreKept(t *testing.T) {
	t.Parallel()
	image := provider.Image{MediaType: "image/png", Data: []byte{1, 2}, Name: "n", Bytes: 2, SHA256: "s"}
	m := provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "m", Answered: "a", InsteadOf: "q/n", Partial: true,
		Parts: []provider.Part{
			provider.Text{Note: provider.NoteGit, Text: "t", Opaque: "o", Skill: "s"},
			provider.Reasoning{Text: "t", Form: "f", Opaque: "o"},
			image,
			provider.ToolCall{ID: "i", Name: "n", Input: []byte(`{"a":1}`), Raw: "r", Opaque: "o"},
			provider.ToolResult{CallID: "i", Name: "n", Text: "t", Images: []provider.Image{image}, IsError: true, By: "hook",
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
