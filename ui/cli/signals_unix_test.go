//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/ui/result"
)

// timeout(1) sends a run two signals in a row, here while a server is silent. The
// object is printed, and the process dies of the signal.
func TestTwoSignalsInARowLeaveTheObject(t *testing.T) {
	t.Parallel()
	for range 5 {
		asked := make(chan struct{}, 8)
		m := newModel(t, func(int, providertest.Request) providertest.Reply {
			asked <- struct{}{}
			return providertest.Silent()
		})
		cmd := exec.Command(buildProgram(t, moduleDir), "-p", "-o", "json", "hello")
		var out bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout = t.TempDir(), m.env(t), &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-asked:
		case <-time.After(endless):
			_ = cmd.Process.Kill()
			t.Fatal("the model is not asked")
		}
		for range 2 {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait() // it dies of the signal
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
			t.Errorf("it ended with %v", cmd.ProcessState)
		}
		var result result.Result
		if err := json.Unmarshal(out.Bytes(), &result); err != nil || result.ExitCode != 143 || result.Error == nil ||
			result.Error.Kind != "signal" {
			t.Fatalf("stdout is %q (%v)", out.String(), err)
		}
	}
}
