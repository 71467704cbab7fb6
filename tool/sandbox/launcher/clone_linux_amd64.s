#include "textflag.h"

// func cloneOn(flags, stack uintptr, b *birth, role, live uintptr) (pid uintptr)
TEXT ·cloneOn(SB),NOSPLIT,$0-48
	MOVQ flags+0(FP), DI
	MOVQ stack+8(FP), SI
	MOVQ b+16(FP), R12
	MOVQ role+24(FP), R13
	MOVQ live+32(FP), R9
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $56, AX
	SYSCALL
	TESTQ AX, AX
	JEQ  child
	MOVQ AX, pid+40(FP)
	RET

child:
	// On the new stack.
	XORL  BP, BP
	SUBQ  $32, SP // which live may put what it is given into
	MOVQ  R12, AX
	MOVQ  R13, BX
	XORPS X15, X15
	CALL  R9
	INT   $3
