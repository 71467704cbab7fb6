package builtin

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"artoo/tool/files"
)

// A file that a confined command must not see is found under every name it has.
func TestDeniedFilesAreFoundUnderEveryName(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(".env", "A=1")
	put(".env.example", "A=")
	put("deep/er/secrets.yaml", "a: 1")
	put("key.pem", "-----BEGIN PRIVATE KEY-----")
	put("cert.pem", "-----BEGIN CERTIFICATE-----")
	put("main.go", "package main")
	put(".git/objects/ab/.env", "not a name of the project's")
	put(".git/modules/lib/objects/ab/.env", "the same")
	put("src/objects/.env", "A=1")
	put(".git/wt/src/objects/.env", "A=1")
	if err := os.Link(filepath.Join(dir, ".env"), filepath.Join(dir, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".env", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	files, err := files.Open(files.Config{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	expect := func(expected ...string) {
		t.Helper()
		got, err := files.Denied()
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range got {
			got[i], _ = filepath.Rel(dir, path)
		}
		if !slices.Equal(got, expected) {
			t.Errorf("found %q, expected %q", got, expected)
		}
	}
	const trees, objects = ".git/wt/src/objects/.env", "src/objects/.env"
	expect(".env", trees, "deep/er/secrets.yaml", "key.pem", "notes.txt", objects)
	put("cert.pem", "-----BEGIN PRIVATE KEY-----") // its directory does not change
	put("deep/er/.env", "B=2")
	expect(".env", trees, "cert.pem", "deep/er/.env", "deep/er/secrets.yaml", "key.pem", "notes.txt", objects)
}

// Commands must not talk to other programs through sockets, whose addresses count from
// wherever those worked when they made them.
func TestSocketsAreDenied(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	added, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp", "objects"), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := files.Open(files.Config{Root: dir, WriteDirs: []string{added}})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var expected []string
	for _, at := range []struct{ dir, address string }{{dir, "s"}, {dir, "tmp/objects/s"}, {added, "s"}} {
		t.Chdir(at.dir)
		listener, err := net.Listen("unix", at.address)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		expected = append(expected, filepath.Join(at.dir, at.address))
		slices.Sort(expected)
		if got, err := files.Denied(); err != nil || !slices.Equal(got, expected) {
			t.Errorf("found %q, expected %q: %v", got, expected, err)
		}
	}
}
