package extension

import (
	"slices"
	"testing"
	"time"
)

// Hooks in the form of Claude Code's settings are read; those that artoo has no use for are named.
func TestClaudeCodesHooksAreRead(t *testing.T) {
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
