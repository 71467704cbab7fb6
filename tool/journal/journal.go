// Package journal keeps the files of a project as they were before each change, so that a turn can be taken
// back without git, and applies the changes of a throwaway layer.
//
// A journal belongs to one session and one project. Files change within a [Step]: a tool names the paths beforehand
// ([Step.Before]), a shell command has the whole project looked at ([Step.Snapshot]), and [Step.End] records the
// outcome. [Journal.Plan] describes the undo of the last turns, and [Journal.Apply] makes it.
//
// Nothing is ever between two states: each change is written down first, and [Open] undoes or finishes the change of a
// killed process. docs/dev/journal.md describes the files.
package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	if !cfg.NamedOnly && names.Within(cfg.Root, names.Real(cfg.Dir)) {
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
	r.changes = changes
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

// Config names a journal's project. Dir and Root are required.
type Config struct {
	// Dir is the journal's own directory, [Dir] for one, with NamedOnly anywhere, else outside the
	// project. It is made with mode 0700 when something is first written.
	Dir string
	// Root is the project, absolute and without links. Nothing outside it, and of
	// the directories of Added, is kept or restored.
	Root string
	// Added are directories outside the project, absolute and without links, that artoo may write to.
	Added []string
	// State holds the locks that order the landings of all journals which name it; "" is Dir, for
	// one that no other journal shares a project with. It is made with mode 0700.
	State string
	// Denied reports whether the file at the path, relative to Root with slashes or absolute, must
	// not be copied. Nil denies nothing. It may be called from several goroutines.
	Denied func(path string) bool
	// Ignored lists the paths that git ignores, relative to Root with slashes; a
	// directory, which stands for all below it, ends in a slash. It is called
	// from a goroutine of its own while the project is looked at; until it has
	// answered for the first time nothing is ignored. Nil ignores nothing.
	Ignored func(ctx context.Context) ([]string, error)
	// Head says where the repository stands, in any words that change when it moves (the commit and the branch), and
	// the operation under way in it ("rebase", "merge"), "" for none. Nil: there is no repository.
	Head func() (head, busy string)
	// Merges reports whether the content of a path, absolute, is changed in parts that can be undone one by one, as the
	// index of a repository. Merge makes in such a file, which holds now, the changes that lead from one content to
	// another, and names the parts that have another value by now and stay. A nil content is no file. Merges is nil
	// where there is none.
	Merges func(path string) bool
	Merge  func(ctx context.Context, path string, from, to, now []byte) (merged []byte, left []string, err error)
	// MaxFile is the size in bytes above which Snapshot leaves a file out; 0: 1 MB.
	MaxFile int64
	// MaxSession is how many bytes of contents are kept in all; 0: 512 MB. Kept contents are never discarded for it.
	MaxSession int64
	// NamedOnly says that Root is a home directory, or all of the machine: Snapshot looks at nothing.
	NamedOnly bool
	// Budget is how long Snapshot may take for more than a small project; 0: 300 ms.
	Budget time.Duration
}

// Abs is a path of a change or lack in the project at root as an absolute one.
func Abs(root, path string) string {
	if strings.HasPrefix(path, "/") {
		return filepath.FromSlash(path)
	}
	return filepath.Join(root, filepath.FromSlash(path))
}

// Kind is the kind of file at a path. The empty one is nothing.
type Kind string

const (
	Absent  Kind = ""
	File    Kind = "file"
	Folder  Kind = "dir"
	Link    Kind = "link"    // symbolic
	Special Kind = "special" // a device, FIFO or socket
)

// KindOf is the kind of a file with such a mode.
func KindOf(mode fs.FileMode) Kind {
	switch {
	case mode.IsRegular():
		return File
	case mode.IsDir():
		return Folder
	case mode&fs.ModeSymlink != 0:
		return Link
	}
	return Special
}

// State describes a file at a path.
type State struct {
	Kind Kind `json:"kind,omitempty"`
	// Mode is the permission bits, with set-user-ID, set-group-ID and sticky.
	Mode fs.FileMode `json:"mode,omitempty"`
	Size int64       `json:"size,omitempty"`
	// Hash is the content's SHA-256 in hexadecimal digits, "" where it was not
	// read. Target is the target of a link.
	Hash   string `json:"hash,omitempty"`
	Target string `json:"target,omitempty"`
	// Stamp distinguishes files where Hash is empty.
	Stamp Stamp `json:"stamp,omitzero"`
	// Peer is another path of the same file (a hard link), "" if there is none
	// in the project.
	Peer string `json:"peer,omitempty"`
	// Whole says of a directory that it was moved with all that it holds.
	Whole bool `json:"whole,omitempty"`
	// UID and GID are the owner's, where the system has such numbers. They are
	// restored as far as it lets us, and not compared.
	UID uint32 `json:"uid,omitempty"`
	GID uint32 `json:"gid,omitempty"`
}

// Stamp is the file system's description of a file. Times are nanoseconds since
// 1970. A zero field is not known, and not compared.
type Stamp struct {
	Inode uint64 `json:"inode,omitempty"`
	Ctime int64  `json:"ctime,omitempty"`
	Mtime int64  `json:"mtime,omitempty"`
}

// Change is the change of one path, relative to the root, with slashes, or absolute in
// a directory outside it. It need not be UTF-8.
type Change struct {
	Path          string
	Before, After State
	// From is the path that a created file had before, if it was renamed. In a plan
	// the file, or a directory with all that it holds, is renamed back from there.
	From string
	// Kept says that the state before can be brought back.
	Kept bool
	// output is the directory of build output that the path belongs to, "" for none: its content is not kept.
	output string
}

// Reason is why a path is not covered, or was left alone.
type Reason string

const (
	TooLarge     Reason = "larger than the limit for one file"
	NoSpace      Reason = "the session's limit is reached"
	Older        Reason = "kept in an earlier state; there was no time to read it again before the command"
	NoTime       Reason = "no time to copy it before the command"
	Lost         Reason = "its copy is gone from the journal"
	IsDenied     Reason = "denied"
	IsIgnored    Reason = "ignored by git"
	IsSpecial    Reason = "a device, FIFO or socket"
	OtherMount   Reason = "on another file system"
	Unreadable   Reason = "cannot be read"
	Outside      Reason = "outside the project"
	ChangedSince Reason = "changed since"
	NotEmpty     Reason = "holds files that are not artoo's"
	SetID        Reason = "set-user-ID or set-group-ID"
	NotRestored  Reason = "could not be restored"
	NotMoved     Reason = "cannot be moved out of the project"
	NoProject    Reason = "no project, so only what artoo's own tools change is kept"
)

// Lack is a path, relative to the root with slashes, that is not covered or was
// left alone, and why. One that ends in a slash stands for all below it.
type Lack struct {
	Path string
	Why  Reason
	Size int64
	Err  error // The system said so, if it is the reason.
}

// Changed is the outcome of a step.
type Changed struct {
	Changes []Change // sorted by path
	// Lacks are those of the changed paths that cannot be undone.
	Lacks []Lack
}

// StepInfo describes a step afterwards.
type StepInfo struct {
	ID   int
	Turn int
	What string
	Time time.Time
	// Undone says that it was undone.
	Undone bool
}

// Plan lists the changes an undo or redo would make. Making one changes nothing in the project.
type Plan struct {
	Redo  bool
	Turns []int      // undone or redone, the last first
	Steps []StepInfo // the last first
	// Restore lists the changes: Before is there now, After will be.
	Restore []Change
	// Left lists paths that stay as they are, because they are no longer as artoo left them.
	Left []Lack
	// Cannot lists paths that artoo changed and cannot bring back.
	Cannot []Lack
	// HeadMoved says that the repository stands elsewhere than when one of the
	// steps began: a second yes is needed. Busy names a rebase, merge or the like in it.
	HeadMoved bool
	Busy      string
	steps     []int
	last      int // step when the plan was made
}

// Already reports whether each path is as the plan would leave it.
func (p Plan) Already() bool { return len(p.Restore)+len(p.Left)+len(p.Cannot) == 0 }

// Report describes the outcome of Apply or ApplyLayer.
type Report struct {
	Step int // the step it was recorded as
	// Finished says that Open finished an interrupted undo or redo, and Kept that it left the changes of a
	// run (see [Journal.BeginRun]); it took back any other step.
	Finished, Kept bool
	Done           []Change
	Left           []Lack // These were not done.
	// Cannot lists paths that were replaced or deleted and cannot be brought back.
	Cannot []Lack
}

// Layer is a throwaway layer whose changes are applied.
type Layer interface {
	// Open opens the new content of the file at an absolute path.
	Open(path string) (*os.File, error)
	// Path is where that content lies, absolute, if it may be renamed from there; "" has it
	// copied. Nothing else may write to it.
	Path(path string) string
	// Touches are the files that Replay may change, absolute or relative to the root: they are kept before.
	Touches() []string
	// Replay changes git's data when the files of the layer are in their places. Its error reverts everything, git's
	// data included; so does a kill before it has returned.
	Replay(ctx context.Context) error
}

// Session is one journal of a project.
type Session struct {
	Dir   string
	ID    string // Dir's last element
	Time  time.Time
	InUse bool // A running artoo writes to it.
	// Unfinished says that a process died in the middle of a step: Open will finish or undo it.
	Unfinished bool
	Turns      []SessionTurn // those that changed something, the oldest first
}

// SessionTurn is a turn that changed something. One that was undone in part is two.
type SessionTurn struct {
	Turn   int
	Steps  []StepInfo // those that changed something, in order
	Paths  int        // that are not as before its first step after its last
	Undone bool
}
