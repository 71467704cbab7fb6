package cli

import (
	"artoo/agent"
	"errors"
	"strings"
	"testing"
)

func TestASubcommandWithASlipIsNoPrompt(t *testing.T) {
	for _, c := range []struct {
		args string
		near string // "" when it is sent
	}{
		{"sesions", "sessions"},
		{"sessoins", "sessions"},
		{"docter", "doctor"},
		{"-m x lgoin", "login"},
		{"-p sesions", ""},
		{"-- sesions", ""},
		{"sesions of yesterday", ""},
		{"session-list", ""},
		{"hi", ""},
	} {
		inv, err := parse(strings.Fields(c.args))
		var usage *agent.Failure
		switch {
		case c.near == "" && (err != nil || inv.Command != ""):
			t.Errorf("%s: %q, %v", c.args, inv.Command, err)
		case c.near != "" && (!errors.As(err, &usage) || !strings.Contains(usage.Error(), c.near) ||
			!strings.Contains(usage.Hint, "artoo "+c.near)):
			t.Errorf("%s: %q, %v", c.args, inv.Command, err)
		}
	}
}
