//go:build !linux

package tool

// adopt runs startShell: orphans go to the system's first process here.
func adopt(startShell func() (pid int, err error)) error {
	_, err := startShell()
	return err
}

// release has nothing to give back here.
func (p *process) release() {}

// reap has nothing to do here.
func reap() {}
