package confine

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/needs"
	"artoo/tool/project"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/sweep"
)

// These texts must never appear in the output of a confined line.
const (
	secretInside  = "SECRET=t0ps3cr3t"
	secretOutside = "0uts1de"
)

// A trial is a project with a secret, a directory and a home beside it, and a service of the machine: confined lines
// must not read, change or reach them.
type trial struct {
	base, root string
	confiner   *Confiner
	policy     *permission.Policy
	reached    chan string
	replace    *strings.Replacer
	script     *os.File          // the output of lines
	limit      time.Duration     // how long lines may run
	last       map[string]string // the watched state when the last line had ended, by its name
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func newTrial(t *testing.T, facts sandbox.Facts) *trial {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	tr := &trial{base: base, root: filepath.Join(base, "project"), reached: make(chan string, 100),
		last: map[string]string{}, limit: time.Second}
	for name, text := range map[string]string{
		"project/a.txt": "hello\nworld\n", "project/b.txt": "x\n", "project/sub/b.go": "package sub\n",
		"project/.env": "SECRET=committed\n", "project/x": "touch PWN\n", "project/u/a.txt": "a\n", "project/u/b.txt": "b\n",
		"project/d/%n": "", "project/v/-o": "", "project/.envrc": "true\n",
		"outside/secret": secretOutside + "\n", "home/.ssh/id_rsa": secretOutside + "\n", "home/.bashrc": "true\n",
	} {
		put(t, filepath.Join(base, name), text)
	}
	tr.git(t, "init", "-q", "--template=", "-b", "master", ".")
	tr.git(t, "add", "-Af")
	tr.git(t, "commit", "-q", "-m", "init")
	put(t, filepath.Join(tr.root, ".env"), secretInside+"\n")
	port := tr.listen(t, "tcp", "127.0.0.1:0")
	tr.listen(t, "unix", filepath.Join(base, "outside", "socket"))
	abstract := "artoo" + strings.ReplaceAll(base, "/", "-")
	tr.listen(t, "unix", "@"+abstract)
	home := filepath.Join(base, "home")
	tr.replace = strings.NewReplacer("@OUT@", filepath.Join(base, "outside"), "@HOME@", home, "@PORT@", port,
		"@SOCKET@", abstract)
	files, err := files.Open(files.Config{Root: tr.root})
	must(t, err)
	t.Cleanup(func() { files.Close() })
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	found, err := project.Find(tr.root, nil)
	must(t, err)
	world := permission.World{Files: files, Environ: environ, Guard: permission.NewGuard(found)}
	tr.confiner = New(Config{Cache: filepath.Join(base, "cache"), Environ: environ, Config: sandbox.Config{Root: tr.root, Home: home,
		Denied: world.Denied, Protected: world.Protected, IsCache: permission.IsCache}}, facts)
	t.Cleanup(func() {
		if err := tr.confiner.Close(); err != nil {
			t.Error(err)
		}
	})
	tr.policy = &permission.Policy{Root: tr.root, TrustsPrograms: true,
		World:       world,
		Confinement: permission.Confinement{Sandbox: true, Layer: facts.Layer, ByEntry: facts.HidesFiles}}
	if tr.script, err = os.Create(filepath.Join(base, "output")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.script.Close() })
	return tr
}

func (tr *trial) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(needs.Git(t), append([]string{"-C", tr.root, "-c", "user.email=a@b", "-c", "user.name=a"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// listen serves until the test ends, and reports each connection.
func (tr *trial) listen(t *testing.T, network, address string) (port string) {
	t.Helper()
	l, err := net.Listen(network, address)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
			tr.reached <- network + " " + address
		}
	}()
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		return strconv.Itoa(at.Port)
	}
	return ""
}

// state sums up the directories by names, modes and contents.
func (tr *trial) state(t *testing.T, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(tr.base, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			b.WriteString(path + " " + info.Mode().String() + "\n")
			if info.Mode().IsRegular() {
				data, err := os.ReadFile(path)
				b.Write(data)
				return err
			}
			return nil
		})
		must(t, err)
	}
	return b.String()
}

// run runs a line of bash in a place, as long as it may, and returns its output.
func (tr *trial) run(t *testing.T, line string, place permission.Place) string {
	t.Helper()
	must(t, tr.script.Truncate(0))
	if _, err := tr.script.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		bash = "/bin/sh"
	}
	cmd := exec.Command(bash, "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = tr.root, tr.confiner.config.Environ, tr.script, tr.script
	confined, err := tr.confiner.Start(cmd, Line{Place: place, Exec: true})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	limit, stop := context.WithTimeout(t.Context(), tr.limit)
	defer stop()
	select {
	case <-confined.Done():
	case <-limit.Done():
		confined.KillAll()
	}
	tr.discard(t, line, place, confined)
	out, err := os.ReadFile(tr.script.Name())
	must(t, err)
	return string(out)
}

// discard throws away the changes of a line, as after a no.
func (tr *trial) discard(t *testing.T, line string, place permission.Place, confined Confined) {
	t.Helper()
	if place == permission.PlaceLayer {
		changes, err := confined.Changes(t.Context())
		if err != nil {
			if confined.Limit() == "" {
				t.Errorf("%s: %v", line, err)
			}
			return // one that ended at a limit has none
		}
		must(t, changes.Discard(false))
	}
}

// differing are the lines that only one of two texts has.
func differing(before, after string) string {
	var b strings.Builder
	for _, side := range []struct{ mark, has, other string }{{"- ", before, after}, {"+ ", after, before}} {
		for l := range strings.SplitSeq(side.has, "\n") {
			if !strings.Contains(side.other, l) {
				b.WriteString(side.mark + l + "\n")
			}
		}
	}
	return b.String()
}

// check runs a line and reports the forbidden things it reached.
func (tr *trial) check(t *testing.T, line string, place permission.Place, watched ...string) {
	t.Helper()
	key := strings.Join(watched, " ")
	before, known := tr.last[key] // Only the lines change the watched state.
	if !known {
		before = tr.state(t, watched...)
	}
	out := tr.run(t, tr.replace.Replace(line), place)
	if strings.Contains(out, secretInside) || strings.Contains(out, secretOutside) {
		t.Errorf("%s: %s: it read a secret: %q", place, line, out)
	}
	after := tr.state(t, watched...)
	if after != before {
		t.Errorf("%s: %s: it changed\n%s", place, line, differing(before, after))
	}
	tr.last[key] = after
	select {
	case what := <-tr.reached:
		t.Errorf("%s: %s: it reached %s", place, line, what)
	default:
	}
}

// facts are those of this machine; false where it has no namespaces, and says so.
func factsHere(t *testing.T) (sandbox.Facts, bool) {
	t.Helper()
	facts := sandbox.Probe(t.Context(), "")
	if facts.Mechanism == sandbox.Namespaces && facts.Layer {
		return facts, true
	}
	if len(facts.Missing) == 0 {
		t.Errorf("nothing is said of what is missing: %+v", facts)
	}
	return facts, false
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// TestNoHostileLineGetsAnywhere runs lines that try forbidden writes, runs and reads: on a layer each of them, and some
// in the background, on the project itself.
func TestNoHostileLineGetsAnywhere(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok {
		return
	}
	all := append(lines(t, "testdata/hostile.txt"), lines(t, "../permission/testdata/hostile.txt")...)
	if len(all) < 500 {
		t.Errorf("only %d lines", len(all))
	}
	var tried []string
	for _, i := range sweep.Cases(t, 24, len(all)) {
		tried = append(tried, all[i])
	}
	const groups = 4 // lines on a layer wait for each other
	for g := range groups {
		t.Run(strconv.Itoa(g), func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, facts)
			for i := g; i < len(tried); i += groups {
				tr.check(t, tried[i], permission.PlaceLayer, "project", "outside", "home")
			}
			for i := g; i < len(tried); i += 5 * groups { // each takes up to a second here
				tr.check(t, tried[i], permission.PlaceBackground, "project", "outside", "home")
			}
		})
	}
}

func TestAFileWithANameOutsideOfTheProjectIsNotWritten(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok {
		return
	}
	tr := newTrial(t, facts)
	put(t, filepath.Join(tr.base, "outside/hard"), "text\n")
	link(t, filepath.Join(tr.base, "outside/hard"), filepath.Join(tr.root, "sub/hard"))
	for _, place := range []permission.Place{permission.PlaceBackground, permission.PlaceLayer} {
		tr.check(t, "echo x >> sub/hard; chmod 777 sub/hard; mv sub moved; echo x >> moved/hard; mv moved sub", place, "outside")
	}
	out := tr.run(t, "cat sub/hard; echo more >> a.txt; cat a.txt", permission.PlaceLayer)
	if out != "text\nhello\nworld\nmore\n" {
		t.Errorf("it printed %q", out)
	}
}

// TestAnythingThatPassesChangesNothing runs lines that are not asked beforehand in their decided place, with the real programs.
// Lines that only read run one after the other in one sandbox, each for a second at most.
func TestAnythingThatPassesChangesNothing(t *testing.T) {
	t.Parallel()
	facts, ok := factsHere(t)
	if !ok {
		return
	}
	tr := newTrial(t, facts)
	tr.policy.Mode = permission.ModeAsk
	type decided struct {
		line  string
		place permission.Place
		reads bool
	}
	var passed []decided
	var reading []string
	for _, name := range []string{"harmless.txt", "harmless_agents.txt", "expected.txt", "everyday.txt"} {
		for _, line := range lines(t, "../permission/testdata/"+name) {
			line = strings.NewReplacer("@TREE@", tr.root, "␤", "\n").Replace(line)
			d := tr.policy.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: tr.root})
			if d.Verdict == permission.Run && d.Place != permission.PlaceHost {
				passed = append(passed, decided{line, d.Place, d.Reads})
			}
		}
	}
	for _, i := range sweep.Cases(t, 15, len(passed)) {
		line, place := passed[i].line, passed[i].place
		if passed[i].reads {
			reading = append(reading, "timeout -s KILL 1 bash -c "+shell.Quote(line))
			continue
		}
		tr.check(t, line, place, "project", "outside", "home")
	}
	const together = 20
	tr.limit = 2 * together * time.Second
	for some := range slices.Chunk(reading, together) {
		tr.check(t, strings.Join(some, "\n"), permission.PlaceLayer, "project", "outside", "home")
	}
	if len(passed) < 200 || len(reading) == 0 {
		t.Errorf("only %d lines pass", len(passed))
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.Link(from, to))
}
