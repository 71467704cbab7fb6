package keyring

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"artoo/tool/environ"
)

// reachable says whether a session bus is there to ask. Without one the library
// would start a bus of its own, a process that outlives this one.
func reachable(vars environ.Vars) bool {
	if address := vars.Get("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return !strings.HasPrefix(address, "autolaunch:")
	}
	dir := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
