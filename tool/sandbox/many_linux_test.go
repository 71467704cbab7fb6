//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestManyCommandsAtOnce runs many side by side, and looks that nothing is left of
// them in the launcher.
func TestManyCommandsAtOnce(t *testing.T) {
	for mechanism, facts := range factsOf {
		t.Run(string(mechanism), func(t *testing.T) {
			s, root := openWith(t, facts, nil)
			write(t, root, "a", "text\n")
			round := func(layers bool) {
				var group sync.WaitGroup
				for i := range 8 {
					options := Options{Layer: facts.Layer && layers && i%2 == 0, ReadOnly: facts.Layer && i%2 == 1}
					group.Go(func() {
						out, exit, p := run(t, s, options, fmt.Sprintf("cat a; echo %d; exit %d", i, i))
						if out != fmt.Sprintf("text\n%d\n", i) || exit.Status.ExitStatus() != i {
							t.Errorf("%d printed %q and ended with %+v", i, out, exit)
						}
						if options.Layer {
							changes, err := p.Changes(t.Context())
							if err != nil || len(changes.Entries) != 0 || changes.Discard(false) != nil {
								t.Errorf("%d changed %+v: %v", i, changes, err)
							}
						}
					})
				}
				group.Wait()
			}
			for i := range 2 {
				round(i%2 == 0)
			}
			files, threads := s.uses(t)
			for i := range 2 {
				round(i%2 == 0)
			}
			nowFiles, nowThreads := s.uses(t)
			late := time.Now().Add(5 * time.Second)
			for again := time.Tick(50 * time.Millisecond); nowFiles > files && time.Now().Before(late); <-again {
				nowFiles, nowThreads = s.uses(t)
			}
			if nowFiles > files || nowThreads > threads+30 {
				t.Errorf("the launcher holds %d files and %d threads, after the first round %d and %d",
					nowFiles, nowThreads, files, threads)
			}
		})
	}
}

// uses counts the launcher's open files and threads. A command's files are closed before its exit is sent, except the
// socket that it is sent on.
func (s *Sandbox) uses(t *testing.T) (files, threads int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", s.pid)
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if name, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && !strings.HasPrefix(name, "socket:") {
			files++
		}
	}
	tasks, err := os.ReadDir(filepath.Join(dir, "task"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	t.Logf("memory: %s, %d files, %d threads", strings.TrimSpace(strings.SplitN(rss, "\n", 2)[0]), len(fds), len(tasks))
	return files, len(tasks)
}
