package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"artoo/tool/journal"
	"artoo/tool/names"
	"artoo/tool/sandbox"
)

// added are the changes of a line in one directory that it may write outside the project.
// The journal knows nothing of them, so what they replace cannot be brought back.
type added struct {
	root    *os.Root
	list    []sandbox.Change // a directory before what it holds
	changes Changes
	temp    string         // a directory below root for what is going to be put in place
	staged  map[string]int // names in temp, by path
}

// landAdded puts changes outside the project in place, after everything that can be
// prepared is and every original was found as the line saw it. The error names what was
// put in place nevertheless.
func landAdded(ctx context.Context, changes Changes, list []sandbox.Change) (err error) {
	byDir := map[string]*added{}
	var all []*added
	defer func() {
		for _, a := range all {
			err = errors.Join(err, a.root.RemoveAll(a.temp), a.root.Close())
		}
	}()
	for _, c := range list {
		a := byDir[c.Dir]
		if a == nil {
			root, err := os.OpenRoot(c.Dir)
			if err != nil {
				return err
			}
			a = &added{root: root, changes: changes, temp: ".artoo-" + rand.Text(), staged: map[string]int{}}
			byDir[c.Dir], all = a, append(all, a)
		}
		a.list = append(a.list, c)
	}
	for _, a := range all {
		if err := a.stage(ctx); err != nil {
			return err
		}
	}
	var done []string
	for _, a := range all {
		if err := a.place(ctx, &done); err != nil {
			if len(done) > 0 {
				err = fmt.Errorf("%w; these stay changed: %s", err, strings.Join(done, ", "))
			}
			return err
		}
	}
	return nil
}

// stage copies what is new into temp.
func (a *added) stage(ctx context.Context) error {
	if err := a.root.Mkdir(a.temp, 0o700); err != nil {
		return err
	}
	for i, c := range a.list {
		if err := errors.Join(ctx.Err(), a.compare(c)); err != nil {
			return err
		}
		name, err := path.Join(a.temp, strconv.Itoa(i)), error(nil)
		switch {
		case c.Kind == sandbox.Deleted || c.Kind == sandbox.Mode || c.Mode.IsDir():
			continue
		case c.Mode&fs.ModeSymlink != 0:
			err = a.root.Symlink(c.Target, name)
		default:
			err = a.copy(c, name)
		}
		if err != nil {
			return err
		}
		a.staged[c.Path] = i
	}
	return nil
}

// copy copies a file of the layer. The owner stays as it was.
func (a *added) copy(c sandbox.Change, name string) error {
	from, err := a.changes.Open(c)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := a.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if before, statErr := a.root.Lstat(a.rel(c)); statErr == nil {
		if st, ok := before.Sys().(*syscall.Stat_t); ok && before.Mode().IsRegular() && int(st.Uid) != os.Geteuid() {
			err = errors.Join(err, to.Chown(int(st.Uid), int(st.Gid)))
		}
	}
	return errors.Join(err, to.Chmod(c.Mode.Perm()), to.Sync(), to.Close(),
		a.root.Chtimes(name, info.ModTime(), info.ModTime()))
}

// place makes the changes: first it removes what goes, then it puts in place what comes.
func (a *added) place(ctx context.Context, done *[]string) error {
	for _, c := range slices.Backward(a.list) {
		if c.Kind != sandbox.Deleted && !replacesDir(c) {
			continue
		}
		if err := errors.Join(ctx.Err(), a.compare(c)); err != nil {
			return err
		}
		if err := a.root.Remove(a.rel(c)); err != nil {
			if c.Kind == sandbox.Deleted && errors.Is(err, syscall.ENOTEMPTY) {
				continue // it holds what the line did not see, and stays
			}
			return err
		}
		*done = append(*done, c.Path)
	}
	for _, c := range a.list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.put(c); err != nil {
			return err
		}
		if c.Kind != sandbox.Deleted {
			*done = append(*done, c.Path)
		}
	}
	return nil
}

// put puts one change in place that is no deletion.
func (a *added) put(c sandbox.Change) error {
	rel := a.rel(c)
	number, staged := a.staged[c.Path]
	if c.Kind == sandbox.Deleted {
		return nil
	}
	if !replacesDir(c) { // else what it replaces is gone by now
		if err := a.compare(c); err != nil {
			return err
		}
	}
	switch {
	case staged:
		return a.root.Rename(path.Join(a.temp, strconv.Itoa(number)), rel)
	case c.Kind == sandbox.Mode:
		return a.root.Chmod(rel, c.Mode.Perm())
	}
	return errors.Join(a.root.Mkdir(rel, 0o700), a.root.Chmod(rel, c.Mode.Perm()))
}

// rel is a path as root takes it.
func (a *added) rel(c sandbox.Change) string {
	rel, err := filepath.Rel(c.Dir, c.Path)
	if err != nil {
		return c.Path // which root refuses
	}
	return rel
}

// compare is an error if an original is not what the line saw.
func (a *added) compare(c sandbox.Change) error {
	info, err := a.root.Lstat(a.rel(c))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.Before.Exists():
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil || !c.Before.Exists() || info.Mode().Type() != c.Before.Mode.Type():
		return fmt.Errorf("%w: %s", journal.ErrConflict, c.Path)
	case info.IsDir():
		return nil // its entries are compared one by one
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Ino != c.Before.Inode || info.Size() != c.Before.Size && info.Mode().IsRegular() ||
		!names.ChangedOf(info).Equal(c.Before.Changed) {
		return fmt.Errorf("%w: %s", journal.ErrConflict, c.Path)
	}
	return nil
}

// replacesDir reports whether a directory takes the place of something else, or something
// else that of a directory: a rename cannot do that.
func replacesDir(c sandbox.Change) bool {
	return c.Kind == sandbox.Replaced && (c.Before.Mode.IsDir() || c.Mode.IsDir())
}
