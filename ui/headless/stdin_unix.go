//go:build !windows

package headless

import "syscall"

// errBadDescriptor is what reading a descriptor that was closed at start gives.
var errBadDescriptor error = syscall.EBADF
