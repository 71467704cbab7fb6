//go:build !linux

package shell

// lastNumber is not told here.
func lastNumber() int { return 0 }
