//go:build unix

package cli

import (
	"bytes"
	"slices"
	"syscall"
	"time"

	"artoo/tool/shell"
)

// task is a process of a run.
type task struct {
	shell.Process
	marked bool // it has the run's mark in its environment
	blank  bool // its environment is empty, as it is for a moment when it becomes another program
}

// same reports whether both are one process: numbers are given out again.
func (t task) same(e task) bool {
	return t.PID == e.PID && t.Began == e.Began && (t.Began > 0 || t.Session == e.Session)
}

// listTasks lists the running processes that began at since or later, with those
// marked that have the mark. Where it is not told when processes began, none is.
func listTasks(mark string, since uint64) ([]task, error) {
	all, err := shell.Processes()
	if err != nil {
		return nil, err
	}
	var list []task
	for _, p := range all {
		if p.Began < since {
			continue
		}
		t := task{Process: p}
		// What belongs to others cannot be read, and is none of ours.
		if since > 0 {
			environ := shell.Environ(p.PID)
			t.marked = bytes.Contains(environ, []byte(markName+"="+mark))
			t.blank = environ != nil && len(environ) == 0 && !p.Kernel
		}
		list = append(list, t)
	}
	return list, nil
}

// What is waited for until it is certain that nothing is left of a run.
const (
	mostKill  = 2 * time.Second
	mostBlank = 1500 * time.Millisecond // for processes with an empty environment: some have none
)

// ask asks the tool to stop or to end; its commands learn of it from the tool.
func (p *process) ask(sig syscall.Signal) {
	p.remember()
	p.signal(sig)
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
			_ = syscall.Kill(t.PID, syscall.SIGKILL) // ESRCH: it has ended since
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
		return []task{{Process: shell.Process{PID: -leader}}}, false
	}
	p.mu.Lock()
	early := slices.Clone(p.early)
	p.mu.Unlock()
	ours, listed := map[int]bool{}, make([]shell.Process, len(all))
	for i, t := range all {
		listed[i] = t.Process
		if t.marked || t.Session == leader || slices.ContainsFunc(early, t.same) {
			ours[t.PID] = true
		}
	}
	if !p.gone() {
		ours[leader] = true
	}
	shell.Grow(ours, listed)
	for _, t := range all {
		blank = blank || t.blank && !ours[t.PID]
	}
	return slices.DeleteFunc(all, func(t task) bool { return !ours[t.PID] }), blank
}
