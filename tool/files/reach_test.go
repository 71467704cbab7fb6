package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reachTree makes a project with secrets, links and odd names, and opens it.
func reachTree(t *testing.T) (f *Files, root string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(base, "p[1]")
	for name, text := range map[string]string{
		"outside": "", "p[1]/a.go": "", "p[1]/.env": "", "p[1]/sub/deep/x": "", "p[1]/sub/y.go": "", "p[1]/clean/x": "",
		"p[1]/clean/.hidden": "",
		"p[1]/secret/id_rsa": "", "p[1]/dash/-o": "", "p[1]/dash/b": "", "p[1]/linked/z": "", "p[1]/.aws/config": "",
		"p[1]/.aws/sso/x": "", "p[1]/config": "",
	} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": base, "in": filepath.Join("sub", "deep"),
		"awslink": filepath.Join(".aws", "sso"), "linked/other": filepath.Join("..", "clean"), "linked2": "linked"} {
		if err := os.Symlink(to, filepath.Join(root, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	f, err = Open(Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, root
}

func TestReach(t *testing.T) {
	t.Parallel()
	f, root := reachTree(t)
	cases := []struct {
		dir, arg  string
		recursive bool
		why       string // a part of the error, "" for none
	}{
		{".", "a.go", false, ""}, {".", ".", false, ""}, {".", "nothing", false, ""}, {".", "nothing/x", false, ""},
		{".", "", false, ""}, {".", root, false, ""}, {".", root + "/a.go", false, ""}, {"sub", "../a.go", false, ""},
		{"sub", "..", false, ""}, {".", ".env", false, ".env"}, {".", "sub/../.env", false, ".env"},
		{".", root + "/sub/../.env", false, ".env"}, {".", "..", false, "outside"},
		{".", "../outside", false, "outside"}, {"sub", "../../outside", false, "outside"}, {".", "/", false, "outside"},
		{".", "out", false, "outside"}, {".", "out/outside", false, "outside"},
		{".", root + "/../outside", false, "outside"},
		// ".." goes up from where a link leads.
		{".", "in/x", false, ""}, {".", "in/../y.go", false, ""}, {"in", "../y.go", false, ""},
		{"in", "../../.env", false, ".env"}, {"in", "../../../outside", false, "outside"},
		{"awslink", "../config", false, "credentials"}, {".", "awslink/../config", false, "credentials"},
		// Globs.
		{".", "*", false, "."}, {".", "*.go", false, ""}, {".", "su*/y.go", false, ""}, {".", "sub/*", false, ""},
		{".", "sub/*/*", false, ""}, {".", ".*", false, ".env"}, {".", ".e*", false, ".env"},
		{".", ".?nv", false, ".env"}, {".", ".[e]nv", false, ".env"}, {".", ".[!a]nv", false, ".env"},
		{".", ".[[:alpha:]]nv", false, ".env"}, {".", "o[a-z]t/outside", false, "outside"},
		{".", "../*", false, "outside"}, {".", "sub/../../*", false, "outside"}, {".", root + "/*.go", false, ""},
		{".", root + "/../*.go", false, "outside"}, {".", filepath.Dir(root) + "/p*/a.go", false, "outside"},
		{".", "b[", false, ""}, {"clean", "*", false, ""}, {"in", "../*", false, ""}, {"secret", "*", false, "key"},
		{".", "s*/id*", false, "key"}, {"dash", "*", false, "like an option"}, {".", "dash/*", false, ""},
		{"dash", "?o", false, "like an option"}, {"dash", "b*", false, ""},
		// All below.
		{".", ".", true, ""}, {".", "clean", true, ""}, {".", "sub", true, ""}, {".", "secret", true, "key"},
		{".", "a.go", true, ""}, {".", "nothing", true, ""}, {".", "linked", true, "link to another directory"},
		{".", "linked2", true, "link to another directory"}, {".", "s*", true, "key"}, {".", "../p[1]", true, ""},
	}
	for _, c := range cases {
		if c.arg == "." && c.recursive || c.arg == "../p[1]" {
			c.why = "." // several reasons, whichever is met first
		}
		err := f.Reach(filepath.Join(root, c.dir), c.arg, c.recursive)
		if c.arg == "*" && c.dir == "." && err != nil && strings.Contains(err.Error(), "outside") {
			continue // a link out of the project, which file systems list before or after .env
		}
		switch {
		case c.why == "" && err != nil:
			t.Errorf("%s in %s (recursive %v): %v", c.arg, c.dir, c.recursive, err)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s in %s (recursive %v): error %v, want one with %q", c.arg, c.dir, c.recursive, err, c.why)
		}
	}
}

func TestReachLooksAtSoManyFilesOnly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 30 {
		mkfile(t, filepath.Join(root, "d", strings.Repeat("x", i+1), "y"), "")
	}
	f, err := Open(Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		arg       string
		recursive bool
		enough    int
	}{{"d", true, 61}, {"d/*", false, 30}, {"d/*/*", false, 60}} {
		f.reachLimit = c.enough
		if err := f.Reach(root, c.arg, c.recursive); err != nil {
			t.Errorf("%s: %v", c.arg, err)
		}
		f.reachLimit--
		if err := f.Reach(root, c.arg, c.recursive); err == nil ||
			!strings.Contains(err.Error(), "too many files") {
			t.Errorf("%s: error %v", c.arg, err)
		}
	}
}

func mkfile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
