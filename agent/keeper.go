package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/names"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// keeper keeps the project's files as they are before calls change them.
type keeper struct {
	session  *session
	journal  *journal.Journal // nil keeps nothing
	step     *journal.Step    // nil between calls
	lacks    []journal.Lack   // It is set where the step was begun to decide.
	made     madeFiles        // files that the session made
	approved *madeFiles       // those that tools wrote or the user approved, guarded ones among them; a sub-agent shares them
	servers  *confinedServers // nil without any
	tally    *tally           // It counts the changes of the run; a sub-agent shares it. nil without caps.
	runs     sync.WaitGroup   // runs of providers with tools whose step of the journal is not over
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
	k.servers.keepIn(j)
	if line := Recovered(j.Recovered()); line != "" {
		k.session.notify(line)
	}
	return nil
}

func (k *keeper) closeJournal() error {
	if k.journal == nil {
		return nil
	}
	k.servers.keepIn(nil)
	k.runs.Wait()
	err := errors.Join(k.endStep(), k.journal.Close())
	k.journal = nil
	return err
}

// unsaved names those of these absolute paths that could not be brought back if they were overwritten
// now; "" for none. It begins a step with a snapshot, which the next command that changes files ends.
func (k *keeper) unsaved(paths []string) string {
	if k.journal == nil {
		return "nothing is kept"
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
			lost = append(lost, fmt.Sprintf("%s (%s)", lack.Path, lack.Why))
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
		cb.notice(NoticeWarning, "writes to a file that artoo had replaced are in the journal's quarantine: "+err.Error())
	}
	if len(yours) > 0 {
		cb.notice(NoticeWarning, "another program saved to files that artoo had just replaced; its content lies beside them: "+
			strings.Join(yours, ", "))
	}
}

// quarantine moves files that a command made into the journal, and returns the step.
func quarantine(j *journal.Journal, turn int, paths []string) (step int, err error) {
	if j == nil {
		return 0, errors.New("there is no journal to move them into")
	}
	report, err := j.Quarantine(turn, "files that programs run automatically", paths...)
	if err == nil && len(report.Left) > 0 {
		err = errors.New(strings.Join(lackNames(report.Left), ", "))
	}
	return report.Step, err
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
	return &notCovered{text.UpTo(20, lackNames(changed.Lacks)) + "; /undo lists them"}
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
		return "these changes could not be recorded, so it cannot be undone: " + err.Error()
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

// applyLayer lands all of some changes or none, as a step of the journal; git's own by git itself. left
// names build output and directories that stay as they are, lost the changes that cannot be undone.
func (k *keeper) applyLayer(ctx context.Context, what string, e permission.Effects, changes confine.Changes, commits []effect, then journal.Then) (left,
	lost []string, err error) {
	if k.journal == nil {
		return nil, nil, errors.New("undo journal unavailable; changes not applied")
	}
	landed, err := k.tally.land(ctx, append(effectsOn(e.Apply, changes.Open), commits...))
	if err != nil {
		return nil, nil, err
	}
	defer landed()
	report, err := k.journal.ApplyLayer(ctx, k.session.turnNumber(), what, e.Apply, layerSource{changes}, then)
	if errors.Is(err, journal.ErrConflict) && len(report.Left) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.Join(lackNames(report.Left), ", "))
	}
	if err == nil {
		k.noteMade(report.Done)
	}
	return lackNames(report.Left), lackNames(report.Cannot), err
}

type layerSource struct{ confine.Changes }

// Open returns a crash as an error, so that the journal takes back the step it began.
func (s layerSource) Open(path string) (*os.File, error) {
	return guard(func() (*os.File, error) { return s.Changes.Open(path) })
}

func lackNames(lacks []journal.Lack) (names []string) {
	for _, l := range lacks {
		names = append(names, fmt.Sprintf("%s (%s)", l.Path, l.Why))
	}
	return names
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
		left = append(left, lackNames(slices.Concat(r.Left, r.Cannot))...)
	}
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
		most  int
	}{{"its undo is finished", finished, 20}, {"the changes stay, and undo reverts them", kept, 20}, {"reverted", back, 20},
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

// madeGuarded handles files that commands on the project itself make and that programs run or obey automatically. In
// the background they move into the journal as they are found, and the user is asked later.
type madeGuarded struct {
	session *session
	keeper  *keeper
	journal *journal.Journal  // nil keeps nothing
	policy  permission.Policy // The policy is a copy, since the watch has its own goroutine.
	writes  []string          // directories in which it can make links
	before  permission.GuardedFiles
	turn    int

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
		return m.keeper.approved.has(path) || w != nil && w.Project.Committed(context.Background(), m.session.opt.Env.Environ, path)
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
			m.session.notify("files that programs run automatically are not looked for: " + err.Error())
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
		m.session.notify("it is not known whether a command made files that programs run automatically: " + err.Error())
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

// confinedServers starts the MCP servers of an agent that run confined, and looks after them as after a background
// command that may write the whole project. nil is that of an agent without any.
type confinedServers struct {
	confiner *confine.Confiner // nil where nothing confines them
	layered  bool              // Each works on a layer of its own.
	notify   func(text string)
	made     *madeGuarded // the files that servers make; it is unknown which server made one

	mu      sync.Mutex
	running map[confine.Confined]string // their names
	over    chan struct{}               // closed when none runs any more
	said    []string                    // The user was notified of these.
	watches sync.WaitGroup
}

// keepIn has the files that servers make moved into another journal, nil for none; those made by now go to the old one.
func (s *confinedServers) keepIn(j *journal.Journal) {
	if s != nil {
		s.made.keepIn(j)
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

// JournalConfig is that of a journal in dir. state is artoo's own directory, "" for none. env may
// get its files later.
func (w *Workspace) JournalConfig(dir, state string, env *tool.Env) journal.Config {
	root := w.Project.Root
	config := journal.Config{Dir: dir, Root: root, Merges: repo.IsIndex,
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
	if state != "" {
		config.Locks = filepath.Join(state, "landing")
	}
	_, config.Added = w.AddedDirs()
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

// tally counts the changes of a run with its sub-agents. One call that changes something runs at a time.
type tally struct {
	caps EffectCaps
	only [][]permission.Rule
	root string
	home string // ~ in a pattern
	seed maphash.Seed
	// landing holds a value from the counting of changes until they are made: else two sub-agents' changes that each
	// fit alone would pass a cap together.
	landing chan struct{}

	mu        sync.Mutex
	originals map[string]original // The key is the path of something that the run has changed.
	over      error               // The present turn ends with it; nil as long as no cap is passed.
}

// original is the content of a path before the run changed it.
type original struct {
	content
	built bool // It is build output that git ignores, which counts only for --no-delete.
	// committed means that a commit of the run's has it; apart are lines of such commits that the work tree does not have.
	committed bool
	apart     int
}

// newTally makes the tally of a run with caps, and tells the policy of them; it is nil for a run without. The error
// names a pattern of --only that is not valid, or says that commands could pass the caps.
func newTally(opt Options) (*tally, error) {
	caps := opt.Limits.Effects
	if !caps.Any() {
		return nil, nil
	}
	opt.Policy.Confinement.Capped = true
	if can := opt.Policy.Confinement; (opt.Sandbox == nil || !can.Layer) && slices.ContainsFunc(opt.Tools, func(t tool.Tool) bool {
		return t.Kind == tool.KindRun
	}) {
		return nil, &Failure{Kind: KindUsage, What: caps.String(), Err: errors.New("nothing makes layers here, and commands could change more"),
			Hint: "leave out the tools that run commands"}
	}
	t := &tally{caps: caps, root: opt.Policy.Root, home: environ.Vars(opt.Env.Environ).Home(), seed: maphash.MakeSeed(), landing: make(chan struct{}, 1), originals: map[string]original{}}
	for _, list := range caps.Only {
		var rules []permission.Rule
		for _, glob := range list {
			r, err := permission.FileRule(glob, opt.Env.Dir)
			if err != nil {
				return nil, &Failure{Kind: KindUsage, What: "--only " + glob, Err: err, Hint: "--only 'docs/**'"}
			}
			rules = append(rules, r)
		}
		t.only = append(t.only, rules)
	}
	return t, nil
}

// effect is the coming state of a path. read is called once at most.
type effect struct {
	path  string // absolute
	built bool   // It is build output that git ignores.
	// commits is not nil where a commit has the path. read then is nil: the content of the path does
	// not change.
	commits *committed
	read    func(ctx context.Context, t *tally, now content) (content, error)
}

// effectsOf are those of a call of a file tool; the error says that the call does not report them.
func effectsOf(access tool.Access) (list []effect, err error) {
	if len(access.Outcomes) == 0 {
		return nil, errors.New("it does not name the files it writes in advance")
	}
	for _, o := range access.Outcomes {
		list = append(list, effect{path: o.Path, read: func(ctx context.Context, t *tally, now content) (content, error) {
			if o.Gone {
				return content{}, nil
			}
			mode := fs.FileMode(0o644)
			if now.exists {
				mode = now.mode.Perm()
			}
			return t.content(ctx, mode, int64(len(o.Data)), "", func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(o.Data)), nil
			})
		}})
	}
	return list, nil
}

// effectsOn are the changes of a layer that are to land.
func effectsOn(changes []sandbox.Change, open func(path string) (*os.File, error)) (list []effect) {
	for _, c := range changes {
		list = append(list, effect{path: c.Path, built: c.Output != "", read: func(ctx context.Context, t *tally, _ content) (content, error) {
			if c.Kind == sandbox.Deleted {
				return content{}, nil
			}
			if c.Kind == sandbox.Mode {
				now, err := t.at(ctx, c.Path)
				now.mode = c.Mode
				return now, err
			}
			return t.content(ctx, c.Mode, c.Size, c.Target, func() (io.ReadCloser, error) { return open(c.Path) })
		}})
	}
	return list
}

// content reads a content, its lines only where these count.
func (t *tally) content(ctx context.Context, mode fs.FileMode, size int64, target string, open func() (io.ReadCloser, error)) (c content, err error) {
	c = content{exists: true, mode: mode, size: size}
	switch mode.Type() {
	case fs.ModeSymlink:
		c.size, c.sum = int64(len(target)), maphash.String(t.seed, target)
		c.lines = []uint64{c.sum}
		return c, nil
	case 0:
	default:
		c.size = 0
		return c, nil
	}
	file, err := open()
	if err != nil {
		return c, err
	}
	defer file.Close()
	var all, line maphash.Hash
	all.SetSeed(t.seed)
	line.SetSeed(t.seed)
	in := bufio.NewReaderSize(file, 64<<10)
	head, err := in.Peek(int(min(size, files.HeadSize)))
	if err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	c.binary = size > longestText || files.BinaryType(head) != ""
	counts := !c.binary && t.caps.MaxLines > 0
	c.size = 0
	for begun := false; ; {
		if ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
		part, err := in.ReadSlice('\n')
		c.size += int64(len(part))
		all.Write(part)
		if begun = begun || len(part) > 0; counts {
			line.Write(part)
		}
		if begun && counts && !errors.Is(err, bufio.ErrBufferFull) {
			c.lines = append(c.lines, line.Sum64())
			line.Reset()
			begun = false
		}
		switch {
		case errors.Is(err, io.EOF):
			c.sum = all.Sum64()
			return c, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return c, err
		}
	}
}

// at reads the present content of a path of the project.
func (t *tally) at(ctx context.Context, path string) (content, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return content{}, nil
	}
	if err != nil {
		return content{}, err
	}
	target := ""
	if info.Mode().Type() == fs.ModeSymlink {
		if target, err = os.Readlink(path); err != nil {
			return content{}, err
		}
	}
	return t.content(ctx, info.Mode(), info.Size(), target, func() (io.ReadCloser, error) { return os.Open(path) })
}

// gitEffects are a line's changes to the repositories of a project, as git sees them.
type gitEffects struct {
	views     []*repo.View
	dirs      []string // the git directories that the views stand for, absolute
	rows      []permission.GitRow
	committed map[string]committed      // The key is the absolute path of a file of new commits.
	temp      string                    // holds the views; "" for none
	hidden    map[string]repo.Version   // what git makes of hidden files, by absolute paths
	before    map[string]sandbox.Before // those of the project
}

// committed is the effect of new commits on a path.
type committed struct {
	gone bool // One of them removes it.
	// lines are those that the commits, of which this is the first path, add and remove apart from the work tree.
	lines int
}

// effectsIn are the paths of a line's new commits.
func effectsIn(git *gitEffects) (list []effect) {
	for path, does := range git.committed {
		list = append(list, effect{path: path, commits: &does})
	}
	return list
}

// admit reports whether changes may land: nil, or the cap that they would pass, which ends the turn. A passed cap stays
// passed until the next turn. A nil tally admits all.
func (t *tally) admit(ctx context.Context, list []effect) error {
	if t == nil {
		return nil
	}
	_, err := t.count(ctx, list)
	return err
}

// land is admit for changes that the caller makes next and that count from now on. It calls landed once, on any
// goroutine, when they are made or not to come; until then others wait.
func (t *tally) land(ctx context.Context, list []effect) (landed func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t.landing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	landed = func() { <-t.landing }
	originals, err := t.count(ctx, list)
	if err != nil {
		landed()
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.originals = originals
	return landed, nil
}

// count returns the originals with those of a list that passes no cap.
func (t *tally) count(ctx context.Context, list []effect) (map[string]original, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	originals, why, err := t.passed(ctx, list)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its changes cannot be counted: %w", err)
	case why != "":
		t.over = capFailure(why, "a message that asks for less, or without the cap on effects")
		return nil, t.over
	}
	return originals, nil
}

// end is the error with which a turn ends since a cap was passed, nil for none. A nil tally has none.
func (t *tally) end() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// begin begins a turn.
func (t *tally) begin() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.over = nil
	}
}

// passed names the cap that would be passed, "" for none. originals are those with the paths of the list; mu is held.
func (t *tally) passed(ctx context.Context, list []effect) (originals map[string]original, why string, err error) {
	originals = maps.Clone(t.originals)
	after := map[string]content{}
	for _, e := range list {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		now, err := t.at(ctx, e.path)
		if err != nil {
			return nil, "", err
		}
		was, known := originals[e.path]
		if !known {
			was = original{content: now, built: e.built}
		}
		if e.commits != nil {
			if why := t.outside(e.path); why != "" {
				return nil, t.name(e.path) + " would be committed: " + why, nil
			}
			if e.commits.gone && t.caps.NoDelete && was.exists {
				return nil, t.name(e.path) + " was there at the start, and a commit would remove it: --no-delete", nil
			}
			was.committed, was.apart = true, min(was.apart+e.commits.lines, 1<<30)
			originals[e.path] = was
			continue
		}
		is, err := e.read(ctx, t, now)
		if err != nil {
			return nil, "", err
		}
		switch {
		case !t.caps.NoDelete || !was.exists || now.same(is):
		case !is.exists:
			return nil, t.name(e.path) + " was there at the start, and would be removed or renamed: --no-delete", nil
		case is.mode.Type() != was.mode.Type():
			return nil, t.name(e.path) + " was there at the start, and would be replaced: --no-delete", nil
		case is.mode.IsRegular() && was.size > 0 && is.size == 0:
			return nil, t.name(e.path) + " was there at the start, and would be emptied: --no-delete", nil
		}
		was.built = was.built && e.built
		originals[e.path], after[e.path] = was, is
	}
	changed, lines := []string(nil), 0
	for _, path := range slices.Sorted(maps.Keys(originals)) {
		is, proposed := after[path]
		if !proposed {
			if is, err = t.at(ctx, path); err != nil {
				return nil, "", err
			}
		}
		was := originals[path]
		if !was.committed && (was.built || was.same(is)) {
			continue
		}
		changed = append(changed, path)
		if t.caps.MaxLines > 0 {
			lines += was.apart + was.linesTo(is, t.caps.MaxLines-lines)
		}
		if lines > t.caps.MaxLines {
			return nil, fmt.Sprintf("more than %s would be added and removed since the start: --max-lines %d",
				text.Count(t.caps.MaxLines, "line"), t.caps.MaxLines), nil
		}
	}
	// A directory that appears or disappears with its content is not counted itself.
	changed = slices.DeleteFunc(slices.Clone(changed), func(path string) bool {
		was, is := originals[path], after[path]
		if _, proposed := after[path]; !proposed {
			is, _ = t.at(ctx, path) // It was read above.
		}
		dir := (was.exists || is.exists) && (!was.exists || was.mode.IsDir()) && (!is.exists || is.mode.IsDir())
		at, _ := slices.BinarySearch(changed, path+string(filepath.Separator))
		return dir && was.exists != is.exists && at < len(changed) && strings.HasPrefix(changed[at], path+string(filepath.Separator))
	})
	for _, path := range changed {
		if _, proposed := after[path]; !proposed {
			continue
		}
		if why := t.outside(path); why != "" {
			return nil, t.name(path) + " would be changed: " + why, nil
		}
	}
	if t.caps.MaxFiles > 0 && len(changed) > t.caps.MaxFiles {
		return nil, fmt.Sprintf("%s would be changed since the start: --max-files %d", text.Count(len(changed), "path"), t.caps.MaxFiles), nil
	}
	return originals, "", nil
}

// outside is the list of patterns that a path does not match, as the user would write it; "" for none.
func (t *tally) outside(path string) string {
	for i, rules := range t.only {
		if !slices.ContainsFunc(rules, func(r permission.Rule) bool { return r.MatchesPath(t.root, t.home, path) }) {
			return "--only " + strings.Join(t.caps.Only[i], " --only ")
		}
	}
	return ""
}

// name is a path as seen from the project.
func (t *tally) name(path string) string {
	if rel, err := filepath.Rel(t.root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
