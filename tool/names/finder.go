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
	"sync"
	"time"

	"github.com/sourcegraph/conc/iter"
	"golang.org/x/sys/unix"
)

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
