// Package names finds entries of directory trees by their names, again and again:
// a directory that has not changed since it was last listed is not listed once
// more.
package names

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
)

// Match says of an entry whether it is looked for, and of a directory whether what
// is in it is looked at. path is absolute. It is called from several goroutines.
type Match func(path string, kind fs.FileMode) (found, descend bool)

// Finder keeps what it knows of the trees. Use New. Its methods may be called from
// any goroutine.
type Finder struct {
	match Match

	mu    sync.Mutex // one search at a time
	known map[string]listing
}

// listing is what a directory held.
type listing struct {
	changed time.Time
	inode   uint64
	found   []string // whole paths
	dirs    []string
}

// New makes a Finder.
func New(match Match) *Finder { return &Finder{match: match, known: map[string]listing{}} }

// settled is how old the last change of a directory must be for its listing to be
// kept: file systems tell times by a clock that stands still for a few milliseconds
// (a jiffy is 10 ms at most), in which it may have changed once more.
const settled = 50 * time.Millisecond

// Find returns the whole paths of what is found below the roots, sorted. Links are
// not followed. Directories that cannot be read, or are gone, hold nothing that can
// be told; the error is for a root that cannot be looked at.
func (f *Finder) Find(roots ...string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, root := range roots {
		if _, err := os.Lstat(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	s := &search{finder: f}
	s.more = sync.NewCond(&s.mu)
	s.queue = slices.Clone(roots)
	parts := make([]part, runtime.GOMAXPROCS(0))
	var workers conc.WaitGroup
	for i := range parts {
		workers.Go(func() { s.work(&parts[i]) })
	}
	workers.Wait()
	known, found := map[string]listing{}, []string(nil) // This forgets deleted directories.
	for _, p := range parts {
		maps.Copy(known, p.known)
		found = append(found, p.found...)
	}
	f.known = known
	slices.Sort(found)
	return slices.Compact(found), nil
}

// part is what one worker of a search found.
type part struct {
	known map[string]listing
	found []string
}

// search is one walk of all trees.
type search struct {
	finder *Finder

	mu      sync.Mutex
	more    *sync.Cond // there is more to do, or nothing any more
	queue   []string
	working int
	idle    atomic.Int64 // workers that wait
}

// work takes directories from the queue, and walks what is below them.
func (s *search) work(p *part) {
	p.known = map[string]listing{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && s.working > 0 {
			s.idle.Add(1)
			s.more.Wait()
			s.idle.Add(-1)
		}
		if len(s.queue) == 0 {
			s.more.Broadcast()
			return
		}
		dir := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		s.below(p, dir)
	}
}

// below walks what is below a directory, without the lock that the caller holds. A part
// of that goes to the queue when another worker has nothing to do. A panic leaves the
// others to their work.
func (s *search) below(p *part, dir string) {
	s.working++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.working--
		s.more.Broadcast()
	}()
	for stack := []string{dir}; len(stack) > 0; {
		dir := stack[len(stack)-1]
		l, keep := s.finder.list(dir)
		if keep {
			p.known[dir] = l
		}
		p.found = append(p.found, l.found...)
		stack = append(stack[:len(stack)-1], l.dirs...)
		if s.idle.Load() > 0 && len(stack) > 1 {
			half := len(stack) / 2
			s.mu.Lock()
			s.queue = append(s.queue, stack[:half]...)
			s.mu.Unlock()
			s.more.Broadcast()
			stack = stack[half:]
		}
	}
}

// list lists a directory, or takes what is known of it. keep says that what it
// returns may be used again.
func (f *Finder) list(dir string) (l listing, keep bool) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return listing{}, false
	}
	l.changed, l.inode = stampOf(info)
	if known, ok := f.known[dir]; ok && known.inode == l.inode && known.changed.Equal(l.changed) {
		return known, true
	}
	begun := time.Now()
	entries, err := readDir(dir)
	if err != nil {
		return listing{}, false
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		found, descend := f.match(path, e.Type())
		if found {
			l.found = append(l.found, path)
		}
		if e.IsDir() && descend {
			l.dirs = append(l.dirs, path)
		}
	}
	return l, begun.Sub(l.changed) > settled
}

// readDir is os.ReadDir without the order.
func readDir(dir string) ([]fs.DirEntry, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.ReadDir(-1)
}
