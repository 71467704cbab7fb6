package launcher

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32Bit    = 0
)

// oldWriters and oldAttributes are calls that other architectures have.
var (
	oldWriters    []writer
	oldAttributes []uint32
)
