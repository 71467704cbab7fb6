//go:build amd64 || arm64

package sandbox

import (
	"strings"

	"artoo/tool/sandbox/launcher"
)

// inHome are files by the real path of the home.
func (s *Sandbox) inHome(files map[string]string) (real []launcher.File) {
	for path, text := range files {
		if below, ok := strings.CutPrefix(path, s.config.Home); ok && s.places.home != "" {
			real = append(real, launcher.File{Path: s.places.home + below, Text: text})
		}
	}
	return real
}
