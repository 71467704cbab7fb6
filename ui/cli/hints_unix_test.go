//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A hint that names commands works unchanged: in a shell, the call it allows is not refused for
// the same reason again. If no rule would help, the hint names none.
func TestAnyHintWorksAsItIs(t *testing.T) {
	t.Parallel()
	shared := home(t, "container=test", "ARTOO_SANDBOX=auto", "GIT_CONFIG_NOSYSTEM=1")
	needsLayers(t, buildProgram(t, moduleDir), shared)
	origin := projectFrom(t, `git config user.name a && git config user.email a@example.org && echo hello > a.txt
		printf 'echo built > built.txt' > build.sh && git add . && git commit -qm first && echo mine > notes.txt && echo bye > a.txt`)
	const noWay = "run it yourself, or start artoo without -p and answer its question"
	for _, row := range sampled(t, 5, []struct {
		lines   []string
		options string
		last    string // hint: the one after which all was done, or which names no rule
	}{
		{[]string{"echo x > new.txt"}, "", "artoo --allow 'bash(echo x > new.txt)'"},
		{[]string{`echo "it's" > new.txt`}, "", `artoo --allow 'bash(echo "it'\''s" > new.txt)'`},
		{[]string{"git commit -qam second"}, "", "artoo --allow 'bash(git commit -qam second)'"},
		{[]string{"sh build.sh"}, "", "artoo --allow 'bash(sh build.sh)'"},
		{[]string{"git push"}, "", "artoo --allow 'bash!(git push)'"},
		{[]string{"echo x > new.txt", "echo y > b.txt"}, "", "artoo --allow 'bash(echo x > new.txt)' --allow 'bash(echo y > b.txt)'"},
		{[]string{"sh build.sh", "echo x > new.txt", "sh build.sh"}, "", "artoo --allow 'bash(sh build.sh)'"},
		{[]string{"echo x > new.txt\necho y > b.txt"}, "", noWay},
		{[]string{"cat > new.txt <<E\nx\nE"}, "", noWay},
		{[]string{"echo 'a\tb' > new.txt"}, "", noWay},
		{[]string{"echo x > new.txt"}, "--ask bash(echo:*)", noWay},
		{[]string{"echo x > .npmrc"}, "", noWay},
		{[]string{"git config user.name bob"}, "--approval auto", noWay},
		{[]string{"git commit -q --amend -m other"}, "--approval auto", noWay},
		{[]string{"rm notes.txt"}, "", "artoo --allow 'bash(rm notes.txt)'"},
	}) {
		t.Run(fmt.Sprint(row.lines, row.options), func(t *testing.T) {
			t.Parallel()
			env, project := newModel(t, line(t, row.lines...)).at(shared), copied(t, origin)
			run := func(line string) (said string, code int) {
				for _, args := range callsOf(t, line) {
					said, code = ran(t, project, env, "", args...)
				}
				return said, code
			}
			const ask = " -p go </dev/null"
			begin := "artoo"
			if option, value, ok := strings.Cut(row.options, " "); ok {
				begin += " " + option + " '" + value + "'"
			}
			said, code := run(begin + ask)
			refused, hint, hints := regexp.MustCompile(`(?m)^artoo: (denied|discarded): .*; no one`), "", []string{}
			for range 3 {
				if code != 6 {
					break
				}
				lines := strings.Split(strings.TrimSpace(said), "\n")
				hint = strings.TrimPrefix(lines[len(lines)-1], "  try: ")
				if hints = append(hints, hint); hint == noWay {
					break
				}
				then := hint + ask
				if !strings.Contains(hint, "--allow") {
					then = hint + "; " + begin + ask
				}
				before := refused.FindAllString(said, -1)
				said, code = run(then)
				for _, reason := range before {
					if strings.Contains(said, reason) {
						t.Errorf("after %s: %s", hint, said)
					}
				}
			}
			if hint != row.last || (code == 6) != (row.last == noWay) {
				t.Errorf("exit %d after the hints %q, want %q at last: %s", code, hints, row.last, said)
			}
		})
	}
}

// callsOf are the arguments of each artoo that a shell line starts. The shell finds a program that prints them.
func callsOf(t *testing.T, line string) (calls [][]string) {
	t.Helper()
	bin := t.TempDir()
	program := []byte("#!/bin/sh\nprintf '%s\\0' \"$@\"\nprintf '\\n'\n")
	if err := os.WriteFile(filepath.Join(bin, "artoo"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	printed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for call := range strings.SplitSeq(strings.TrimSuffix(string(printed), "\x00\n"), "\x00\n") {
		calls = append(calls, strings.Split(call, "\x00"))
	}
	return calls
}
