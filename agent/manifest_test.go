package agent_test

import (
	"testing"

	"artoo/agent"
)

func TestTheTestCommandIsThatOfAManifest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ file, text, want string }{
		{"go.mod", "module x\n", "go test ./..."},
		{"package.json", `{"scripts":{"test":"jest"}}`, "npm test"},
		{"package.json", `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`, ""},
		{"package.json", `{"scripts":`, ""},
		{"Makefile", "build:\n\techo\ntest: build\n\techo\n", "make test"},
		{"Makefile", "test:=1\n\techo test:\n", ""},
		{"Cargo.toml", "[package]\n", "cargo test"},
		{"pyproject.toml", "[tool.pytest.ini_options]\n", "python3 -m pytest"},
		{"pyproject.toml", "[project]\n", ""},
		{"README.md", "test:\n", ""},
	} {
		root := t.TempDir()
		write(t, row.text, root, row.file)
		if got := agent.CommandOfTests(root); got != row.want {
			t.Errorf("%s %q: %q, want %q", row.file, row.text, got, row.want)
		}
	}
}
