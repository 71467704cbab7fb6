package launcher

import "syscall"

// The numbers of system calls that a filter names and package syscall lacks or
// has under another name.
const (
	auditArch  = 0xc000003e
	x32Bit     = 0x40000000
	sysSeccomp = 317
	sysStatx   = 332
	sysDup3    = 292

	sysSetns           = 308
	sysProcessVMReadv  = 310
	sysProcessVMWritev = 311
	sysKcmp            = 312
	sysBpf             = 321
	sysMemfdCreate     = 319
	sysUserfaultfd     = 323
	sysOpenByHandleAt  = 304
	sysSchedSetattr    = 314
	sysPrlimit64       = 302
	sysExecveat        = 322
	sysRenameat2       = 316
)

// writers are the calls that make an entry in a directory, or change one that is there:
// their numbers, and which arguments are the directory, the path, and the flags that
// have to say so, 0 for none.
var writers = []writer{
	{syscall.SYS_OPEN, noDir, 0, 1, false}, {syscall.SYS_OPENAT, 0, 1, 2, false}, {syscall.SYS_CREAT, noDir, 0, 0, false},
	{syscall.SYS_MKDIR, noDir, 0, 0, false}, {syscall.SYS_MKDIRAT, 0, 1, 0, false},
	{syscall.SYS_MKNOD, noDir, 0, 0, false}, {syscall.SYS_MKNODAT, 0, 1, 0, false},
	{syscall.SYS_RENAME, noDir, 1, 0, false}, {syscall.SYS_RENAMEAT, 2, 3, 0, false}, {sysRenameat2, 2, 3, 0, false},
	{syscall.SYS_LINK, noDir, 1, 0, false}, {syscall.SYS_LINKAT, 2, 3, 0, false},
	{syscall.SYS_SYMLINK, noDir, 1, 0, false}, {syscall.SYS_SYMLINKAT, 1, 2, 0, false},
	{syscall.SYS_UNLINK, noDir, 0, 0, true}, {syscall.SYS_RMDIR, noDir, 0, 0, true}, {syscall.SYS_UNLINKAT, 0, 1, 0, true},
	{syscall.SYS_TRUNCATE, noDir, 0, 0, true},
}

// attributes are the calls that change modes, owners, times and extended attributes.
var attributes = []uint32{
	syscall.SYS_CHMOD, syscall.SYS_CHOWN, syscall.SYS_LCHOWN, syscall.SYS_UTIME, syscall.SYS_UTIMES, syscall.SYS_FUTIMESAT,
	syscall.SYS_FCHMOD, syscall.SYS_FCHMODAT, syscall.SYS_FCHOWN, syscall.SYS_FCHOWNAT, syscall.SYS_UTIMENSAT,
	syscall.SYS_SETXATTR, syscall.SYS_LSETXATTR, syscall.SYS_FSETXATTR, syscall.SYS_REMOVEXATTR, syscall.SYS_LREMOVEXATTR,
	syscall.SYS_FREMOVEXATTR,
}
