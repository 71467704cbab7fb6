package extension

import (
	"slices"
	"strings"
)

// Environ is the environment of a server or hook: of environ, which is as os.Environ gives it, the
// search path, the home, the locale, temporary and XDG directories, proxies, and the variables that
// pass names.
func Environ(environ []string, pass ...string) (kept []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		upper := strings.ToUpper(name)
		switch {
		case slices.Contains([]string{"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR"}, name),
			strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "XDG_"),
			slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}, upper),
			slices.Contains(pass, name):
			kept = append(kept, entry)
		}
	}
	return kept
}
