package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A part that cannot be read is named, and the other parts of a result, a prompt and a resource stay.
func TestAPartThatCannotBeReadLosesNoOther(t *testing.T) {
	t.Parallel()
	for in, into := range map[string]any{
		`{"content":[{"type":"text","text":"kept"},{"type":"image","mimeType":"image/png","data":"%%%"},{"type":"image","data":7},null,{"type":"hologram"}]}`:   new(sdk.CallToolResult),
		`{"messages":[{"role":"user","content":{"type":"text","text":"kept"}},{"role":"user","content":{"type":"image","mimeType":"image/png","data":"%%%"}}]}`: new(sdk.GetPromptResult),
		`{"contents":[{"uri":"a:b","text":"kept"},{"uri":"c:d","mimeType":"image/png","blob":"%%%"}]}`:                                                          new(sdk.ReadResourceResult),
	} {
		out := passable(json.RawMessage(in))
		if err := json.Unmarshal(out, into); err != nil || !strings.Contains(string(out), "kept") || !strings.Contains(string(out), "left out: ") || !strings.Contains(string(out), "image/png") {
			t.Errorf("%s: %v", out, err)
		}
	}
	if in := `{"content":[{"type":"text","text":"a"}],"isError":true}`; string(passable(json.RawMessage(in))) != in {
		t.Error("a whole result is changed")
	}
}

// A tool that runs only as a task of the older protocol is left out, with a word.
func TestAToolThatRunsOnlyAsATaskIsRefused(t *testing.T) {
	t.Parallel()
	var list sdk.ListToolsResult
	out := passable(json.RawMessage(`{"tools":[{"name":"research","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
		{"name":"echo","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`))
	if err := json.Unmarshal(out, &list); err != nil || len(list.Tools) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	for i, want := range []string{"only as a task", ""} {
		if d, err := define(list.Tools[i]); err != nil || want == "" && d.Refused != "" || !strings.Contains(d.Refused, want) {
			t.Errorf("%s: %q, %v", list.Tools[i].Name, d.Refused, err)
		}
	}
}
