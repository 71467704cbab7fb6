package tool

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What a confined command must not see is found under every name it has.
func TestDeniedFilesAreFoundUnderEveryName(t *testing.T) {
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
	if err := os.Link(filepath.Join(dir, ".env"), filepath.Join(dir, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".env", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	files, err := OpenFiles(FilesConfig{Root: dir})
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
	expect(".env", "deep/er/secrets.yaml", "key.pem", "notes.txt")
	put("cert.pem", "-----BEGIN PRIVATE KEY-----") // its directory does not change
	put("deep/er/.env", "B=2")
	expect(".env", "cert.pem", "deep/er/.env", "deep/er/secrets.yaml", "key.pem", "notes.txt")
}
