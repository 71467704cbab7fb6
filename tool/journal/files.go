package journal

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/gofrs/flock"
)

// files are what a journal consists of.
type files struct {
	lock    *flock.Flock
	alive   *os.File // written to as a sign of life, by whose time recovery goes
	log     *log
	objects *objects
	tree    *treeFile
}

// The names of the files.
const (
	logName     = "journal.jsonl"
	objectsName = "objects"
	treeName    = "tree"
	lockName    = "lock"
	aliveName   = "alive"
)

// openFiles opens the files, or makes them, and puts right what was left undone.
// It is called with j.mu held, or before anybody else knows j.
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
	for _, dir := range past.added {
		j.place.add(dir)
		j.added[dir] = true
	}
	if err := j.addTo(f.log, j.cfg.Added); err != nil {
		return errors.Join(err, f.close())
	}
	j.files = f
	j.steps, j.last = append(past.steps, j.steps...), max(j.last, past.last)
	return j.recover(past)
}

// read opens the files and returns what they hold.
func (f *files) read(j *Journal) (*past, error) {
	open := func(name string) (*os.File, error) {
		return os.OpenFile(filepath.Join(j.cfg.Dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	}
	var err error
	if f.alive, err = open(aliveName); err != nil {
		return nil, err
	}
	file, err := open(objectsName)
	if err != nil {
		return nil, err
	}
	if f.objects, err = openObjects(file, j.cfg.MaxSession, j.at); err != nil {
		return nil, err
	}
	if file, err = open(treeName); err != nil {
		return nil, err
	}
	f.tree = &treeFile{file: file, at: j.at}
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		f.tree.written.none()
	}
	if file, err = open(logName); err != nil {
		return nil, err
	}
	past := &past{root: j.cfg.Root, open: map[int]*unfinished{}, left: j.left}
	f.log, err = readLog(file, j.at, past.add)
	return past, errors.Join(err, past.err)
}

// sync brings everything to the disk. A tree comes after the contents that it knows by
// their numbers, and a line of the log after the tree that it refers to. Without a tree
// the disk is waited for once: a line knows contents by their hashes, so that one
// which a crash of the machine took away is missed, never taken for another.
func (f *files) sync() error {
	if f.tree.written.some() {
		return errors.Join(f.objects.written.sync(f.objects.file), f.tree.written.sync(f.tree.file), syncFile(f.log.file))
	}
	logged := make(chan error, 1)
	go func() { logged <- syncFile(f.log.file) }()
	return errors.Join(f.objects.written.sync(f.objects.file), <-logged)
}

// written counts the changes of a file, so that one without any is not synced: even
// then the disk is waited for. What an earlier process wrote counts as a change.
type written struct {
	changes atomic.Int64
	synced  atomic.Int64 // one more than the changes that the disk has
}

func (w *written) add() { w.changes.Add(1) }

// none says of a file that nothing was written to it yet, by anybody.
func (w *written) none() { w.synced.Store(w.changes.Load() + 1) }

// some reports whether something is not on the disk.
func (w *written) some() bool { return w.synced.Load() <= w.changes.Load() }

// sync brings the file to the disk if it changed since that was last done.
func (w *written) sync(file *os.File) error {
	if !w.some() {
		return nil
	}
	changes := w.changes.Load()
	if err := syncFile(file); err != nil {
		return err
	}
	w.synced.Store(changes + 1)
	return nil
}

// close gives the files back. Those that were not opened are nil.
func (f *files) close() error {
	var errs []error
	if f.objects != nil {
		errs = append(errs, f.objects.file.Close())
	}
	if f.tree != nil {
		errs = append(errs, f.tree.file.Close())
	}
	if f.log != nil {
		errs = append(errs, f.log.file.Close())
	}
	if f.alive != nil {
		errs = append(errs, f.alive.Close())
	}
	return errors.Join(append(errs, f.lock.Unlock())...)
}
