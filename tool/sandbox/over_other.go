//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"os"
	"syscall"
)

// Over is this program once more, in layers. No other system than Linux has them.
type Over struct{ Socket *os.File }

// StartOver starts the program.
func StartOver(OverConfig) (*Over, error) { return nil, ErrUnconfined }

// Done is nil: nothing was started.
func (o *Over) Done() <-chan struct{} { return nil }

// Status is 0.
func (o *Over) Status() syscall.WaitStatus { return 0 }

// Signal does nothing.
func (o *Over) Signal(os.Signal) {}

// Changes are none.
func (o *Over) Changes(context.Context) (*Changes, error) { return nil, ErrUnconfined }

// Close does nothing.
func (o *Over) Close() error { return nil }
