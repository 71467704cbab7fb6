package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// ErrConflict says that a layer was not applied, since the project is no longer
// what its line saw. The report lists where.
var ErrConflict = errors.New("the project has changed since the command ran")

// CheckLayer says what ApplyLayer would do, and changes nothing: Left holds what
// is no longer as the line saw it (then the layer cannot be applied) and what is
// never applied, Cannot what could not be taken back.
func (j *Journal) CheckLayer(changes []LayerChange) (Report, error) {
	_, report, err := j.layerOps(changes)
	return report, err
}

// layerOps are the changes of a layer that may be applied.
func (j *Journal) layerOps(changes []LayerChange) (ops []Change, report Report, err error) {
	var space int64
	for _, lc := range changes {
		if why := j.never(lc); why != "" {
			report.Left = append(report.Left, Lack{Path: lc.Path, Why: why, Size: lc.After.Size})
			continue
		}
		now, err := j.look(lc.Path, hashOnly)
		if err != nil {
			return nil, report, err
		}
		lc.Before.Mode &= permissions
		if !matches(now, lc.Before) {
			report.Left = append(report.Left, Lack{Path: lc.Path, Why: ChangedSince, Size: now.Size})
			continue
		}
		op := Change{Path: lc.Path, Before: now, After: lc.After, Kept: true}
		if op.After.Kind == File || op.After.Kind == Folder {
			op.After.Mode &= fs.ModePerm
			if now.Kind == Folder && op.After.Kind == Folder {
				op.After.Mode |= now.Mode &^ fs.ModePerm // a group that is inherited stays so
			}
		}
		op.After.Stamp, op.After.Peer = Stamp{}, ""
		if op.After.UID, op.After.GID = now.UID, now.GID; now.Kind == Absent {
			op.After.UID, op.After.GID = j.ownerAbove(lc.Path)
		}
		if now.Kind == File && !j.kept(now) {
			if size := now.Size + headerSize; j.fits(space + size) {
				space += size
			} else {
				op.Kept = false
				report.Cannot = append(report.Cannot, Lack{Path: lc.Path, Why: NoSpace, Size: now.Size})
			}
		}
		ops = append(ops, op)
	}
	report.Done = ops
	return ops, report, nil
}

// never is why a change of a layer is not applied, whoever wants it, or "".
func (j *Journal) never(lc LayerChange) Reason {
	switch {
	case j.cfg.Denied(lc.Path):
		return IsDenied
	case lc.After.Kind == Special || lc.Before.Kind == Special:
		return IsSpecial
	case lc.After.Kind == File && lc.After.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return SetID
	case !fs.ValidPath(lc.Path) && !validBytes(lc.Path) || lc.Path == ".":
		return Outside
	}
	return ""
}

// validBytes is fs.ValidPath for names that are not UTF-8.
func validBytes(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || strings.Contains(name, "\x00") {
			return false
		}
	}
	return true
}

func (j *Journal) fits(size int64) bool {
	var used int64
	if j.files != nil {
		used = j.files.objects.bytes()
	}
	return used+size <= j.cfg.MaxSession
}

// ownerAbove is who owns the nearest directory above the path: who shall own what
// is new in it.
func (j *Journal) ownerAbove(path string) (uid, gid uint32) {
	for path != "" {
		path, _ = split(path)
		name := path
		if name == "" {
			name = "."
		}
		if st, err := j.place.lstat(name); err == nil {
			return st.uid, st.gid
		}
	}
	return 0, 0
}

// ApplyLayer makes the changes of a throwaway layer to the project, as a step of
// its own: all of them, or after an error none. Every original is compared with
// what the line saw and kept, whatever its size; new paths must still be absent,
// or the error is [ErrConflict]; a directory that shall go and holds what the line
// did not see stays. Devices, FIFOs, sockets, set-user-ID files and denied paths
// are never applied. open returns the new content of a file.
func (j *Journal) ApplyLayer(turn int, what string, changes []LayerChange,
	open func(path string) (io.ReadCloser, error)) (Report, error) {
	ops, report, err := j.layerOps(changes)
	report.Done = nil
	if err != nil {
		return report, err
	}
	if slices.ContainsFunc(report.Left, func(l Lack) bool { return l.Why == ChangedSince }) {
		return report, ErrConflict
	}
	s := j.Begin(turn, what)
	s.kind = kindLayer
	if err := s.write(); err != nil {
		return report, err
	}
	report.Step = s.info.ID
	a := &applying{Step: s, ops: ops, report: report, open: open}
	err = errors.Join(a.keepOriginals(true), a.keepNew())
	// What cannot stay kept comes last, to be forgotten when the layer is applied:
	// until then a kill must not lose it.
	last := j.files.objects.count()
	if err == nil {
		err = a.keepOriginals(false)
	}
	if err == nil {
		a.ops = j.withParents(a.ops)
		err = s.intend(a.ops)
	}
	if err != nil {
		return report, errors.Join(err, s.abandon(), j.files.objects.forget(last))
	}
	err = a.run()
	return a.report, errors.Join(err, j.files.objects.forget(last))
}

// applying is a layer on its way into the project.
type applying struct {
	*Step
	ops    []Change
	report Report
	open   func(path string) (io.ReadCloser, error)
}

// run does what was written down. A directory that is not empty stays, unless
// something else shall be in its place; anything else that cannot be done makes
// the whole fail.
func (a *applying) run() error {
	var err error
	a.report.Done, err = a.perform(a.ops, a.content, func(left []Lack) (err error) {
		a.report.Left = append(a.report.Left, left...)
		for _, lack := range left {
			stays := func(op Change) bool { return op.Path == lack.Path && op.After.Kind == Absent }
			if lack.Why != NotEmpty || !slices.ContainsFunc(a.ops, stays) {
				err = ErrConflict
			}
		}
		return err
	})
	return err
}

// content opens the new content of a file.
func (a *applying) content(c Change) (io.ReadCloser, error) {
	if a.j.kept(c.After) {
		return a.j.openKept(c)
	}
	return a.open(c.Path)
}

// keepOriginals keeps what the changes will replace or delete, whatever its size:
// first that for which there is space.
func (a *applying) keepOriginals(within bool) error {
	for i, op := range a.ops {
		if op.Before.Kind != File || op.Kept != within {
			continue
		}
		now, err := a.j.look(op.Path, keepForce)
		if err != nil {
			return err
		}
		if !same(now, op.Before) {
			return ErrConflict
		}
		a.ops[i].Before = now
	}
	return nil
}

// keepNew notes the hash of each new content, and keeps it where it is small and
// there is space for it, so that it can be shown later on.
func (a *applying) keepNew() error {
	for i, op := range a.ops {
		if op.After.Kind != File {
			continue
		}
		if op.Before.Kind == File && op.After.Hash == op.Before.Hash {
			a.ops[i].After.Size = op.Before.Size // another mode
			continue
		}
		hash, size, err := a.readNew(op)
		if err != nil {
			return err
		}
		if op.After.Hash != "" && op.After.Hash != hash {
			return fmt.Errorf("%s: the layer holds another content than was shown", op.Path)
		}
		a.ops[i].After.Hash, a.ops[i].After.Size = hash, size
	}
	return nil
}

func (a *applying) readNew(op Change) (hash string, size int64, err error) {
	r, err := a.open(op.Path)
	if err != nil {
		return "", 0, err
	}
	defer r.Close()
	first, err := io.ReadAll(io.LimitReader(r, a.j.cfg.MaxFile+1))
	if err != nil {
		return "", 0, err
	}
	if size = int64(len(first)); size <= a.j.cfg.MaxFile {
		_, sum, err := a.j.files.objects.put(first, false)
		if errors.Is(err, errNoSpace) {
			err = nil
		}
		return hex.EncodeToString(sum[:]), size, err
	}
	h := sha256.New()
	h.Write(first)
	rest, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), size + rest, err
}
