//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package ui

import "io"

// terminalQueue knows of no queue here.
func terminalQueue(io.Writer) (flush func() error, waiting func() int) { return nil, nil }
