package cli

import (
	"artoo/tool/environ"
	"os/user"
	"testing"
)

// A process without HOME gets the directory that the system's list has for its user;
// one with HOME keeps it.
func TestTheHomeOfAProcessWithoutOne(t *testing.T) {
	u, err := user.Current()
	if err != nil || u.HomeDir == "" {
		t.Fatal("the user has no home directory", err)
	}
	own := t.TempDir()
	for set, want := range map[string]string{"": u.HomeDir, own: own} {
		if got := withHome(environ.Vars{"HOME=" + set}).Home(); got != want {
			t.Errorf("HOME=%q: %q, want %q", set, got, want)
		}
	}
}
