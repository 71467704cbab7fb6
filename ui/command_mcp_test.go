package ui

import (
	"reflect"
	"testing"

	"artoo/tool/mcp"
)

func TestCommandsNameServersPrompts(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string][2]string{"mcp:s:greet": {"s", "greet"}, "mcp:s": {"s", ""}, "mcp:b:s:greet": {"b:s", "greet"}} {
		if server, prompt, ok := mcpPrompt(typed); !ok || server != want[0] || prompt != want[1] {
			t.Errorf("%s: %q %q %t", typed, server, prompt, ok)
		}
	}
	if _, _, ok := mcpPrompt("mcp"); ok {
		t.Error("/mcp names no prompt")
	}
	for typed, want := range map[string]map[string]string{
		"":                               {},
		"who=Ada":                        {"who": "Ada"},
		`who="Ada Lovelace" from=London`: {"who": "Ada Lovelace", "from": "London"},
		`a=1  b= c="x=\"y\""`:            {"a": "1", "b": "", "c": `x="y"`},
	} {
		if got, err := promptValues(typed); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", typed, got, err)
		}
	}
	for _, typed := range []string{"Ada", "=x", `"a b"=c`} {
		if got, err := promptValues(typed); err == nil {
			t.Errorf("%q: %v", typed, got)
		}
	}
}

// A prompt's text is the server's, and is sent as such.
func TestAServersPromptIsFramed(t *testing.T) {
	t.Parallel()
	text, parts := promptMessage("s", "greet", []mcp.Message{{Role: "user", Content: mcp.Content{Kind: mcp.Text, Text: "Greet Ada."}},
		{Role: "assistant", Content: mcp.Content{Kind: mcp.Text, Text: "Hello."}}, {Content: mcp.Content{Kind: mcp.Image, Data: []byte{1}}}})
	want := "The prompt greet of the MCP server s, as the server gives it:\n\nGreet Ada.\n\n(an answer that the prompt gives:)\nHello."
	if text != want || len(parts) != 1 {
		t.Errorf("%q, %d parts", text, len(parts))
	}
	if text, parts := promptMessage("s", "greet", nil); text != "" || parts != nil {
		t.Errorf("an empty one: %q, %v", text, parts)
	}
}
