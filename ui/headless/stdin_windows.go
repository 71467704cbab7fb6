package headless

import "syscall"

// errBadDescriptor is what reading a handle that was closed at start gives.
var errBadDescriptor error = syscall.ERROR_INVALID_HANDLE
