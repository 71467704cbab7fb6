package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"artoo/tool/text"
)

func (j *Journal) abs(path string) string { return Abs(j.cfg.Root, path) }

// stage puts the new files of the paths into the quarantine, where they are not there yet.
func (s *Step) stage(ctx context.Context, ops []Change) error {
	q, err := s.j.openQuarantine(true)
	if err != nil {
		return err
	}
	r := &restore{j: s.j, ctx: ctx, step: s.ID, from: s.from}
	for i := range ops {
		op := &ops[i]
		err := ctx.Err()
		switch {
		case err != nil:
			return err
		case op.Before.Kind == File && op.After.Kind == File &&
			(op.After.Hash != "" && op.After.Hash == op.Before.Hash || sameContent(op.Before, op.After)):
			op.After.Size = op.Before.Size // another mode
		case s.from != nil && (op.After.Kind == File || op.After.Kind == Link):
			err = s.stageNew(r, q, op)
		case q != nil && q.swaps && s.comesFromStore(q, *op):
			if err = r.stage(q, op); err == nil {
				s.staged = append(s.staged, staged{inode: op.After.Stamp.Inode})
			}
		}
		if err != nil {
			return atPath(op.Path, err)
		}
	}
	if s.from != nil && q != nil && q.swaps {
		s.findWhole(q, ops)
	}
	return nil
}

// comesFromStore reports whether a path becomes a file or link that has to be made first.
func (s *Step) comesFromStore(q *quarantine, op Change) bool {
	return (op.After.Kind == File || op.After.Kind == Link) && !q.has(op.After) && op.From == "" && op.After.Peer == "" &&
		!same(op.Before, op.After) && s.j.movable(op.Path)
}

// staged is something that was put into the quarantine to come into the project.
type staged struct {
	inode uint64
	from  string // where it was renamed from, "" if it is a copy
}

// unstage gives back files that did not come into the project, and removes copies.
func (s *Step) unstage() error {
	q, err := s.j.openQuarantine(false)
	errs := []error{err}
	for _, one := range s.staged {
		errs = append(errs, q.giveBack(one))
	}
	return errors.Join(errs...)
}

// stageNew brings a file or link of the layer into the quarantine, and keeps the content of a file where it is small,
// no build output, and there is space for it, so that it can be shown later on. Where no names can be exchanged a file
// is only read, to be copied later.
func (s *Step) stageNew(r *restore, q *quarantine, op *Change) error {
	var file *os.File
	var err error
	if q != nil && q.swaps {
		file, err = s.take(r, q, op)
	} else if op.After.Kind == File {
		file, err = s.from.Open(s.j.abs(op.Path))
	}
	if file == nil || err != nil {
		return err
	}
	defer file.Close()
	if q == nil || !q.swaps {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		op.After.Size = info.Size()
	}
	switch size := op.After.Size; {
	case size > maxRead:
	case size > s.j.cfg.MaxFile, op.output != "":
		op.After.Hash, err = readHash(r.ctx, io.NewSectionReader(file, 0, size))
	default:
		data := make([]byte, size)
		if _, err := file.ReadAt(data, 0); err != nil {
			return err
		}
		op.After.Hash, err = s.j.files.objects.putLater(data)
		err = ignoreNoSpace(err)
	}
	if inode := op.After.Stamp.Inode; inode != 0 {
		q.hashed(inode, op.After.Hash)
	}
	return err
}

// take brings a file or link of the layer into a slot, by a rename or as a copy, and opens a file. One that replaces
// nothing can stay in the layer until it lands.
func (s *Step) take(r *restore, q *quarantine, op *Change) (file *os.File, err error) {
	slot, err := q.slot(s.ID, op.Path)
	if err == nil {
		err = s.j.at("temp")
	}
	if err != nil {
		return nil, err
	}
	var st stat
	var ok bool
	from := s.from.Path(s.j.abs(op.Path))
	if from != "" {
		to := slot
		if op.Before.Kind == Absent {
			to = from
		}
		if st, ok = q.takeFrom(from, to, op.After.Kind); ok {
			slot = to
		}
	}
	if !ok {
		from = ""
		if err = r.build(int(q.dir.Fd()), slot, op); err == nil {
			st, err = q.holds(slot, "")
		}
	}
	if err != nil {
		return nil, err
	}
	s.staged = append(s.staged, staged{st.inode, from})
	op.After.Stamp = Stamp{Inode: st.inode}
	if op.After.Kind == File {
		op.After.Size, op.After.Stamp = st.size, Stamp{Inode: st.inode, Mtime: st.mtime}
		// Later its mode may forbid that.
		if file, err = q.open(slot); err != nil {
			return nil, err
		}
	}
	if err = q.become(slot, st, op.After); err != nil && file != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, err
}

func readHash(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	buffer := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	if _, err := io.CopyBuffer(h, text.Reader(ctx, r), buffer[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
