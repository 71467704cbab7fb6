//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/needs"
)

// lacking lists places without some features: the calls that make one, from within namespaces in which this process may
// do it.
var lacking = map[string]struct {
	flags   uintptr
	prepare func() error
}{
	"switched-off": {unix.CLONE_NEWUSER, func() error {
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}},
	"masked-proc": {unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID, func() error {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return err
		}
		return unix.Mount("/dev/null", "/proc/uptime", "", unix.MS_BIND, "")
	}},
}

// probeWithin prepares a place and prints the findings of Probe there.
func probeWithin(place, cacheFile string) int {
	var facts any
	if lack, ok := lacking[place]; ok {
		if err := lack.prepare(); err != nil {
			facts = err.Error()
		}
	}
	if facts == nil {
		facts = Probe(context.Background(), cacheFile)
	}
	if err := json.NewEncoder(os.Stdout).Encode(facts); err != nil {
		return 1
	}
	return 0
}

func TestProbeSaysWhyThereAreNoNamespaces(t *testing.T) {
	facts := probeAt(t, "switched-off", "")
	if facts.Mechanism == Namespaces || len(facts.Missing) == 0 ||
		!strings.Contains(facts.Missing[0].Why, "max_user_namespaces = 0") ||
		!strings.Contains(facts.Missing[0].Cure, "ARTOO_SANDBOX=external") {
		t.Errorf("found %+v", facts)
	}
	if facts.Mechanism == Landlock && (facts.Layer || facts.HidesFiles || facts.Network) {
		t.Errorf("Landlock is said to do what it cannot: %+v", facts)
	}
}

func TestProbeSaysThatProcessesCanBeSeen(t *testing.T) {
	facts := probeAt(t, "masked-proc", "")
	if facts.Mechanism != Namespaces || facts.HidesProcess || len(facts.Missing) != 1 || facts.Missing[0].What != "processes" {
		t.Errorf("found %+v", facts)
	}
}

func probeAt(t *testing.T, place, cacheFile string) Facts {
	t.Helper()
	needs.Namespaces(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "probe", place, cacheFile)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  lacking[place].flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return decodeFacts(t, out)
}

func decodeFacts(t *testing.T, out []byte) Facts {
	t.Helper()
	var facts Facts
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&facts); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return facts
}

func TestProbeSaysThatAFilterIsAroundIt(t *testing.T) {
	s, root := open(t, nil)
	copyFile(t, "/proc/self/exe", filepath.Join(root, "probe"))
	out, exit, _ := run(t, s, Options{}, "./probe probe here")
	if exit.Status != 0 {
		t.Fatalf("it ended with %+v: %s", exit, out)
	}
	facts := decodeFacts(t, []byte(out))
	if facts.Mechanism == Namespaces || !strings.Contains(facts.Missing[0].Why, "filter of system calls") {
		t.Errorf("found %+v", facts)
	}
}

// An answer of a time when there were namespaces counts for nothing once there are none.
func TestAnAnswerIsNotKeptForAnotherPlace(t *testing.T) {
	needs.Namespaces(t)
	file := filepath.Join(t.TempDir(), "probe")
	if facts := Probe(t.Context(), file); facts.Mechanism != Namespaces {
		t.Fatalf("found %+v", facts)
	}
	if _, ok := cached(file, probeKey()); !ok {
		t.Fatal("the answer is not kept")
	}
	if facts := probeAt(t, "switched-off", file); facts.Mechanism != Landlock {
		t.Errorf("found %+v", facts)
	}
}

// The user may fix a missing feature; then the probe has to run again.
func TestAnAnswerThatLacksSomethingIsNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "probe")
	lack := []Lack{{What: "sandbox", Why: "why"}}
	keep(file, probeKey(), Facts{Mechanism: None, Missing: lack})
	answers := []Facts{{Mechanism: Landlock, Missing: lack}, namespaceFacts, {Mechanism: None, Missing: lack}}
	for i, want := range []Mechanism{Landlock, Namespaces, Namespaces} {
		got := probeBy(t.Context(), file, func(context.Context, func()) Facts { return answers[i] })
		if got.Mechanism != want {
			t.Errorf("%d: found %q, want %q", i, got.Mechanism, want)
		}
	}
}

func TestFactsSayWhatIsHeld(t *testing.T) {
	for want, facts := range map[string]Facts{
		"none: commands are not confined": {},
		"landlock (writes confined)":      {Mechanism: Landlock},
		"sandbox-exec":                    {Mechanism: SandboxExec},
		"namespaces (no network, other files and processes hidden, changes shown before they are kept)": namespaceFacts,
	} {
		if got := facts.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestASlowProbeIsWaitedForAndOneThatHangsIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		gap      time.Duration // between two pieces of news
		pieces   int
		answered bool
		after    time.Duration
	}{
		"slow":     {probeLimit - time.Second, 5, true, 5 * (probeLimit - time.Second)},
		"hanging":  {time.Hour, 1, false, probeLimit},
		"for ever": {700 * time.Millisecond, 1000, false, probeMost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				facts, answered := patiently(t.Context(), func(ctx context.Context, news func()) Facts {
					for range c.pieces {
						select {
						case <-time.After(c.gap):
							news()
						case <-ctx.Done():
							return namespaceFacts
						}
					}
					return namespaceFacts
				})
				if answered != c.answered || answered && !facts.Layer || time.Since(begun) != c.after {
					t.Errorf("answered %v after %v: %+v", answered, time.Since(begun), facts)
				}
			})
		})
	}
}

// Where a probe of namespaces hangs, the real abilities of Landlock are found, not kept for the next time, and then
// used.
func TestLandlockConfinesWhereNamespacesGiveNoAnswer(t *testing.T) {
	t.Parallel()
	kept, outside := filepath.Join(t.TempDir(), "probe"), filepath.Join(t.TempDir(), "file")
	gaveUp := make(chan struct{})
	facts := probeBy(t.Context(), kept, func(ctx context.Context, _ func()) Facts {
		<-ctx.Done()
		close(gaveUp)
		return namespaceFacts
	})
	<-gaveUp
	if facts.Mechanism != Landlock || facts.Layer || facts.HidesFiles || facts.Network {
		t.Fatalf("found %+v", facts)
	}
	if why := facts.Missing[0].Why; !strings.Contains(why, "no answer within "+probeLimit.String()) {
		t.Errorf("it is told why there are no namespaces: %q", why)
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("the answer is kept: %v", err)
	}
	s, root := openWith(t, facts, nil)
	write(t, root, "dir/old", "")
	if out, exit, _ := run(t, s, Options{}, "echo in > dir/here; echo out > "+outside); exit.Status == 0 {
		t.Errorf("a command could write elsewhere: %s", out)
	}
	if _, err := os.Stat(outside); !os.IsNotExist(err) {
		t.Errorf("it did: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(root, "dir", "here")); string(data) != "in\n" {
		t.Errorf("it could not write to the project: %q, %v", data, err)
	}
}

func TestALayerIsNotMadeWhereSomethingIsMounted(t *testing.T) {
	facts := namespaceFacts.For("/")
	mounted := func(l Lack) bool { return strings.Contains(l.Why, "mounted below /") }
	if facts.Layer || !slices.ContainsFunc(facts.Missing, mounted) { // An ordinary user sees other owners too.
		t.Errorf("found %+v", facts)
	}
	if facts := namespaceFacts.For(t.TempDir()); !facts.Layer || len(facts.Missing) != 0 {
		t.Errorf("found %+v", facts)
	}
	if got := unescape(`/a\040b\134c`); got != `/a b\c` {
		t.Errorf("a path is %q", got)
	}
}
