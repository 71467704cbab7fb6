package cli

import (
	"os"
	"os/user"
)

// setHome gives a process that was started without HOME, as by cron, systemd or a
// container, the home directory of its user in the system's list. artoo and what it
// runs then read one variable. Where the list has none, HOME stays unset, and the
// directory that needs it says so.
func setHome() {
	if os.Getenv("HOME") != "" {
		return
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		// It fails only for a name or value that no variable can have.
		_ = os.Setenv("HOME", u.HomeDir)
	}
}
