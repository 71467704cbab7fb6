package cli

import (
	"os/user"
	"testing"

	"artoo/tool/environ"
	"artoo/tool/needs"
)

// A process without HOME gets the directory that the system's list has for its user;
// one with HOME keeps it.
func TestTheHomeOfAProcessWithoutOne(t *testing.T) {
	u, err := user.Current()
	needs.Thing(t, "the user in the list of users", err)
	own := t.TempDir()
	for set, want := range map[string]string{"": u.HomeDir, own: own} {
		if got := withHome(environ.Vars{"HOME=" + set}).Home(); got != want {
			t.Errorf("HOME=%q: %q, want %q", set, got, want)
		}
	}
}
