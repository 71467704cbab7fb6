package extension

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Hooks in the form of Claude Code's settings are read; those that artoo has no use for are named.
func TestClaudeCodesHooksAreRead(t *testing.T) {
	t.Parallel()
	hooks, left, err := ClaudeHooks([]byte(`{"hooks": {
		"Stop": [{"hooks": [{"type": "command", "command": "check"}]}],
		"PreToolUse": [{"matcher": "Edit|Write", "hooks": [
			{"type": "command", "command": "guard", "args": ["a b"], "timeout": 1.5, "if": "Bash(git *)"},
			{"type": "prompt", "prompt": "is it fine?"}]}],
		"TeammateIdle": [{"hooks": [{"type": "command", "command": "x"}]}]}}`), Origin{Place: "settings.json"})
	if err != nil || len(hooks) != 2 {
		t.Fatalf("%+v, %v", hooks, err)
	}
	guard, check := hooks[0], hooks[1]
	if guard.On != BeforeTool || guard.Matcher != "Edit|Write" || !slices.Equal(guard.Command, []string{"guard", "a b"}) ||
		guard.Limit() != 1500*time.Millisecond || !slices.Equal(guard.Match, []string{"Bash(git *)"}) || !guard.Claude {
		t.Errorf("%+v", guard)
	}
	if calls := guard.Calls(); calls != "Edit|Write and Bash(git *)" {
		t.Errorf("it is about %q", calls)
	}
	if check.On != OnStop || check.Line != "check" || check.Limit() != time.Minute || check.Place != "settings.json" {
		t.Errorf("%+v", check)
	}
	want := []string{`settings.json: a hook of type "prompt" on PreToolUse`, "settings.json: hooks on TeammateIdle"}
	if !slices.Equal(left, want) {
		t.Errorf("%q", left)
	}
	if off, _, err := ClaudeHooks([]byte(`{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "check"}]}]}}`), Origin{}); off != nil || err != nil {
		t.Errorf("hooks that are turned off are read: %+v, %v", off, err)
	}
	if _, _, err := ClaudeHooks([]byte(`{"hooks": []}`), Origin{}); err == nil {
		t.Error("hooks of another form are read")
	}
}

// A hook whose place or kind differs from what Claude Code documents works as it is plainly meant, or is named.
func TestClaudeCodesHooksInOtherShapesWorkOrAreNamed(t *testing.T) {
	t.Parallel()
	const guard = `{"type": "command", "command": "guard"}`
	for _, c := range []struct{ settings, hook, left string }{
		{`{"hooks": {"PreToolUse": [` + guard + `]}}`, "guard", ""},
		{`{"hooks": {"PreToolUse": [{"matcher": "Bash", "command": "guard"}]}}`, "Bash guard", ""},
		{`{"hooks": {"PreToolUse": {"matcher": "Bash", "hooks": ` + guard + `}}}`, "Bash guard", ""},
		{`{"hooks": {"PreToolUse": [{"matcher": ["Edit", "Write"], "hooks": [` + guard + `]}]}}`, "Edit|Write guard", ""},
		{`{"hooks": {"PreToolUse": [{"matcher": null, "hooks": [{"command": ["guard", "a b"]}]}]}}`, "guard a b", ""},
		{`{"PreToolUse": [{"hooks": [` + guard + `]}]}`, "guard", ""},
		{`{"hooks": {"hooks": {"PreToolUse": [{"hooks": [` + guard + `]}]}}}`, "guard", ""},
		{"\ufeff{\"hooks\": {\"PreToolUse\": [" + guard + ",]}} // mine", "guard", ""},
		{`{"hooks": {"PreToolUse": [{"matcher": "tool == 'Bash'", "hooks": [` + guard + `]}]}}`, "",
			"a hook with a matcher that fits no tool's name: tool == 'Bash' on PreToolUse"},
		{`{"hooks": {"PreToolUse": [{"matcher": 7, "hooks": [` + guard + `]}]}}`, "", "a hook with a matcher that is not text on PreToolUse"},
		{`{"hooks": {"PreToolUse": [{"matcher": "Bash"}, "guard"]}}`, "", "a hook without a command on PreToolUse, s: a hook that is not an object on PreToolUse"},
		{`{"hooks": {"PreToolUse": [{"hooks": [{"command": 7}, {"command": "x", "timeout": "9"}]}]}}`, "",
			"a hook without a command on PreToolUse, s: a hook with a value of another kind than Claude Code documents on PreToolUse"},
		{`{"hooks": {"PreToolUse": [{"hooks": [{"type": "mcp_tool"}, ` + guard + `]}]}}`, "guard", `a hook of type "mcp_tool" on PreToolUse`},
		{`{"hooks": {"PreToolUse": {"Bash": "guard"}}}`, "", "a hook that has neither hooks nor a command, but Bash on PreToolUse"},
		{`{"hooks": {"PreToolUse": [` + guard + `, {"command": "x ${CLAUDE_PLUGIN_DATA}/a"}, {"command": ["x", "${user_config.key}"]}]}}`, "guard",
			"a hook that names ${CLAUDE_PLUGIN_DATA}, which has no value here, on PreToolUse, s: a hook that names ${user_config.key}, which has no value here, on PreToolUse"},
		{`{"hooks": {"preToolUse": [` + guard + `], "enabled": true, "_note": "x"}}`, "", "hooks on preToolUse"},
	} {
		hooks, left, err := ClaudeHooks([]byte(c.settings), Origin{Place: "s"})
		var got []string
		for _, h := range hooks {
			got = append(got, strings.TrimSpace(h.Matcher+" "+h.String()))
		}
		if c.left != "" {
			c.left = "s: " + c.left
		}
		if err != nil || strings.Join(got, ", ") != c.hook || strings.Join(left, ", ") != c.left {
			t.Errorf("%s: %q, left %q, %v", c.settings, got, left, err)
		}
	}
}
