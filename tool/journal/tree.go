package journal

import (
	"io/fs"
	"slices"
	"strings"
	"time"
)

// entry is what the last look at a directory saw of one name in it.
type entry struct {
	name  string
	stat  stat
	ref   uint32 // the number of the content, or of what a link holds; 0: not kept
	flags uint8
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

// stat is what the file system says of a file; it is comparable.
type stat struct {
	mode         fs.FileMode // type and permissions
	links        uint32
	uid, gid     uint32
	inode        uint64
	dev          uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
}

// unchanged reports whether a file is still what it was; for a directory the
// times say nothing of what it holds.
func (s stat) unchanged(now stat) bool {
	if s.mode.IsDir() {
		return s.mode == now.mode && s.inode == now.inode
	}
	s.links = now.links // another name of it came or went
	return s == now
}

func (s stat) kind() Kind {
	switch {
	case s.mode.IsRegular():
		return File
	case s.mode.IsDir():
		return Folder
	case s.mode&fs.ModeSymlink != 0:
		return Link
	}
	return Special
}

// state is what the stat says by itself.
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
	i, ok := slices.BinarySearchFunc(f.entries, name, func(e entry, name string) int {
		return strings.Compare(e.name,
			name)
	})
	if !ok {
		return nil
	}
	return &f.entries[i]
}

// tree is a project as it was looked at: its directories by their path relative
// to the root, "" for the root itself. What was not looked at is not in it.
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

// differences hands each what differs between two looks at the project. A
// directory that one of the looks did not get to see is left out.
func differences(before, after tree, each func(pair)) {
	diffFolder(before, after, "", each)
}

func diffFolder(before, after tree, dir string, each func(pair)) {
	a, b := before[dir], after[dir]
	if a == nil || b == nil {
		return
	}
	i, j := 0, 0
	for i < len(a.entries) || j < len(b.entries) {
		var p pair
		switch order := compareAt(a.entries, b.entries, i, j); {
		case order < 0:
			p.before, i = &a.entries[i], i+1
		case order > 0:
			p.after, j = &b.entries[j], j+1
		default:
			p.before, p.after, i, j = &a.entries[i], &b.entries[j], i+1, j+1
		}
		diffEntry(before, after, dir, p, each)
	}
}

func compareAt(a, b []entry, i, j int) int {
	switch {
	case i == len(a):
		return 1
	case j == len(b):
		return -1
	}
	return strings.Compare(a[i].name, b[j].name)
}

func diffEntry(before, after tree, dir string, p pair, each func(pair)) {
	wasDir := p.before != nil && p.before.stat.mode.IsDir()
	isDir := p.after != nil && p.after.stat.mode.IsDir()
	if p.before != nil {
		p.path = join(dir, p.before.name)
	} else {
		p.path = join(dir, p.after.name)
	}
	if p.before == nil || p.after == nil || !p.before.stat.unchanged(p.after.stat) || p.before.flags&flagFresh != 0 {
		each(p)
	}
	switch {
	case wasDir && isDir:
		diffFolder(before, after, p.path, each)
	case wasDir:
		below(before, p.path, func(path string, e *entry) { each(pair{path: path, before: e}) })
	case isDir:
		below(after, p.path, func(path string, e *entry) { each(pair{path: path, after: e}) })
	}
}

// below hands each all that lies below dir, a directory before what it holds.
func below(t tree, dir string, each func(path string, e *entry)) {
	f := t[dir]
	if f == nil {
		return
	}
	for i := range f.entries {
		e := &f.entries[i]
		path := join(dir, e.name)
		each(path, e)
		if e.stat.mode.IsDir() {
			below(t, path, each)
		}
	}
}

// split and join take paths apart and together as this package knows them: with
// slashes, and the root as "".
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
