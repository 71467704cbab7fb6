//go:build amd64 || arm64

package launcher

import (
	"syscall"
	"unsafe"
)

// pins holds what the calls of a birth point to, until they are made.
type pins []any

func (p *pins) text(s string) uintptr {
	b, err := syscall.BytePtrFromString(s)
	if err != nil {
		b = new(byte) // a string with a NUL names nothing
	}
	*p = append(*p, b)
	return uintptr(unsafe.Pointer(b))
}

func (p *pins) texts(list []string) uintptr {
	pointers := make([]uintptr, 0, len(list)+1)
	for _, s := range list {
		pointers = append(pointers, p.text(s))
	}
	pointers = append(pointers, 0)
	*p = append(*p, pointers)
	return uintptr(unsafe.Pointer(&pointers[0]))
}

func pin[T any](p *pins, value T) uintptr {
	b := &value
	*p = append(*p, b)
	return uintptr(unsafe.Pointer(b))
}
