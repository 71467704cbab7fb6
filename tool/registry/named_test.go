package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestHostsThatFilesOfAProjectName(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t, "named.txt") {
		t.Run(e.set+"/"+e.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, e.files)
			named, err := NamedBy(root, e.set)
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
	named, err := NamedBy(root, "npm")
	if len(named) != 20 || named[0].Host.Name != "h0.example" || named[19].Host.Name != "h19.example" || err != nil {
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
	if named, err := NamedBy(root, "npm"); len(named) > 0 || err != nil {
		t.Errorf("%v, %v", named, err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "Gemfile"), 0o600); err != nil {
		t.Fatal(err)
	}
	named, err := NamedBy(root, "rubygems")
	if len(named) > 0 || err == nil || err.Error() != "Gemfile: not a regular file" {
		t.Errorf("%v, %v", named, err)
	}
	if _, err := NamedBy(filepath.Join(root, "none"), "npm"); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
