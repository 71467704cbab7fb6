// Package names finds entries of directory trees by their names, again and again:
// a directory that has not changed since it was last listed is not listed once
// more.
package names

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/sourcegraph/conc/iter"
	"golang.org/x/sys/unix"
	"golang.org/x/text/unicode/norm"
)

// InHome is a path with the home directory in place of a ~ at its beginning. It is not cleaned, and
// stays as it is where home is "".
func InHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

// Abs is a path as seen from dir, without "." and ".." as written. An empty path is dir.
func Abs(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Real is a path without links, "." and "..", as the kernel follows them. The part of it
// that does not exist stays as it is written, behind the part that does.
func Real(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// Relative is path relative to dir, "." for dir itself; ok reports whether path is dir or
// lies below it. Nothing is looked up: both must be clean and without links.
func Relative(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, dir)
	switch {
	case !ok:
		return "", false
	case strings.HasSuffix(dir, string(filepath.Separator)): // the root of the file system
		return rest, true
	case rest[0] != filepath.Separator:
		return "", false
	}
	return rest[1:], true
}

// Within reports whether path is dir or lies below it; both must be clean and without links.
func Within(dir, path string) bool {
	_, ok := Relative(dir, path)
	return ok
}

// Exists reports whether something is at a path. A link is, wherever it leads.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Fold brings names together that some file system takes for one: letters of either
// case, characters that are compatible by Unicode's NFKC, and those that are ignored.
func Fold(name string) string {
	if !strings.ContainsFunc(name, func(c rune) bool { return c >= unicode.MaxASCII }) {
		return strings.ToLower(name)
	}
	var b strings.Builder
	b.Grow(len(name))
	for _, c := range norm.NFKC.String(name) {
		switch {
		case c < unicode.MaxASCII:
			b.WriteRune(unicode.ToLower(c))
		case c == 'ß' || c == 'ẞ':
			b.WriteString("ss")
		case !unicode.In(c, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			least := c
			for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
				least = min(least, r)
			}
			b.WriteRune(unicode.ToLower(least))
		}
	}
	return b.String()
}

// ID is a file, whatever its names.
type ID struct{ device, number uint64 }

// Stamp says which file is at a path and in which state: two that are equal mean that
// nothing changed between them. Of a directory it says nothing about its entries.
// The zero value is that of a path at which nothing is.
type Stamp struct {
	id      ID
	mode    uint32
	size    int64
	changed int64 // ctime in nanoseconds since 1970; 0 for a directory
	owner   uint32
}

// StampAt follows links. It is the zero Stamp where nothing can be seen.
func StampAt(path string) Stamp {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return Stamp{}
	}
	stamp := Stamp{id: idOf(&st), mode: uint32(st.Mode), owner: st.Uid}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		stamp.size, stamp.changed = st.Size, changedAt(&st).UnixNano()
	}
	return stamp
}

// Changed is when the file at a path, links followed, changed last: no program can set that time.
func Changed(path string) (time.Time, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return changedAt(&st), err
}

// Identify says which file is at a path. Links are not followed.
func Identify(path string) (ID, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return idOf(&st), err
}

// Linked reports whether a path is that of a regular file with more than one name.
func Linked(path string) bool {
	_, count := linksOf(path)
	return count > 1
}

// Outside returns those of the paths that are Linked and have a name which is not among them.
func Outside(paths []string) (outside []string) {
	names, counts := map[ID][]string{}, map[ID]uint64{}
	for _, path := range paths {
		if id, count := linksOf(path); count > 1 {
			names[id], counts[id] = append(names[id], path), count
		}
	}
	for id, paths := range names {
		if uint64(len(paths)) < counts[id] {
			outside = append(outside, paths...)
		}
	}
	slices.Sort(outside)
	return outside
}

// linksOf counts the names of a regular file; 0 for any other.
func linksOf(path string) (file ID, count uint64) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return ID{}, 0
	}
	return idOf(&st), uint64(st.Nlink)
}

func idOf(st *unix.Stat_t) ID { return ID{uint64(st.Dev), st.Ino} }

// changedAt is when a file changed last, by the time that programs cannot set.
func changedAt(st *unix.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }

// Match says of an entry whether it is looked for, and of a directory whether to search it. path is absolute. It is
// called from several goroutines.
type Match func(path string, kind fs.FileMode) (found, descend bool)

// Finder keeps the listings of the trees, for any goroutine. Use New.
type Finder struct {
	match Match

	mu    sync.Mutex // one search at a time
	known map[string]listing
}

// listing is the content of a directory.
type listing struct {
	changed time.Time
	inode   uint64
	found   []string // whole paths
	dirs    []string
	keep    bool // it may be used again
}

// New makes a Finder.
func New(match Match) *Finder { return &Finder{match: match, known: map[string]listing{}} }

// ClockTick is how old the last change of a file or directory must be for its listing to be kept: file systems take
// times from a clock that stands still for a few milliseconds (a jiffy is 10 ms at most), in which it may have changed
// once more.
const ClockTick = 50 * time.Millisecond

// Find returns the whole paths of the matches below the roots, sorted. Links are
// not followed. Directories that cannot be read, or are gone, hold nothing; the error is for
// a root that cannot be looked at. Directories of one depth are listed side by side.
func (f *Finder) Find(roots ...string) (found []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, root := range roots {
		if _, err := os.Lstat(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	known := map[string]listing{} // a new one forgets deleted directories
	for level := roots; len(level) > 0; {
		var next []string
		for i, l := range iter.Map(level, f.list) {
			if l.keep {
				known[level[i]] = l
			}
			found, next = append(found, l.found...), append(next, l.dirs...)
		}
		level = next
	}
	f.known = known
	slices.Sort(found)
	return slices.Compact(found), nil
}

// list lists a directory, or takes its known listing.
func (f *Finder) list(dir *string) (l listing) {
	var st unix.Stat_t
	if unix.Lstat(*dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return l
	}
	l.changed, l.inode = changedAt(&st), st.Ino
	if known, ok := f.known[*dir]; ok && known.inode == l.inode && known.changed.Equal(l.changed) {
		return known
	}
	begun := time.Now()
	file, err := os.Open(*dir)
	if err != nil {
		return l
	}
	defer file.Close()
	entries, err := file.ReadDir(-1)
	if err != nil {
		return l
	}
	for _, e := range entries {
		path := filepath.Join(*dir, e.Name())
		found, descend := f.match(path, e.Type())
		if found {
			l.found = append(l.found, path)
		}
		if e.IsDir() && descend {
			l.dirs = append(l.dirs, path)
		}
	}
	l.keep = begun.Sub(l.changed) > ClockTick
	return l
}
