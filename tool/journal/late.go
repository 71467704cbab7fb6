package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Late brings back what was written to files after a landing, undo or redo had moved them
// out of the project: a program that had one open could still save to it. Such a file lies
// as NAME.yours beside NAME then, where the descriptor still leads to it, and its path is
// returned. Late looks once at each file that was moved out.
func (j *Journal) Late() (yours []string, err error) {
	j.mu.Lock()
	out := j.out
	j.out = nil
	j.mu.Unlock()
	if len(out) == 0 {
		return nil, nil
	}
	q, err := j.openQuarantine(false)
	if err != nil {
		return nil, err
	}
	for _, c := range out {
		h, there := q.lies(c.Before)
		if c.Before.Kind != File || !there || q.has(c.Before) {
			continue
		}
		if st, err := q.holds(h.slot, ""); err == nil && st.links > 1 {
			continue // it is written to under another name, where the user looks for it
		}
		now, lookErr := q.look(context.Background(), h.slot, true)
		if lookErr == nil && now.Hash != "" && now.Hash == c.Before.Hash {
			continue // it was only touched
		}
		path, moveErr := j.giveYours(q, h.slot, c.Path)
		if err = errors.Join(err, lookErr, moveErr); moveErr == nil {
			q.forget(c.Before.Stamp.Inode)
			yours = append(yours, path)
		}
	}
	return yours, err
}

// giveYours renames a file from its slot to a name beside the path that is not taken,
// above it where the directory is gone.
func (j *Journal) giveYours(q *quarantine, slot, path string) (yours string, err error) {
	dir, name := split(path)
	for st, err := j.place.lstat(dir); dir != "" && (err != nil || st.kind() != Folder); st, err = j.place.lstat(dir) {
		dir, _ = split(dir)
	}
	for n := 1; ; n++ {
		yours = join(dir, name+".yours")
		if n > 1 {
			yours += fmt.Sprint("-", n)
		}
		err = j.place.inParent(yours, func(dir int, name string) error { return q.putNew(slot, dir, name) })
		if !errors.Is(err, fs.ErrExist) {
			return yours, err
		}
	}
}
