//go:build unix

package coding

import (
	"slices"
	"syscall"
	"time"
)

// task is a process of a run.
type task struct {
	pid, parent, group, session int
	marked                      bool // it has the run's mark in its environment
}

// interrupt asks the tool to stop, as Ctrl-C would; its commands learn of it
// from the tool.
func (p *process) interrupt() {
	p.remember()
	p.signal(syscall.SIGINT)
}

// terminate asks the tool to end.
func (p *process) terminate() {
	p.remember()
	p.signal(syscall.SIGTERM)
}

// signal sends to the tool's group. The only error there can be is that the
// group is gone, which is as good as success.
func (p *process) signal(sig syscall.Signal) {
	if !p.gone() {
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// remember notes what runs now: when the tool ends first, its processes in
// sessions of their own lose the parent by which they could be found.
func (p *process) remember() {
	now := p.tree()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range now {
		if !slices.ContainsFunc(p.early, func(e task) bool { return e.pid == t.pid }) {
			p.early = append(p.early, t)
		}
	}
}

// killAll kills all that is left of the run. It looks again until nothing is
// there, since one process may have started another before it was hit.
func (p *process) killAll() {
	deadline := time.NewTimer(2 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		left := p.tree()
		if len(left) == 0 && p.gone() {
			return
		}
		for _, t := range left {
			_ = syscall.Kill(t.pid, syscall.SIGKILL) // ESRCH: it has ended since
		}
		p.signal(syscall.SIGKILL)
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}

// tree are the processes of the run that are there: those with its mark, those
// of the session it began, those that were there when it was told to stop and
// still are in the same session, and what descends from any of them. Where
// processes cannot be listed it is the tool's group as a whole.
func (p *process) tree() []task {
	leader := p.cmd.Process.Pid
	all, err := listTasks(p.mark)
	if err != nil {
		if syscall.Kill(-leader, 0) != nil {
			return nil
		}
		return []task{{pid: -leader}}
	}
	p.mu.Lock()
	early := slices.Clone(p.early)
	p.mu.Unlock()
	ours := map[int]bool{}
	for _, t := range all {
		known := func(e task) bool { return e.pid == t.pid && e.session == t.session }
		if t.marked || t.session == leader || slices.ContainsFunc(early, known) {
			ours[t.pid] = true
		}
	}
	if !p.gone() {
		ours[leader] = true
	}
	for grown := true; grown; {
		grown = false
		for _, t := range all {
			if !ours[t.pid] && ours[t.parent] {
				ours[t.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(t task) bool { return !ours[t.pid] })
}
