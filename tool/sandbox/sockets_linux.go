//go:build amd64 || arm64

package sandbox

import (
	"os"
	"slices"
	"strings"
)

// sockets are the unix sockets that programs of this machine bound, by absolute paths,
// in what commands see of it: the system's directories too, which are too large to be
// searched as Config.Denied searches the project. A namespace keeps nobody from
// connecting to one by its path.
func (p places) sockets() ([]string, error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, step := range p.steps {
		if step.From == step.To {
			dirs = append(dirs, step.To)
		}
	}
	var list []string
	for line := range strings.Lines(string(table)) {
		// The path comes last, and may hold blanks.
		if at := strings.Index(line, " /"); at >= 0 {
			if path := strings.TrimSuffix(line[at+1:], "\n"); within(path, dirs) {
				list = append(list, path)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
