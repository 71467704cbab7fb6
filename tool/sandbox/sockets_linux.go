//go:build amd64 || arm64

package sandbox

import (
	"os"
	"slices"
	"strings"
)

// sockets are the unix sockets that programs of this machine listen on in
// directories that commands see. A namespace keeps nobody from connecting to one by
// its path.
func (p places) sockets() ([]string, error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	dirs := slices.Concat(p.write, p.read)
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
