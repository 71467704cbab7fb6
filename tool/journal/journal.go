package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"artoo/tool/names"
)

// The limits that a zero in Config stands for.
const (
	defaultMaxFile    = 1 << 20
	defaultMaxSession = 512 << 20
	defaultBudget     = 300 * time.Millisecond
)

// ErrInUse says that a running artoo has the journal.
var ErrInUse = errors.New("the journal is in use by another artoo")

// ErrNothing says that there is nothing to undo, or to redo.
var ErrNothing = errors.New("nothing to undo")

// touchEvery is how often the log is touched while a step is open. Its time separates, after a kill, the step's changes
// from the user's.
const touchEvery = 500 * time.Millisecond

// syncAfter is how soon after the end of a step it is brought to the disk, with those that
// follow. A kill of the process loses nothing: the kernel has its writes.
const syncAfter = 800 * time.Millisecond

// Journal keeps one session's originals of one project. Its methods may be called from several goroutines.
type Journal struct {
	cfg   Config
	place *place
	root  stat
	wait  time.Duration            // Other landings may take so long.
	most  int                      // leases at a time
	at    func(point string) error // called before each write; tests fail or die there
	added map[string]bool          // directories outside the project that the log has

	mu        sync.Mutex
	files     *files // nil until something is written
	steps     []*record
	open      []*Step
	pending   int // steps of a killed process that are not put right
	last      int // number of the last step
	recovered []Report
	out       []Change          // Late has not looked at these yet.
	left      map[string]uint64 // the inodes of the files and links that artoo left, by path
	touching  *time.Timer       // nil while no step is open
	syncing   *time.Timer       // nil if everything is on the disk
	syncErr   error
	oneSync   sync.Mutex

	life       context.Context // until Close
	end        context.CancelFunc
	background sync.WaitGroup

	oneQuarantine sync.Mutex
	quarantine    *quarantine // nil until something is moved

	looking sync.Mutex // the fields below: one look at the project at a time
	tree    tree
	ignored atomic.Pointer[map[string]bool] // the paths git ignores; nil until it was asked
}

// record describes a step that is over.
type record struct {
	StepInfo
	kind    string
	head    string
	steps   []int
	changes []Change
}

// own reports whether the step is of a turn: no undo, redo or quarantine.
func (r *record) own() bool {
	return r.kind != kindUndo && r.kind != kindRedo && r.kind != kindQuarantine
}

// counts reports whether the step can be undone with its turn.
func (r *record) counts() bool { return r.stands() && r.own() }

// stands reports whether the step changed something and was not undone.
func (r *record) stands() bool { return !r.Undone && len(r.changes) > 0 }

// Dir is where the journal of a session and a project lies below the state
// directory.
func Dir(state, root, session string) string { return filepath.Join(projectDir(state, root), session) }

func projectDir(state, root string) string { return filepath.Join(state, "journal", ProjectName(root)) }

// ProjectName is the name of artoo's directory for the project at root, an absolute path.
func ProjectName(root string) string {
	key := sha256.Sum256([]byte(root))
	return filepath.Base(root) + "-" + hex.EncodeToString(key[:6])
}

// Open opens the journal of cfg.Dir, or prepares one; nothing is written before something changes. A step in whose
// middle a process was killed is finished or undone, see [Journal.Recovered]. It returns [ErrInUse] if another artoo
// has the journal open.
func Open(cfg Config) (*Journal, error) {
	return open(cfg, func(string) error { return nil })
}

func open(cfg Config, at func(string) error) (*Journal, error) {
	if cfg.Denied == nil {
		cfg.Denied = func(string) bool { return false }
	}
	if cfg.Head == nil {
		cfg.Head = func() (string, string) { return "", "" }
	}
	if cfg.Merges == nil {
		cfg.Merges = func(string) bool { return false }
	}
	cfg.MaxFile = cmp.Or(cfg.MaxFile, defaultMaxFile)
	cfg.MaxSession = cmp.Or(cfg.MaxSession, defaultMaxSession)
	cfg.Budget = cmp.Or(cfg.Budget, defaultBudget)
	if names.Within(cfg.Root, names.Real(cfg.Dir)) {
		return nil, fmt.Errorf("the journal %s would lie inside the project", cfg.Dir)
	}
	place, err := openPlace(cfg.Root)
	if err != nil {
		return nil, err
	}
	j := &Journal{cfg: cfg, place: place, at: at, wait: lockWait, most: maxLeases, left: map[string]uint64{},
		added: map[string]bool{}}
	j.life, j.end = context.WithCancel(context.Background())
	if j.root, err = place.lstat("."); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if _, err := os.Lstat(filepath.Join(cfg.Dir, logName)); errors.Is(err, os.ErrNotExist) {
		return j, nil
	}
	// The end of a recovery is synced later, by a timer that may fire before this returns.
	j.mu.Lock()
	err = j.openFiles()
	j.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Close ends the journal. Steps that are open stay unfinished: the next Open undoes them.
func (j *Journal) Close() error {
	j.end()
	j.background.Wait()
	err := j.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.touching != nil {
		j.touching.Stop()
	}
	if j.files != nil {
		err = errors.Join(err, j.files.close())
		j.files = nil
	}
	return errors.Join(err, j.quarantine.close(), j.place.close())
}

// Sync waits until all that was recorded is on the disk, as Close does. Else that
// happens a moment after the end of a step, or at SyncSoon.
func (j *Journal) Sync() error {
	j.syncNow()
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.syncErr
	j.syncErr = nil
	return err
}

// SyncSoon begins a Sync, and does not wait.
func (j *Journal) SyncSoon() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.syncing != nil {
		j.syncing.Reset(0)
	}
}

// Recovered lists the steps that Open finished or took back because a process was killed in
// the middle of it.
func (j *Journal) Recovered() []Report { return slices.Clone(j.recovered) }

// Begin opens a step of a turn; what describes it for the user, as "edit main.go". Nothing is written before its first
// Before or Snapshot. It must be ended. Several steps may be open: paths that a tool named with Before are its own, and
// changes of a shell command belong to the step that ends first.
func (j *Journal) Begin(turn int, what string) *Step {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	return &Step{j: j, record: record{StepInfo: StepInfo{ID: j.last, Turn: turn, What: what}}, before: map[string]State{},
		adjusted: map[string]State{}}
}

// BeginRun is Begin for a program that goes on for long and works in steps of its own, while the user may change files
// as well: if the process is killed, its changes stay, and [Journal.Undo] undoes them.
func (j *Journal) BeginRun(turn int, what string) *Step {
	s := j.Begin(turn, what)
	s.kind = kindRun
	return s
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func (j *Journal) ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.openFiles()
}

// write appends lines of a step to the log, after the line that begins it.
func (s *Step) write(lines ...line) error {
	j := s.j
	if !s.begun {
		s.head, _ = j.cfg.Head()
		s.Time = now()
		lines = append([]line{{Type: lineBegin, Step: s.ID, Turn: s.Turn, What: s.What, Kind: s.kind, Head: s.head,
			Steps: s.steps, Time: s.Time}}, lines...)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.openFiles(); err != nil {
		return err
	}
	if err := j.files.log.append(lines...); err != nil {
		return err
	}
	if !s.begun {
		s.begun = true
		j.open = append(j.open, s)
		if j.touching == nil {
			j.touching = time.AfterFunc(touchEvery, j.touch)
		}
	}
	return nil
}

func (j *Journal) touch() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.open) == 0 || j.files == nil {
		j.touching = nil
		return
	}
	// Where that cannot be, recovery is more careful, no more.
	_ = os.Chtimes(j.files.log.file.Name(), time.Time{}, time.Now())
	j.touching.Reset(touchEvery)
}

func (j *Journal) endLocked(s *Step, changes []Change) error {
	lines := make([]line, 0, len(changes)+1)
	for _, c := range changes {
		lines = append(lines, changeLine(lineChange, s.ID, c))
	}
	j.open = slices.DeleteFunc(j.open, func(o *Step) bool { return o == s })
	lines = append(lines, line{Type: lineEnd, Step: s.ID, Failed: s.failed, Open: len(j.open) + j.pending})
	if err := j.files.log.append(lines...); err != nil {
		return err
	}
	noteLeft(j.left, changes)
	j.steps = add(j.steps, s.record, changes, s.failed)
	for _, other := range j.open {
		for _, c := range changes {
			other.adjusted[c.Path] = c.After
		}
	}
	j.syncLater()
	return nil
}

// noteLeft notes the stamps of the paths that artoo changed.
func noteLeft(left map[string]uint64, changes []Change) {
	for _, c := range changes {
		if left[c.Path] = c.After.Stamp.Inode; c.After.Kind != File && c.After.Kind != Link && !c.After.Whole {
			delete(left, c.Path)
		}
	}
}

// add adds a step to those that are over, and notes which it takes back: none if it failed.
func add(steps []*record, r record, changes []Change, failed bool) []*record {
	r.changes, r.Paths = changes, len(changes)
	if failed {
		r.steps = nil
	}
	for _, old := range steps {
		if !slices.Contains(r.steps, old.ID) {
			continue
		}
		old.Undone = true
		for _, original := range steps {
			if old.kind == kindUndo && slices.Contains(old.steps, original.ID) {
				original.Undone = false // It is there again.
			}
		}
	}
	return append(steps, &r)
}

// syncLater brings all the steps of a moment to the disk, without waiting for it.
func (j *Journal) syncLater() {
	if j.syncing == nil {
		j.syncing = time.AfterFunc(syncAfter, j.syncNow)
	}
}

// syncNow brings to the disk all writes since the last time. The next Sync returns its error.
func (j *Journal) syncNow() {
	j.oneSync.Lock()
	defer j.oneSync.Unlock()
	j.mu.Lock()
	dirty, f := j.syncing, j.files
	j.syncing = nil
	j.mu.Unlock()
	if dirty == nil {
		return
	}
	dirty.Stop()
	err := f.sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.syncErr = errors.Join(j.syncErr, err)
}
