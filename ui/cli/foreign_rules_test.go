package cli

import (
	"strings"
	"testing"
)

// A limit of another program's settings is a rule here, or is named, whatever kind of value it has.
func TestLimitsOfOtherProgramsHoldOrAreNamed(t *testing.T) {
	for settings, want := range map[string]string{
		`{"permissions": {"deny": "Bash(rm:*)"}}`:                                   "deny Bash(rm:*)",
		`{"permissions": {"deny": ["Bash()", "WebFetch(domain:*)", "mcp__*"]}}`:     "deny Bash, deny WebFetch, deny mcp__*",
		`{"permissions": {"deny": ["Read(secrets/)", "Read(*)", "Bash(rm -r /)"]}}`: "deny Read(secrets/**), deny Read, deny Bash(rm -r /)",
		`{"permissions": {"deny": [7, "Edit"], "ask": {"Bash": true}}}`:             "deny Edit | permissions.deny, which is not a list of strings, permissions.ask, which is not a list of strings",
		`{"permissions": {"deny": ["Task(x)", "Nothing(y)"]}}`:                      " | deny Task(x), deny Nothing(y)",
		`{"tools": {"exclude": ["run_shell_command(rm)"]}, "coreTools": ["ls"]}`:    "deny run_shell_command(rm:*) | coreTools",
		`{"mcp": {"excluded": ["My DB"], "allowed": []}, "excludeMCPServers": "x"}`: "deny mcp__my-db, deny mcp__x | mcp.allowed",
		`{"permissions": null, "general": {"defaultApprovalMode": "plan"}}`:         " | general.defaultApprovalMode = plan",
	} {
		rules, left, err := rulesIn([]byte(settings), "s")
		var got []string
		for _, r := range rules {
			got = append(got, r.List+" "+r.Text)
		}
		text := strings.Join(got, ", ")
		if left != nil {
			text += " | " + strings.Join(left, ", ")
		}
		if err != nil || text != want {
			t.Errorf("%s: %s, not %s, %v", settings, text, want, err)
		}
	}
}
