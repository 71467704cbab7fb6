package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/web"
)

// TestWrongCallsOfOwnToolsAreTakenOrAnswered plays calls in the shapes of other
// programs' tools.
func TestWrongCallsOfOwnToolsAreTakenOrAnswered(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "calls.txt")
	data, err := os.ReadFile(path)
	must(t, err)
	tools := append(builtin.Tools(builtin.BashOptions{Path: "/bin/bash", Confined: true, Ask: true}), builtin.WebSearch(&web.Engine{Name: "brave"}))
	tools = append(tools, agent.OwnTools([]agent.SubAgent{{Name: "review"}})...)
	var got strings.Builder
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		got.WriteString(line)
		name, input, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok && !strings.HasPrefix(line, "#") {
			fmt.Fprintf(&got, "    %s\n", answered(t, tools, name, json.RawMessage(input)))
		}
	}
	if *update {
		must(t, os.WriteFile(path, []byte(got.String()), 0o644))
	}
	if diff := cmp.Diff(string(data), got.String()); diff != "" && !*update {
		t.Error(diff)
	}
}

// answered is the outcome of a call: the tool with its input, or the message to the model.
func answered(t *testing.T, tools []tool.Tool, name string, input json.RawMessage) string {
	t.Helper()
	found, input := builtin.FindCall(tools, name, input)
	if found == nil {
		return strings.TrimSpace("! no tool of this name. " + tool.Instead(name))
	}
	if err := found.Check(input); err != nil {
		return "! " + err.Error()
	}
	if _, err := found.Plan(t.Context(), &tool.Env{Web: &web.Client{}}, input); err != nil {
		return "! " + err.Error()
	}
	mended, err := tool.Decode[json.RawMessage](*found, input)
	must(t, err)
	return found.Name + " " + string(mended)
}
