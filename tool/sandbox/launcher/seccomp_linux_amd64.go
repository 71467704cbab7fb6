package launcher

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	x32Bit    = 0x40000000
)

// oldWriters and oldAttributes are calls that only this architecture has.
var oldWriters = []writer{
	{unix.SYS_OPEN, noDir, 0, 1, false}, {unix.SYS_CREAT, noDir, 0, 0, false}, {unix.SYS_MKDIR, noDir, 0, 0, false},
	{unix.SYS_MKNOD, noDir, 0, 0, false}, {unix.SYS_RENAME, noDir, 1, 0, false}, {unix.SYS_LINK, noDir, 1, 0, false},
	{unix.SYS_SYMLINK, noDir, 1, 0, false}, {unix.SYS_UNLINK, noDir, 0, 0, true}, {unix.SYS_RMDIR, noDir, 0, 0, true},
}

var oldAttributes = []uint32{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}
