package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// restore brings paths from one state to another: each thing comes from, and goes to,
// the quarantine, by a rename, and only where what is there is what is expected.
// After a kill it can be run once more, or with the states exchanged.
type restore struct {
	j    *Journal
	ctx  context.Context
	step int
	// ops are what is to be done. One with From brings back what is at that path, or
	// was; another one takes that away.
	ops  []Change
	from Source // It has the new contents of a layer that are not kept; else nil.
	// again says that a process was killed while it did this, so that what is
	// there may lie between the states.
	again bool
	// returning are paths whose originals were moved out, to come back.
	returning map[string]bool

	left    map[string]Lack
	stamps  map[string]Stamp  // The keys are paths that were done.
	sources map[string]string // The keys are renamed away, to the values.
	leases  []lease
	out     []Change // These were moved out of the project.
	made    bool     // the directories are there
}

// run does all that can be done. It returns what was, and what was not and why.
func (r *restore) run() (done []Change, left []Lack) {
	r.left, r.stamps, r.sources = map[string]Lack{}, map[string]Stamp{}, map[string]string{}
	slices.SortFunc(r.ops, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	for _, op := range r.ops {
		if op.From != "" {
			r.sources[op.From] = op.Path
		}
	}
	upwards := slices.Clone(r.ops) // A directory comes after what it holds.
	slices.Reverse(upwards)
	goes := func(op Change) bool {
		return (op.After.Kind == Absent || turns(op)) && r.sources[op.Path] == ""
	}
	isDir := func(op Change) bool { return op.Before.Kind == Folder && !op.Before.Whole }
	toDir := func(op Change) bool { return op.After.Kind == Folder && !dirToDir(op) }
	isFile := func(op Change) bool { return op.After.Kind == File || op.After.Kind == Link }
	if r.again {
		r.each(r.ops, anyOp, r.clean)
	}
	r.each(r.ops, isDir, r.loosen)
	r.each(upwards, func(op Change) bool { return goes(op) && !isDir(op) }, r.remove)
	r.each(r.ops, toDir, func(op Change) error { // above before below
		if op.From != "" {
			return r.moveBack(op)
		}
		return r.makeDir(op)
	})
	r.each(r.ops, func(op Change) bool { return !toDir(op) && op.From != "" }, r.moveBack)
	r.each(upwards, func(op Change) bool { return goes(op) && isDir(op) }, r.remove)
	r.made = true
	r.each(r.ops, func(op Change) bool { return isFile(op) || op.After.Kind == Special }, r.put)
	r.each(upwards, func(op Change) bool { return op.After.Kind == Folder && !op.After.Whole }, r.setDirMode)
	for _, op := range r.ops {
		lack, ok := r.left[op.Path]
		if to := r.sources[op.Path]; !ok && to != "" {
			if lack, ok = r.left[to]; ok {
				lack.Path, lack.Err = op.Path, nil
			}
		}
		if ok {
			left = append(left, lack)
		} else if !same(op.Before, op.After) {
			if stamp, ok := r.stamps[op.Path]; ok {
				op.After.Stamp = stamp
			}
			done = append(done, op)
		}
	}
	return done, left
}

func anyOp(Change) bool { return true }

// each does one thing for all of the changes that it is for.
func (r *restore) each(ops []Change, which func(Change) bool, do func(Change) error) {
	for _, op := range ops {
		if _, given := r.left[op.Path]; !given && which(op) {
			r.try(op, do)
		}
	}
}

// try does one thing, unless there is no time left for it.
func (r *restore) try(op Change, do func(Change) error) {
	err := r.ctx.Err()
	if err == nil {
		err = do(op)
	}
	if err == nil {
		return
	}
	lack := Lack{Path: op.Path, Why: NotRestored, Err: err}
	var why lackError
	if errors.As(err, &why) {
		lack.Why, lack.Err = why.Reason, nil
	}
	r.left[op.Path] = lack
}

// inParent calls f with the open directory that the path lies in. Where that is not
// there, or not yet, there may be nothing to be done.
func (r *restore) inParent(op Change, f func(dir int, name string) error) error {
	there := false
	err := r.j.place.inParent(op.Path, func(dir int, name string) error {
		there = true
		return f(dir, name)
	})
	switch {
	case there || err == nil:
		return err
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		err = lackError{ChangedSince}
	}
	if op.After.Kind == Absent || op.Before.Kind == Absent && !r.made {
		return nil
	}
	return err
}

// reversed are the changes that take these back.
func reversed(ops []Change) []Change {
	to := map[string]string{}
	for _, op := range ops {
		if op.From != "" {
			to[op.From] = op.Path
		}
	}
	back := make([]Change, len(ops))
	for i, op := range ops {
		back[i] = Change{Path: op.Path, Before: op.After, After: op.Before, From: to[op.Path]}
	}
	return back
}

// lackError is a reason as an error.
type lackError struct{ Reason }

func (e lackError) Error() string { return string(e.Reason) }

// temp is the name of the temporary file for a path: the same each time, so that
// it can be cleaned up after a kill.
func (r *restore) temp(path string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", r.j.cfg.Dir, r.step, path))
	return ".artoo-" + hex.EncodeToString(sum[:10]) + ".tmp"
}

// clean removes what a killed process left beside a path.
func (r *restore) clean(op Change) error {
	return r.inParent(op, func(dir int, _ string) error {
		if err := unix.Unlinkat(dir, r.temp(op.Path), 0); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
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
	if now, err = r.j.look(r.ctx, op.Path, k); err != nil {
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
	}
	return now, false, lackError{ChangedSince}
}

// loosen makes a directory writable for the user, for as long as it takes.
func (r *restore) loosen(op Change) error {
	now, _, err := r.there(op)
	if err != nil || now.Kind != Folder || now.Mode&0o700 == 0o700 {
		return err
	}
	return r.chmod(op, now.Mode|0o700)
}

// remove moves away what shall not be, or makes room for something of another kind. A
// directory that is empty by now is nothing to be kept.
func (r *restore) remove(op Change) error {
	// What held it may have been renamed by now, with all that it held.
	if at := r.moved(op.Path); at != op.Path && op.After.Kind == Absent && !r.changes(at) {
		op.Path = at
	}
	now, finished, err := r.there(looseDir(op))
	if finished || err != nil || now.Kind == Absent || turns(op) && (now.Kind == Folder) == (op.After.Kind == Folder) {
		return err
	}
	if err := r.j.at("remove"); err != nil {
		return err
	}
	if now.Kind != Folder || op.Before.Whole {
		return r.moveOut(op, now)
	}
	err = r.inParent(op, func(dir int, name string) error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return lackError{NotEmpty}
	}
	return err
}

// looseDir is the change without the mode of a directory that loosen may have
// altered.
func looseDir(op Change) Change {
	if op.Before.Kind == Folder && !op.Before.Whole {
		op.Before.Mode |= 0o700
	}
	return op
}

func (r *restore) makeDir(op Change) error {
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

// setDirMode comes last: a directory that may not be written to can be filled
// until then.
func (r *restore) setDirMode(op Change) error {
	now, err := r.j.look(r.ctx, op.Path, stampOnly)
	if err != nil || now.Kind != Folder || now.Mode == op.After.Mode {
		return err
	}
	return r.chmod(op, op.After.Mode)
}
