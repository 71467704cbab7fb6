//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/tempdir"
)

// Changes reads the changes the command made on its layer. It is called once, after Wait. An
// error, as that of a context which ends, gives the layer up.
func (p *Process) Changes(ctx context.Context) (*Changes, error) {
	if !p.line.Layer || p.room == "" {
		return nil, errors.New("sandbox: the command had no layer")
	}
	c, err := p.changes(ctx)
	if err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	return c, nil
}

// Wrote reports whether the command changed something on its layer by now, or that this cannot be read. It may be
// called while the command runs.
func (p *Process) Wrote(ctx context.Context) bool {
	if !p.line.Layer || p.room == "" {
		return false
	}
	c, err := p.changes(ctx)
	return err != nil || len(c.Entries) > 0
}

// changes reads the changes on the layer.
func (p *Process) changes(ctx context.Context) (*Changes, error) {
	c := &Changes{room: p.room, roots: p.line.Writable, layer: p}
	d := differ{ctx: ctx, changes: c, begun: p.begun, hidden: map[string]bool{}, above: map[string]bool{},
		buffer: make([]byte, 64<<10), isCache: p.sandbox.isCache}
	for _, path := range p.line.Denied {
		d.hidden[path] = true
		for dir := filepath.Dir(path); dir != "/" && !d.above[dir]; dir = filepath.Dir(dir) {
			d.above[dir] = true
		}
	}
	for i, root := range c.roots {
		d.root = i
		upper := spot{unix.AT_FDCWD, filepath.Join(p.room, upperName(i))}
		if err := d.entry(upper, spot{unix.AT_FDCWD, root}, root, false); err != nil {
			return nil, fmt.Errorf("sandbox: read the layer, %d entries so far: %w", len(d.entries), err)
		}
	}
	c.Entries = d.entries
	slices.SortFunc(c.Entries, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return c, nil
}

// Discard gives up the command's layer. Further calls do nothing.
func (p *Process) Discard() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	room, memory := p.room, p.memory
	p.room, p.memory = "", nil
	switch {
	case memory != nil:
		return memory.Close()
	case room != "":
		return tempdir.RemoveAll(room)
	}
	return nil
}

// spot is a name in an open directory. No way to it leads through a link.
type spot struct {
	dir  int // -1: nowhere
	name string
}

func (s spot) open(flags int) (*os.File, error) {
	fd, err := unix.Openat(s.dir, s.name, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), s.name), nil
}

// reopen lets artoo read a file, and read and empty a directory, that the command closed.
func (s spot) reopen(mode uint32) error {
	open := map[uint32]uint32{unix.S_IFDIR: 0o700, unix.S_IFREG: 0o400}[mode&unix.S_IFMT]
	if mode&open == open {
		return nil
	}
	return unix.Fchmodat(s.dir, s.name, mode&0o7777|open, 0)
}

func (s spot) link() (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(s.dir, s.name, buf)
	return string(buf[:max(n, 0)]), err
}

// differ compares the written side of a layer with the side below.
type differ struct {
	ctx     context.Context
	changes *Changes
	begun   time.Time
	hidden  map[string]bool
	above   map[string]bool // the directories that hold such
	inside  bool            // The present entry lies in a hidden place.
	isCache func(rel string) bool
	root    int
	buffer  []byte
	entries []Change
}

func (d *differ) change(path string, mode fs.FileMode, before Before) Change {
	return Change{Path: path, Dir: d.changes.roots[d.root], Mode: mode, Before: before}
}

// entry compares one entry of the written side with the one below. moved says that the
// directory below changed after the command began.
func (d *differ) entry(upper, lower spot, path string, moved bool) error {
	if root := d.changes.roots[d.root]; path != root && d.isCache(path[len(root)+1:]) {
		return nil
	}
	if err := d.ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(upper.dir, upper.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	before, err := d.below(lower, path)
	if err != nil {
		return err
	}
	now := d.change(path, modeOf(st.Mode), before)
	if (d.hidden[path] || d.inside) && (st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0) {
		return d.made(upper, now, st)
	}
	if err := upper.reopen(st.Mode); err != nil {
		return &fs.PathError{Op: "chmod", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0:
		if before.Exists() {
			return d.deleted(lower, path, before)
		}
		return nil
	case !before.Exists():
		now.Kind = Created
		now.Before.Moved = moved && copiedUp(upper)
	case before.Mode.Type() != now.Mode.Type():
		now.Kind = Replaced
	case before.Mode != now.Mode:
		now.Kind = Mode
	}
	now.Special = now.Mode.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 ||
		!now.Mode.IsDir() && now.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0
	differs := false
	switch now.Mode.Type() {
	case fs.ModeDir:
		if now.Kind != "" {
			d.entries = append(d.entries, now)
		}
		return d.dir(upper, lower, now)
	case fs.ModeSymlink:
		now.Target, err = upper.link()
		differs = now.Target != before.Target
	case 0:
		now.Size = st.Size
		differs, err = d.content(upper, lower, &now)
	}
	if err != nil {
		return &fs.PathError{Op: "read", Path: path, Err: err}
	}
	if differs && now.Kind != Created && now.Kind != Replaced {
		now.Kind = Modified
	}
	if now.Kind != "" {
		d.entries = append(d.entries, now)
	}
	if now.Kind == Replaced && before.Mode.IsDir() {
		return d.held(lower, path)
	}
	return nil
}

// made lists an entry that the command made in a hidden place, and all in it.
func (d *differ) made(upper spot, now Change, st unix.Stat_t) error {
	now.Kind, now.Hidden, now.Size = Created, true, st.Size
	d.entries = append(d.entries, now)
	if err := upper.reopen(st.Mode); err != nil || !now.Mode.IsDir() {
		return err
	}
	was := d.inside
	d.inside = true
	defer func() { d.inside = was }()
	return d.dir(upper, spot{dir: -1}, now)
}

// dir compares the entries of a directory of the written side.
func (d *differ) dir(upper, lower spot, now Change) error {
	above, err := upper.open(unix.O_DIRECTORY)
	if err != nil {
		return &fs.PathError{Op: "open", Path: now.Path, Err: err}
	}
	defer above.Close()
	list, err := above.Readdirnames(-1)
	if err != nil {
		return &fs.PathError{Op: "read", Path: now.Path, Err: err}
	}
	fd, below := int(above.Fd()), -1
	if now.Before.Mode.IsDir() && now.Before.Exists() {
		dir, err := lower.open(unix.O_DIRECTORY)
		if err != nil {
			return &fs.PathError{Op: "open", Path: now.Path, Err: err}
		}
		defer dir.Close()
		if below = int(dir.Fd()); isOpaque("/proc/self/fd/" + strconv.Itoa(fd)) {
			if err := d.rest(dir, now.Path, list); err != nil {
				return err
			}
		}
	}
	for _, name := range list {
		if err := d.entry(spot{fd, name}, spot{below, name}, now.Path+"/"+name, now.Before.Moved); err != nil {
			return err
		}
	}
	return nil
}

// deleted lists an entry that is gone, and all that it held. A directory that holds paths hidden from the command
// stays.
func (d *differ) deleted(lower spot, path string, before Before) error {
	if !d.above[path] {
		gone := d.change(path, before.Mode, before)
		gone.Kind = Deleted
		d.entries = append(d.entries, gone)
	}
	if !before.Mode.IsDir() {
		return nil
	}
	return d.held(lower, path)
}

// held lists the entries of a directory that is gone.
func (d *differ) held(lower spot, path string) error {
	below, err := lower.open(unix.O_DIRECTORY)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer below.Close()
	return d.rest(below, path, nil)
}

// rest lists the entries of a directory that are gone: all except those that are kept.
func (d *differ) rest(below *os.File, path string, kept []string) error {
	list, err := below.Readdirnames(-1)
	if err != nil {
		return &fs.PathError{Op: "read", Path: path, Err: err}
	}
	slices.Sort(kept)
	for _, name := range list {
		if _, there := slices.BinarySearch(kept, name); there {
			continue
		}
		lower, inner := spot{int(below.Fd()), name}, path+"/"+name
		before, err := d.below(lower, inner)
		if err != nil {
			return err
		}
		if d.hidden[inner] {
			d.changes.stays = append(d.changes.stays, inner)
		}
		if !before.Exists() {
			continue // hidden, or someone else removed it
		}
		if err := d.deleted(lower, inner, before); err != nil {
			return err
		}
	}
	return nil
}

// below is the side below the layer, as far as the command could see it.
func (d *differ) below(lower spot, path string) (Before, error) {
	if lower.dir == -1 || d.hidden[path] || d.ctx.Err() != nil {
		return Before{}, d.ctx.Err()
	}
	var st unix.Stat_t
	err := unix.Fstatat(lower.dir, lower.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return Before{}, nil
	}
	if err != nil {
		return Before{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	before := Before{Mode: modeOf(st.Mode), Inode: st.Ino, Changed: time.Unix(st.Ctim.Unix())}
	before.Moved = before.Changed.After(d.begun)
	switch before.Mode.Type() {
	case 0:
		before.Size = st.Size
	case fs.ModeSymlink:
		if before.Target, err = lower.link(); err != nil {
			return before, &fs.PathError{Op: "readlink", Path: path, Err: err}
		}
	}
	return before, nil
}

// mostCompared bounds the bytes of a file that are compared: a longer one counts as different.
const mostCompared = 64 << 20

// content reports whether a regular file differs from the one below.
func (d *differ) content(upper, lower spot, now *Change) (differs bool, err error) {
	if !now.Before.Exists() || !now.Before.Mode.IsRegular() || now.Size != now.Before.Size || now.Size > mostCompared {
		return true, nil
	}
	below, err := lower.open(0)
	if errors.Is(err, unix.EACCES) {
		return true, nil // an overlay could not read it either: it was written again
	}
	if err != nil {
		return false, err
	}
	defer below.Close()
	written, err := upper.open(0)
	if err != nil {
		return false, err
	}
	defer written.Close()
	half := len(d.buffer) / 2
	for left := now.Size; left > 0; left -= int64(half) {
		was, is := d.buffer[:min(left, int64(half))], d.buffer[half:][:min(left, int64(half))]
		_, err = io.ReadFull(below, was)
		_, writtenErr := io.ReadFull(written, is)
		if err = errors.Join(d.ctx.Err(), err, writtenErr); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return true, nil // it became shorter meanwhile
		}
		if err != nil || !bytes.Equal(was, is) {
			return true, err
		}
	}
	return false, nil
}

// copiedUp reports whether an entry of the written side was made of one below. Where
// there is none any more, the command moved it in the layer or someone else removed it.
func copiedUp(upper spot) bool {
	file, err := upper.open(unix.O_NONBLOCK)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = unix.Fgetxattr(int(file.Fd()), "user.overlay.origin", nil)
	return err == nil
}

// modes translate bits of the kernel's modes, the types of files first.
var modes = []struct {
	mask, bits uint32
	mode       fs.FileMode
}{
	{unix.S_IFMT, unix.S_IFDIR, fs.ModeDir}, {unix.S_IFMT, unix.S_IFLNK, fs.ModeSymlink},
	{unix.S_IFMT, unix.S_IFIFO, fs.ModeNamedPipe}, {unix.S_IFMT, unix.S_IFSOCK, fs.ModeSocket},
	{unix.S_IFMT, unix.S_IFBLK, fs.ModeDevice}, {unix.S_IFMT, unix.S_IFCHR, fs.ModeDevice | fs.ModeCharDevice},
	{unix.S_ISUID, unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, unix.S_ISGID, fs.ModeSetgid},
	{unix.S_ISVTX, unix.S_ISVTX, fs.ModeSticky},
}

func modeOf(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for _, row := range modes {
		if mode&row.mask == row.bits {
			m |= row.mode
		}
	}
	return m
}
