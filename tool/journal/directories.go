package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// findWhole finds the new directories of the layer that hold nothing except what lands as it lies there: each can come
// into the project with all of that, by one rename. A directory precedes what it holds in ops.
func (s *Step) findWhole(q *quarantine, ops []Change) {
	s.whole = map[string]bool{}
	lands := map[string]int{} // The keys are directories, with so many names that come as they lie there.
	for _, op := range slices.Backward(ops) {
		h, _ := q.lies(op.After.Stamp.Inode)
		stays := filepath.IsAbs(h.slot)
		if op.Before.Kind == Absent && op.After.Kind == Folder {
			if stays = q.takeWhole(s.from.Path(s.j.abs(op.Path)), op.After, lands[op.Path]); stays {
				s.whole[op.Path] = false
			}
		}
		if dir, _ := split(op.Path); stays {
			lands[dir]++
		}
	}
}

// takeWhole makes a directory of a layer ready to be what a path becomes, if it holds so many names and can be renamed.
func (q *quarantine) takeWhole(path string, becomes State, count int) bool {
	st, _, ok := q.canTake(path, Folder)
	inside, err := os.ReadDir(path)
	// Until all has landed a directory can be emptied.
	becomes.Mode |= 0o700
	return ok && err == nil && len(inside) == count && q.become(path, st, becomes) == nil
}

func (r *restore) makeDir(op Change) error {
	if isBelow(r.whole, op.Path) {
		return nil
	}
	now, _, err := r.there(op)
	if err != nil || now.Kind == Folder {
		return err
	}
	if err := r.j.at("mkdir"); err != nil {
		return err
	}
	if found, err := r.bringDir(op); found || err != nil {
		return err
	}
	if op.After.Whole {
		return lackError{NotRestored}
	}
	return r.inParent(op, func(dir int, name string) error {
		if err := unix.Mkdirat(dir, name, uint32(op.After.Mode.Perm()|0o700)); err != nil {
			return err
		}
		keepOwnerAt(dir, name, op.After)
		return nil
	})
}

// bringDir renames a directory of a layer, or one that was moved out whole, to where it is to be, if there is one.
func (r *restore) bringDir(op Change) (bool, error) {
	q, err := r.j.openQuarantine(false)
	if err != nil {
		return false, err
	}
	slot, _, found := q.find(op.After)
	_, whole := r.whole[op.Path]
	if whole {
		slot = r.from.Path(r.j.abs(op.Path))
	} else if !found {
		return false, nil
	}
	err = r.j.place.inParent(op.Path, func(dir int, name string) error { return q.putNew(slot, dir, name) })
	if whole && errors.Is(err, unix.EXDEV) {
		return false, nil
	}
	if err == nil && whole {
		r.whole[op.Path] = true
	} else if err == nil {
		q.forget(op.After.Stamp.Inode)
	}
	return true, changedSince(err)
}

// setDirMode comes last: until then a directory can be filled.
func (r *restore) setDirMode(op Change) error {
	now, err := r.j.look(r.ctx, op.Path, stampOnly)
	if err != nil || now.Kind != Folder || now.Mode == op.After.Mode {
		return err
	}
	return r.chmod(op, op.After.Mode)
}
