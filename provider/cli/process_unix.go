//go:build unix

package cli

import (
	"slices"
	"syscall"
	"time"
)

// task is a process of a run.
type task struct {
	pid, parent, group, session int
	// begun is when it did, in ticks since the system started; 0 where that is
	// not told.
	begun  uint64
	marked bool // it has the run's mark in its environment
	blank  bool // its environment is empty, as it is for a moment when it becomes another program
	kernel bool // it is a thread of the kernel's
}

// same reports whether both are one process: numbers are given out again.
func (t task) same(e task) bool {
	return t.pid == e.pid && t.begun == e.begun && (t.begun > 0 || t.session == e.session)
}

// What is waited for until it is certain that nothing is left of a run.
const (
	mostKill  = 2 * time.Second
	mostBlank = 1500 * time.Millisecond // for processes with an empty environment: some have none
)

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

// remember notes what of the run is there now: when the tool ends first, its
// processes in sessions of their own lose the parent by which they are found.
func (p *process) remember() {
	now, _ := p.tree()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range now {
		if !slices.ContainsFunc(p.early, t.same) {
			p.early = append(p.early, t)
		}
	}
}

// killAll kills all that is left of the run. It looks again until nothing is
// there, twice, since one process may have started another before it was hit or
// while the list was made; and as long as one has begun that cannot be told yet.
func (p *process) killAll() {
	deadline, unsure := time.NewTimer(mostKill), time.Now().Add(mostBlank)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for clean := 0; ; {
		left, blank := p.tree()
		switch {
		case len(left) > 0 || !p.gone():
			clean = 0
		case !blank || time.Now().After(unsure):
			clean++
		}
		if clean == 2 {
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
// of the session it began, those that were remembered, and what descends from
// any of them. blank says that there are others which may turn out to be of the
// run. Where processes cannot be listed it is the tool's group as a whole.
func (p *process) tree() (left []task, blank bool) {
	leader := p.cmd.Process.Pid
	all, err := listTasks(p.mark, p.begun)
	if err != nil {
		if syscall.Kill(-leader, 0) != nil {
			return nil, false
		}
		return []task{{pid: -leader}}, false
	}
	p.mu.Lock()
	early := slices.Clone(p.early)
	p.mu.Unlock()
	ours := map[int]bool{}
	for _, t := range all {
		if t.marked || t.session == leader || slices.ContainsFunc(early, t.same) {
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
	for _, t := range all {
		blank = blank || t.blank && !ours[t.pid]
	}
	return slices.DeleteFunc(all, func(t task) bool { return !ours[t.pid] }), blank
}
