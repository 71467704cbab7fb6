package cli

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"artoo/provider/providertest"
	"artoo/ui/prompt/prompttest"
)

// A terminal whose output was stopped (Ctrl-S, a dead link) does not keep a
// signal from ending artoo, and gets its modes back.
func TestAStalledTerminalDoesNotHoldASignal(t *testing.T) {
	t.Parallel()
	m := newModel(t, always(providertest.Chat(providertest.Text("An answer.\n"))))
	master, slave, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	tty := int(slave.Fd())
	before, err := unix.IoctlGetTermios(tty, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(buildProgram(t, moduleDir), "hello")
	cmd.Dir, cmd.Env = t.TempDir(), m.env(t, "TERM=xterm-kitty")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(shown.String(), "An answer.") ||
		!strings.HasSuffix(shown.String(), "\x1b]133;B\x1b\\"); {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, shown.String())
		}
		shown.Write(buf[:n])
	}
	if err := unix.IoctlSetInt(tty, unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(endless):
		_ = cmd.Process.Kill()
		t.Fatal("it does not end")
	}
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit %d", code)
	}
	after, err := unix.IoctlGetTermios(tty, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Errorf("the modes are %+v, were %+v", after, before)
	}
	if err := slave.Close(); err != nil {
		t.Error(err)
	}
}
