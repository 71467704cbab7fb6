#include "textflag.h"

// func cloneOn(flags, stack uintptr, b *birth, role, live uintptr) (pid uintptr)
TEXT ·cloneOn(SB),NOSPLIT,$0-48
	MOVD flags+0(FP), R0
	MOVD stack+8(FP), R1
	MOVD b+16(FP), R10
	MOVD role+24(FP), R11
	MOVD live+32(FP), R12
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	MOVD $220, R8
	SVC
	CBZ  R0, child
	MOVD R0, pid+40(FP)
	RET

child:
	// On the new stack.
	MOVD $0, R29
	SUB  $48, RSP // which live may put what it is given into
	MOVD R10, R0
	MOVD R11, R1
	BL   (R12)
	BRK
