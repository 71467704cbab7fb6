package journal

import (
	"errors"
	"os"
	"slices"
	"time"
)

// put makes a path what it shall be.
func (r *restore) put(op Change) error {
	if op.Before.Kind == Absent && op.From == "" && op.After.Peer == "" && !r.again {
		return r.swap(op, State{}) // which finds out whether something is there
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
			return r.chmod(op)
		}
	}
	_, peerIsDone := r.stamps[op.After.Peer]
	if op.After.Peer != "" && (now.Kind == Absent || st.links > 1 || peerIsDone) {
		if q, err := r.j.openQuarantine(false); err != nil {
			return err
		} else if _, held := q.find(op.After); !held {
			return r.replace(op) // by another name of its peer
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
	return r.within(op, func(p *parent) error {
		temp := r.temp(op.Path)
		stamp, err := r.make(p, op, temp)
		if err != nil {
			return errors.Join(err, r.clean(op))
		}
		// Once more, as the content may have taken a while to write.
		if _, finished, err := r.there(op); finished || err != nil {
			return errors.Join(err, r.clean(op))
		}
		if err := r.j.at("rename"); err != nil {
			return errors.Join(err, r.clean(op))
		}
		if err := p.dir.Rename(temp, p.name); err != nil {
			return errors.Join(err, r.clean(op))
		}
		r.settle(op.Path, stamp)
		return nil
	})
}

func (r *restore) chmod(op Change) error {
	if err := r.j.at("chmod"); err != nil {
		return err
	}
	return r.within(op, func(p *parent) error { return p.dir.Chmod(p.name, op.After.Mode) })
}

// make makes the file or link under a temporary name.
func (r *restore) make(p *parent, op Change, temp string) (Stamp, error) {
	if err := r.j.at("temp"); err != nil {
		return Stamp{}, err
	}
	if op.After.Kind == Link {
		if err := p.dir.Symlink(op.After.Target, temp); err != nil {
			return Stamp{}, err
		}
		keepOwner(p.dir, temp, op.After)
	} else if !r.linkPeer(p, op, temp) {
		file, err := p.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return Stamp{}, err
		}
		err = r.copy(file, op)
		keepOwner(p.dir, temp, op.After)
		err = errors.Join(err, file.Chmod(op.After.Mode), file.Close())
		if mtime := op.After.Stamp.Mtime; err == nil && mtime != 0 {
			err = p.dir.Chtimes(temp, time.Unix(0, mtime), time.Unix(0, mtime))
		}
		if err != nil {
			return Stamp{}, err
		}
	}
	dir, _ := split(op.Path)
	st, err := r.j.place.lstat(join(dir, temp))
	return st.state().Stamp, err
}

// linkPeer makes the temporary file another name of the file that the path was a
// name of, if that is there as it was.
func (r *restore) linkPeer(p *parent, op Change, temp string) bool {
	if op.After.Peer == "" {
		return false
	}
	peer, err := r.j.look(r.ctx, op.After.Peer, hashOnly)
	if err != nil || peer.Kind != File || !sameContent(peer, op.After) {
		return false
	}
	if st, err := r.j.place.lstat(op.After.Peer); err != nil || peer.Mode != op.After.Mode &&
		(!r.changes(op.After.Peer) || !r.j.hasAllNames(st)) {
		return false
	}
	dir, _ := split(op.Path)
	if r.j.place.root.Link(op.After.Peer, join(dir, temp)) != nil {
		return false // a copy will do
	}
	// It must be the file that was looked at, in the directory that is held open.
	made, err := p.dir.Lstat(temp)
	was, err2 := r.j.place.root.Lstat(op.After.Peer)
	if err == nil && err2 == nil && os.SameFile(made, was) && p.dir.Chmod(temp, op.After.Mode) == nil {
		return true
	}
	_ = p.dir.Remove(temp) // make tells if it is still there
	return false
}

// changes reports whether the path is one of those to be restored.
func (r *restore) changes(path string) bool {
	return slices.ContainsFunc(r.ops, func(op Change) bool { return op.Path == path })
}
