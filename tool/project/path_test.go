package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Programs that artoo starts itself come from no directory that a command could write.
func TestProgramsOfTheHostComeFromElsewhere(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	for _, dir := range []string{"home/bin", "home/shop/bin", "store/bin", "added/bin", "linked", "chained"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"home/alias": "home/shop", "home/shop/profile": "store", "home/tools": "home/shop/bin",
		"linked/git": "home/shop/git", "linked/other": "home/shop/other",
		"home/shop/through": "store/git", "chained/git": "home/shop/through",
	} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"home/shop/git", "store/git"} {
		if err := os.WriteFile(at(program), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	list := func(dirs ...string) string {
		for i, dir := range dirs {
			if dir != "bin" && dir != "" {
				dirs[i] = at(dir)
			}
		}
		return strings.Join(dirs, string(filepath.ListSeparator))
	}
	for _, test := range []struct{ name, root, path, want string }{
		{"the project", "home/shop", list("home/shop/bin", "store/bin", "home/bin"), list("store/bin", "home/bin")},
		{"relative", "home/shop", list("bin", "", "home/bin"), list("home/bin")},
		{"another name", "home/shop", list("home/alias/bin", "home/tools", "home/bin"), list("home/bin")},
		{"through the project", "home/shop", list("home/alias/profile/bin", "store/bin"), list("store/bin")},
		{"what is missing", "home/shop", list("home/shop/none", "none"), list("none")},
		{"added for writing", "home/shop", list("added/bin", "home/bin"), list("home/bin")},
		{"a link to a program", "home/shop", list("linked", "home/bin"), list("home/bin")},
		{"a link to a link", "home/shop", list("chained", "home/bin"), list("home/bin")},
		{"elsewhere it is one of another", "store", list("linked", "home/bin"), list("linked", "home/bin")},
		{"the home is no project", "home", list("home/bin", "store/bin"), list("home/bin", "store/bin")},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := Project{Root: at(test.root)}.HostPath(test.path, at("home"), []string{at("added")}, []string{"git"})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
