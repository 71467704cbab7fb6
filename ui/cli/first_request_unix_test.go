//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// writeSkills makes so many skills, and commands, in a directory, and so many agents.
func writeSkills(t *testing.T, n, agents int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "agents"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range agents {
		text := "---\ndescription: " + strings.Repeat("Looks for errors. ", 60) + "\n---\nText.\n"
		if err := os.WriteFile(filepath.Join(dir, "agents", fmt.Sprintf("agent-%d.md", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("a-skill-%d", i))
		if err := errors.Join(os.MkdirAll(at, 0o755), os.MkdirAll(filepath.Join(dir, "commands"), 0o755)); err != nil {
			t.Fatal(err)
		}
		text := "---\ndescription: " + strings.Repeat("Fills \"forms\" – and reads them. ", 1+i%7) + "\n---\nText.\n"
		if err := errors.Join(os.WriteFile(filepath.Join(at, "SKILL.md"), []byte(text), 0o644),
			os.WriteFile(filepath.Join(dir, "commands", fmt.Sprintf("c%d.md", i)), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The prompt and the tools are part of every request: they stay small, so that a
// small window holds them, and shortened as far as the user can.
func TestTheFirstRequestIsSmall(t *testing.T) {
	for _, c := range []struct {
		args           []string
		skills, agents int
		most           int
	}{
		{nil, 0, 0, 8470},
		{[]string{"--tools", "-all,+bash", "--system", "X"}, 0, 0, 2500},
		{nil, 60, 0, 8470 + 1750},
		{nil, 400, 0, 8470 + 1750},
		{nil, 0, 40, 8470 + 800},
	} {
		size := 0
		m := newModel(t, func(_ int, r providertest.Request) providertest.Reply {
			size = len(r.Body)
			return providertest.JSON(401, `{"error":{"message":"no"}}`)
		})
		dir := filepath.Join(t.TempDir(), "shop")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		env := m.env(t, "ARTOO_MAX_RETRY_TIME=0s", "ARTOO_SKILL_DIRS="+writeSkills(t, c.skills, c.agents))
		// It fails, as the server says.
		out, _ := ran(t, dir, env, "", append([]string{"-p", "why does the test fail?"}, c.args...)...)
		if size == 0 || size > c.most {
			t.Errorf("artoo %q: the first request is %d bytes, the limit is %d\n%s", c.args, size, c.most, out)
		}
		t.Logf("%d bytes of %d", size, c.most)
	}
}
