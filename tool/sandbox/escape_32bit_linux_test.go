//go:build amd64 || arm64

package sandbox

import (
	"runtime"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// thirtyTwoBit calls the kernel as a 32-bit program does, whose calls have other
// numbers.
func thirtyTwoBit() (err error) {
	if runtime.GOARCH != "amd64" {
		return unix.EPERM // there is no such door
	}
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(code, "\xb8\x14\x00\x00\x00\xcd\x80\x48\x98\xc3") // mov eax, 20; int 0x80; cdqe; ret
	entry := &code[0]
	pointer := unsafe.Pointer(&entry)
	debug.SetPanicOnFault(true)
	defer func() {
		if recover() != nil {
			err = unix.EPERM // the kernel has no such door
		}
	}()
	if number := (*(*func() int)(unsafe.Pointer(&pointer)))(); number < 0 {
		return unix.Errno(-number)
	}
	return nil
}
