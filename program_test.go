package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program builds a package of this module the way artoo is shipped, into a
// directory of the test's own. What make built already comes from Go's cache.
func program(t testing.TB, pkg string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program.exe")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", file, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, bytes.TrimSpace(out))
	}
	return file
}

// home is the environment of a newcomer: an empty home directory, and of the
// outside only where programs are. It ends with what is given.
func home(t testing.TB, with ...string) []string {
	t.Helper()
	dir := t.TempDir()
	env := []string{"HOME=" + dir, "USERPROFILE=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TMPDIR=" + os.TempDir()}
	if root, ok := os.LookupEnv("SYSTEMROOT"); ok { // Windows starts nothing without it
		env = append(env, "SYSTEMROOT="+root)
	}
	return append(env, with...)
}
