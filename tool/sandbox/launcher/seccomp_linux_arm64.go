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

// makers are the calls that make an entry in a directory: their numbers, and which
// arguments are the directory, the path, and the flags that have to say so, 0 for none.
var makers = []maker{
	{syscall.SYS_OPENAT, 0, 1, 2}, {syscall.SYS_MKDIRAT, 0, 1, 0}, {syscall.SYS_MKNODAT, 0, 1, 0},
	{syscall.SYS_RENAMEAT, 2, 3, 0}, {sysRenameat2, 2, 3, 0}, {syscall.SYS_LINKAT, 2, 3, 0}, {syscall.SYS_SYMLINKAT, 1, 2, 0},
}
