package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"artoo/config"
	"artoo/provider/providertest"
	"artoo/tool/environ"
	"artoo/tool/sandbox"
	"artoo/tool/sweep"
)

// ran runs artoo in this process, or as it is shipped with -shipped, and returns its exit status and outputs together.
func ran(t testing.TB, dir string, vars []string, stdin string, args ...string) (said string, code int) {
	t.Helper()
	if *shippedOnly {
		cmd := exec.Command(buildProgram(t, moduleDir), args...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, vars, strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	code, stdout, stderr, err := runHere(dir, append(slices.Clip(vars), "PWD="+dir), stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return stdout + stderr, code
}

// sampled are the cases that a test tries which calls ran: as artoo is shipped all of them, since make crash runs it in
// this process.
func sampled[T any](t testing.TB, sample int, all []T) []T {
	t.Helper()
	if *shippedOnly {
		sample = len(all)
	}
	return sweep.Of(t, sample, all)
}

// runHere runs Main in this process, with pipes for its streams as a script's program has them, and returns its exit
// status and outputs.
func runHere(dir string, vars environ.Vars, stdin string, args ...string) (code int, stdout, stderr string, err error) {
	if err := knowSandbox(vars); err != nil {
		return 0, "", "", err
	}
	var files [3][2]*os.File // the reading and the writing end
	for i := range files {
		if files[i][0], files[i][1], err = os.Pipe(); err != nil {
			return 0, "", "", err
		}
	}
	var copying sync.WaitGroup
	var out, errs bytes.Buffer
	copying.Go(func() {
		_, _ = io.WriteString(files[0][1], stdin) // it may not be read to its end
		_ = files[0][1].Close()
	})
	copying.Go(func() { _, _ = io.Copy(&out, files[1][0]) })
	copying.Go(func() { _, _ = io.Copy(&errs, files[2][0]) })
	code = Main(processHere(dir, vars, files[0][0], files[1][1], files[2][1], args...))
	for _, f := range []*os.File{files[0][0], files[1][1], files[2][1]} {
		_ = f.Close()
	}
	copying.Wait()
	_, _ = files[1][0].Close(), files[2][0].Close()
	return code, out.String(), errs.String(), nil
}

// processHere is the Process of a run in this process. Of variables with one name the last counts, as for a program.
func processHere(dir string, vars environ.Vars, in, out, errs *os.File, args ...string) Process {
	var once environ.Vars
	for _, kv := range vars {
		name, value, _ := strings.Cut(kv, "=")
		once = once.With(name, value)
	}
	return Process{Args: args, In: in, Out: out, Err: errs, Environ: once, Dir: dir, Exit: os.Exit,
		Docs: os.DirFS(moduleDir)}
}

// knowSandbox has the run with these variables find in its cache what artoo in this process knows of the machine's
// sandbox: to try it takes longer than most runs.
func knowSandbox(vars environ.Vars) error {
	dir, err := config.FindPaths(vars).CacheDir()
	if err != nil || vars.Get("ARTOO_SANDBOX") == "off" {
		return nil
	}
	facts, err := factsHere()
	if err != nil || facts == nil {
		return err
	}
	file := filepath.Join(dir, "sandbox.json")
	if known, err := os.ReadFile(file); err == nil && bytes.Equal(known, facts) {
		return nil
	}
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, facts, 0o600))
}

// factsHere is the file that sandbox.Probe keeps, nil where it keeps none: each run then tries the sandbox.
var factsHere = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "artoo-facts-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "sandbox.json")
	sandbox.Probe(context.Background(), file)
	facts, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return facts, errors.Join(err, os.RemoveAll(dir))
})

// Each has a home, a directory, variables and a provider of its own, and sees nothing of the others.
func TestSeveralRunsFitIntoOneProcess(t *testing.T) {
	const runs = 8
	var all sync.WaitGroup
	for i := range runs {
		said := fmt.Sprintf("I am number %d.", i)
		server := unlisted(t, providertest.Anthropic(providertest.Text(said)))
		vars := environ.Vars(home(t, "container=test", "ARTOO_PROVIDER=anthropic", "ANTHROPIC_BASE_URL="+server.URL,
			"ANTHROPIC_API_KEY=sk-test-0123456789", fmt.Sprintf("ARTOO_MODEL=model-%d", i)))
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "note.txt"), fmt.Appendf(nil, "note %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			code, stdout, stderr, err := runHere(dir, vars, "", "-p", "Who are you? @note.txt")
			if code != 0 || stdout != said+"\n" || err != nil {
				t.Errorf("%d: %q %q %v", code, stdout, stderr, err)
			}
			code, stdout, stderr, err = runHere(dir, vars, "", "doctor", "--offline")
			if !strings.Contains(stdout, fmt.Sprintf("model model-%d\n", i)) || !strings.Contains(stdout, "  "+dir+"\n") || err != nil {
				t.Errorf("%d: %q %q %v", code, stdout, stderr, err)
			}
		})
	}
	all.Wait()
}

// The tests' own directory has no such files.
func TestRelativePathsAreSeenFromTheDirectoryOfTheRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"key.txt": "sk-test-0123456789\n", "artoo.toml": "[agent]\nmax_turns = 7\n",
		"answer.json": `{"type":"object"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := unlisted(t, providertest.Anthropic(providertest.Text("{}")))
	vars := home(t, "container=test", "ARTOO_PROVIDER=anthropic", "ARTOO_MODEL=m", "ANTHROPIC_BASE_URL="+server.URL,
		"ARTOO_API_KEY_FILE=key.txt", "ARTOO_LOG=all.log")
	code, stdout, stderr, err := runHere(dir, vars, "", "-p", "--config", "artoo.toml", "--schema", "./answer.json", "-o", "json", "hello")
	if code != 0 || err != nil {
		t.Errorf("%d %q %q %v", code, stdout, stderr, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "all.log")); err != nil {
		t.Error(err)
	}
}
