package cli

import (
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
		r := &record{}
		err := Execute(t.Context(), strings.Fields(c.args), testDeps(r))
		var usage *UsageError
		switch {
		case c.near == "" && (err != nil || r.call != "run"):
			t.Errorf("%s: %q, %v", c.args, r.call, err)
		case c.near != "" && (r.call != "" || !errors.As(err, &usage) || !strings.Contains(usage.Why, c.near) || !strings.Contains(usage.Hint, "artoo "+c.near)):
			t.Errorf("%s: %q, %v", c.args, r.call, err)
		}
	}
}
