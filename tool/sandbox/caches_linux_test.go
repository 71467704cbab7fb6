//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// read returns the content of a file, "" if there is none.
func read(path ...string) string {
	data, _ := os.ReadFile(filepath.Join(path...)) // An error is an empty content to the caller.
	return string(data)
}

// Build output of a layer's command goes away with it, or stays in artoo's own caches; the
// user's cache stays as it was.
func TestUsersCachesAreKeptOnlyIfAsked(t *testing.T) {
	for name, memory := range map[string]bool{"memory": true, "disk": false} {
		t.Run(name, func(t *testing.T) {
			var user string
			s, _ := open(t, func(c *Config) {
				user = filepath.Join(c.Home, ".cache", "build")
				if err := os.MkdirAll(user, 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, user, "old", "1")
				write(t, user, "dir/old", "1")
				c.Caches = []Cache{{Path: filepath.Join(c.Home, "a/deep/er/cache"), Own: filepath.Join(filepath.Dir(c.Home), "deep")},
					{Path: user, Own: filepath.Join(filepath.Dir(c.Home), "own")}}
				c.inMemory = memory
			})
			for i, row := range []struct {
				line, want string
				keep       bool
			}{
				{"echo 2 > new; rm old; rm -r dir; mkdir dir; echo 2 > dir/new", "", false},
				{"cat old; test -e new || echo 2 > new; rm -r old dir; mkdir dir; echo 2 > dir/new; ln -s new l", "1", true},
				{"cat new dir/new l; ls dir; test -e old || echo gone", "222newgone", true},
				{"echo 3 > new", "", true},
				{"cat new", "3", false},
			} {
				out, _, p := run(t, s, Options{Layer: true, Exec: true}, "cd "+user+"; "+row.line)
				changes, err := p.Changes(t.Context())
				if err != nil || len(changes.Entries) != 0 {
					t.Fatalf("%d: on the layer is %+v, %v", i, changes, err)
				}
				if err := changes.Discard(row.keep); err != nil {
					t.Error(err)
				}
				if got := strings.ReplaceAll(out, "\n", ""); got != row.want {
					t.Errorf("%d: it printed %q, want %q", i, got, row.want)
				}
			}
			if _, err := os.Stat(filepath.Join(user, "new")); err == nil || read(user, "old") != "1" || read(user, "dir/old") != "1" {
				t.Error("the user's own cache was written")
			}
			out, _, _ := run(t, s, Options{Job: true}, "cat "+user+"/new && echo 4 > "+user+"/new")
			if out != "3\n" {
				t.Errorf("a job printed %q", out)
			}
			for _, options := range []Options{{ReadOnly: true}, {Layer: true}} {
				again, _, p := run(t, s, options, "cat "+user+"/new; echo 5 > "+user+"/new; ls ~/a/deep/er/cache")
				if !strings.HasPrefix(again, "4\n") || !strings.Contains(again, "Read-only") || p.Discard() != nil {
					t.Errorf("%+v: after it is printed %q", options, again)
				}
			}
			deep := "cd ~/a/deep/er/cache; "
			for i, want := range []string{"", "kept"} { // the user has none
				out, _, _ := run(t, s, Options{Job: true}, deep+"cat f; ls; echo kept > f")
				if strings.Contains(out, "kept") != (want != "") {
					t.Errorf("%d: it printed %q", i, out)
				}
			}
		})
	}
}

// The next command sees the project's caches as an earlier one left them, if they were kept; they are no changes.
func TestProjectCachesAreSeenByTheNextCommand(t *testing.T) {
	for name, memory := range map[string]bool{"memory": true, "disk": false} {
		t.Run(name, func(t *testing.T) { projectCaches(t, memory) })
	}
}

func projectCaches(t *testing.T, memory bool) {
	s, root := open(t, func(c *Config) {
		c.Kept = filepath.Join(c.Temp, "kept")
		c.IsCache = func(rel string) bool { return filepath.Base(rel) == "__pycache__" }
		c.inMemory = memory
	})
	write(t, root, "pkg/a.py", "1")
	write(t, root, "pkg/__pycache__/old", "1")
	if err := os.Chmod(filepath.Join(root, "pkg"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, row := range []struct {
		line, want, changed string
		keep                bool
	}{
		{"echo 2 > pkg/__pycache__/new; rm pkg/__pycache__/old; echo 2 > made", "", "/made", true},
		{"cat pkg/__pycache__/new; ls pkg/__pycache__; stat -c %a pkg; test -e made; echo $?", "2new7001", "", true},
		{"echo 3 > pkg/__pycache__/new", "", "", false},
		{"cat pkg/__pycache__/new; rm -r pkg/__pycache__", "2", "", true},
		{"ls pkg", "a.py", "", true},
		{"mkdir pkg/__pycache__; echo 4 > pkg/__pycache__/x; mkdir -p fresh/__pycache__; echo 5 > fresh/__pycache__/y", "", "/fresh", true},
		{"cat pkg/__pycache__/*; ls", "4pkg", "", true},
	} {
		out, _, p := run(t, s, Options{Layer: true}, row.line)
		changes, err := p.Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changed := ""
		for _, c := range changes.Entries {
			changed += strings.TrimPrefix(c.Path, root)
		}
		if got := strings.ReplaceAll(out, "\n", ""); got != row.want || changed != row.changed {
			t.Errorf("%d: it printed %q, want %q, and changed %q, want %q", i, got, row.want, changed, row.changed)
		}
		if err := changes.Discard(row.keep); err != nil {
			t.Error(err)
		}
	}
	if read(root, "pkg/__pycache__/old") != "1" {
		t.Error("the project's own cache was changed")
	}
	if err := os.RemoveAll(filepath.Join(root, "pkg")); err != nil {
		t.Fatal(err)
	}
	out, _, p := run(t, s, Options{Layer: true}, "ls -A")
	if out != "" || p.Discard() != nil {
		t.Errorf("where the directory is gone it printed %q", out)
	}
}

// Two sessions of one project do not write the same caches.
func TestASecondSessionHasCachesOfItsOwn(t *testing.T) {
	s, _ := open(t, func(c *Config) { c.Kept = filepath.Join(c.Temp, "kept") })
	config := s.config
	config.Temp += "2"
	other, err := Open(t.Context(), config, namespaceFacts)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if s.kept == other.kept || other.kept == "" {
		t.Errorf("%q and %q", s.kept, other.kept)
	}
}

// A session that was killed leaves its layers; the next one removes them.
func TestLayersOfAKilledSessionAreRemoved(t *testing.T) {
	var left string
	s, _ := open(t, func(c *Config) {
		c.Layers = filepath.Join(c.Temp, "state")
		left = filepath.Join(c.Layers, "artoo-session-1", "1", "work", "work")
		for _, err := range []error{os.MkdirAll(left, 0o700), os.Chmod(left, 0)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	list, err := os.ReadDir(s.config.Layers)
	if err != nil || len(list) != 1 {
		t.Errorf("there is %v, %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if list, err = os.ReadDir(s.config.Layers); err != nil || len(list) != 0 {
		t.Errorf("after the end there is %v, %v", list, err)
	}
}

// A directory that the user added may hold those of artoo's own.
func TestNoCommandSeesWhatOthersWroteOnLayers(t *testing.T) {
	s, _ := open(t, func(c *Config) {
		state := filepath.Join(filepath.Dir(c.Root), "state")
		c.Layers, c.Kept = filepath.Join(state, "layers"), filepath.Join(state, "kept")
		c.Caches = []Cache{{Path: filepath.Join(c.Home, "cache"), Own: filepath.Join(state, "own")}}
		c.Read = []string{state}
	})
	for _, options := range []Options{{Layer: true, Exec: true}, {Layer: true}, {ReadOnly: true}, {Job: true}} {
		state := filepath.Dir(s.config.Layers)
		out, _, p := run(t, s, options, "ls "+state+"; ls "+state+"/*; cd ~/cache && echo x > $TMPDIR/here && cat $TMPDIR/here")
		if strings.Contains(out, "session") || strings.Contains(out, "upper") || !strings.HasSuffix(out, "x\n") || p.Discard() != nil {
			t.Errorf("%+v: %q", options, out)
		}
	}
}
