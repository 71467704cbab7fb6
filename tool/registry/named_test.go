package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestHostsThatFilesOfAProjectName(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t, "named.txt") {
		t.Run(e.set+"/"+e.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, e.files)
			named, err := new(Files).NamedBy(root, e.set, Place{})
			if err != nil {
				t.Fatal(err)
			}
			var hosts []string
			for _, one := range named {
				if hosts = append(hosts, one.Host.String()); one.File != e.name || one.Host.Own {
					t.Errorf("%+v", one)
				}
			}
			if got, want := strings.Join(hosts, " "), strings.Join(e.says["hosts"], ""); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestFewHostsAreNamedAndEachOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var lock strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lock, "\"resolved\": \"https://h%d.example/x\"\n", i)
	}
	write(t, root, map[string]string{
		"package-lock.json": lock.String(), "yarn.lock": "  resolved \"https://h0.example/\"\n"})
	named, err := new(Files).NamedBy(root, "npm", Place{})
	if len(named) != 20 || named[0].Host.Name != "h0.example" || named[19].Host.Name != "h19.example" || err != nil {
		t.Errorf("%v, %v", named, err)
	}
}

// A lock file of 20 MB takes seconds to read, and each decision on a line asks what it names.
func TestAFileIsReadAgainOnlyOnceItChanged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	lock, when := filepath.Join(root, "Cargo.lock"), time.Unix(1e9, 0)
	var files Files
	for _, c := range []struct{ host, want string }{{"a", "a"}, {"b", "a"}, {"longer", "longer"}} {
		write(t, root, map[string]string{"Cargo.lock": `source = "registry+https://` + c.host + `"`})
		if err := os.Chtimes(lock, when, when); err != nil {
			t.Fatal(err)
		}
		named, err := files.NamedBy(root, "crates", Place{})
		if len(named) != 1 || named[0].Host.Name != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.host, named, err)
		}
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if named, err := files.NamedBy(root, "crates", Place{}); len(named) > 0 || err != nil {
		t.Errorf("%v, %v", named, err)
	}
}

// The directory is a project's: what is there may lead elsewhere, or never end.
func TestNoFileOutsideIsReadAndNoneIsWaitedFor(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	write(t, elsewhere, map[string]string{"x": "registry=https://a.example\n"})
	if err := os.Symlink(filepath.Join(elsewhere, "x"), filepath.Join(root, ".npmrc")); err != nil {
		t.Fatal(err)
	}
	if named, err := new(Files).NamedBy(root, "npm", Place{}); len(named) > 0 || err != nil {
		t.Errorf("%v, %v", named, err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "Gemfile"), 0o600); err != nil {
		t.Fatal(err)
	}
	named, err := new(Files).NamedBy(root, "rubygems", Place{})
	if len(named) > 0 || err == nil || err.Error() != "Gemfile: not a regular file" {
		t.Errorf("%v, %v", named, err)
	}
	if _, err := new(Files).NamedBy(filepath.Join(root, "none"), "npm", Place{}); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

// Some package managers keep keys by names that a project gives to its registries.
func TestAKeyThatIsKeptByAName(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t, "kept.txt") {
		t.Run(e.set+"/"+strings.ReplaceAll(e.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			own, _, project := home(t, e.files)
			write(t, project, map[string]string{strings.Join(e.says["file"], ""): e.files["project"]})
			own = append(own, e.says["variable"]...)
			place, err := Of(t.Context(), e.set, own, t.TempDir(), hasKey)
			if err != nil || place.Key != "" {
				t.Fatal(place.Key, err)
			}
			named, err := new(Files).NamedBy(project, e.set, place)
			if err != nil || len(named) != 1 || named[0].Key != strings.Join(e.says["key"], "") {
				t.Errorf("%+v, %v", named, err)
			}
		})
	}
}
