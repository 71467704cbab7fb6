//go:build amd64 || arm64

package confine

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"artoo/tool/shell"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "host" {
		os.Exit(beKilled())
	}
	os.Exit(m.Run())
}

// leaving leaves processes behind in each way that there is, all of which hold the
// output open.
const leaving = `setsid sleep 600 & (setsid sh -c "setsid sleep 600 & sleep 600" &) ; nohup sleep 600 & echo started; sleep 600`

// beKilled plays an artoo that is going to be killed while a command runs that nothing
// confines.
func beKilled() int {
	h := Host{Warn: func(text string) { fmt.Println(text) }}
	cmd := exec.Command("/bin/sh", "-c", leaving)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if _, err := h.Start(cmd); err != nil {
		fmt.Println(err)
		return 1
	}
	select {}
}

func TestNothingThatRanOutsideOutlivesAnArtooThatIsKilled(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "host")
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	must(t, err)
	said := ""
	for buf := make([]byte, 100); !strings.Contains(said, "started\n"); {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatalf("it said %q: %v", said, err)
		}
		said += string(buf[:n])
	}
	must(t, cmd.Process.Kill())
	must(t, r.SetReadDeadline(time.Now().Add(30*time.Second)))
	if rest, err := io.ReadAll(r); err != nil {
		t.Errorf("something lives on and holds the output open: %v, after %q", err, rest)
	}
	_ = cmd.Wait() // it was killed
}

// runs runs a line as bash does.
func runs(tb testing.TB, start shell.Start, line string) shell.Result {
	tb.Helper()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH")}, "/"
	c := shell.Command{Cmd: cmd, Start: start, Limit: time.Minute, Waits: shell.DefaultWaits(), Live: io.Discard}
	end, err := c.Run(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return end
}

func TestALauncherThatWasKilledIsStartedAgain(t *testing.T) {
	t.Parallel()
	h := Host{Warn: func(text string) { t.Error(text) }}
	defer h.Close()
	// Without a launcher that process would be the test's own parent.
	line := fmt.Sprintf("echo one; up=$(cut -d ' ' -f 4 /proc/$PPID/stat); [ $up = %d ] || kill -9 $up", os.Getppid())
	if end := runs(t, h.Start, line); string(end.Output) != "one\n" {
		t.Logf("the line that killed it: %+v", end)
	}
	<-h.sandbox.Gone()
	if end := runs(t, h.Start, "echo two; exit 3"); string(end.Output) != "two\n" || end.Exit.Code != 3 {
		t.Errorf("%+v", end)
	}
}

func TestACommandTooLongForTheSystemSaysSo(t *testing.T) {
	t.Parallel()
	h := Host{Warn: func(text string) { t.Error(text) }}
	defer h.Close()
	cmd := exec.Command("/bin/sh", "-c", "true "+strings.Repeat("x", 3<<20))
	c := shell.Command{Cmd: cmd, Start: h.Start, Limit: time.Minute, Waits: shell.DefaultWaits(), Live: io.Discard}
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "argument list too long") {
		t.Errorf("%v", err)
	}
}
