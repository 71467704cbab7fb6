package journal

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
)

// scan looks at every file of the project, or as many as the context leaves time
// for, with several goroutines.
type scan struct {
	ctx     context.Context
	place   *place
	dev     uint64
	old     tree
	ignored map[string]bool
	denied  func(string) bool

	mu    sync.Mutex
	more  sync.Cond
	queue []string // directories that nobody has looked at yet
	busy  int      // goroutines that look at one
	next  tree
	lacks []Lack
	work  []job
	// newPaths says that git was not asked yet whether it ignores all of them.
	newPaths bool
}

// job is a file whose content is not kept yet.
type job struct {
	path string
	entry
}

// walkers is how many goroutines look at directories: more than processors,
// since the disk may make some of them wait.
func walkers() int { return max(4, runtime.GOMAXPROCS(0)) }

// run walks the project. What it had no time for is in lacks, and not in next.
func (s *scan) run() {
	s.more.L = &s.mu
	s.next = make(tree, len(s.old))
	s.queue = []string{""}
	var wg conc.WaitGroup
	for range walkers() {
		wg.Go(s.walk)
	}
	wg.Wait()
	for _, dir := range s.queue { // there was no time for these
		lack := Lack{Path: dir + "/", Why: NoTime}
		if s.old[dir] != nil {
			lack.Why = Older
		}
		s.lacks = append(s.lacks, lack)
	}
}

func (s *scan) walk() {
	buf := make([]byte, 32<<10)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && s.busy > 0 {
			s.more.Wait()
		}
		if len(s.queue) == 0 || s.ctx.Err() != nil {
			s.more.Broadcast()
			return
		}
		dir := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		v := s.look(dir, buf)
		s.queue = append(s.queue, v.dirs...)
		s.lacks = append(s.lacks, v.lacks...)
		s.work = append(s.work, v.work...)
		s.newPaths = s.newPaths || v.newPaths
		if v.folder != nil {
			s.next[dir] = v.folder
		}
	}
}

// look is visit without the lock that the caller holds. A panic leaves the others to
// their work.
func (s *scan) look(dir string, buf []byte) visit {
	s.busy++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy--
		s.more.Broadcast()
	}()
	return s.visit(dir, buf)
}

// visit is what one look at a directory found.
type visit struct {
	folder *folder
	dirs   []string
	lacks  []Lack
	work   []job

	newPaths bool
}

func (s *scan) visit(dir string, buf []byte) visit {
	entries, err := s.place.list(dir, buf)
	now := time.Now()
	if err != nil {
		return visit{lacks: []Lack{{Path: dir + "/", Why: Unreadable, Err: err}}}
	}
	var v visit
	was := s.old[dir]
	kept := entries[:0]
	path := make([]byte, 0, 256)
	for _, e := range entries {
		path = append(path[:0], dir...)
		if dir != "" {
			path = append(path, '/')
		}
		path = append(path, e.name...)
		isDir := e.stat.mode.IsDir()
		if s.ignored[string(path)] || isDir && e.name == ".git" {
			continue
		}
		old := was.find(e.name)
		if old != nil && old.stat.unchanged(e.stat) && old.flags&flagFresh == 0 {
			e.ref, e.flags = old.ref, old.flags
		} else {
			e.flags = s.flags(string(path), e, now)
		}
		kept = append(kept, e)
		v.newPaths = v.newPaths || old == nil || e.ref == 0 && e.name == ".gitignore"
		switch {
		case isDir && e.flags&flagMount != 0:
			v.lacks = append(v.lacks, Lack{Path: string(path) + "/", Why: OtherMount})
		case isDir:
			v.dirs = append(v.dirs, string(path))
		case e.ref == 0:
			v.work = append(v.work, job{string(path), e})
		}
	}
	v.folder = &folder{kept}
	if was != nil && slices.Equal(was.entries, kept) {
		v.folder = was // so that it need not be saved again, nor take memory twice
	}
	return v
}

// flags are those of an entry that is new or has changed.
func (s *scan) flags(path string, e entry, now time.Time) (flags uint8) {
	if e.stat.mode.IsDir() {
		if e.stat.dev != s.dev {
			flags |= flagMount
		}
		return flags
	}
	if fresh(e.stat.ctime, now) {
		flags |= flagFresh
	}
	if s.denied(path) {
		flags |= flagDenied
	}
	return flags
}

// withUnseen is what was seen, and of the rest what was seen before.
func (s *scan) withUnseen() tree {
	if len(s.queue) == 0 {
		return s.next
	}
	all, unseen := maps.Clone(s.next), setOf(s.queue)
	for dir, f := range s.old {
		if all[dir] == nil && isBelow(unseen, dir) {
			all[dir] = f
		}
	}
	return all
}
