package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"artoo/tool/text"
)

// swap puts a file of the quarantine in the place of the file at a path, which comes to lie there instead:
// one call of the kernel does both. Where the file system cannot do that the path is replaced.
func (r *restore) swap(op Change, now State) error {
	q, err := r.j.openQuarantine(true)
	if err != nil {
		return err
	}
	if q == nil || !q.swaps {
		return r.replace(op)
	}
	slot, mode, ok := q.find(op.After)
	if !ok && r.returning[op.Path] { // whatever was written to it since
		var h held
		h, ok = q.lies(op.After.Stamp.Inode)
		slot, mode = h.slot, op.After.Mode
	}
	if !ok {
		if err := r.stage(q, &op); err != nil {
			return err
		}
		slot, mode, _ = q.find(op.After)
	}
	if op.After.Kind == File && mode != op.After.Mode {
		if err := q.chmod(slot, op.After.Mode); err != nil {
			return err
		}
	}
	if err := r.j.at("rename"); err != nil {
		return err
	}
	err = r.j.place.inParent(op.Path, func(dir int, name string) error {
		if now.Kind == Absent {
			return q.putNew(slot, dir, name)
		}
		if err := r.lease(op.Path, dir, name, now); err != nil {
			return err
		}
		return r.exchange(q, slot, dir, name, now)
	})
	if errors.Is(err, unix.EXDEV) {
		return r.replace(op)
	}
	if err != nil {
		return changedSince(err)
	}
	q.forget(op.After.Stamp.Inode)
	if now.Kind != Absent {
		if _, err := q.holds(slot, now.Hash); err != nil {
			return err
		}
		r.out = append(r.out, Change{Path: op.Path, Before: now})
	}
	r.restamp(op.Path, op.After.Stamp)
	return nil
}

// changedSince is the error of a rename, or that something else is there, or nothing.
func changedSince(err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return lackError{ChangedSince}
	}
	return err
}

// putNew renames a thing from its slot to a path where nothing is.
func (q *quarantine) putNew(slot string, dir int, name string) error {
	return renameNew(int(q.dir.Fd()), slot, dir, name)
}

// exchange exchanges the file in a slot with the one at a path. If that has
// changed meanwhile, it goes back, and the user's is at the path again.
func (r *restore) exchange(q *quarantine, slot string, dir int, name string, was State) error {
	swapped := func() (out State, err error) {
		if err := exchange(int(q.dir.Fd()), slot, dir, name); err != nil {
			return out, err
		}
		return q.look(context.WithoutCancel(r.ctx), slot, false)
	}
	in, err := q.look(r.ctx, slot, false)
	if err != nil {
		return err
	}
	out, err := swapped()
	if err != nil {
		return err
	}
	if out.Stamp.Inode == was.Stamp.Inode && was.Hash != "" {
		// Something may have been written to it after it was looked at.
		out, err = q.look(context.WithoutCancel(r.ctx), slot, true)
	}
	if err == nil && unmoved(out, was) {
		return nil
	}
	// Between two exchanges the user may save once more: then the file that comes out is not the one put in before, and
	// it goes back as well.
	for {
		back, err := swapped()
		if err != nil {
			return err
		}
		if back.Stamp.Inode == in.Stamp.Inode {
			return lackError{ChangedSince}
		}
		in, out = out, back
	}
}

func unmoved(now, was State) bool {
	return now.Stamp.Inode == was.Stamp.Inode && same(now, was)
}

// moveOut moves the file at a path into the quarantine. Where that cannot be, a file or
// link is removed if the journal holds it.
func (r *restore) moveOut(op Change, now State) error {
	q, err := r.j.openQuarantine(true)
	if err != nil {
		return err
	}
	if q == nil {
		return r.unlink(op, now)
	}
	slot, err := q.slot(r.step, op.Path)
	if err != nil {
		return err
	}
	err = r.j.place.inParent(op.Path, func(dir int, name string) error {
		if st, err := statAt(dir, name); err != nil {
			return err
		} else if st.kind() == File && st.links > 1 {
			return unix.EXDEV // its other names are written to
		}
		if err := r.lease(op.Path, dir, name, now); err != nil {
			return err
		}
		if err := unix.Renameat(dir, name, int(q.dir.Fd()), slot); err != nil {
			return err
		}
		out, err := q.look(context.WithoutCancel(r.ctx), slot, now.Hash != "")
		if err == nil && unmoved(out, now) {
			return nil
		}
		err = renameNew(int(q.dir.Fd()), slot, dir, name)
		if err != nil && !errors.Is(err, fs.ErrExist) { // else the user saved over it
			return err
		} else if err != nil {
			_, err = q.holds(slot, "")
		}
		return errors.Join(err, lackError{ChangedSince})
	})
	if errors.Is(err, unix.EXDEV) {
		return r.unlink(op, now)
	}
	if err != nil {
		return changedSince(err)
	}
	r.out = append(r.out, Change{Path: op.Path, Before: now})
	_, err = q.holds(slot, now.Hash)
	return err
}

// unlink removes a file or link that the journal holds a copy of.
func (r *restore) unlink(op Change, now State) error {
	if now.Kind != Link && (now.Kind != File || !r.j.files.objects.has(now.Hash)) {
		return lackError{NotMoved}
	}
	return r.inParent(op, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) })
}

func (r *restore) moveBack(op Change) error {
	now, finished, err := r.there(op)
	if finished || err != nil {
		return err
	}
	op.From = r.moved(op.From)
	from, err := r.j.look(r.ctx, op.From, hashOnly)
	if err != nil {
		return err
	}
	if from.Stamp.Inode != op.After.Stamp.Inode || !same(from, op.After) || now.Kind != Absent {
		if op.After.Kind == File && r.j.kept(op.After) {
			return nil // put writes it
		}
		return lackError{ChangedSince}
	}
	if err := r.j.at("rename"); err != nil {
		return err
	}
	rename := func(from, to string) error {
		return r.j.place.inParent(from, func(fromDir int, fromName string) error {
			return r.j.place.inParent(to, func(toDir int, toName string) error {
				return renameNew(fromDir, fromName, toDir, toName)
			})
		})
	}
	if err := rename(op.From, op.Path); err != nil {
		return changedSince(err)
	}
	if moved, err := r.j.look(context.WithoutCancel(r.ctx), op.Path, stampOnly); err != nil ||
		moved.Stamp.Inode != op.After.Stamp.Inode {
		return errors.Join(lackError{ChangedSince}, err, rename(op.Path, op.From))
	}
	r.restamp(op.Path, from.Stamp)
	return nil
}

// moved is where something lies by now that is renamed: the directory that holds it may
// have been before.
func (r *restore) moved(path string) string {
	for dir, _ := split(path); len(r.sources) > 0 && dir != ""; dir, _ = split(dir) {
		to := r.sources[dir]
		if to == "" {
			continue
		}
		if _, err := r.j.place.lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return to + strings.TrimPrefix(path, dir)
		}
	}
	return path
}

// bringDir renames a directory that was moved out whole to where it was, if there is one.
func (r *restore) bringDir(op Change) (bool, error) {
	q, err := r.j.openQuarantine(false)
	if err != nil {
		return false, err
	}
	slot, _, ok := q.find(op.After)
	if !ok {
		return false, nil
	}
	err = r.j.place.inParent(op.Path, func(dir int, name string) error { return q.putNew(slot, dir, name) })
	if err == nil {
		q.forget(op.After.Stamp.Inode)
	}
	return true, changedSince(err)
}

// stage makes in the quarantine, of the kept contents, the file that a path is to become.
func (r *restore) stage(q *quarantine, op *Change) error {
	slot, err := q.slot(r.step, op.Path)
	if err != nil {
		return err
	}
	if err := r.build(int(q.dir.Fd()), slot, *op); err != nil {
		return err
	}
	st, err := q.holds(slot, op.After.Hash)
	if err != nil {
		return err
	}
	op.After.Stamp = Stamp{Inode: st.inode, Mtime: st.mtime}
	if op.After.Kind == Link {
		op.After.Stamp.Mtime = 0
	}
	return nil
}

// restamp notes the stamp by which a path is known from now on.
func (r *restore) restamp(path string, stamp Stamp) {
	stamp.Ctime = 0 // a rename changes it
	r.stamps[path] = stamp
}

// lease has the kernel report if a file that is about to be moved is opened for writing: those writes would go where
// the user does not look for them. Without a lease, the file that came out is compared.
func (r *restore) lease(path string, dir int, name string, now State) error {
	if now.Kind != File || len(r.leases) >= r.j.most || r.again {
		return nil
	}
	fd, err := uninterrupted(func() (int, error) { return unix.Openat(dir, name, openFlags, 0) })
	if err != nil {
		return nil // may not be read, which is no reason to leave it
	}
	err = takeLease(fd)
	if err == nil {
		r.leases = append(r.leases, lease{path, fd})
		return nil
	}
	if unix.Close(fd); errors.Is(err, unix.EAGAIN) {
		return lackError{ChangedSince}
	}
	return nil
}

type lease struct {
	path string
	fd   int
}

// maxLeases is how many files are held at a time: each takes a descriptor.
const maxLeases = 1000

// disturbed is an error if a file that was moved out was opened for writing, or written to.
func (r *restore) disturbed() error {
	q, err := r.j.openQuarantine(false)
	if err != nil {
		return err
	}
	for _, was := range r.out {
		if was.Before.Kind == File && !q.has(was.Before) {
			return fmt.Errorf("%s %w", was.Path, errUnsteady)
		}
	}
	for _, l := range r.leases {
		if !leaseHolds(l.fd) {
			return fmt.Errorf("%s %w", l.path, errUnsteady)
		}
	}
	return nil
}

func (r *restore) release() {
	for _, l := range r.leases {
		unix.Close(l.fd)
	}
	r.leases = nil
}

// copy writes the content that is expected, without the holes of a file.
func (r *restore) copy(dest *os.File, op Change) error {
	var from *os.File
	var err error
	if r.from == nil || r.j.kept(op.After) {
		from, err = r.j.openKept(op)
	} else {
		from, err = r.from.Open(Abs(r.j.cfg.Root, op.Path))
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if op.After.Size > maxRead && op.After.Hash == "" {
		return copySparse(r.ctx, dest, from, op.After.Size)
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(dest, h), text.Reader(r.ctx, from)); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); op.After.Hash != "" && op.After.Hash != sum {
		return damaged(from.Name())
	}
	return nil
}

// stripAttributes takes extended attributes from a file: they may be of the layer that
// it comes from, or make a program of it that may do more. It reports whether none is left.
func stripAttributes(fd int) bool {
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return size == 0 || errors.Is(err, errors.ErrUnsupported)
	}
	buf := make([]byte, size)
	if size, err = unix.Flistxattr(fd, buf); err != nil {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:size]), "\x00"), "\x00") {
		// Every file has this one where there are such labels, and no process can remove it.
		if name != "security.selinux" && unix.Fremovexattr(fd, name) != nil {
			return false
		}
	}
	return true
}
