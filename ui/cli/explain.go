package cli

import (
	"os"
	"path/filepath"
)

// mostExplained is how many of a user's questions explain the sandbox in full.
const mostExplained = 3

// explain counts such a question, a byte each in a file of the state directory, and reports whether it is one of the
// first. Where the count cannot be kept, each is.
func (s *session) explain() bool {
	cfg := s.cfg
	state, err := cfg.Paths.StateDir()
	if err != nil || bool(cfg.Ephemeral) {
		return true
	}
	path := filepath.Join(state, "explained")
	if info, err := os.Stat(path); err == nil && info.Size() >= mostExplained {
		return false
	}
	if os.MkdirAll(state, 0o700) != nil {
		return true
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return true
	}
	// Where this fails, the next question explains it, too.
	_, _ = f.WriteString(".")
	_ = f.Close()
	return true
}
