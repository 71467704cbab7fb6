//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The browser that a server's address or a login opens gets no key of a provider; over SSH none is opened.
func TestTheBrowserGetsNoKey(t *testing.T) {
	dir := t.TempDir()
	pipe, browser := filepath.Join(dir, "pipe"), filepath.Join(dir, "browser")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(browser, []byte("#!/bin/sh\n(echo \"$@\"; env) > "+pipe+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := children{opt: &Options{Children: Children{Environ: []string{"BROWSER=" + browser + " --new %s", "ANTHROPIC_API_KEY=sk-secret"},
		KeyVariables: []string{"ANTHROPIC_API_KEY"}}}}
	const address = "https://example.org/sign?id=1"
	program, err := OpenBrowser(address, c.programs())
	if err != nil || program != browser {
		t.Fatal(program, err)
	}
	got, err := os.ReadFile(pipe)
	if err != nil || !strings.HasPrefix(string(got), "--new "+address+"\n") || strings.Contains(string(got), "sk-secret") {
		t.Errorf("%s, %v", got, err)
	}
	for _, row := range []struct{ address, variable string }{
		{address, "SSH_CONNECTION=10.0.0.1 22 10.0.0.2 22"}, {address, "SSH_TTY=/dev/pts/1"},
		{"file:///etc/passwd", "A=b"}, {"https://example.org/\x1b[31m", "A=b"}, {"--help", "A=b"},
	} {
		if program, err := OpenBrowser(row.address, append(c.programs(), row.variable)); err == nil {
			t.Errorf("%v: opened by %s", row, program)
		}
	}
	name := map[bool]string{true: "open", false: "xdg-open"}[runtime.GOOS == "darwin"]
	if err := os.Rename(browser, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if program, err := OpenBrowser(address, []string{"BROWSER=", "DISPLAY=:0"}); err != nil || program != name {
		t.Fatal(program, err)
	}
	if got, err := os.ReadFile(pipe); err != nil || !strings.HasPrefix(string(got), address+"\n") {
		t.Errorf("%s, %v", got, err)
	}
}
