package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// restore brings paths from one state to another: each file is written beside
// and renamed into place, and only where what is there is what is expected.
// After a kill it can be run once more, or with the states exchanged.
type restore struct {
	j    *Journal
	step int // by whose number the temporary files are known
	ops  []Change
	// open returns the content of what a path shall become.
	open func(Change) (io.ReadCloser, error)
	// again says that a process was killed while it did this, so that what is
	// there may lie between the states.
	again bool

	mu   sync.Mutex
	left map[string]Lack
	made bool // the directories are there
}

// writers is how many files are written at the same time: the disk takes the
// waits for several of them together.
const writers = 8

// run does all that can be done. It returns what was, and what was not and why.
func (r *restore) run() (done []Change, left []Lack) {
	r.left = map[string]Lack{}
	slices.SortFunc(r.ops, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	upwards := slices.Clone(r.ops) // what a directory holds before itself
	slices.Reverse(upwards)
	if r.again {
		r.each(r.ops, anyOp, r.clean)
	}
	r.each(r.ops, func(op Change) bool { return op.Before.Kind == Folder }, r.loosen)
	r.each(upwards, func(op Change) bool { return op.After.Kind == Absent || turns(op) }, r.remove)
	r.each(r.ops, func(op Change) bool { return op.After.Kind == Folder && !dirToDir(op) }, r.makeDir)
	r.made = true
	isFile := func(op Change) bool { return op.After.Kind == File || op.After.Kind == Link }
	var wg sync.WaitGroup
	slots := make(chan struct{}, writers)
	alone := func(op Change) bool {
		st, err := r.j.place.lstat(op.Path)
		return op.After.Peer == "" && (err != nil || st.links <= 1)
	}
	var several []Change // paths that are names of a file with others, or shall be
	for _, op := range r.ops {
		if isFile(op) && !alone(op) {
			several = append(several, op)
		} else if isFile(op) {
			slots <- struct{}{}
			wg.Go(func() {
				r.try(op, r.put)
				<-slots
			})
		}
	}
	wg.Wait()
	r.each(several, anyOp, r.put) // one after the other
	r.each(upwards, func(op Change) bool { return op.After.Kind == Folder }, r.setDirMode)
	for _, op := range r.ops {
		if lack, ok := r.left[op.Path]; ok {
			left = append(left, lack)
		} else if !same(op.Before, op.After) {
			done = append(done, op)
		}
	}
	return done, left
}

func anyOp(Change) bool { return true }

// each does one thing for all of the changes that it is for.
func (r *restore) each(ops []Change, which func(Change) bool, do func(*parent, Change) error) {
	for _, op := range ops {
		if which(op) {
			r.try(op, do)
		}
	}
}

// try does one thing, unless the path was given up.
func (r *restore) try(op Change, do func(*parent, Change) error) {
	r.mu.Lock()
	_, given := r.left[op.Path]
	r.mu.Unlock()
	if given {
		return
	}
	p, err := r.j.parent(op.Path)
	if err == nil {
		err = errors.Join(do(p, op), p.close())
	} else if r.needless(op) {
		err = nil
	}
	if err == nil {
		return
	}
	lack := Lack{Path: op.Path, Why: NotRestored, Err: err}
	var why lackError
	if errors.As(err, &why) {
		lack.Why, lack.Err = why.Reason, nil
	}
	r.mu.Lock()
	r.left[op.Path] = lack
	r.mu.Unlock()
}

// needless reports whether nothing can be done at a path whose directory is not
// there, or not yet.
func (r *restore) needless(op Change) bool {
	return op.After.Kind == Absent || op.Before.Kind == Absent && !r.made
}

// lackError is a reason as an error.
type lackError struct{ Reason }

func (e lackError) Error() string { return string(e.Reason) }

// parent is the directory that a path lies in, held open, with no link on the
// way to it.
type parent struct {
	dir  *os.Root
	name string
	own  bool
}

func (j *Journal) parent(path string) (*parent, error) {
	dirPath, name := split(path)
	p := &parent{dir: j.place.root, name: name}
	if dirPath == "" {
		return p, nil
	}
	for _, step := range strings.Split(dirPath, "/") {
		next, err := enter(p.dir, step)
		if err := errors.Join(err, p.close()); err != nil {
			return nil, err
		}
		p.dir, p.own = next, true
	}
	return p, nil
}

// enter opens a directory that is not a link.
func enter(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, lackError{ChangedSince}
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(lackError{ChangedSince}, err, next.Close())
	}
	return next, nil
}

func (p *parent) close() error {
	if !p.own {
		return nil
	}
	p.own = false
	return p.dir.Close()
}

// temp is the name of the temporary file for a path: the same each time, so that
// it can be cleaned up after a kill.
func (r *restore) temp(path string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", r.j.cfg.Dir, r.step, path))
	return ".artoo-" + hex.EncodeToString(sum[:10]) + ".tmp"
}

// clean removes what a killed process left beside a path.
func (r *restore) clean(p *parent, op Change) error {
	if err := p.dir.Remove(r.temp(op.Path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// dirToDir reports whether the path is a directory before and after.
func dirToDir(op Change) bool { return op.Before.Kind == Folder && op.After.Kind == Folder }

// turns reports whether a directory takes the place of something else, or the
// other way round: that takes two steps.
func turns(op Change) bool {
	return op.Before.Kind != Absent && op.After.Kind != Absent &&
		(op.Before.Kind == Folder) != (op.After.Kind == Folder)
}

// there reports whether what is at the path is what the change begins with, what
// it ends with, or, where that may be, something between. Else it is an error.
func (r *restore) there(op Change) (now State, finished bool, err error) {
	k := hashOnly
	if op.Before.Hash == "" && op.After.Hash == "" {
		k = stampOnly
	}
	if now, err = r.j.look(op.Path, k); err != nil {
		return now, false, err
	}
	switch {
	case same(now, op.After):
		return now, true, nil
	case same(now, op.Before), dirToDir(op) && now.Kind == Folder, turns(op) && now.Kind == Absent:
		return now, false, nil
	case (r.again || op.Before.Kind == Absent) && op.After.Kind == Folder && now.Kind == Folder: // its mode comes last
		return now, false, nil
	case r.again && op.Before.Kind == Folder && now.Kind == Folder: // was loosened
		return now, false, nil
	case r.again && r.torn(op, now):
		return now, false, nil
	}
	return now, false, lackError{ChangedSince}
}

// loosen makes a directory writable for the user, for as long as it takes.
func (r *restore) loosen(p *parent, op Change) error {
	now, _, err := r.there(op)
	if err != nil || now.Kind != Folder || now.Mode&0o700 == 0o700 {
		return err
	}
	if err := r.j.at("chmod"); err != nil {
		return err
	}
	return p.dir.Chmod(p.name, now.Mode|0o700)
}

// remove removes what shall not be, or makes room for something of another kind.
func (r *restore) remove(p *parent, op Change) error {
	now, finished, err := r.there(looseDir(op))
	if finished || err != nil || now.Kind == Absent || turns(op) && (now.Kind == Folder) == (op.After.Kind == Folder) {
		return err
	}
	if err := r.j.at("remove"); err != nil {
		return err
	}
	err = p.dir.Remove(p.name)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return lackError{NotEmpty}
	}
	return err
}

// looseDir is the change without the mode of a directory that loosen may have
// altered.
func looseDir(op Change) Change {
	if op.Before.Kind == Folder {
		op.Before.Mode |= 0o700
	}
	return op
}

func (r *restore) makeDir(p *parent, op Change) error {
	now, _, err := r.there(op)
	if err != nil || now.Kind == Folder {
		return err
	}
	if err := r.j.at("mkdir"); err != nil {
		return err
	}
	if err := p.dir.Mkdir(p.name, 0o700); err != nil {
		return err
	}
	keepOwner(p.dir, p.name, op.After)
	return nil
}

// setDirMode comes last: a directory that may not be written to can be filled
// until then.
func (r *restore) setDirMode(p *parent, op Change) error {
	now, err := r.j.look(op.Path, stampOnly)
	if err != nil || now.Kind != Folder || now.Mode == op.After.Mode {
		return err
	}
	if err := r.j.at("chmod"); err != nil {
		return err
	}
	return p.dir.Chmod(p.name, op.After.Mode)
}
