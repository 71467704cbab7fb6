//go:build linux && (amd64 || arm64)

package confine

import (
	"context"
	"os/exec"
	"sync"

	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// Host starts commands that nothing confines through a launcher that ends their descendants when artoo is
// gone, also when it is killed. The first command starts it. Any goroutine may call its methods.
type Host struct {
	// Warn gets, once, why there is no launcher; commands may then outlive an artoo that is killed.
	Warn func(text string)

	mu      sync.Mutex
	sandbox *sandbox.Sandbox
	none    bool // there is no launcher
}

// Start implements shell.Start.
func (h *Host) Start(cmd *exec.Cmd) (shell.Started, error) {
	launcher := h.open(nil)
	if launcher == nil {
		return shell.StartHere(cmd)
	}
	process, err := launcher.Start(cmd, sandbox.Options{Grace: background})
	if err != nil && gone(launcher) {
		if launcher = h.open(launcher); launcher != nil {
			process, err = launcher.Start(cmd, sandbox.Options{Grace: background})
		}
	}
	if err != nil {
		return shell.StartHere(cmd) // the system's own error says more, such as of a command that is too long
	}
	return follow(process, nil), nil
}

// open is the launcher, another one than that which ended; nil where there is none.
func (h *Host) open(ended *sandbox.Sandbox) *sandbox.Sandbox {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.none || h.sandbox != nil && h.sandbox != ended {
		return h.sandbox
	}
	var err error
	if h.sandbox, err = sandbox.Open(context.Background(), sandbox.Config{}, sandbox.Facts{Mechanism: sandbox.None}); err != nil {
		h.sandbox, h.none = nil, true
		h.Warn("background processes may outlive an artoo that is killed: " + err.Error())
	}
	return h.sandbox
}

func gone(launcher *sandbox.Sandbox) bool {
	select {
	case <-launcher.Gone():
		return true
	default:
		return false
	}
}

// Close ends the launcher and all that it started.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	launcher := h.sandbox
	h.sandbox, h.none = nil, true
	if launcher == nil {
		return nil
	}
	return launcher.Close()
}
