package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"artoo/tool/text"
)

// keeping says how look keeps a content.
type keeping int

const (
	stampOnly keeping = iota // does not read it
	hashOnly
	keepSmall // up to Config.MaxFile, without waiting for it, and hashes no larger one
	keepAll   // whatever its size, within the session's limit
	keepForce // beyond it
)

// errUnsteady says that a file changed while it was read.
var errUnsteady = errors.New("is being written to")

// readTries bounds how often a file is read that changes meanwhile.
const readTries = 3

// look reads the state of the path, and keeps the content of a file as k says. A denied file is not read. A content
// that the limit leaves no space for is hashed, unless it is larger than maxRead.
func (j *Journal) look(ctx context.Context, path string, k keeping) (state State, err error) {
	for range readTries {
		state = State{}
		err = j.reach(path, func() error {
			st, err := j.place.lstat(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				state, err = j.lookAt(ctx, path, st, k)
			}
			return err
		})
		if !errors.Is(err, errUnsteady) {
			break
		}
	}
	return state, err
}

// twins are the paths that differ from another one in case alone: some file systems take
// one name for the other.
func twins(paths iter.Seq[string]) map[string]bool {
	first, all := map[string]string{}, map[string]bool{}
	for path := range paths {
		key := strings.ToLower(path)
		if other, ok := first[key]; ok && other != path {
			all[path], all[other] = true, true
		}
		first[key] = path
	}
	return all
}

// lookExact is look, but twins must be spelled as they are on the disk.
func (j *Journal) lookExact(ctx context.Context, path string, k keeping, twins map[string]bool) (State, error) {
	for at := path; twins[path] && at != ""; {
		dir, name := split(at)
		entries, err := j.list(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return State{}, err
		}
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.name == name }) {
			return State{}, nil
		}
		at = dir
	}
	return j.look(ctx, path, k)
}

// reach calls f, which looks at the path. Directories above it that are closed to their
// owner are opened for that long, and so is the path itself if it ends in a slash.
func (j *Journal) reach(path string, f func() error) error {
	err := f()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	var opened []func() error
	for at, c := range path {
		if _, rel, err := j.place.of(path[:at]); c != '/' || err != nil || rel == "" {
			continue
		}
		st, err := j.place.lstat(path[:at])
		if err != nil || st.kind() != Folder {
			break
		}
		if st.mode&0o700 != 0o700 && j.chmodDir(path[:at], st.mode|0o700) == nil {
			opened = append(opened, func() error { return j.chmodDir(path[:at], st.mode) })
		}
	}
	if opened != nil {
		err = f()
	}
	for _, restore := range slices.Backward(opened) {
		err = errors.Join(err, restore())
	}
	return err
}

func (j *Journal) chmodDir(path string, mode fs.FileMode) error {
	return j.place.inParent(path, func(dir int, name string) error { return chmodAt(dir, name, mode) })
}

// list lists a directory, which may be closed to its owner.
func (j *Journal) list(dir string) (entries []entry, err error) {
	err = j.reach(dir+"/", func() error {
		entries, err = j.place.list(dir)
		return err
	})
	return entries, err
}

// lookAt is look at a file that st described a moment ago.
func (j *Journal) lookAt(ctx context.Context, path string, st stat, k keeping) (state State, err error) {
	state = st.state()
	switch {
	case state.Kind == Link:
		state.Target, err = j.place.readlink(path)
		return state, err
	case state.Kind != File, k == stampOnly, k == keepSmall && st.size > j.cfg.MaxFile, j.cfg.Denied(path),
		st.size > maxRead && (k == hashOnly || !j.Holds(st.size)):
		return state, nil
	}
	state.Hash, err = j.readFile(ctx, path, st, k)
	if errors.Is(err, fs.ErrPermission) && st.mode&0o400 == 0 {
		return state, nil // it is known by its stamp
	}
	return state, err
}

// readFile reads a file that st describes, returns its hash, and keeps it as k says.
func (j *Journal) readFile(ctx context.Context, path string, st stat, k keeping) (hash string, err error) {
	f, opened, err := j.place.openFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if opened != st {
		return "", errUnsteady
	}
	switch {
	case k == hashOnly:
		return readHash(ctx, f)
	case st.size <= defaultMaxFile:
		data := make([]byte, st.size)
		if _, err := io.ReadFull(f, data); err != nil {
			return "", errors.Join(errUnsteady, err)
		}
		if k == keepSmall {
			hash, err = j.files.objects.putLater(data)
		} else {
			hash, err = j.files.objects.put(data, k == keepForce)
		}
	default:
		hash, err = j.files.objects.write(text.Reader(ctx, f), "", k == keepForce)
		if info, statErr := f.Stat(); err == nil && (statErr != nil || info.Size() != st.size) {
			return "", errUnsteady
		}
	}
	if !errors.Is(err, errNoSpace) || hash != "" {
		return hash, ignoreNoSpace(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return readHash(ctx, f)
}

func ignoreNoSpace(err error) error {
	if errors.Is(err, errNoSpace) {
		return nil
	}
	return err
}

func readHash(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, text.Reader(ctx, r)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// kept reports whether the state can be brought back.
func (j *Journal) kept(s State) bool {
	switch s.Kind {
	case Absent:
		return true
	case Folder:
		return !s.Whole || j.quarantined(s)
	case Link:
		return s.Target != ""
	case File:
		return j.files != nil && (j.files.objects.has(s.Hash) || j.quarantined(s))
	}
	return j.quarantined(s)
}

// quarantined reports whether a thing lies in the quarantine.
func (j *Journal) quarantined(s State) bool {
	if j.files == nil {
		return false
	}
	q, err := j.openQuarantine(false)
	if err != nil {
		return false
	}
	return q.has(s)
}

// lack says why a state is not kept.
func (j *Journal) lack(path string, s State) Lack {
	return Lack{Path: path, Why: j.whyNot(path, s), Size: s.Size}
}

func (j *Journal) whyNot(path string, s State) Reason {
	switch {
	case s.Kind == Folder:
		return NotRestored
	case s.Kind == Special:
		return IsSpecial
	case j.cfg.Denied(path):
		return IsDenied
	case s.Kind == File && s.Mode&0o400 == 0:
		return Unreadable
	case s.Size > j.cfg.MaxFile:
		return TooLarge
	case j.files != nil && j.files.objects.bytes()+s.Size > j.cfg.MaxSession:
		return NoSpace
	case s.Hash != "":
		return Lost
	}
	return NoTime
}

// hasAllNames reports whether all names of a file lie in the project.
func (j *Journal) hasAllNames(st stat) bool {
	found := uint32(0)
	for dirs := []string{""}; len(dirs) > 0 && found < st.links; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := j.place.list(dir)
		if err != nil {
			return false
		}
		for _, e := range entries {
			switch {
			case e.stat.dev != st.dev:
			case e.stat.mode.IsDir():
				dirs = append(dirs, join(dir, e.name))
			case e.stat.inode == st.inode:
				found++
			}
		}
	}
	return found == st.links
}

// maxRead is how many bytes of a file are read to learn its content. A larger file
// is known by its stamp; so nothing ever reads 900 GB of hole.
const maxRead = 64 << 20

// copySparse copies the first size bytes of a file to an empty one, holes as holes.
func copySparse(ctx context.Context, to, from *os.File, size int64) error {
	if err := to.Truncate(size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		start, end, err := nextData(from, at, size)
		if err != nil {
			return err
		}
		part := text.Reader(ctx, io.NewSectionReader(from, start, end-start))
		if n, err := io.Copy(io.NewOffsetWriter(to, start), part); err != nil {
			return err
		} else if n < end-start {
			return io.ErrUnexpectedEOF
		}
		at = end
	}
	return nil
}

// nextData is the next part of a file that is no hole, from at on; empty at the size
// where a hole is all that is left. A file system that knows no holes has one part.
func nextData(f *os.File, at, size int64) (start, end int64, err error) {
	start, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, errors.ErrUnsupported):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	}
	end, err = f.Seek(start, unix.SEEK_HOLE)
	return min(start, size), min(end, size), err
}
