//go:build unix

// Measure runs a command on its own streams and writes what it used into a file:
//
//	measure FILE COMMAND [ARGUMENT ...]
//
// A process of its own does this because a child that is started by vfork
// inherits its parent's peak of memory: the figure is never under that of the
// parent, which is small here.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// used is the content of the file.
type used struct {
	Wall time.Duration // start to exit
	CPU  time.Duration // user and system, of the command and the children it waited for
	RSS  int64         // peak of resident memory, bytes
	Exit int
}

func main() {
	u, err := run(os.Args[2:])
	if err == nil {
		var data []byte
		if data, err = json.Marshal(u); err == nil {
			err = os.WriteFile(os.Args[1], data, 0o600)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(args []string) (used, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	err := cmd.Run()
	u := used{Wall: time.Since(began)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return u, err
	}
	state := cmd.ProcessState
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return u, errors.New("no resource usage on this system")
	}
	u.Exit, u.CPU, u.RSS = state.ExitCode(), state.UserTime()+state.SystemTime(), int64(usage.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		u.RSS *= 1024 // Linux and the BSDs count in KiB, Darwin in bytes
	}
	return u, nil
}
