package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// put makes a path the file or link that it shall be.
func (r *restore) put(p *parent, op Change) error {
	now, finished, err := r.there(op)
	if finished || err != nil {
		return err
	}
	if now.Kind == File && op.After.Kind == File {
		if sameContent(now, op.After) {
			return r.chmod(p, op)
		}
		if st, err := r.j.place.lstat(op.Path); err == nil && st.links > 1 {
			return r.rewrite(p, op)
		}
	}
	temp := r.temp(op.Path)
	if err := r.make(p, op, temp); err != nil {
		return errors.Join(err, r.clean(p, op))
	}
	// Once more, as the content may have taken a while to write.
	if _, finished, err := r.there(op); finished || err != nil {
		return errors.Join(err, r.clean(p, op))
	}
	if err := r.j.at("rename"); err != nil {
		return errors.Join(err, r.clean(p, op))
	}
	if err := p.dir.Rename(temp, p.name); err != nil {
		return errors.Join(err, r.clean(p, op))
	}
	return syncDir(p.dir)
}

func (r *restore) chmod(p *parent, op Change) error {
	if err := r.j.at("chmod"); err != nil {
		return err
	}
	return p.dir.Chmod(p.name, op.After.Mode)
}

// make makes the file or link under a temporary name.
func (r *restore) make(p *parent, op Change, temp string) error {
	if err := r.j.at("temp"); err != nil {
		return err
	}
	if op.After.Kind == Link {
		if err := p.dir.Symlink(op.After.Target, temp); err != nil {
			return err
		}
		keepOwner(p.dir, temp, op.After)
		return nil
	}
	if r.linkPeer(p, op, temp) {
		return nil
	}
	file, err := p.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close() // a second time in some cases, which does no harm
	if err := r.copy(file, op); err != nil {
		return err
	}
	keepOwner(p.dir, temp, op.After)
	if err := file.Chmod(op.After.Mode); err != nil {
		return err
	}
	if err := syncFile(file); err != nil {
		return err
	}
	return file.Close()
}

// linkPeer makes the temporary file another name of the file that the path was a
// name of, if that is there as it was.
func (r *restore) linkPeer(p *parent, op Change, temp string) bool {
	if op.After.Peer == "" {
		return false
	}
	peer, err := r.j.look(op.After.Peer, hashOnly)
	if err != nil || peer.Kind != File || !sameContent(peer, op.After) || peer.Mode != op.After.Mode &&
		!r.changes(op.After.Peer) {
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

// copy writes the content, and makes sure that it is the one that was expected.
func (r *restore) copy(dest io.Writer, op Change) error {
	from, err := r.open(op)
	if err != nil {
		return err
	}
	defer from.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(dest, h), from); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); op.After.Hash != sum {
		return fmt.Errorf("its content is not the one expected (%.12s, not %.12s)", sum, op.After.Hash)
	}
	return nil
}

// rewrite writes a file with several names in place, so that they stay names of
// one file. A kill in the middle of it leaves what torn recognizes.
func (r *restore) rewrite(p *parent, op Change) error {
	var content bytes.Buffer
	if err := r.copy(&content, op); err != nil {
		return err
	}
	file, err := p.dir.OpenFile(p.name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := r.j.at("rewrite"); err != nil {
		return err
	}
	if _, err := file.WriteAt(content.Bytes(), 0); err != nil {
		return err
	}
	if err := r.j.at("truncate"); err != nil {
		return err
	}
	if err := file.Truncate(int64(content.Len())); err != nil {
		return err
	}
	if err := file.Chmod(op.After.Mode); err != nil {
		return err
	}
	return syncFile(file)
}

// torn reports whether what is there begins as the one content and goes on as the
// other, as after a write in place that was cut short, in either direction.
func (r *restore) torn(op Change, now State) bool {
	if now.Kind != File || op.Before.Kind != File || op.After.Kind != File {
		return false
	}
	before, err := r.j.files.objects.read(op.Before.Hash)
	if err != nil {
		return false
	}
	after, err := r.j.files.objects.read(op.After.Hash)
	if err != nil {
		return false
	}
	file, _, err := r.j.place.openFile(op.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, int64(max(len(before), len(after)))+1))
	return err == nil && (cutShort(content, before, after) || cutShort(content, after, before))
}

// cutShort reports whether now is old, overwritten by the first part of made.
func cutShort(now, old, made []byte) bool {
	n := 0
	for n < len(now) && n < len(made) && now[n] == made[n] {
		n++
	}
	return bytes.Equal(now[n:], old[min(n, len(old)):])
}
