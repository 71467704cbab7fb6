package agent

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// largestManifest is how much of a manifest is read, in bytes.
const largestManifest = 256 << 10

// testCommand is the command that runs a project's tests, by the first manifest in its root that names one; "" for
// none. Nothing of a manifest's text becomes part of it.
func testCommand(root string) string {
	for _, m := range []struct {
		file, command string
		names         func(text string) bool
	}{
		{"Makefile", "make test", func(text string) bool {
			return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
				rest, ok := strings.CutPrefix(line, "test:")
				return ok && !strings.HasPrefix(rest, "=")
			})
		}},
		{"package.json", "npm test", hasTestScript},
		{"go.mod", "go test ./...", nil},
		{"Cargo.toml", "cargo test", nil},
		{"pytest.ini", "python3 -m pytest", nil},
		{"pyproject.toml", "python3 -m pytest", func(text string) bool { return strings.Contains(text, "pytest") }},
		{"setup.cfg", "python3 -m pytest", func(text string) bool { return strings.Contains(text, "[tool:pytest]") }},
	} {
		if text, ok := manifest(filepath.Join(root, m.file)); ok && (m.names == nil || m.names(text)) {
			return m.command
		}
	}
	return ""
}

// hasTestScript reports whether a package.json has a test script other than that of npm init.
func hasTestScript(text string) bool {
	var p struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &p) != nil {
		return false
	}
	return p.Scripts["test"] != "" && !strings.Contains(p.Scripts["test"], "no test specified")
}

// manifest is the beginning of a regular file; ok is false where there is none.
func manifest(path string) (text string, ok bool) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	file, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, largestManifest))
	return string(data), err == nil
}
