#include "textflag.h"

// func cloneOn(flags, stack uintptr, b *birth, role uintptr) (pid uintptr)
TEXT ·cloneOn(SB),NOSPLIT,$0-40
	MOVD flags+0(FP), R0
	MOVD stack+8(FP), R1
	MOVD b+16(FP), R10
	MOVD role+24(FP), R11
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	MOVD $220, R8
	SVC
	CBZ  R0, child
	MOVD R0, pid+32(FP)
	RET

child:
	// On the new stack.
	MOVD $0, R29
	SUB  $48, RSP
	MOVD R10, 8(RSP)
	MOVD R11, 16(RSP)
	MOVD $·live(SB), R12 // by its address: the linker would take it for a recursion
	BL   (R12)
	BRK
