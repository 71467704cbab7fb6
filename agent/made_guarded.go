package agent

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/agent/permission"
	"artoo/tool/journal"
)

// madeGuarded handles files that commands on the project itself make and that programs run or obey automatically. In
// the background they move into the journal as they are found, and the user is asked later.
type madeGuarded struct {
	session  *session
	approved *madeFiles
	journal  *journal.Journal  // nil keeps nothing
	policy   permission.Policy // The policy is a copy, since the watch has its own goroutine.
	writes   []string          // directories in which it can make links
	before   permission.GuardedFiles
	turn     int

	mu     sync.Mutex
	idle   bool            // None of the commands runs: files that appear come from others.
	seen   map[string]bool // The last look found them.
	steps  []int           // These steps of the journal moved them.
	moved  []permission.Entry
	failed error
}

// look finds the files made by now, except those git put there or the user approved.
func (m *madeGuarded) look() (effects permission.Effects, paths []string, err error) {
	if m.idle {
		return m.policy.MadeGuarded(nil), nil, nil
	}
	now, err := m.session.opt.Guard.Look(m.writes...)
	if err != nil {
		return effects, nil, err
	}
	w := m.session.opt.Workspace
	made := slices.DeleteFunc(now.Since(m.before), func(path string) bool {
		return m.approved.has(path) || w != nil && w.Project.Committed(context.Background(), m.session.opt.Env.Environ, path)
	})
	effects = m.policy.MadeGuarded(made)
	for _, c := range effects.Apply {
		paths = append(paths, c.Path)
	}
	return effects, paths, nil
}

// begin treats the files present as not made by the commands, of which the first one starts.
func (m *madeGuarded) begin() (err error) {
	if m.session.opt.Guard == nil {
		return nil // nothing counts as such a file
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, err = m.session.opt.Guard.Look(m.writes...)
	m.idle = err != nil
	return err
}

// rest moves the files that the commands made, of which the last one has ended.
func (m *madeGuarded) rest() {
	m.move(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = true
}

// watch moves files the command makes until it is over: those that two looks find, as no tool or landing claimed them. A
// look that takes long waits ten times as long.
func (m *madeGuarded) watch(over <-chan struct{}) {
	every := m.session.opt.Waits.orUsual().Look
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-over:
			return
		case <-timer.C:
		}
		began := time.Now()
		if err := guarded(func() { m.move(false) }); err != nil {
			m.session.notify("artoo no longer checks for files that programs run automatically: " + err.Error())
			return
		}
		timer.Reset(max(every, 10*time.Since(began)))
	}
}

// move moves new files into the journal: those the last look found too, at the end all.
func (m *madeGuarded) move(end bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, paths, err := m.look()
	again := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !end && !m.seen[path] })
	m.seen = map[string]bool{}
	for _, path := range paths {
		m.seen[path] = true
	}
	if err == nil && len(again) > 0 {
		effects, step := m.policy.MadeGuarded(again), 0
		if step, err = quarantine(m.journal, m.turn, again); err == nil {
			m.steps = append(m.steps, step)
			entries := effects.By[permission.RunsAutomatically]
			m.moved = append(m.moved, entries...)
			m.session.notify("moved away, since programs run or obey it automatically: " + pathsOf(entries))
		}
	}
	if err != nil && m.failed == nil {
		m.failed = err // The user is asked about the rest at the end.
		m.session.notify("artoo could not check whether a command made files that programs run automatically: " + err.Error())
	}
}

// keepIn has the files of the commands moved into another journal, nil for none; those made by now go to the old one,
// if any.
func (m *madeGuarded) keepIn(j *journal.Journal) {
	if m.journal != nil {
		m.move(true)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.journal, m.moved, m.steps = j, nil, nil
}

// quarantine moves files that a command made into the journal, and returns the step.
func quarantine(j *journal.Journal, turn int, paths []string) (step int, err error) {
	if j == nil {
		return 0, errors.New("there is no journal to move them into")
	}
	report, err := j.Quarantine(turn, "files that programs run automatically", paths...)
	if err == nil && len(report.Left) > 0 {
		err = errors.New(strings.Join(journal.Named(report.Left), ", "))
	}
	return report.Step, err
}

// bringBack undoes steps that moved files into the journal, and returns their paths.
func (m *madeGuarded) bringBack(ctx context.Context, steps []int) (paths []string, err error) {
	for _, step := range steps {
		plan, planErr := m.journal.PlanStep(ctx, step)
		if planErr != nil {
			err = errors.Join(err, planErr)
			continue
		}
		report, applyErr := m.journal.Apply(ctx, plan)
		if len(report.Left) > 0 {
			applyErr = errors.Join(applyErr, errors.New(strings.Join(journal.Named(report.Left), ", ")))
		}
		err = errors.Join(err, applyErr)
		for _, c := range report.Done {
			paths = append(paths, filepath.Join(m.policy.Root, filepath.FromSlash(c.Path)))
		}
	}
	return paths, err
}

func pathsOf(entries []permission.Entry) string {
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	return strings.Join(paths, ", ")
}
