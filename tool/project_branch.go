package tool

import (
	"os"
	"path/filepath"
	"strings"
)

// Branch is the branch that is checked out, as .git/HEAD says; "" when that
// does not tell, or there is no git. It runs nothing. For the banner.
func (p Project) Branch() string {
	data, err := os.ReadFile(filepath.Join(p.Root, ".git", "HEAD"))
	if !p.Git || err != nil || len(data) > 4096 {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return name
}
