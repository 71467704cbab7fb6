package prompt

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/ui/prompt/prompttest"
)

// Text pasted after the key's line does not go to the shell, which would show and
// run it.
func TestWhatIsPastedBehindASecretIsDropped(t *testing.T) {
	t.Parallel()
	master, slave, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	pasted := make(chan error, 1)
	go func() {
		var shown strings.Builder
		for b := make([]byte, 1); !strings.HasSuffix(shown.String(), "key: "); {
			if _, err := master.Read(b); err != nil {
				pasted <- err
				return
			}
			shown.Write(b)
		}
		_, err := master.Write([]byte("sk-first\nrest of it\nand more"))
		pasted <- err
	}()
	text, err := ReadSecret(slave, paper{slave}, "key: ")
	if e := <-pasted; strings.TrimSpace(text) != "sk-first" || err != nil || e != nil {
		t.Fatalf("%q, %v, %v", text, err, e)
	}
	fd, err := fdOf(slave)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := unix.IoctlGetInt(fd, unix.TIOCINQ); n != 0 || err != nil {
		t.Errorf("%d bytes are left for the shell, %v", n, err)
	}
}

// A signal that comes while the child is being started is for the child too.
func TestASignalBeforeTheEditorRuns(t *testing.T) {
	to, stop := passSignals()
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "300")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	to(child.Process)
	if err := child.Wait(); err == nil || !strings.Contains(err.Error(), syscall.SIGTERM.String()) {
		t.Errorf("the child ended with %v", err)
	}
}
