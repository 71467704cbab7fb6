package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// files are the files of a journal, besides its quarantine.
type files struct {
	lock    *flock.Flock
	log     *log
	objects *store
	saved   tree      // The log says so.
	alive   time.Time // when the log was last touched by an earlier process
}

const (
	logName     = "journal.jsonl"
	objectsName = "objects"
	lockName    = "lock"
)

// openFiles opens the files, or makes them, and completes steps left unfinished.
// It is called with j.mu held, or before other goroutines have j.
func (j *Journal) openFiles() error {
	if j.files != nil {
		return nil
	}
	if err := j.at("mkdir"); err != nil {
		return err
	}
	if err := os.MkdirAll(j.cfg.Dir, 0o700); err != nil {
		return err
	}
	f := &files{lock: flock.New(filepath.Join(j.cfg.Dir, lockName), flock.SetPermissions(0o600))}
	got, err := f.lock.TryLock()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err == nil && !got {
		return ErrInUse
	}
	past, err := f.read(j)
	if err == nil && f.log.size == 0 {
		err = f.log.append(line{Type: lineJournal, V: version, Root: j.cfg.Root, Time: now()})
	}
	if err != nil {
		return errors.Join(err, f.close())
	}
	if past.died(f.alive) {
		err = f.log.append(line{Type: lineDied, Time: f.alive})
	}
	for _, dir := range past.added {
		j.place.add(dir)
		j.added[dir] = true
	}
	if err := errors.Join(err, j.addTo(f.log, j.cfg.Added)); err != nil {
		return errors.Join(err, f.close())
	}
	j.files = f
	j.steps, j.last = append(past.steps, j.steps...), max(j.last, past.last)
	if len(past.open) == 0 {
		return nil
	}
	return j.recover(past)
}

// read opens the files and returns their content.
func (f *files) read(j *Journal) (past *past, err error) {
	if f.objects, err = openStore(filepath.Join(j.cfg.Dir, objectsName), j.cfg.MaxSession, j.at); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(j.cfg.Dir, logName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	past = newPast(j.left)
	info, err := file.Stat()
	if err == nil {
		f.alive = info.ModTime()
		f.log, err = readLog(file, j.at, past.add)
	}
	if f.log == nil {
		return nil, errors.Join(err, file.Close())
	}
	return past, errors.Join(err, past.of(j.cfg.Root))
}

// sync brings everything to the disk: a line of the log after the contents that it names.
func (f *files) sync() error { return errors.Join(f.objects.sync(), syncFile(f.log.file)) }

// close gives the files back. Those that were not opened are nil.
func (f *files) close() error {
	var errs []error
	if f.objects != nil {
		errs = append(errs, f.objects.close())
	}
	if f.log != nil {
		errs = append(errs, f.log.file.Close())
	}
	return errors.Join(append(errs, f.lock.Unlock())...)
}

// Landings in one project follow each other, whichever process or session they are of:
// lockWait is how long one waits for the others, and lockEach how often it looks whether
// they are over.
const (
	lockWait = 30 * time.Second
	lockEach = 3 * time.Millisecond
)

// ErrBusy says that another landing in the project did not end.
var ErrBusy = errors.New("another artoo is still applying changes in this project")

// order waits until no other landing, undo, redo or recovery changes the project, and
// keeps others waiting until done is called, or until the kernel has ended the process.
// The lock goes by the project's device and inode, since a path may be another one's.
func (j *Journal) order(ctx context.Context) (done func(), err error) {
	dir := j.cfg.Dir
	if j.cfg.State != "" {
		dir = filepath.Join(j.cfg.State, "landing")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("landing-%x-%x.lock", j.root.dev, j.root.inode)
	lock := flock.New(filepath.Join(dir, name), flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, j.wait)
	defer cancel()
	_, err = lock.TryLockContext(waiting, lockEach)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w: waited %v for %s", ErrBusy, j.wait, j.cfg.Root)
	}
	// The kernel releases the lock with the descriptor, whatever else goes wrong there.
	return func() { _ = lock.Close() }, ignoreUnsupported(err)
}

// version is that of the log; see docs/dev/journal.md.
const version = 1

// The types of lines.
const (
	lineJournal = "journal" // The first line says whose journal it is.
	lineBegin   = "begin"   // A step begins.
	lineBefore  = "before"  // A path was this before a tool's call.
	lineSaw     = "saw"     // A look at the project found this new in a directory.
	lineWalk    = "walk"    // The whole project was looked at.
	lineIntent  = "intent"  // This is about to be done to a path.
	lineGo      = "go"      // The intents are whole.
	lineChange  = "change"  // A path became this.
	lineEnd     = "end"     // A step is over.
	lineAdded   = "added"   // Paths may lie in this directory outside the project.
	lineLeft    = "left"    // A path that was put back is known by this.
	lineDied    = "died"    // The process of the open steps was last alive then.
)

// The kinds of steps. One of a tool or a command has none.
const (
	kindUndo  = "undo"
	kindRedo  = "redo"
	kindLayer = "layer"
	// kindRun is a program's own run of many steps: the changes of a killed one stay, to be undone.
	kindRun = "run"
	// kindQuarantine is a step that only moves things out of the project.
	kindQuarantine = "quarantine"
)

// line is one line of the log. Which fields are set depends on its type.
type line struct {
	Type   string    `json:"type"`
	V      int       `json:"v,omitempty"`
	Root   string    `json:"root,omitempty"`
	Step   int       `json:"step,omitempty"`
	Turn   int       `json:"turn,omitempty"`
	Kind   string    `json:"kind,omitempty"`
	What   string    `json:"what,omitempty"`
	Head   string    `json:"head,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	Steps  []int     `json:"steps,omitempty"`
	Path   string    `json:"path,omitempty"`
	From   string    `json:"from,omitempty"`
	Before *State    `json:"before,omitempty"`
	After  *State    `json:"after,omitempty"`
	// Entries are the new or different names of a directory, Gone the names that are no longer
	// in it; "." is the directory itself.
	Entries []sawEntry `json:"entries,omitempty"`
	Gone    []string   `json:"gone,omitempty"`
	Unseen  []string   `json:"unseen,omitempty"`
	// Failed says that an undo or redo was not done.
	Failed bool `json:"failed,omitempty"`
	// Open is how many other steps are open where one ends.
	Open int `json:"open,omitempty"`
}

// each calls f with every path of the line: they may be any bytes, and JSON
// strings are not.
func (l *line) each(f func(string) string) {
	for _, s := range []*string{&l.Path, &l.From, &l.Root} {
		*s = f(*s)
	}
	for _, list := range []*[]string{&l.Unseen, &l.Gone} {
		*list = slices.Clone(*list)
		for i, path := range *list {
			(*list)[i] = f(path)
		}
	}
	for i := range l.Entries {
		l.Entries[i].Name, l.Entries[i].Content = f(l.Entries[i].Name), f(l.Entries[i].Content)
	}
	for _, state := range []**State{&l.Before, &l.After} {
		if *state != nil {
			changed := **state
			changed.Target, changed.Peer = f(changed.Target), f(changed.Peer)
			*state = &changed
		}
	}
}

func (l line) change() Change {
	c := Change{Path: l.Path, From: l.From}
	if l.Before != nil {
		c.Before = *l.Before
	}
	if l.After != nil {
		c.After = *l.After
	}
	return c
}

func changeLine(typ string, step int, c Change) line {
	return line{Type: typ, Step: step, Path: c.Path, From: c.From, Before: &c.Before, After: &c.After}
}

// log is the append-only file of lines. Its callers take turns.
type log struct {
	file *os.File
	size int64
	at   func(point string) error
}

// append writes the lines with a single write: all, or after an error none.
func (l *log) append(lines ...line) error {
	b := make([]byte, 0, 512*len(lines))
	for _, one := range lines {
		text, err := one.text()
		if err != nil {
			return err
		}
		b = append(b, text...)
	}
	return l.write(b)
}

func (l line) text() ([]byte, error) {
	l.each(escape)
	text, err := json.Marshal(l)
	return append(text, '\n'), err
}

func (l *log) write(b []byte) error {
	if err := l.at("log"); err != nil {
		return err
	}
	if _, err := l.file.WriteAt(b, l.size); err != nil {
		// A part may be there, whatever number of bytes is returned with the error.
		if cutErr := l.file.Truncate(l.size); cutErr != nil {
			err = fmt.Errorf("%w; cut back: %w", err, cutErr)
		}
		return err
	}
	l.size += int64(len(b))
	return nil
}

// sawPrefix begins the lines that record a look. Most of a log are such lines, and only
// [readTree] needs them.
var (
	sawPrefix  = []byte(`{"type":"` + lineSaw + `"`)
	walkPrefix = []byte(`{"type":"` + lineWalk + `"`)
)

// readLog hands each whole line to f, except those of looks. An incomplete last line, left by a crash, is cut off.
func readLog(file *os.File, at func(string) error, f func(line)) (*log, error) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<62))
	if err != nil {
		return nil, err
	}
	size, err := readLines(data, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	l := &log{file: file, size: int64(size), at: at}
	if size == len(data) {
		return l, nil
	}
	return l, file.Truncate(l.size)
}

// readLines hands each whole line to f, except those of looks, and returns the size of all. A line that
// cannot be read, before the last, is an error: another line could depend on it.
func readLines(data []byte, f func(line)) (size int, err error) {
	number := 0
	for text := range bytes.Lines(data) {
		number++
		last := size+len(text) == len(data)
		if last && text[len(text)-1] != '\n' {
			break // torn by a crash of the machine, as are others that cannot be read
		}
		if last || !bytes.HasPrefix(text, sawPrefix) {
			var l line
			if err := json.Unmarshal(text, &l); err != nil && !last {
				return size, fmt.Errorf("line %d: %w", number, err)
			} else if err != nil {
				break
			}
			l.each(unescape)
			f(l)
		}
		size += len(text)
	}
	return size, nil
}

// past is the state that the log of an earlier process records.
type past struct {
	root  string // The project's; "" where the log does not say.
	last  int
	steps []*record
	open  map[int]*unfinished
	added []string          // directories outside the project
	left  map[string]uint64 // The journal's own map.
	err   error
	// others are the steps that may have moved away files the user made.
	others map[int]bool
}

func newPast(left map[string]uint64) *past {
	return &past{open: map[int]*unfinished{}, left: left, others: map[int]bool{}}
}

// unfinished is a step without an end.
type unfinished struct {
	record
	died    time.Time // zero if no recovery was begun
	before  map[string]State
	walked  bool
	unseen  map[string]bool
	intents []Change
	going   bool // the intents are whole
}

func (p *past) add(l line) {
	step := p.open[l.Step]
	switch {
	case l.Type == lineAdded:
		p.added = append(p.added, l.Root)
	case l.Type == lineDied:
		p.died(l.Time)
	case l.Type == lineJournal && l.V > version:
		p.err = fmt.Errorf("the journal was written by a newer artoo (format %d)", l.V)
	case l.Type == lineJournal:
		p.root = l.Root
	case l.Type == lineBegin:
		p.open[l.Step] = &unfinished{before: map[string]State{}, record: record{kind: l.Kind, head: l.Head, steps: l.Steps,
			StepInfo: StepInfo{ID: l.Step, Turn: l.Turn, What: l.What, Time: l.Time}}}
		p.others[l.Step] = l.Kind == kindQuarantine
		p.last = max(p.last, l.Step)
	case step != nil:
		p.addTo(step, l)
	}
}

// died notes when the process of the open steps was last alive, and reports whether any
// of them did not know.
func (p *past) died(at time.Time) (news bool) {
	for _, u := range p.open {
		if u.died.IsZero() {
			u.died, news = at, true
		}
	}
	return news
}

func (p *past) addTo(step *unfinished, l line) {
	switch l.Type {
	case lineBefore:
		step.before[l.Path] = l.change().Before
	case lineWalk:
		p.others[l.Step] = true
		step.walked, step.unseen = true, setOf(l.Unseen)
	case lineIntent:
		step.intents = append(step.intents, l.change())
	case lineGo:
		step.going = true
	case lineLeft:
		noteLeft(p.left, []Change{l.change()})
	case lineChange:
		step.changes = append(step.changes, l.change())
	case lineEnd:
		delete(p.open, l.Step)
		p.steps = add(p.steps, step.record, step.changes, l.Failed)
		noteLeft(p.left, step.changes)
	}
}

// of is an error where the journal is of another project.
func (p *past) of(root string) error {
	if p.root != "" && p.root != root {
		return fmt.Errorf("the journal is of another project, %s", p.root)
	}
	return p.err
}

// errNoSpace says that the session's limit is reached.
var errNoSpace = errors.New("the journal's limit for a session is reached")

// storeError says that the journal could not keep something.
type storeError struct{ err error }

func (e storeError) Error() string { return "cannot be kept: " + e.err.Error() }
func (e storeError) Unwrap() error { return e.err }

// store is a directory of contents, each in a file that is named by its SHA-256 in
// hexadecimal digits. Its methods may be called from several goroutines.
type store struct {
	place *place
	limit int64 // It counts bytes.
	at    func(point string) error

	writing sync.Mutex // one content at a time

	mu       sync.Mutex
	sizes    map[string]int64
	used     int64             // It counts bytes, those to be written too.
	unsynced []string          // This process added these contents.
	later    map[string][]byte // These are to be written.
	waiting  int64             // how many bytes that is

	flushing sync.Mutex
}

// maxWaiting is how many bytes may wait to be written.
const maxWaiting = 8 << 20

// emptyHash is the hash of a content without a byte.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// partName is the name of a content that is being written.
const partName = "part"

// openStore lists the kept contents. It removes parts of contents that a crash left.
func openStore(path string, limit int64, at func(string) error) (*store, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	place, err := openPlace(path)
	if err != nil {
		return nil, err
	}
	s := &store{place: place, limit: limit, at: at, sizes: map[string]int64{}, later: map[string][]byte{}}
	entries, err := place.dir.ReadDir(-1)
	for _, e := range entries {
		info, infoErr := e.Info()
		if err = errors.Join(err, infoErr); err != nil {
			break
		}
		if info.Size() == 0 && e.Name() != emptyHash || e.Name() == partName {
			err = os.Remove(s.path(e.Name()))
			continue
		}
		s.sizes[e.Name()] = info.Size()
		s.used += info.Size()
	}
	if err != nil {
		return nil, errors.Join(err, place.close())
	}
	return s, nil
}

func (s *store) path(hash string) string { return filepath.Join(s.place.dir.Name(), hash) }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// put keeps data, unless it is kept already, and returns its hash. Only force goes beyond
// the limit.
func (s *store) put(data []byte, force bool) (hash string, err error) {
	hash = hashOf(data)
	if s.written(hash) {
		return hash, nil
	}
	return s.write(bytes.NewReader(data), hash, force)
}

// putLater is put for content that nothing waits for: on a busy disk making a file takes long, and
// many new files land in a third of the time.
func (s *store) putLater(data []byte) (hash string, err error) {
	hash = hashOf(data)
	size := int64(len(data))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hasLocked(hash):
		return hash, nil
	case s.used+size > s.limit:
		return hash, errNoSpace
	case s.waiting+size > maxWaiting:
		s.mu.Unlock()
		defer s.mu.Lock()
		return s.write(bytes.NewReader(data), hash, false)
	}
	s.later[hash] = data
	s.waiting += size
	s.used += size
	go s.flush()
	return hash, nil
}

// flush writes the contents that wait. After an error a content is not kept.
func (s *store) flush() {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, data := range s.later {
		s.mu.Unlock()
		_, _ = s.write(bytes.NewReader(data), hash, true)
		s.mu.Lock()
		delete(s.later, hash)
		s.waiting -= int64(len(data))
		s.used -= int64(len(data))
	}
}

// written reports whether a content is there, once it is written.
func (s *store) written(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.later[hash] != nil {
		s.mu.Unlock()
		s.flush()
		s.mu.Lock()
	}
	_, ok := s.sizes[hash]
	return ok
}

// write keeps all that r holds. It is written under another name first, so that a part is
// never taken for a whole. Where its hash is not known yet it is found on the way.
func (s *store) write(r io.Reader, hash string, force bool) (string, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	dir := int(s.place.dir.Fd())
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat(dir, partName, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return hash, storeError{err}
	}
	f := os.NewFile(uintptr(fd), s.path(partName))
	sum := sha256.New()
	if hash == "" {
		r = io.TeeReader(r, sum)
	}
	w := &partWriter{file: f, at: s.at, left: s.limit - s.bytes()}
	if force {
		w.left = math.MaxInt64
	}
	size, err := io.Copy(w, r)
	if err = errors.Join(err, f.Close()); hash == "" {
		hash = hex.EncodeToString(sum.Sum(nil))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.sizes[hash]; known || err != nil {
		return hash, errors.Join(err, os.Remove(f.Name()))
	}
	if err := unix.Renameat(dir, partName, dir, hash); err != nil {
		return hash, storeError{err}
	}
	s.sizes[hash] = size
	s.used += size
	s.unsynced = append(s.unsynced, hash)
	return hash, nil
}

func (s *store) close() error {
	s.flush()
	return s.place.close()
}

// partWriter writes up to the free space, and separates the errors of the store from those of its source.
type partWriter struct {
	file *os.File
	at   func(point string) error
	left int64
}

func (w *partWriter) Write(p []byte) (n int, err error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, errNoSpace
	}
	if err = w.at("object"); err == nil {
		n, err = w.file.Write(p)
	}
	if err != nil {
		err = storeError{err}
	}
	return n, err
}

// has reports whether the content with the hash is kept, or about to be.
func (s *store) has(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasLocked(hash)
}

func (s *store) hasLocked(hash string) bool {
	_, ok := s.sizes[hash]
	return ok || s.later[hash] != nil
}

func (s *store) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// forget removes a content, if it is kept.
func (s *store) forget(hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, kept := s.sizes[hash]
	if !kept {
		return nil
	}
	s.used -= size
	delete(s.sizes, hash)
	return os.Remove(s.path(hash))
}

// open opens the content with the hash. Its reader compares that with the bytes it reads.
func (s *store) open(hash string) (*os.File, error) {
	if !s.written(hash) {
		return nil, fmt.Errorf("content %.12s is not kept", hash)
	}
	return os.Open(s.path(hash))
}

// sync brings to the disk the contents added since the last time.
func (s *store) sync() error {
	s.flush()
	s.mu.Lock()
	added := s.unsynced
	s.unsynced = nil
	s.mu.Unlock()
	return s.place.sync(added)
}
