package launcher

import "syscall"

// The numbers of system calls that a filter names and package syscall lacks or
// has under another name.
const (
	auditArch  = 0xc00000b7
	x32Bit     = 0
	sysSeccomp = 277
	sysStatx   = 291
	sysDup3    = 24

	sysSetns           = 268
	sysProcessVMReadv  = 270
	sysProcessVMWritev = 271
	sysKcmp            = 272
	sysBpf             = 280
	sysMemfdCreate     = 279
	sysUserfaultfd     = 282
	sysOpenByHandleAt  = 265
	sysSchedSetattr    = 274
	sysPrlimit64       = 261
	sysExecveat        = 281
	sysRenameat2       = 276
)

// writers are the calls that make an entry in a directory, or change one that is there:
// their numbers, and which arguments are the directory, the path, and the flags that
// have to say so, 0 for none.
var writers = []writer{
	{syscall.SYS_OPENAT, 0, 1, 2, false}, {syscall.SYS_MKDIRAT, 0, 1, 0, false}, {syscall.SYS_MKNODAT, 0, 1, 0, false},
	{syscall.SYS_RENAMEAT, 2, 3, 0, false}, {sysRenameat2, 2, 3, 0, false}, {syscall.SYS_LINKAT, 2, 3, 0, false},
	{syscall.SYS_SYMLINKAT, 1, 2, 0, false}, {syscall.SYS_UNLINKAT, 0, 1, 0, true}, {syscall.SYS_TRUNCATE, noDir, 0, 0, true},
}

// attributes are the calls that change modes, owners, times and extended attributes.
var attributes = []uint32{
	syscall.SYS_FCHMOD, syscall.SYS_FCHMODAT, syscall.SYS_FCHOWN, syscall.SYS_FCHOWNAT, syscall.SYS_UTIMENSAT,
	syscall.SYS_SETXATTR, syscall.SYS_LSETXATTR, syscall.SYS_FSETXATTR, syscall.SYS_REMOVEXATTR, syscall.SYS_LREMOVEXATTR,
	syscall.SYS_FREMOVEXATTR,
}
