package doctor

import (
	"context"
	"strings"
	"testing"
)

func TestServersAreLookedAtWithoutStartingThem(t *testing.T) {
	t.Parallel()
	list := CheckServers([]MCPServer{
		{Name: "fine", Address: "npx server"},
		{Name: "gone", Address: "nix server", NoProgram: true},
		{Name: "needed", Address: "nix server", NoProgram: true, Required: true},
		{Name: "loose", Loose: true},
		{Name: "keyless", Missing: []string{"A_TOKEN", "B"}},
	})(context.Background())
	var got []string
	for _, f := range list {
		got = append(got, string(f.Level)+" "+f.Text)
	}
	want := []string{"ok fine: npx server", "warn gone: its program is not on PATH: nix server",
		"fail needed: its program is not on PATH: nix server", "warn loose: it must run confined, but this machine has no sandbox",
		"warn keyless: not set: A_TOKEN, B"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}
