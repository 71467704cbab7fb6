//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"artoo/provider/providertest"
)

// The prompt and the tools are part of every request: they stay small, so that a
// small window holds them, and shortened as far as the user can.
func TestTheFirstRequestIsSmall(t *testing.T) {
	artoo := buildProgram(t, moduleDir)
	for _, c := range []struct {
		args []string
		most int
	}{
		{nil, 8470},
		{[]string{"--tools", "-all,+bash", "--system", "X"}, 2500},
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
		cmd := exec.Command(artoo, append([]string{"-p", "why does the test fail?"}, c.args...)...)
		cmd.Dir, cmd.Env = dir, m.env(t, "ARTOO_MAX_RETRY_TIME=0s")
		out, _ := cmd.CombinedOutput() // it fails, as the server says
		if size == 0 || size > c.most {
			t.Errorf("artoo %q: the first request is %d bytes, the limit is %d\n%s", c.args, size, c.most, out)
		}
		t.Logf("%d bytes of %d", size, c.most)
	}
}
