package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
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
var ErrBusy = errors.New("another landing in this project has not ended")

// order waits until no other landing, undo, redo or recovery changes the project, and
// keeps others waiting until done is called, or until the kernel has ended the process.
// The lock goes by the project's device and inode, since a path may be another one's.
func (j *Journal) order(ctx context.Context) (done func(), err error) {
	dir := j.cfg.Locks
	if dir == "" {
		dir = j.cfg.Dir
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
