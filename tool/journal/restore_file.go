package journal

import (
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// put makes a path what it shall be.
func (r *restore) put(op Change) error {
	if op.Before.Kind == Absent && op.From == "" && op.After.Peer == "" && !r.again {
		return r.swap(op, State{}) // It finds out whether something is there.
	}
	now, finished, err := r.there(op)
	if finished && op.After.Kind != Special {
		r.settle(op.Path, now.Stamp)
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
			r.settle(op.Path, now.Stamp)
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

// replace makes a path the file or link that it shall be under another name, and
// renames that over it: for file systems that cannot exchange names. What is there is
// kept, or it stays.
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
		r.settle(op.Path, st.state().Stamp)
		return nil
	})
}

func (r *restore) chmod(op Change, mode fs.FileMode) error {
	if err := r.j.at("chmod"); err != nil {
		return err
	}
	return r.inParent(op, func(dir int, name string) error { return chmodAt(dir, name, mode) })
}

// make makes the file or link that a path shall be, under another name.
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

// build makes, of what is kept, the file or link that a path shall be.
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

// linkPeer makes another name of the file that the path was a name of, if that is there
// as it was.
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
