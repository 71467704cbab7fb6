package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// entry is one name of a directory as the last look saw it.
type entry struct {
	name string
	stat stat
	// content is the hash of a file's content, or the target of a link; "" if it is not kept.
	content string
	flags   uint8
}

// state is the state that a look saw, with the content if it is kept.
func (e *entry) state() State {
	s := e.stat.state()
	switch s.Kind {
	case File:
		s.Hash = e.content
	case Link:
		s.Target = e.content
	}
	return s
}

// The flags of an entry.
const (
	// flagFresh: it changed so shortly before it was looked at that it may
	// change again without a sign of it.
	flagFresh = 1 << iota
	// flagDenied: its content must not be read.
	flagDenied
	// flagMount: another file system begins here.
	flagMount
)

// stat is the file system's description of a file; it is comparable.
type stat struct {
	mode         fs.FileMode // type and permissions
	links        uint32
	uid, gid     uint32
	inode        uint64
	dev          uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
}

// unchanged reports whether a file has not changed; for a directory the times say nothing of its entries.
func (s stat) unchanged(now stat) bool {
	if s.mode.IsDir() {
		return s.mode == now.mode && s.inode == now.inode
	}
	s.links = now.links // another name of it came or went
	return s == now
}

func (s stat) kind() Kind { return KindOf(s.mode) }

// state is the state as far as the stat shows it.
func (s stat) state() State {
	st := State{Kind: s.kind(), UID: s.uid, GID: s.gid, Stamp: Stamp{Inode: s.inode}}
	if st.Kind != Link {
		st.Mode = s.mode & permissions
	}
	if st.Kind == File || st.Kind == Special {
		st.Size, st.Stamp.Ctime, st.Stamp.Mtime = s.size, s.ctime, s.mtime
	}
	return st
}

// freshFor is how long after its last change a file may change again without
// another time: the kernel's clock for files moves in steps of up to 10 ms, and
// in whole seconds (or two, on FAT) where times have no fraction.
func freshFor(ctime int64) time.Duration {
	if ctime%int64(time.Second) == 0 {
		return 3 * time.Second
	}
	return 50 * time.Millisecond
}

func fresh(ctime int64, now time.Time) bool {
	return now.UnixNano()-ctime < int64(freshFor(ctime))
}

// folder is one directory: its entries, sorted by name. It is never changed.
type folder struct{ entries []entry }

func (f *folder) find(name string) *entry {
	if f == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(f.entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return nil
	}
	return &f.entries[i]
}

// tree is a project as it was looked at: its directories by their path relative
// to the root, "" for the root itself. It lacks paths that were not looked at.
type tree map[string]*folder

// find returns the entry at the path, nil if nothing was seen there.
func (t tree) find(path string) *entry {
	dir, name := split(path)
	return t[dir].find(name)
}

// pair is one path in two trees; nil where it is not.
type pair struct {
	path          string
	before, after *entry
}

// differences hands each the paths that differ below dir between two looks, without directories
// that one of them did not get to see.
func differences(before, after tree, dir string, each func(pair)) {
	a, b := before[dir], after[dir]
	if a == nil || b == nil {
		return
	}
	compare := func(p pair) {
		wasDir := p.before != nil && p.before.stat.mode.IsDir()
		isDir := p.after != nil && p.after.stat.mode.IsDir()
		if p.before == nil || p.after == nil || !p.before.stat.unchanged(p.after.stat) || p.before.flags&flagFresh != 0 {
			each(p)
		}
		nothing := tree{p.path: {}}
		switch {
		case wasDir && isDir:
			differences(before, after, p.path, each)
		case wasDir:
			differences(before, nothing, p.path, each)
		case isDir:
			differences(nothing, after, p.path, each)
		}
	}
	for i := range a.entries {
		e := &a.entries[i]
		compare(pair{join(dir, e.name), e, b.find(e.name)})
	}
	for i := range b.entries {
		if e := &b.entries[i]; a.find(e.name) == nil {
			compare(pair{join(dir, e.name), nil, e})
		}
	}
}

// sawEntry is an entry as the log has it.
type sawEntry struct {
	Name string `json:"name"`
	// Stat is mode, links, uid, gid, inode, dev, size, mtime and ctime.
	Stat    [9]int64 `json:"stat"`
	Content string   `json:"content,omitempty"`
	Flags   uint8    `json:"flags,omitempty"`
}

func (e entry) saw() sawEntry {
	s := e.stat
	return sawEntry{e.name, [9]int64{int64(s.mode), int64(s.links), int64(s.uid), int64(s.gid), int64(s.inode), int64(s.dev),
		s.size, s.mtime, s.ctime}, e.content, e.flags}
}

func (e sawEntry) entry() entry {
	s := e.Stat
	return entry{name: e.Name, content: e.Content, flags: e.Flags, stat: stat{mode: fs.FileMode(s[0]), links: uint32(s[1]),
		uid: uint32(s[2]), gid: uint32(s[3]), inode: uint64(s[4]), dev: uint64(s[5]), size: s[6], mtime: s[7], ctime: s[8]}}
}

// changedDirs are the directories in which two trees differ, one before its entries.
func changedDirs(before, after tree) (dirs []string) {
	for dir, now := range after {
		if before[dir] != now {
			dirs = append(dirs, dir)
		}
	}
	for dir := range before {
		if after[dir] == nil {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// sawLine describes for the log how a directory changed; nil is none.
func sawLine(dir string, was, now *folder) line {
	l := line{Type: lineSaw, Path: dir}
	if now == nil {
		l.Gone = []string{"."}
		return l
	}
	for _, e := range now.entries {
		if old := was.find(e.name); old == nil || *old != e {
			l.Entries = append(l.Entries, e.saw())
		}
	}
	if was == nil {
		return l
	}
	for _, e := range was.entries {
		if now.find(e.name) == nil {
			l.Gone = append(l.Gone, e.name)
		}
	}
	return l
}

// apply applies a line to a tree.
func (t tree) apply(l line) {
	if slices.Contains(l.Gone, ".") {
		delete(t, l.Path)
		return
	}
	changed := setOf(l.Gone)
	for _, e := range l.Entries {
		changed[e.Name] = true
	}
	f := &folder{}
	if was := t[l.Path]; was != nil {
		f.entries = slices.DeleteFunc(slices.Clone(was.entries), func(e entry) bool { return changed[e.name] })
	}
	for _, e := range l.Entries {
		f.entries = append(f.entries, e.entry())
	}
	slices.SortFunc(f.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	t[l.Path] = f
}

// readTree reads from a log the tree of the project as it was seen: up to the walk of a step, or by
// now if step is 0.
func readTree(file *os.File, step int) (tree, error) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<62))
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for text := range bytes.Lines(data) {
		if bytes.HasPrefix(text, sawPrefix) {
			texts = append(texts, text)
			continue
		}
		var l line
		if step > 0 && bytes.HasPrefix(text, walkPrefix) && json.Unmarshal(text, &l) == nil && l.Step == step {
			break
		}
	}
	lines, errs := make([]line, len(texts)), make([]error, len(texts))
	sideBySide(context.Background(), len(texts), 0, func(i int) { errs[i] = json.Unmarshal(texts[i], &lines[i]) })
	t := tree{}
	for _, l := range lines {
		l.each(unescape)
		t.apply(l)
	}
	return t, errors.Join(errs...)
}

// split and join take paths apart and together: with slashes, and the root as "".
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

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
		return state, otherNow(err)
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
		return "", otherNow(err)
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

// permissions are the bits of a mode that are kept and restored.
const permissions = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// same reports whether a and b are the same thing, as far as undo is concerned:
// the times of a file are not compared where both contents are known.
func same(a, b State) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Absent:
		return true
	case Link:
		return a.Target == b.Target // its mode means nothing
	case File:
		return a.Mode == b.Mode && sameContent(a, b)
	case Folder:
		return a.Mode == b.Mode
	}
	return a.Mode == b.Mode && sameStamp(a.Stamp, b.Stamp)
}

// sameStamp compares the stamps that distinguish files. The time of its last change is not
// part of that: a rename is one.
func sameStamp(a, b Stamp) bool { return a.Inode == b.Inode && a.Mtime == b.Mtime }

// sameContent compares two files by their hashes, or else by their stamps.
func sameContent(a, b State) bool {
	if a.Size != b.Size {
		return false
	}
	if a.Hash != "" && b.Hash != "" {
		return a.Hash == b.Hash
	}
	return sameStamp(a.Stamp, b.Stamp)
}

// matches reports whether now is the state that a command on a layer saw.
func matches(now State, saw sandbox.Before) bool {
	switch {
	case saw.Moved && !saw.Mode.IsDir():
		return false
	case !saw.Exists() || now.Kind == Absent:
		return !saw.Exists() && now.Kind == Absent
	case now.Kind != KindOf(saw.Mode):
		return false
	case now.Kind == Link:
		return now.Target == saw.Target
	}
	return now.Mode == saw.Mode&permissions && (now.Kind == Folder ||
		now.Size == saw.Size && now.Stamp.Inode == saw.Inode && now.Stamp.Ctime == saw.Changed.UnixNano())
}

// escape makes a path that may hold any bytes one of valid UTF-8: invalid bytes and the percent sign become %XX.
func escape(path string) string {
	if utf8.ValidString(path) && !strings.Contains(path, "%") {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		if r == '%' || r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "%%%02X", path[i])
		} else {
			b.WriteString(path[i : i+size])
		}
		i += size
	}
	return b.String()
}

func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
