package needs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// Namespaces skips the test where the kernel gives this user no namespaces of users and mounts.
func Namespaces(t testing.TB) {
	t.Helper()
	Thing(t, "namespaces", namespaces())
}

// namespaces starts a program that is not there in new namespaces: that it is missed comes after they were made. For
// Unshareflags, Go also mounts in them.
var namespaces = sync.OnceValue(func() error {
	process, err := os.StartProcess("/nowhere/artoo", []string{"artoo"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, Unshareflags: syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}})
	switch {
	case errors.Is(err, syscall.ENOENT):
		return nil
	case err == nil:
		return fmt.Errorf("a program that is not there runs as process %d", process.Pid)
	}
	return err
})
