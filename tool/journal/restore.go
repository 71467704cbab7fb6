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
// the quarantine, by a rename, and only where the expected file is there.
// After a kill it can be run once more, or with the states exchanged.
type restore struct {
	j    *Journal
	ctx  context.Context
	step int
	// ops are the changes to be made. One with From brings back the file that is at that path, or
	// was; another one takes that away.
	ops  []Change
	from Source // It has the new contents of a layer that are not kept; else nil.
	// again says that a process was killed while it did this, so that the path may be between the states.
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

// run makes all changes that it can. It returns those made, and those left with the reason.
func (r *restore) run() (done []Change, left []Lack) {
	r.left, r.stamps, r.sources = map[string]Lack{}, map[string]Stamp{}, map[string]string{}
	slices.SortFunc(r.ops, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	for _, op := range r.ops {
		if op.From != "" {
			r.sources[op.From] = op.Path
		}
	}
	upwards := slices.Clone(r.ops) // A directory comes after its entries.
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

// each makes the changes, as long as there is time.
func (r *restore) each(ops []Change, which func(Change) bool, do func(Change) error) {
	for _, op := range ops {
		if _, given := r.left[op.Path]; given || !which(op) {
			continue
		}
		err := r.ctx.Err()
		if err == nil {
			err = do(op)
		}
		if why, ok := errors.AsType[lackError](err); ok {
			r.left[op.Path] = Lack{Path: op.Path, Why: why.Reason}
		} else if err != nil {
			r.left[op.Path] = Lack{Path: op.Path, Why: NotRestored, Err: err}
		}
	}
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

// reversed are the changes that undo these.
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

type lackError struct{ Reason }

func (e lackError) Error() string { return string(e.Reason) }

// temp names the temporary file of a path, always the same, so that a kill leaves no other.
func (r *restore) temp(path string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", r.j.cfg.Dir, r.step, path))
	return ".artoo-" + hex.EncodeToString(sum[:10]) + ".tmp"
}

// clean removes files that a killed process left beside a path.
func (r *restore) clean(op Change) error {
	return r.inParent(op, func(dir int, _ string) error {
		if err := unix.Unlinkat(dir, r.temp(op.Path), 0); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func dirToDir(op Change) bool { return op.Before.Kind == Folder && op.After.Kind == Folder }

// turns reports whether a directory takes the place of something else, or is replaced.
func turns(op Change) bool {
	return op.Before.Kind != Absent && op.After.Kind != Absent &&
		(op.Before.Kind == Folder) != (op.After.Kind == Folder)
}

// there reports whether the path is as before the change, as after it, or, where that may be, something between.
// Anything else is an error.
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

// remove moves a file away that is not to be there, or makes room for one of another kind. A
// directory that is empty by now is nothing to be kept.
func (r *restore) remove(op Change) error {
	// Its directory may have been renamed by now, with all that it held.
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

// looseDir is the change with the mode that loosen gives a directory.
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

// setDirMode comes last: until then a directory can be filled.
func (r *restore) setDirMode(op Change) error {
	now, err := r.j.look(r.ctx, op.Path, stampOnly)
	if err != nil || now.Kind != Folder || now.Mode == op.After.Mode {
		return err
	}
	return r.chmod(op, op.After.Mode)
}

func (r *restore) put(op Change) error {
	if op.Before.Kind == Absent && op.From == "" && op.After.Peer == "" && !r.again {
		return r.swap(op, State{}) // It finds out whether something is there.
	}
	now, finished, err := r.there(op)
	if finished && op.After.Kind != Special {
		r.restamp(op.Path, now.Stamp)
	}
	if finished || err != nil {
		return err
	}
	st, err := r.j.place.lstat(op.Path)
	if now.Kind == File && op.After.Kind == File && err == nil {
		// A file with several names is changed under all of them only where it was so
		// before, and they lie in the project.
		alone := st.links <= 1 || now.Stamp.Inode == op.After.Stamp.Inode && r.j.hasAllNames(st)
		if alone && sameContent(now, op.After) {
			r.restamp(op.Path, now.Stamp)
			return r.chmod(op, op.After.Mode)
		}
	}
	_, peerIsDone := r.stamps[op.After.Peer]
	if op.After.Peer != "" && (now.Kind == Absent || st.links > 1 || peerIsDone) {
		if q, err := r.j.openQuarantine(false); err != nil {
			return err
		} else if !q.has(op.After) {
			return r.replace(op) // It becomes another name of its peer.
		}
	}
	return r.swap(op, now)
}

// replace makes a path the file or link that it is to be under another name, and renames that over it: for file systems
// that cannot exchange names. The present file is kept, or it stays.
func (r *restore) replace(op Change) error {
	now, _, err := r.there(op)
	if err == nil && (now.Kind == Special || now.Kind == File && !r.j.files.objects.has(now.Hash)) {
		err = lackError{NotMoved}
	}
	if err != nil {
		return err
	}
	temp, finished := r.temp(op.Path), false
	return r.inParent(op, func(dir int, name string) error {
		st, err := r.make(dir, temp, op)
		if err == nil { // The content may have taken a while to write.
			_, finished, err = r.there(op)
		}
		if err == nil && !finished {
			err = r.j.at("rename")
		}
		if err == nil && !finished {
			err = unix.Renameat(dir, temp, dir, name)
		}
		if err != nil || finished {
			return errors.Join(err, r.clean(op))
		}
		r.restamp(op.Path, st.state().Stamp)
		return nil
	})
}

func (r *restore) chmod(op Change, mode fs.FileMode) error {
	if err := r.j.at("chmod"); err != nil {
		return err
	}
	return r.inParent(op, func(dir int, name string) error { return chmodAt(dir, name, mode) })
}

// make makes the file that a path is to be under another name.
func (r *restore) make(dir int, name string, op Change) (stat, error) {
	if !r.linkPeer(dir, name, op) {
		if err := r.build(dir, name, op); err != nil {
			return stat{}, err
		}
		if mtime := op.After.Stamp.Mtime; mtime != 0 && op.After.Kind == File {
			at := unix.NsecToTimespec(mtime)
			if err := unix.UtimesNanoAt(dir, name, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return stat{}, err
			}
		}
	}
	return statAt(dir, name)
}

// build makes, of the kept contents, the file or link that a path is to be.
func (r *restore) build(dir int, name string, op Change) error {
	if err := r.j.at("temp"); err != nil {
		return err
	}
	if op.After.Kind == Link {
		if err := unix.Symlinkat(op.After.Target, dir, name); err != nil {
			return err
		}
		keepOwnerAt(dir, name, op.After)
		return nil
	}
	file, err := createAt(dir, name)
	if err != nil {
		return err
	}
	err = r.copy(file, op)
	keepOwnerAt(dir, name, op.After)
	if err = errors.Join(err, file.Chmod(op.After.Mode), file.Close()); err != nil {
		return errors.Join(err, unix.Unlinkat(dir, name, 0))
	}
	return nil
}

// linkPeer makes another name of the path's peer, if that is there as it was.
func (r *restore) linkPeer(dir int, name string, op Change) bool {
	if op.After.Peer == "" {
		return false
	}
	peer, err := r.j.look(r.ctx, op.After.Peer, hashOnly)
	if err != nil || peer.Kind != File || !sameContent(peer, op.After) {
		return false
	}
	st, err := r.j.place.lstat(op.After.Peer)
	if err != nil || peer.Mode != op.After.Mode && (!r.changes(op.After.Peer) || !r.j.hasAllNames(st)) {
		return false
	}
	if err := r.j.place.inParent(op.After.Peer, func(from int, peer string) error {
		return unix.Linkat(from, peer, dir, name, 0)
	}); err != nil {
		return false // A copy will do.
	}
	// It must be the file that was looked at.
	made, err := statAt(dir, name)
	if err == nil && made.inode == st.inode && made.dev == st.dev && chmodAt(dir, name, op.After.Mode) == nil {
		return true
	}
	_ = unix.Unlinkat(dir, name, 0) // Build reports it if it is still there.
	return false
}

// changes reports whether the path is one of those to be restored.
func (r *restore) changes(path string) bool {
	return slices.ContainsFunc(r.ops, func(op Change) bool { return op.Path == path })
}
