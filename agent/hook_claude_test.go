package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/shell"
)

// outcomeOfClaude says what becomes of a call after a hook in Claude Code's form has ended.
func outcomeOfClaude(k hook, end hookEnd) string {
	answer, err := k.read(end)
	switch {
	case err != nil && k.passes(err):
		return "warns"
	case err != nil:
		return "denies"
	case answer.Decision == "":
		return "runs"
	}
	return string(answer.Decision)
}

// A hook in Claude Code's form denies by exit status 2 or by JSON; one that only talks or is broken does not. An answer
// that is not clear denies.
func TestAHookInClaudeCodesFormDeniesOnlyWhenItSaysSo(t *testing.T) {
	t.Parallel()
	specific := func(s string) string { return `{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + s + `}}` }
	for _, row := range []struct {
		out  string
		code int
		want string
	}{
		{"", 0, "runs"}, {"all is well\n", 0, "runs"}, {"[1, 2]", 0, "runs"}, {"{}", 0, "runs"}, {"it broke", 1, "warns"}, {"", 127, "warns"}, {"", 126, "warns"},
		{"", 2, "deny"}, {`{"continue":true,"suppressOutput":true}`, 0, "runs"}, {`{"systemMessage":"hi"}`, 0, "runs"},
		{`{"decision":null,"reason":null,"hookSpecificOutput":null}`, 0, "runs"}, {`{"decision":"allow"}`, 0, "runs"},
		{`{"decision":"approve"}`, 0, "allow"}, {`{"decision":"block","reason":"no"}`, 0, "deny"}, {`{"decision":"block"}`, 1, "deny"}, {`{"decision":"deny"}`, 0, "deny"},
		{specific(`"permissionDecision":"deny","permissionDecisionReason":"no"`), 0, "deny"}, {specific(`"permissionDecision":"ask"`), 0, "ask"},
		{specific(`"permissionDecision":"defer"`), 0, "runs"}, {specific(`"additionalContext":"x"`), 0, "runs"}, {specific(`"permissionDecision":null`), 0, "runs"},
		// unclear
		{`{"permissionDecision":"deny"}`, 0, "denies"}, {`{"continue":true,"permissionDecision":"allow"}`, 0, "denies"}, {`{"status":"ok"}`, 0, "denies"},
		{`{"decison":"block","reason":"no"}`, 0, "denies"}, {`{"suppressOutput":true,"decison":"block"}`, 0, "denies"}, {`{"decision":"blok"}`, 0, "denies"},
		{`{"hookSpecificOutput":{"permissionDecison":"deny"}}`, 0, "denies"}, {specific(`"permissionDecison":"deny"`), 0, "denies"},
		{specific(`"verdict":"deny","permissionDecisionReason":"no"`), 0, "denies"}, {specific(`"permissionDecisionReason":"no"`), 0, "denies"},
		{specific(`"permissionDecision":"denied"`), 0, "denies"}, {specific(`"decision":"block"`), 0, "denies"},
		{`{"decision":"block"`, 0, "denies"}, {`{"decision":"approve"}{"decision":"block"}`, 0, "denies"}, {`{"decision":1}`, 0, "denies"},
		{`{"decision":"block","decision":"approve"}`, 0, "denies"}, {`{"PermissionDecision":"deny"}`, 0, "denies"},
		{`{"hookspecificoutput":{"permissionDecison":"deny"}}`, 0, "denies"},
		{`{"hookSpecificOutput":{"PermissionDecision":"deny"}}`, 0, "deny"},
	} {
		end := hookEnd{out: []byte(row.out), exit: shell.Exit{Code: row.code}}
		k := hook{Hook: extension.Hook{On: extension.BeforeTool, Claude: true, Warn: true}}
		if got := outcomeOfClaude(k, end); got != row.want {
			t.Errorf("%s, exit %d: %s, not %s", row.out, row.code, got, row.want)
		}
		k.Warn = false // a guard of the user's that is made strict
		if got := outcomeOfClaude(k, end); row.want == "warns" && got != "denies" {
			t.Errorf("strict: %s, exit %d: %s", row.out, row.code, got)
		}
	}
}

// A stop, its reason and the words for the user are read on all events.
func TestAHookInClaudeCodesFormStopsTheTurn(t *testing.T) {
	t.Parallel()
	out := []byte(`{"continue":false,"stopReason":"enough","reason":"other","systemMessage":"look","suppressOutput":true}`)
	for _, event := range extension.Events() {
		a, err := hook{Hook: extension.Hook{On: event, Claude: true}}.read(hookEnd{out: out})
		if err != nil || a.Stop == nil || !*a.Stop || a.Reason != "enough" || a.Notice != "look" {
			t.Errorf("%s: %+v, %v", event, a, err)
		}
	}
}

// Each edit of a call is one of Claude Code's Edit, with the old and the new text, also where the model wrote a patch.
func TestAGuardInClaudeCodesFormSeesTheTextOfEachEdit(t *testing.T) {
	t.Parallel()
	patch := "*** Begin Patch\n*** Add File: a\n+one\n*** Update File: b\n@@\n-two\n+three\n*** End Patch"
	input, err := json.Marshal(map[string]string{"input": patch})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ tool, input, want string }{
		{"edit", `{"path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"z","new_string":"w"}]}`, `/p/a x>y /p/a z>w`},
		{"edit", `{"path":"a","old_string":"x","new_string":"y"}`, `/p/a x>y`},
		{"apply_patch", string(input), "/p/a >one /p/b two>three"},
	} {
		in := hookInput{Event: extension.BeforeTool, Tool: row.tool, Input: json.RawMessage(row.input),
			Access: &hookAccess{Kind: tool.KindWrite, Paths: []string{"/p/a", "/p/b"}}}
		var got []string
		for _, part := range in.parts() {
			fields, err := part.claudeInput()
			if err != nil {
				t.Fatal(err)
			}
			word := func(name string) string { return strings.Trim(strings.TrimSuffix(string(fields[name]), `\n"`), `"`) }
			got = append(got, word("file_path")+" "+word("old_string")+">"+word("new_string"))
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q, not %s", row.tool, got, row.want)
		}
	}
}

// A matcher names tools in any of the ways in which they are written down: lists, rules, other programs' names, expressions.
func TestAMatcherInClaudeCodesFormTakesTheToolsThatItMeans(t *testing.T) {
	t.Parallel()
	policy := &permission.Policy{Root: "/p"}
	run := func(line string) tool.Access { return tool.Access{Kind: tool.KindRun, Command: line} }
	file := tool.Access{Kind: tool.KindWrite, Paths: []string{"/p/a.ts"}}
	for _, row := range []struct {
		matcher, tool string
		access        tool.Access
		want          bool
	}{
		{"Edit|Write", "write", file, true}, {"Edit, Write", "write", file, true}, {"Edit | Write", "edit", file, true}, {"Write", "edit", file, false},
		{"write_file|replace", "edit", file, true}, {"edit", "edit", file, true}, {"Write", "apply_patch", file, true}, {"Agent", "task", tool.Access{}, true},
		{"Task", "task", tool.Access{}, true}, {"run_shell_command", "bash", run("ls"), true}, {"Bash", "write", file, false},
		{"Bash(git push*)", "bash", run("git push"), true}, {"Bash(git push:*)", "bash", run("make"), false}, {"Bash(git push:*)", "write", file, false},
		{"Edit(*.ts)|Write(*.ts)", "write", file, true}, {"Edit(*.py)|Write(*.py)", "write", file, false}, {"Bash(.*)", "bash", run("ls"), true},
		{"(Edit|Write)", "write", file, true}, {"Multi(Edit)?|Write", "write", file, true}, {".*", "mcp__a__b", tool.Access{}, true}, {"[", "bash", run("ls"), true},
	} {
		list := []extension.Hook{{On: extension.BeforeTool, Claude: true, Line: "x", Matcher: row.matcher}}
		if asked, err := HooksBefore(list, policy, row.tool, row.access); err != nil || (len(asked) == 1) != row.want {
			t.Errorf("%s, %s %+v: %v, %v", row.matcher, row.tool, row.access, asked, err)
		}
	}
}
