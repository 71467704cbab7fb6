package agent

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/names"
	"artoo/tool/repo"
	"artoo/tool/text"
)

// keeper keeps the project's files as they are before calls change them.
type keeper struct {
	session  *session
	journal  *journal.Journal // nil keeps nothing
	step     *journal.Step    // nil between calls
	lacks    []journal.Lack   // It is set where the step was begun to decide.
	made     madeFiles        // files that the session made
	approved *madeFiles       // those that tools wrote or the user approved; shared with sub-agents
	// turnBefore is the number of the turn before the present one.
	turnBefore int
	runs       sync.WaitGroup // runs of providers with tools whose step of the journal is not over
}

// openJournal opens the journal of the present session. A failure is reported: nothing can be
// undone then.
func (k *keeper) openJournal() error {
	if k.session.opt.Journal == nil {
		return nil
	}
	if err := k.closeJournal(); err != nil {
		return err
	}
	from := ""
	if s := k.session.conv.Session(); s != nil && source(s) != s.ID() {
		from = source(s) // Later changes there are not its own, once it has a file.
	}
	j, err := k.session.opt.Journal(k.session.sessionID, from)
	if err != nil {
		k.session.notify("nothing can be undone in this session: " + err.Error())
		return nil
	}
	k.journal = j
	if line := Recovered(j.Recovered()); line != "" {
		k.session.notify(line)
	}
	return nil
}

func (k *keeper) closeJournal() error {
	if k.journal == nil {
		return nil
	}
	k.runs.Wait()
	err := errors.Join(k.endStep(), k.journal.Close())
	k.journal = nil
	return err
}

// unsaved names those of these absolute paths that could not be brought back if they were overwritten
// now; "" for none. It begins a step with a snapshot, which the next command that changes files ends.
func (k *keeper) unsaved(paths []string) string {
	if k.journal == nil {
		return "there is no undo journal"
	}
	if k.step == nil {
		step := k.journal.Begin(k.session.turnNumber(), "a command")
		lacks, err := step.Snapshot(context.Background())
		if err != nil {
			_, endErr := step.End()
			return errors.Join(err, endErr).Error()
		}
		k.step, k.lacks = step, lacks
	}
	var lost []string
	for _, lack := range k.lacks {
		if lack.Why == journal.IsIgnored {
			continue
		}
		at := filepath.Join(k.session.opt.Policy.Root, filepath.FromSlash(strings.TrimSuffix(lack.Path, "/")))
		if slices.ContainsFunc(paths, func(path string) bool { return names.Within(path, at) || names.Within(at, path) }) {
			lost = append(lost, journal.Named([]journal.Lack{lack})...)
		}
	}
	for _, path := range paths {
		if !names.Within(k.session.opt.Policy.Root, path) {
			lost = append(lost, path+" (outside the project)")
		}
	}
	return strings.Join(lost, ", ")
}

// giveYours brings back, and names, files the user saved that a landing had just replaced.
func (k *keeper) giveYours(cb *serial) {
	yours, err := k.journal.Late()
	if err != nil {
		cb.notice(NoticeWarning, "another program wrote to a file artoo had replaced; those writes are in the journal's quarantine: "+err.Error())
	}
	if len(yours) > 0 {
		cb.notice(NoticeWarning, "another program saved files that artoo had just replaced; its versions are beside them: "+
			strings.Join(yours, ", "))
	}
}

func (k *keeper) endStep() error {
	if k.step == nil {
		return nil
	}
	step := k.step
	k.step, k.lacks = nil, nil // also where the end crashes
	return k.closeStep(step)
}

// closeStep records the outcome of a step. It may be called from any goroutine.
func (k *keeper) closeStep(step *journal.Step) error {
	changed, err := step.End()
	k.noteMade(changed.Changes)
	if err != nil || len(changed.Lacks) == 0 {
		return err
	}
	return &notCovered{text.UpTo(20, journal.Named(changed.Lacks)) + "; /undo lists them"}
}

type notCovered struct{ names string }

func (e *notCovered) Error() string { return "cannot be undone: " + e.names }

func (k *keeper) recordAfter(cb *serial) {
	if k.journal == nil { // Then it is not known what was changed.
		k.session.opt.Policy.Seen.Change()
		return
	}
	if text := lostBy(k.endStep()); text != "" {
		cb.notice(NoticeWarning, text)
	}
}

func lostBy(err error) string {
	var lost *notCovered
	switch {
	case errors.As(err, &lost):
		return lost.Error()
	case err != nil:
		return "these changes could not be recorded, so they cannot be undone: " + err.Error()
	}
	return ""
}

func (k *keeper) noteMade(changes []journal.Change) {
	if len(changes) > 0 {
		k.session.opt.Policy.Seen.Change()
	}
	for _, c := range changes {
		path := journal.Abs(k.session.opt.Policy.Root, c.Path)
		if c.After.Kind == journal.File && (c.Before.Kind == journal.Absent || k.made.known(path)) {
			k.made.add(path)
		}
	}
}

// madeFiles are the files that the session made and that still are as it left them.
type madeFiles struct {
	mu     sync.Mutex
	stamps map[string]names.Stamp
}

func (m *madeFiles) add(paths ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stamps == nil {
		m.stamps = map[string]names.Stamp{}
	}
	for _, path := range paths {
		m.stamps[path] = names.StampAt(path)
	}
}

// known reports whether the session made a file at the path, whatever became of it.
func (m *madeFiles) known(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.stamps[path]
	return known
}

// has reports whether the session made the file and it is as it was left.
func (m *madeFiles) has(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.stamps[path]
	if !known {
		return false
	}
	is := names.StampAt(path)
	return is == was && is != names.Stamp{}
}

// interruptGrace is how long an interrupted call may take to end by itself before the turn goes on: the
// prompt has to be back within a second.
const interruptGrace = 500 * time.Millisecond

// Recovered describes in one line the steps of a killed artoo that were repaired; "" if there were
// none.
func Recovered(reports []journal.Report) string {
	var finished, kept, back, left []string
	for _, r := range reports {
		to := &back
		switch {
		case r.Finished:
			to = &finished
		case r.Kept:
			to = &kept
		}
		for _, c := range r.Done {
			*to = append(*to, c.Path)
		}
		left = append(left, journal.Named(slices.Concat(r.Left, r.Cannot))...)
	}
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
		most  int
	}{{"its undo is now complete", finished, 20}, {"changes kept, and undo reverts them", kept, 20}, {"reverted", back, 20},
		{"left as they are", left, len(left)}} {
		if len(part.names) > 0 {
			parts = append(parts, part.what+": "+text.UpTo(part.most, part.names))
		}
	}
	if parts == nil {
		return ""
	}
	return "an artoo was killed here in the middle of a change; " + strings.Join(parts, "; ")
}

// JournalConfig is that of a journal in dir. state is artoo's own directory, "" for none. env may
// get its files later.
func (w *Workspace) JournalConfig(dir, state string, env *tool.Env) journal.Config {
	root := w.Project.Root
	config := journal.Config{Dir: dir, Root: root, State: state, NamedOnly: w.Project.None != "", Merges: repo.IsIndex,
		Denied: func(path string) bool {
			path = journal.Abs(root, path)
			if w.unseen != nil {
				if _, brought := w.unseen.brought.Load(path); brought {
					return false
				}
			}
			place, err := env.Files.Resolve(path, false)
			return err != nil || place.Denied
		},
		Merge: func(ctx context.Context, path string, from, to, now []byte) ([]byte, []string, error) {
			return repo.MergeIndex(ctx, filepath.Dir(path), w.Project.Environ, env.Environ, from, to, now)
		}}
	config.Added = slices.Clone(w.Added.Write)
	if w.Project.Common != "" {
		config.Added = append(config.Added, w.Project.Common)
	}
	for i, dir := range config.Added {
		config.Added[i] = names.Real(dir)
	}
	if w.Project.Git {
		config.Ignored = func(ctx context.Context) ([]string, error) { return w.Project.Ignored(ctx, env.Environ) }
		config.Head = w.Project.Head
	}
	return config
}
