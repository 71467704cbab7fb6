package launcher

// The numbers of system calls that a filter names and package syscall lacks or
// has under another name.
const (
	auditArch  = 0xc000003e
	x32Bit     = 0x40000000
	sysSeccomp = 317
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
)
