//go:build amd64 || arm64

package sandbox

// Gone is closed when the launcher has ended, and with it what it started.
func (s *Sandbox) Gone() <-chan struct{} { return s.ended }
