package launcher

// The numbers of system calls that a filter names and package syscall lacks or
// has under another name.
const (
	auditArch  = 0xc00000b7
	x32Bit     = 0
	sysSeccomp = 277
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
)
