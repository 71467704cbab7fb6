package confine

import (
	"slices"
	"testing"
)

// Where other programs listen is for commands outside the sandbox only, unless the
// user passes the variable.
func TestConfinedCommandsAreNotGivenSockets(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "SSH_AUTH_SOCK=/run/agent", "DOCKER_HOST=tcp://127.0.0.1:2375", "TMUX=/tmp/tmux,1,0",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/sys", "DISPLAY=:0",
		"WAYLAND_DISPLAY=wayland-0", "SSH_AGENT_PID=7", "TMUX_PANE=%1"}
	before := slices.Clone(environ)
	got := Config{Pass: []string{"DISPLAY"}}.environ(environ)
	if kept := got[:4]; !slices.Equal(kept, []string{"PATH=/bin", "DISPLAY=:0", "SSH_AGENT_PID=7", "TMUX_PANE=%1"}) {
		t.Errorf("a confined command gets %q", got)
	}
	if !slices.Equal(environ, before) {
		t.Errorf("the environment of other commands has become %q", environ)
	}
}
