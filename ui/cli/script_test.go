package cli

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/agent"
	"artoo/tool/needs"
)

// TestScript runs the program as its user does: testdata/script/*.txtar. The
// commands beside testscript's own are documented where they are defined. Scripts
// exec artoo in this process (see hereInstead), and talk to it as it is shipped; with -shipped
// they exec it so, too. Tests that start "artoo" themselves run it within the test binary.
func TestScript(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleDir, "testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	shipped, server := filepath.Dir(buildProgram(t, moduleDir)), filepath.Dir(buildProgram(t, serverDir))
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			p := scriptParams(shipped, server)
			// Each has a limit of its own, from its own start, so that one which hangs
			// says where and delays no other.
			p.Files, p.Deadline = []string{file}, time.Now().Add(scriptLimit)
			here, setUp := !*shippedOnly && !*update, p.Setup
			if here {
				p.Files = []string{hereInstead(t, file)}
			}
			p.Setup = func(env *testscript.Env) error {
				err := setUp(env)
				env.Values[worldKey{}].(*world).here = here
				return err
			}
			testscript.RunT(scriptTest{t}, p)
		})
	}
}

// scriptLimit bounds one script; on a busy machine, under the race detector, one
// takes a tenth of it.
const scriptLimit = 4 * time.Minute

// scriptTest is the test of one script, which runs at once.
type scriptTest struct{ *testing.T }

// Parallel implements testscript.T.
func (scriptTest) Parallel() {}

// Run implements testscript.T.
func (t scriptTest) Run(_ string, f func(testscript.T)) { f(t) }

// Verbose implements testscript.T.
func (scriptTest) Verbose() bool { return testing.Verbose() }

// scriptParams are for scripts that find artoo in dir, before any other on the PATH, and
// mcpserver in server.
func scriptParams(dir, server string) testscript.Params {
	var environ []string // of the script's beginning
	return testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", strings.Join([]string{dir, server, env.Getenv("PATH")}, string(filepath.ListSeparator)))
			err := setUpScript(env)
			environ = append(slices.Clip(env.Vars), "ARTOO_SANDBOX=auto") // later changes by the script go elsewhere
			return err
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "shipped":
				return *shippedOnly, nil
			case "layer":
				return layersHere(filepath.Join(dir, "artoo"), environ)
			}
			return condition(cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"here":      cmdHere,
			"exits":     cmdExits,
			"signal":    cmdSignal,
			"ended":     cmdEnded,
			"talk":      cmdTalk,
			"server":    cmdServer,
			"cloud":     cmdCloud,
			"spans":     cmdSpans,
			"collector": cmdCollector,
			"await":     cmdAwait,
			"requests":  cmdRequests,
			"mcpweb":    cmdMCPWeb,
			"prefix":    cmdPrefix,
			"json":      cmdJSON,
			"jsonl":     cmdJSONL,
			"session":   cmdSession,
			"cut":       cmdCut,
			"large":     cmdLarge,
			"picture":   cmdPicture,

			"repository": cmdRepository,

			"transcript": cmdTranscript,
		},
	}
}

// world holds the parts that the commands of one script share.
type world struct {
	t      testing.TB
	server *modelServer
	gone   []*exec.Cmd // that were sent a signal
	here   bool        // artoo runs in this process
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// setUpScript gives a script a home of its own. testscript hands nothing of the
// environment on but PATH, so that no key and no setting gets in.
func setUpScript(env *testscript.Env) error {
	t, ok := env.T().(testing.TB)
	if !ok {
		return errors.New("the script runs without a testing.TB")
	}
	docs, err := filepath.Abs(filepath.Join(moduleDir, "docs"))
	if err != nil {
		return err
	}
	env.Values[worldKey{}] = &world{t: t}
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	// Root in a container may work in a project: the scripts then see the same
	// for each user.
	env.Setenv("container", "testscript")
	env.Setenv("ARTOO_SANDBOX", "off")                               // machines differ in their sandboxes; scripts of the sandbox switch it on
	env.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(env.WorkDir)) // above it may be a repository
	env.Setenv("DOCS", docs)                                         // pages whose examples are played
	env.Setenv("OLLAMA_HOST", "127.0.0.1:1")                         // no server answers there, even if this machine runs Ollama
	if os.Getenv("GORACE") == "" {
		env.Setenv("GORACE", "atexit_sleep_ms=0") // else each run with the race detector ends a second late
	}
	for _, kv := range collected() {
		name, value, _ := strings.Cut(kv, "=")
		env.Setenv(name, value)
	}
	env.Setenv("GOFLAGS", "-trimpath") // GOCACHE holds the standard library as make builds it.
	env.Setenv("GOCACHE", os.Getenv("GOCACHE"))
	if os.Getenv("GOCACHE") == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		env.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	// No directory above the home directory may be a project, so the directory
	// that a script works in has only a link to it.
	elsewhere := env.WorkDir + "-home"
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		return err
	}
	env.Defer(func() {
		if err := os.RemoveAll(elsewhere); err != nil {
			t.Error(err)
		}
	})
	return os.Symlink(elsewhere, home)
}

// condition adds [root] and [full]: the user is root; there is a device that is
// always full. [layer] is that commands run on layers here, [shipped] that the script runs with -shipped.
func condition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Geteuid() == 0, nil
	case "full":
		_, err := os.Stat("/dev/full")
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// needsLayers skips the test where a program runs no command on a layer.
func needsLayers(t testing.TB, program string, environ []string) {
	t.Helper()
	here, err := layersHere(program, environ)
	if err != nil {
		t.Fatal(err)
	}
	needs.True(t, "layers", here)
}

// layersHere reports whether a program runs commands on a layer here, as its doctor
// finds out by trying. The kernel and the user are the same in all tests, so that the
// first answer holds for each.
func layersHere(program string, environ []string) (bool, error) {
	layersOnce.Do(func() {
		for {
			cmd := exec.Command(program, "doctor", "--offline")
			cmd.Dir, cmd.Env = filepath.Dir(program), environ
			out, err := cmd.Output()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) { // it ends with 1 without a provider
				layersErr = err
				return
			}
			if !strings.Contains(string(out), "the kernel gave no answer within") { // on a busy machine
				layers = strings.Contains(string(out), "changes shown before they are kept")
				return
			}
		}
	})
	return layers, layersErr
}

var (
	layersOnce sync.Once
	layers     bool
	layersErr  error
)

// cmdExits is `exits HOW program args…`: the program must end with exit status
// HOW, or of the signal of that name ("terminated", "hangup").
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits HOW program args...")
	}
	got, why := "0", func() string { return ts.ReadFile("stderr") }
	if _, err := strconv.Atoi(args[0]); err == nil && args[1] == "artoo" && worldOf(ts).here {
		code, stderr := here(ts, args[2:])
		got, why = strconv.Itoa(code), func() string { return stderr }
	} else if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = howEnded(exit.ProcessState)
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[1], got, args[0])
	}
	if code, err := strconv.Atoi(got); err == nil && code != 0 && args[1] == "artoo" &&
		!strings.Contains("\n"+why(), "\nartoo: ") {
		ts.Fatalf("it ended with %s and did not say why", got)
	}
}

// howEnded is the exit status, or the name of the signal.
func howEnded(state *os.ProcessState) string {
	if name, ok := strings.CutPrefix(state.String(), "signal: "); ok {
		name, _, _ = strings.Cut(name, " (")
		return strings.ReplaceAll(name, " ", "-")
	}
	return strconv.Itoa(state.ExitCode())
}

// cmdSignal is `signal NAME`: sends it to all background programs.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	if neg || len(args) != 1 || signals[args[0]] == nil {
		ts.Fatalf("usage: signal INT|KILL|TERM|HUP")
	}
	w := worldOf(ts)
	w.gone = ts.BackgroundCmds()
	for _, cmd := range w.gone {
		ts.Check(cmd.Process.Signal(signals[args[0]]))
	}
}

// cmdEnded is `ended HOW`: after `wait`, how the program that `signal` hit ended.
func cmdEnded(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	if neg || len(args) != 1 || len(w.gone) != 1 || w.gone[0].ProcessState == nil {
		ts.Fatalf("usage: ended HOW, after signal and wait, with one background program")
	}
	if got := howEnded(w.gone[0].ProcessState); got != args[0] {
		ts.Fatalf("ended with %s, want %s", got, args[0])
	}
}

// cmdSession is `session`: sets SESSION and SESSION_ID to the newest session's
// file and id.
func cmdSession(ts *testscript.TestScript, neg bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("HOME"), ".local", "state", "artoo", "sessions", "*.jsonl"))
	ts.Check(err)
	if neg || len(args) > 0 || len(files) == 0 {
		ts.Fatalf("usage: session, where there is one")
	}
	// Names have the time in seconds only, so the time of the last write decides.
	newest := slices.MaxFunc(files, func(a, b string) int { return modTime(ts, a).Compare(modTime(ts, b)) })
	ts.Setenv("SESSION", newest)
	base := strings.TrimSuffix(filepath.Base(newest), ".jsonl")
	ts.Setenv("SESSION_ID", base[strings.LastIndexByte(base, '-')+1:])
}

// cmdCut is `cut FILE N`: takes the last N bytes of a file away.
func cmdCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data[:max(0, len(data)-n)]), 0o600))
}

// cmdLarge is `large FILE LINES`: a file of numbered lines, 16 bytes each.
func cmdLarge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: large FILE LINES")
	}
	lines, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %010d\n", i+1)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// cmdPicture is `picture FILE WIDTH HEIGHT`: a PNG of that size.
func cmdPicture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: picture FILE WIDTH HEIGHT")
	}
	w, err := strconv.Atoi(args[1])
	ts.Check(err)
	h, err := strconv.Atoi(args[2])
	ts.Check(err)
	var b bytes.Buffer
	ts.Check(png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// cmdRepository makes the present directory, or the one that is named, the top
// of a work tree with nothing in it, as far as git looks to tell that it is one.
func cmdRepository(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: repository [DIR]")
	}
	git := ts.MkAbs(filepath.Join(append(args, ".git")...))
	for _, dir := range []string{"objects", "refs"} {
		ts.Check(os.MkdirAll(filepath.Join(git, dir), 0o755))
	}
	ts.Check(os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
}

// TestEveryExitCodeHasAScript keeps the table of exit codes honest: for each
// row some script makes the program end so, and the help says it. That an end
// which is no good one has a line on stderr is checked by exits.
func TestEveryExitCodeHasAScript(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleDir, "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	ends := regexp.MustCompile(`(?m)^exits (\d+) (?:artoo|sh) `)
	kinds := regexp.MustCompile(`(?m)^json stdout error\.kind (\w+)$`)
	codes, named := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ends.FindAllSubmatch(data, -1) {
			codes[string(m[1])] = true
		}
		for _, m := range kinds.FindAllSubmatch(data, -1) {
			named[string(m[1])] = true
		}
	}
	help := output(t, "--help")
	for _, row := range agent.Exits {
		if !strings.Contains(help, fmt.Sprintf("\n  %d  ", row.Code)) {
			t.Errorf("the help does not say %d", row.Code)
		}
		if !codes[strconv.Itoa(row.Code)] {
			t.Errorf("no script ends with %d (%s)", row.Code, row.Meaning)
		}
		for _, kind := range row.Kinds {
			if !named[string(kind)] && kind != agent.KindSchema { // nothing asks for a schema yet
				t.Errorf("no script ends with the kind %s", kind)
			}
		}
	}
}
