//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// attempt is one way out that is tried. testdata/escapes.txt says how they are
// written down.
type attempt struct {
	class, name string
	line        string
	proven      bool              // unconfined it does get out: tried each time
	places      []string          // nil for all
	cannot      map[string]string // mechanisms that do not hold it, and the part of artoo that asks the user then
	needs       []string          // programs without which nothing is tried
}

//go:embed testdata/escapes.txt
var escapes string

// readAttempts reads the table.
func readAttempts(t *testing.T) (list []attempt) {
	t.Helper()
	for block := range strings.SplitSeq(escapes, "\n\n") {
		block = strings.TrimSpace(block)
		if block == "" || block[0] == '#' {
			continue
		}
		head, rest, _ := strings.Cut(block, "\n")
		class, name, ok := strings.Cut(head[2:], ": ")
		a := attempt{class: class, name: name, proven: head[0] == '+', cannot: map[string]string{}}
		if !ok || head[0] != '+' && head[0] != '-' {
			t.Fatalf("the head of an attempt reads %q", head)
		}
		for line := range strings.Lines(rest + "\n") {
			word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch word {
			case "@in":
				a.places = strings.Fields(value)
			case "@needs":
				a.needs = strings.Fields(value)
			case "@cannot":
				mechanism, why, _ := strings.Cut(value, " ")
				a.cannot[mechanism] = why
			default:
				a.line += line
			}
		}
		list = append(list, a)
	}
	return list
}

// found reports whether the attempt's needs are there.
func (a attempt) found() bool {
	return !slices.ContainsFunc(a.needs, func(name string) bool {
		_, err := exec.LookPath(name)
		return err != nil
	})
}

// within reports whether it is tried in a place.
func (a attempt) within(place string) bool {
	return a.places == nil || slices.Contains(a.places, place)
}

// tested are the mechanisms, with the options of each.
var tested = []struct {
	facts  Facts
	places map[string]Options
}{
	{Facts{Mechanism: Namespaces, Layer: true, Network: true, HidesFiles: true, HidesProcess: true},
		map[string]Options{"sandbox": {Job: true, Whole: true}, "job": {Job: true}, "layer": {Layer: true}, "trusted": {Layer: true, Exec: true}, "reading": {ReadOnly: true}}},
	{Facts{Mechanism: Landlock}, map[string]Options{"sandbox": {}}},
}

// escapeLimit is how long an attempt may take.
const escapeLimit = 2 * time.Minute

// TestNothingGetsOutOfAnyPlace tries other attempts in each place.
func TestNothingGetsOutOfAnyPlace(t *testing.T) {
	attempts := readAttempts(t)
	if n := len(attempts) + len(escapeCalls); n < 120 {
		t.Errorf("there are %d attempts", n)
	}
	facts, dir := Probe(t.Context(), ""), tools(t)
	for _, mechanism := range tested {
		for place, options := range mechanism.places {
			t.Run(string(mechanism.facts.Mechanism)+"/"+place, func(t *testing.T) {
				t.Parallel()
				needs.True(t, string(mechanism.facts.Mechanism), !unheld(facts, mechanism.facts.Mechanism))
				w := newWorld(t, dir, place != "sandbox")
				s := w.open(t, mechanism.facts)
				here := slices.DeleteFunc(slices.Clone(attempts), func(a attempt) bool {
					return !a.within(place) || !a.found()
				})
				var tried []attempt
				for _, i := range sweep.Cases(t, 12, len(here)) {
					tried = append(tried, here[i])
				}
				w.tryAll(t, s, options, string(mechanism.facts.Mechanism), tried)
				w.tryCalls(t, s, options, string(mechanism.facts.Mechanism))
			})
		}
	}
	if facts.Mechanism != Namespaces && len(facts.Missing) == 0 {
		t.Errorf("this machine has no namespaces, and Probe does not say why: %+v", facts)
	}
}

// unheld reports whether the machine has not got a mechanism.
func unheld(facts Facts, mechanism Mechanism) bool {
	if mechanism == Landlock {
		return landlockVersion() < 6 // scopes of signals
	}
	return facts.Mechanism != Namespaces || !facts.Layer
}

// tryAll has attempts run confined: those that must be held by one command, since
// each takes a file tree of its own. Where one got out they are tried one by one.
func (w *world) tryAll(t *testing.T, s *Sandbox, options Options, mechanism string, attempts []attempt) {
	t.Helper()
	var script strings.Builder
	for _, a := range attempts {
		if a.cannot[mechanism] == "" {
			fmt.Fprintf(&script, "(\n%s)\n", a.line)
		}
	}
	fmt.Fprintln(&script, "echo the end")
	out := w.try(t, s, options, script.String())
	if !strings.HasSuffix(out, "the end\n") {
		t.Fatalf("it printed %s", out)
	}
	held := w.ways(t, out)
	alone := false
	for _, a := range attempts {
		why := a.cannot[mechanism]
		if why == "" && len(held) == 0 {
			continue
		}
		if why == "" {
			w = newWorld(t, w.tools, w.whole)
			s = w.open(t, s.facts)
		}
		out := w.try(t, s, options, a.line)
		look := w.ways
		if why != "" {
			look = w.waysInTime
		}
		ways := look(t, out)
		if why != "" && len(ways) == 0 {
			t.Errorf("%s: %s: it is held, though it says that it cannot be (%s)\n%s", a.class, a.name, why, out)
		}
		if why == "" && len(ways) > 0 {
			alone = true
			t.Errorf("%s: %s: %q\nit printed %s", a.class, a.name, ways, out)
		}
	}
	if len(held) > 0 && !alone {
		t.Errorf("one of all got out: %q\n%s", held, out)
	}
}

// try runs a line of sh confined, and returns its output.
func (w *world) try(t *testing.T, s *Sandbox, options Options, line string) string {
	t.Helper()
	var p *Process
	out := w.capture(t, "/bin/sh", []string{"-c", line}, func(cmd *exec.Cmd) (func() error, error) {
		var err error
		if p, err = s.Start(cmd, options); err != nil {
			return nil, err
		}
		return func() error {
			defer time.AfterFunc(escapeLimit, func() { _ = p.Kill() }).Stop() // it may have ended
			_, err := p.Wait()
			return err
		}, nil
	})
	p.Discard()
	return out
}

// capture runs a program in the project, and returns its output. start starts it, and returns the function that waits
// for it.
func (w *world) capture(t *testing.T, path string, args []string, start func(*exec.Cmd) (func() error, error)) string {
	t.Helper()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = w.environ, w.path("project")
	cmd.Stdout, cmd.Stderr = out, out
	wait, err := start(cmd)
	out.Close()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	var text bytes.Buffer
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(&text, r)
		copied <- err
	}()
	if err := wait(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if err := <-copied; err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestAnyAttemptGetsOutWhereNothingConfines tries the table itself: an escape seen here would be seen of a confined
// command too. make crash tries all of it, and make test a third.
func TestAnyAttemptGetsOutWhereNothingConfines(t *testing.T) {
	dir := tools(t)
	for i, a := range readAttempts(t) {
		if !a.proven || !a.found() || i%3 != 0 && !sweep.Whole(t) {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i, a.class), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, dir, true)
			out := w.capture(t, "/bin/sh", []string{"-c", a.line}, func(cmd *exec.Cmd) (func() error, error) {
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if err := cmd.Start(); err != nil {
					return nil, err
				}
				return func() error {
					_ = cmd.Wait()                                      // its status says nothing
					_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most leave nothing behind
					return nil
				}, nil
			})
			if len(w.waysInTime(t, out)) == 0 {
				t.Errorf("%s: nothing shows that it got out\n%s\nit printed %s", a.name, a.line, out)
			}
		})
	}
}

// TestNothingGetsOutAsAnyOrdinaryUser runs the table again as nobody, in some of its places.
func TestNothingGetsOutAsAnyOrdinaryUser(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	var all, tried []string
	for _, mechanism := range tested {
		for _, place := range slices.Sorted(maps.Keys(mechanism.places)) {
			all = append(all, fmt.Sprintf("^TestNothingGetsOutOfAnyPlace$/^%s$/^%s$", mechanism.facts.Mechanism, place))
		}
	}
	for _, i := range sweep.Cases(t, 1, len(all)) {
		tried = append(tried, all[i])
	}
	asNobody(t, "-test.run", strings.Join(tried, "|"))
	needs.Namespaces(t)
}
