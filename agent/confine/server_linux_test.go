package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/sandbox"
)

// rust-analyzer has cargo check find most problems: that needs a place for its build, which is not the project's and is
// there again in the next session.
func TestALanguageServerBuildsBesideTheProject(t *testing.T) {
	facts, ok := factsHere(t)
	if !ok {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root, home := filepath.Join(base, "project"), filepath.Join(base, "home")
	put(t, filepath.Join(root, "Cargo.toml"), "")
	put(t, filepath.Join(home, ".profile"), "")
	line := `cd "$CARGO_TARGET_DIR" && cat last; echo built >>last; touch ` + root + "/x && echo written; cat last"
	for _, want := range []string{"built\n", "built\nbuilt\n"} {
		c := New(Config{Config: sandbox.Config{Root: root, Home: home}, Cache: filepath.Join(base, "cache"), Servers: true}, facts)
		if end := runs(t, c.StartServer, line); !strings.HasSuffix(string(end.Output), want) || end.Exit.Code != 0 {
			t.Errorf("%+v: %s", end, end.Output)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(root)
	if _, at := os.Stat(filepath.Join(home, ".cache")); err != nil || len(left) != 1 || at == nil {
		t.Errorf("the project holds %v (%v), and the home's caches are %v", left, err, at)
	}
}
