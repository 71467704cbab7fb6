package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/tempdir"
)

// programs are the programs that were built, each once: linking takes seconds. Each
// has a directory of its own. It is called artoo, except the server of tests.
type programs struct {
	mu    sync.Mutex
	dir   string
	files map[string]string // by package
}

var built programs

// serverDir is the package of the program mcpserver, an MCP server of the kinds that its
// arguments name.
var serverDir = filepath.Join(moduleDir, "testdata", "mcpserver")

// buildProgram builds a package of this module the way artoo is shipped. After make,
// the build comes from Go's cache.
func buildProgram(t testing.TB, pkg string) string {
	t.Helper()
	file, err := built.program(pkg)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// gcflags are the compiler's flags that the Makefile builds artoo with, as GOFLAGS takes them.
func gcflags() (string, error) {
	data, err := os.ReadFile(filepath.Join(moduleDir, "Makefile"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if flags, ok := strings.CutPrefix(line, "GCFLAGS  ="); ok {
			return strings.TrimSpace(flags), nil
		}
	}
	return "", errors.New("the Makefile has no GCFLAGS")
}

func (p *programs) program(pkg string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if file, ok := p.files[pkg]; ok {
		return file, nil
	}
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "artoo-programs-")
		if err != nil {
			return "", err
		}
		p.dir, p.files = dir, map[string]string{}
	}
	name := "artoo"
	if pkg == serverDir {
		name = filepath.Base(pkg)
	}
	file := filepath.Join(p.dir, strconv.Itoa(len(p.files)), name)
	flags, err := gcflags()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(pkg)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", file, dir)
	cmd.Dir = moduleDir // The flags name packages relative to it.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+flags)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, bytes.TrimSpace(out))
	}
	p.files[pkg] = file
	return file, nil
}

// clear removes them all.
func (p *programs) clear() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// home is the environment of a newcomer: an empty home directory, and of the test's
// own environment only PATH. It ends with the given variables.
func home(t testing.TB, with ...string) []string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { // A killed artoo of an ordinary user leaves directories that the test could not remove.
		if err := tempdir.RemoveAll(filepath.Join(dir, ".local", "state", "artoo", "layers")); err != nil {
			t.Error(err)
		}
	})
	env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"TMPDIR=" + os.TempDir(), "ARTOO_SANDBOX=off", // machines differ in their sandboxes
		"GIT_CEILING_DIRECTORIES=" + os.TempDir()}
	if _, measured := t.(*testing.B); !measured {
		env = append(env, collected()...)
	}
	return append(env, with...)
}

// collected is how often the tests themselves collect garbage, for the environment of
// the programs that they start: most of those end before there is any worth the time.
func collected() []string {
	if percent, ok := os.LookupEnv("GOGC"); ok {
		return []string{"GOGC=" + percent}
	}
	return nil
}

// unlisted is a model's server that plays the replies and has no list of models.
func unlisted(t testing.TB, replies ...providertest.Reply) *providertest.Server {
	t.Helper()
	h := providertest.Script(replies...)
	h.NoList = true
	return providertest.Serve(t, h)
}
