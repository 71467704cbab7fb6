package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"artoo/tool/journal"
	"artoo/tool/sweep"
)

// TestBisectFindsAnyStep is bar 21 of the paper on extending: of 64 steps it finds the one that broke a command, with
// at most 8 runs, and the project stays as it is.
func TestBisectFindsAnyStep(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	env := home(t, "ARTOO_SANDBOX=auto", "container=test")
	needsLayers(t, artoo, env)
	var homeDir string
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			homeDir = dir
		}
	}
	runs := regexp.MustCompile(`^step (\d+) of 64 broke .* \((\d+) runs\)`)
	for _, i := range sweep.Cases(t, 1, 20) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "count"), []byte("0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		state := filepath.Join(homeDir, ".local", "state", "artoo")
		j, err := journal.Open(journal.Config{Dir: journal.Dir(state, dir, "session1"), Root: dir, State: state})
		if err != nil {
			t.Fatal(err)
		}
		broken := 1 + rand.New(rand.NewPCG(uint64(i), 26)).IntN(64)
		for n := 1; n <= 64; n++ {
			step := j.Begin(n, fmt.Sprint("write step ", n))
			name := filepath.Join("sub dir", fmt.Sprint(n%7))
			if _, err := step.Before("count", name, "bad"); err != nil {
				t.Fatal(err)
			}
			err := os.MkdirAll(filepath.Join(dir, "sub dir"), 0o755)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "count"), []byte(strconv.Itoa(n)+"\n"), 0o644)
			}
			if err == nil && n%3 == 0 {
				err = os.RemoveAll(filepath.Join(dir, name))
			} else if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), []byte(strconv.Itoa(n)), 0o755)
			}
			if err == nil && n == broken {
				err = os.WriteFile(filepath.Join(dir, "bad"), []byte("bad\n"), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := step.End(); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		before := treeOf(t, dir)
		cmd := exec.Command(artoo, "bisect", "cat count; test ! -e bad; exit $?")
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		m := regexp.MustCompile(`(?m)` + runs.String()).FindStringSubmatch(string(out))
		if err != nil || m == nil || m[1] != strconv.Itoa(broken) {
			t.Fatalf("%d: step %d: %v\n%s", i, broken, err, out)
		}
		if n, _ := strconv.Atoi(m[2]); n > 8 {
			t.Errorf("%d runs", n)
		}
		if after := treeOf(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the project was\n%v\nand is\n%v", before, after)
		}
	}
}
