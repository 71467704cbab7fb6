package builtin

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/shell"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// TestWrongCallsAreTakenOrAnswered plays calls in the shapes of other programs' tools.
func TestWrongCallsAreTakenOrAnswered(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "calls.txt")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	taken, refused := 0, 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		got.WriteString(line)
		name, input, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		what, ok := answered(t, name, json.RawMessage(input))
		if ok {
			taken++
		} else {
			refused++
		}
		fmt.Fprintf(&got, "    %s\n", what)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(data), got.String()); diff != "" && !*update {
		t.Error(diff)
	}
	if taken < 105 || taken+refused < 140 {
		t.Errorf("%d calls are taken, %d are not", taken, refused)
	}
	t.Logf("%d calls are taken, %d are not", taken, refused)
}

// answered is the outcome of a call: the tool with its input, or the message to the model.
func answered(t *testing.T, name string, input json.RawMessage) (what string, taken bool) {
	t.Helper()
	tools := append(Tools(BashOptions{Path: "/bin/bash", Confined: true, Ask: true}), Random())
	found, input := FindCall(tools, name, input)
	if found == nil {
		return strings.TrimSpace("! no tool of this name. " + tool.Instead(name)), false
	}
	if err := found.Check(input); err != nil {
		return "! " + err.Error(), false
	}
	input = found.Repair(input)
	if found.Name == "bash" || found.Name == "edit" {
		env := newFileWorld(t, map[string]string{"a.go": "1\n", "src/x": ""}).env
		env.Jobs = &shell.Jobs{}
		if _, err := found.Plan(t.Context(), env, input); err != nil && !strings.Contains(err.Error(), "there is no") &&
			!strings.Contains(err.Error(), "not in the file") {
			return "! " + err.Error(), false
		}
	}
	return found.Name + " " + string(input), true
}
