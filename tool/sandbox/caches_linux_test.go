package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a layer's command builds is thrown away with it, but for artoo's own caches
// where that is wanted; the user's cache stays as it was.
func TestCachesAreWrittenFromALayerWhereThatIsWanted(t *testing.T) {
	var user string
	s, root := open(t, func(c *Config) {
		user = filepath.Join(c.Home, ".cache", "build")
		if err := os.MkdirAll(user, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, user, "old", "1")
		c.Caches = []Cache{{Path: user, Own: filepath.Join(filepath.Dir(c.Home), "own")}}
	})
	line := "echo 2 >" + filepath.Join(user, "new") + "; echo 2 >made; cat " + filepath.Join(user, "*")
	for _, row := range []struct {
		options Options
		want    string // what it prints
	}{
		{Options{Layer: true, Exec: true}, "Read-only"},
		{Options{Layer: true, Exec: true, Caches: true}, "21"},
		{Options{}, "21"},
	} {
		out, _, p := run(t, s, row.options, line)
		if row.options.Layer {
			changes, err := p.Changes()
			if err != nil || len(changes.Entries) != 1 {
				t.Errorf("%+v: on the layer is %+v, %v", row.options, changes, err)
			}
			if err := changes.Discard(); err != nil {
				t.Error(err)
			}
		}
		if !strings.Contains(strings.ReplaceAll(out, "\n", ""), row.want) {
			t.Errorf("%+v printed %q, want %q", row.options, out, row.want)
		}
	}
	if _, err := os.Stat(filepath.Join(user, "new")); err == nil {
		t.Error("the user's own cache was written")
	}
	if data, err := os.ReadFile(filepath.Join(root, "made")); err != nil || string(data) != "2\n" {
		t.Errorf("the sandbox's file is %q, %v", data, err)
	}
}
