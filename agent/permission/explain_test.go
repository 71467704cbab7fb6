package permission

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/files"
)

// A call is read as a rule for it is written, and anything else is a line of a shell.
func TestACallIsReadAsARuleForIt(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, err := files.Open(files.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer project.Close()
	for _, c := range []struct {
		text, name string
		kind       tool.Kind
		// of is the command, the host or the path.
		of string
	}{
		{"ls -l", "bash", tool.KindRun, "ls -l"}, {"bash(ls -l)", "bash", tool.KindRun, "ls -l"},
		{"frobnicate(x)", "bash", tool.KindRun, "frobnicate(x)"}, {"read(a", "bash", tool.KindRun, "read(a"},
		{"web_fetch(go.dev)", "web_fetch", tool.KindNetwork, "go.dev:443"},
		{"web_fetch(domain:go.dev)", "web_fetch", tool.KindNetwork, "go.dev:443"},
		{"read(a/b.txt)", "read", tool.KindRead, "a/b.txt"}, {"edit(a/b.txt)", "edit", tool.KindWrite, "a/b.txt"},
		{"mcp__db__query", "mcp__db__query", tool.KindServer, ""},
	} {
		name, access, err := CallFor(c.text, project)
		of := cmp.Or(access.Command, access.Host, strings.TrimPrefix(strings.Join(access.Paths, " "), root+"/"))
		if err != nil || name != c.name || access.Kind != c.kind || of != c.of {
			t.Errorf("%s: %s of kind %v, %q, %v", c.text, name, access.Kind, of, err)
		}
	}
	if _, _, err := CallFor("web_fetch(:)", project); err == nil {
		t.Error("a host that is none is taken")
	}
}
