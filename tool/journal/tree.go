package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
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
	sideBySide(context.Background(), len(texts), func(i int) { errs[i] = json.Unmarshal(texts[i], &lines[i]) })
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
