package agent

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/shell"
)

// Nothing that a hook before a call can print, and no way of ending, is taken for an allow that it
// does not say.
func TestOnlyAClearAllowIsOne(t *testing.T) {
	t.Parallel()
	allows := map[bool]string{
		false: `{"decision":"allow"}`,
		true:  `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`,
	}
	for claude, allow := range allows {
		k := hook{Hook: extension.Hook{On: extension.BeforeTool, Claude: claude}}
		if a, err := k.read(hookEnd{out: []byte(" " + allow + "\n")}); err != nil || a.Decision != permission.Run {
			t.Fatalf("%s: %+v, %v", allow, a, err)
		}
		for i := range len(allow) { // cut anywhere, or with a byte too many
			if a, err := k.read(hookEnd{out: []byte(allow[:i])}); err == nil && a.Decision == permission.Run {
				t.Errorf("%q allows", allow[:i])
			}
			if a, err := k.read(hookEnd{out: []byte(allow[:i] + "}" + allow[i:])}); !claude && err == nil && a.Decision == permission.Run {
				t.Errorf("%q allows", allow[:i]+"}"+allow[i:])
			}
		}
		for name, end := range map[string]hookEnd{
			"exit 1": {exit: shell.Exit{Code: 1}}, "exit 3": {exit: shell.Exit{Code: 3}}, "exit 126": {exit: shell.Exit{Code: 126}},
			"exit 127": {exit: shell.Exit{Code: 127}}, "signal": {exit: shell.Exit{Signal: "SIGSEGV"}}, "late": {late: true},
		} {
			end.out = []byte(allow)
			if a, err := k.read(end); err == nil {
				t.Errorf("%s: %+v is no failure", name, a)
			}
		}
		if a, err := k.read(hookEnd{out: []byte(allow), err: []byte("no\n"), exit: shell.Exit{Code: 2}}); err != nil ||
			a.Decision != permission.Refuse || a.Reason != "no" {
			t.Errorf("exit 2: %+v, %v", a, err)
		}
		for _, out := range []string{"null", "[]", "allow", `"allow"`, allow + allow, `{"decision":"allow","decision":"deny"}`, `{"decision":"deny","Decision":"allow"}`,
			`{"decision":"yes"}`, `{"decision":1}`, `{"decision":"allow","input":"x"}`, strings.Repeat(" ", maxHookOutput) + allow + " x"} {
			if a, err := k.read(hookEnd{out: []byte(out)}); err == nil && a.Decision == permission.Run {
				t.Errorf("%.60q allows", out)
			}
		}
	}
}

// A hook is named with its path, so the reason why it does not start does not repeat it.
func TestAMissingHookSaysWhy(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "guard")
	_, err := startHook(exec.Command(missing), shell.StartHere, nil)
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), missing) {
		t.Errorf("got %v", err)
	}
}

// A call reaches Claude Code's hooks with their names of tools and inputs.
func TestCallsHaveClaudeCodesNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ tool, input, want string }{
		{"bash", `{"command":"ls","timeout":2}`, `"tool_name":"Bash"|"command":"ls"|"timeout":2000`},
		{"edit", `{"path":"a.go","edits":[{"old_string":"x","new_string":"y"}]}`,
			`"tool_name":"Edit"|"file_path":"/p/a.go"|"old_string":"x"|"new_string":"y"`},
		{"write", `{"path":"a.go","content":"x"}`, `"tool_name":"Write"|"file_path":"/p/a.go"|"content":"x"`},
		{"shell", `{"id":"1","input":"ls"}`, `"tool_name":"Bash"|"command":"ls"`},
		{"mcp__db__query", `{"sql":"x"}`, `"tool_name":"mcp__db__query"|"sql":"x"`},
	} {
		in := hookInput{Event: extension.BeforeTool, Tool: test.tool, Input: json.RawMessage(test.input), Mode: permission.ModeEdits,
			Access: &hookAccess{Kind: tool.KindWrite, Paths: []string{"/p/a.go"}}}
		if test.tool == "bash" || test.tool == "shell" {
			in.Access = &hookAccess{Kind: tool.KindRun, Command: "ls"}
		}
		data, err := in.claude()
		if err != nil || !json.Valid(data) {
			t.Fatal(err)
		}
		for want := range strings.SplitSeq(test.want+`|"hook_event_name":"PreToolUse"|"permission_mode":"acceptEdits"`, "|") {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s: no %s in %s", test.tool, want, data)
			}
		}
	}
	// A hook's input counts as a change only if it differs, and is translated back into artoo's names.
	for _, test := range []struct{ tool, input, back, want string }{
		{"bash", `{"command":"ls","timeout":2}`, `{"timeout": 2000, "command": "ls"}`, ""},
		{"bash", `{"command":"ls"}`, `{"command":"ls","timeout":1500}`, `{"command":"ls","timeout":2}`},
		{"write", `{"path":"a.go","content":"x"}`, `{"content":"x","file_path":"/p/a.go"}`, ""},
		{"mcp__db__query", `{"timeout":5000}`, `{"timeout":6000}`, `{"timeout":6000}`},
		{"mcp__db__query", `{"timeout":5000}`, `{ "timeout":5000}`, ""},
		{"shell", `{"id":"1","input":"touch x"}`, `{"command":"touch x"}`, ""},
		{"shell", `{"id":"1","input":"touch x"}`, `{"command":"touch y"}`, `{"id":"1","input":"touch y"}`},
	} {
		in := hookInput{Tool: test.tool, Input: json.RawMessage(test.input), Access: &hookAccess{Paths: []string{"/p/a.go"}}}
		if test.tool == "shell" {
			in.Access = &hookAccess{Kind: tool.KindRun, Command: "touch x"}
		}
		if got := string(in.artooInput(json.RawMessage(test.back))); got != test.want {
			t.Errorf("%s: %s gives %s, not %s", test.tool, test.back, got, test.want)
		}
	}
}
