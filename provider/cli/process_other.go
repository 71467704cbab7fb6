//go:build !unix

package cli

import "syscall"

// task is a process of a run.
type task struct{}

// remember has nothing to do: what the tool started is not known here.
func (p *process) remember() {}

// ask ends the tool: there are no signals to ask with.
func (p *process) ask(syscall.Signal) { p.killAll() }

// killAll ends the tool; what it started is not known here.
func (p *process) killAll() {
	if !p.gone() {
		_ = p.cmd.Process.Kill() // it may have ended since
	}
}
