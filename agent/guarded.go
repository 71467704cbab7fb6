package agent

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool/journal"
)

// madeGuarded is what a command on the project itself makes that programs run or obey automatically.
// In the background it moves into the journal as it is found, and the user is asked later.
type madeGuarded struct {
	session *session
	keeper  *keeper
	journal *journal.Journal  // nil keeps nothing
	policy  permission.Policy // The policy is a copy, since the watch has its own goroutine.
	writes  []string          // directories in which it can make links
	before  permission.GuardedFiles
	turn    int

	mu     sync.Mutex
	seen   map[string]bool // The last look found them.
	steps  []int           // These steps of the journal moved them.
	moved  []permission.Entry
	failed error
}

// look finds what was made by now, except what git put there or the user approved.
func (m *madeGuarded) look() (effects permission.Effects, paths []string, err error) {
	now, err := m.session.opt.Guard.Look(m.writes...)
	if err != nil {
		return effects, nil, err
	}
	w := m.session.opt.Workspace
	made := slices.DeleteFunc(now.Since(m.before), func(path string) bool {
		return m.keeper.approved.has(path) || w != nil && w.Project.Committed(context.Background(), m.session.opt.Env.Environ, path)
	})
	effects = m.policy.MadeGuarded(made)
	for _, c := range effects.Apply {
		paths = append(paths, c.Path)
	}
	return effects, paths, nil
}

// lookEvery is the time between two looks: what both find moves, as no tool or landing claimed it.
const lookEvery = 800 * time.Millisecond

// watch moves what the command makes until it ends. A look that takes long waits ten times as long.
func (m *madeGuarded) watch(c confine.Confined) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-c.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		if err := guarded(func() { m.move(false) }); err != nil {
			m.session.notify("files that programs run automatically are not looked for: " + err.Error())
			return
		}
		timer.Reset(max(lookEvery, 10*time.Since(began)))
	}
}

// move moves what was made into the journal: what the last look found too, at the end all.
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
		m.session.notify("it is not known whether a command made files that programs run automatically: " + err.Error())
	}
}

func pathsOf(entries []permission.Entry) string {
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	return strings.Join(paths, ", ")
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
			applyErr = errors.Join(applyErr, errors.New(strings.Join(lackNames(report.Left), ", ")))
		}
		err = errors.Join(err, applyErr)
		for _, c := range report.Done {
			paths = append(paths, filepath.Join(m.policy.Root, filepath.FromSlash(c.Path)))
		}
	}
	return paths, err
}
