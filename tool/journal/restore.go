package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/text"
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
	from Layer // It has new contents that are not kept; else nil.
	// again says that a process was killed while it did this, so that the path may be between the states.
	again bool
	// returning are paths whose originals were moved out, to come back.
	returning map[string]bool

	left    map[string]Lack
	stamps  map[string]Stamp  // The keys are paths that were done.
	sources map[string]string // The keys are renamed away, to the values.
	leases  []lease
	waited  int      // so often it waited for a file to be closed
	out     []Change // These were moved out of the project.
	made    bool     // the directories are there
	// whole are the new directories that a layer has as they are to be: true of one that was renamed from there.
	whole map[string]bool
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
	// Upwards a directory comes after its entries.
	downwards, upwards := slices.All(r.ops), slices.Backward(r.ops)
	goes := func(op Change) bool {
		return (op.After.Kind == Absent || turns(op)) && r.sources[op.Path] == ""
	}
	isDir := func(op Change) bool { return op.Before.Kind == Folder && !op.Before.Whole }
	toDir := func(op Change) bool { return op.After.Kind == Folder && !dirToDir(op) }
	isFile := func(op Change) bool { return op.After.Kind == File || op.After.Kind == Link }
	if r.again {
		r.each(downwards, anyOp, r.clean)
	}
	r.each(downwards, isDir, r.loosen)
	r.each(upwards, func(op Change) bool { return goes(op) && !isDir(op) }, r.remove)
	r.each(downwards, toDir, func(op Change) error { // above before below
		if op.From != "" {
			return r.moveBack(op)
		}
		return r.makeDir(op)
	})
	r.each(downwards, func(op Change) bool { return !toDir(op) && op.From != "" }, r.moveBack)
	r.each(upwards, func(op Change) bool { return goes(op) && isDir(op) }, r.remove)
	r.made = true
	r.each(downwards, func(op Change) bool { return isFile(op) || op.After.Kind == Special }, r.put)
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
func (r *restore) each(ops iter.Seq2[int, Change], which func(Change) bool, do func(Change) error) {
	for _, op := range ops {
		if _, given := r.left[op.Path]; given || !which(op) {
			continue
		}
		err := r.ctx.Err()
		if err == nil {
			err = do(op)
		}
		if why, ok := errors.AsType[lackError](err); ok || errors.Is(err, errUnsteady) {
			r.left[op.Path] = Lack{Path: op.Path, Why: cmp.Or(why.Reason, ChangedSince)}
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

func (r *restore) put(op Change) error {
	if isBelow(r.whole, op.Path) {
		q, err := r.j.openQuarantine(false)
		q.forget(op.After.Stamp.Inode)
		return err
	}
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
		err := r.build(dir, name, &op)
		if err == nil && op.After.Stamp.Mtime != 0 && op.After.Kind == File {
			err = setTime(dir, name, op.After)
		}
		if err != nil {
			return stat{}, err
		}
	}
	return statAt(dir, name)
}

// build makes the file or link that a path is to be, of the layer, with its time there, or of the kept contents.
func (r *restore) build(dir int, name string, op *Change) error {
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
	ofLayer, err := r.copy(file, op)
	keepOwnerAt(dir, name, op.After)
	if err = errors.Join(err, file.Chmod(op.After.Mode), file.Close()); err == nil && ofLayer {
		err = setTime(dir, name, op.After)
	}
	if err != nil {
		err = errors.Join(err, unix.Unlinkat(dir, name, 0))
	}
	return err
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

// moved is where something lies by now that is renamed: the directory that holds it may have been before.
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

// stage makes in the quarantine, of the kept contents, the file that a path is to become.
func (r *restore) stage(q *quarantine, op *Change) error {
	slot, err := q.slot(r.step, op.Path)
	if err != nil {
		return err
	}
	if err := r.build(int(q.dir.Fd()), slot, op); err != nil {
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
	// A program that artoo has just started holds for a moment the files that artoo had open.
	for err = takeLease(fd); errors.Is(err, unix.EAGAIN) && r.waited < maxWaits; err = takeLease(fd) {
		time.Sleep(time.Millisecond)
		r.waited++
	}
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

// maxWaits is for how many milliseconds files that are open are waited for, all together.
const maxWaits = 100

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

// copy writes the content that is expected, without the holes of a file that has no hash yet. One of the layer is as it
// is there, whose size and time it notes.
func (r *restore) copy(dest *os.File, op *Change) (ofLayer bool, err error) {
	var from *os.File
	if ofLayer = r.from != nil && !r.j.kept(op.After); ofLayer {
		from, err = r.from.Open(r.j.abs(op.Path))
	} else {
		from, err = r.j.openKept(op.After)
	}
	if err != nil {
		return ofLayer, err
	}
	defer from.Close()
	if ofLayer {
		info, err := from.Stat()
		if err != nil {
			return ofLayer, err
		}
		op.After.Size, op.After.Stamp.Mtime = info.Size(), info.ModTime().UnixNano()
	}
	if op.After.Hash == "" {
		return ofLayer, copySparse(r.ctx, dest, from, op.After.Size)
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(dest, h), text.Reader(r.ctx, from)); err != nil {
		return ofLayer, err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); op.After.Hash != sum {
		err = damaged(from.Name())
	}
	return ofLayer, err
}
