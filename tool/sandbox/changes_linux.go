//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
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
)

// Changes reads what the command did on its layer. It is called once, after Wait.
func (p *Process) Changes() (*Changes, error) {
	if p.layer == nil {
		return nil, errors.New("sandbox: the command had no layer")
	}
	d := differ{begun: p.begun, hidden: map[string]bool{}, above: map[string]bool{}, buffer: make([]byte, 64<<10)}
	for _, path := range p.denied {
		d.hidden[path] = true
		for dir := filepath.Dir(path); dir != "/" && !d.above[dir]; dir = filepath.Dir(dir) {
			d.above[dir] = true
		}
	}
	for i, lower := range p.writable {
		upper := "/proc/self/fd/" + strconv.Itoa(int(p.layer.Fd())) + "/upper" + strconv.Itoa(i)
		if err := d.entry(upper, lower, true); err != nil {
			p.layer.Close()
			return nil, fmt.Errorf("sandbox: read the layer: %w", err)
		}
	}
	slices.SortFunc(d.entries, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return &Changes{Entries: d.entries, layer: p.layer}, nil
}

// differ compares the written side of a layer with what lies below.
type differ struct {
	begun   time.Time
	hidden  map[string]bool // what the command could not see
	above   map[string]bool // the directories that hold such
	buffer  []byte
	entries []Change
}

// entry compares one entry of the written side with the one below, which is looked
// for only where the directories around both are merged.
func (d *differ) entry(upper, path string, merged bool) error {
	var st unix.Stat_t
	if err := unix.Lstat(upper, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	var before Before
	if merged && !d.hidden[path] {
		var err error
		if before, err = d.below(path); err != nil {
			return err
		}
	}
	now := Change{Path: path, Mode: modeOf(st.Mode), Before: before, upper: upper}
	now.Kind = Replaced
	switch was := before.Mode; {
	case st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0:
		if before.Exists() {
			return d.deleted(path, before)
		}
		return nil
	case !before.Exists():
		now.Kind = Created
	case was.Type() == now.Mode.Type():
		now.Kind = Mode
	}
	now.Special = now.Mode.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 ||
		!now.Mode.IsDir() && now.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0
	changed := now.Kind != Mode || now.Mode != before.Mode
	switch now.Mode.Type() {
	case fs.ModeDir:
		if changed {
			d.entries = append(d.entries, now)
		}
		return d.dir(now)
	case fs.ModeSymlink:
		target, err := os.Readlink(upper)
		if err != nil {
			return err
		}
		now.Target = target
		changed = now.Kind != Mode || target != before.Target
		if now.Kind == Mode {
			now.Kind = Modified
		}
	case 0:
		now.Size = st.Size
		differs, err := d.content(&now)
		if err != nil {
			return err
		}
		if now.Kind == Mode && differs {
			now.Kind, changed = Modified, true
		}
	}
	if changed {
		d.entries = append(d.entries, now)
	}
	return nil
}

// dir compares what a directory of the written side holds.
func (d *differ) dir(now Change) error {
	names, err := readNames(now.upper)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(now.upper, 0o700) == nil {
		names, err = readNames(now.upper)
	}
	if err != nil {
		return err
	}
	if now.Before.Mode.IsDir() && opaque(now.upper) {
		below, err := readNames(now.Path)
		if err != nil {
			return err
		}
		for _, name := range below {
			path := filepath.Join(now.Path, name)
			before, err := d.below(path)
			if err != nil {
				return err
			}
			if !slices.Contains(names, name) && !d.hidden[path] && before.Exists() {
				if err := d.deleted(path, before); err != nil {
					return err
				}
			}
		}
	}
	for _, name := range names {
		path := filepath.Join(now.Path, name)
		if err := d.entry(now.upper+"/"+name, path, now.Before.Mode.IsDir()); err != nil {
			return err
		}
	}
	return nil
}

// deleted lists an entry that is gone, and all that it held. A directory that
// holds what the command could not see stays.
func (d *differ) deleted(path string, before Before) error {
	if !d.above[path] {
		d.entries = append(d.entries, Change{Path: path, Kind: Deleted, Mode: before.Mode, Before: before})
	}
	if !before.Mode.IsDir() {
		return nil
	}
	names, err := readNames(path)
	if err != nil {
		return err
	}
	for _, name := range names {
		inner := filepath.Join(path, name)
		if d.hidden[inner] {
			continue
		}
		was, err := d.below(inner)
		if err != nil {
			return err
		}
		if !was.Exists() {
			continue // somebody else removed it
		}
		if err := d.deleted(inner, was); err != nil {
			return err
		}
	}
	return nil
}

// below is what lies below the layer.
func (d *differ) below(path string) (Before, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return Before{}, nil
	}
	if err != nil {
		return Before{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	before := Before{Mode: modeOf(st.Mode), Dev: uint64(st.Dev), Inode: st.Ino, Changed: time.Unix(st.Ctim.Unix())}
	before.Moved = before.Changed.After(d.begun)
	switch before.Mode.Type() {
	case 0:
		before.Size = st.Size
	case fs.ModeSymlink:
		if before.Target, err = os.Readlink(path); err != nil {
			return before, err
		}
	}
	return before, nil
}

// content tells whether a regular file differs from the one below, whose hash it
// notes.
func (d *differ) content(now *Change) (differs bool, err error) {
	if !now.Before.Exists() || !now.Before.Mode.IsRegular() {
		return true, nil
	}
	below, err := os.OpenFile(now.Path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) {
		return true, nil // who cannot read it did not copy it either: it was written anew
	}
	if err != nil {
		return false, err
	}
	defer below.Close()
	hash := sha256.New()
	if now.Size != now.Before.Size {
		if _, err = io.CopyBuffer(hash, onlyReader{below}, d.buffer); err != nil {
			return false, err
		}
		hash.Sum(now.Before.Hash[:0])
		return true, nil
	}
	written, err := (&Changes{}).Open(Change{Path: now.Path, Mode: now.Mode, upper: now.upper})
	if err != nil {
		return false, err
	}
	defer written.Close()
	half := len(d.buffer) / 2
	for {
		n, err := io.ReadFull(below, d.buffer[:half])
		m, other := io.ReadFull(written, d.buffer[half:])
		hash.Write(d.buffer[:n])
		differs = differs || !bytes.Equal(d.buffer[:n], d.buffer[half:half+m])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			hash.Sum(now.Before.Hash[:0])
			return differs, nil
		}
		if err != nil {
			return false, err
		}
		if other != nil && other != io.EOF && other != io.ErrUnexpectedEOF {
			return false, other
		}
	}
}

// onlyReader keeps io.Copy from ways of its own around the buffer.
type onlyReader struct{ io.Reader }

// opaque reports whether a directory of the written side covers the one below.
func opaque(path string) bool {
	value := make([]byte, 8)
	n, err := unix.Lgetxattr(path, "user.overlay.opaque", value)
	return err == nil && n == 1 && value[0] == 'y'
}

func readNames(path string) ([]string, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

func modeOf(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	}
	for bit, flag := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= flag
		}
	}
	return m
}
