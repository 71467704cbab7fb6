package journal

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"
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

	mu     sync.Mutex // the fields below, while the project is looked at
	next   tree
	below  []string // the directories of the next level
	lacks  []Lack
	unseen []string // directories that there was no time for
	work   []job
	// newPaths says that git was not asked yet whether it ignores all of them.
	newPaths bool
}

// job is a file whose content is not kept yet.
type job struct {
	path string
	entry
}

// always is how many directories, and how many files, a look takes whatever its time: a small project is covered on a
// busy machine too.
const always = 64

// sideBySide calls f with the numbers below n, from several goroutines, until ctx ends, and returns how many those
// were. A deadline of ctx does not stop it before the first ones. The disk may make some of the goroutines wait.
func sideBySide(ctx context.Context, n, first int, f func(int)) (called int) {
	var next atomic.Int64
	var wg conc.WaitGroup
	for range min(n, max(4, runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) && int(next.Load()) < first {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wg.Wait()
	return min(n, int(next.Load()))
}

// run walks the project, one level below another. Paths it had no time for are in lacks.
func (s *scan) run() {
	s.next = make(tree, len(s.old))
	for level := []string{""}; len(level) > 0; {
		s.below = nil
		seen := sideBySide(s.ctx, len(level), always-len(s.next), func(i int) { s.visit(level[i]) })
		s.unseen = append(s.unseen, level[seen:]...)
		level = s.below
	}
	for _, dir := range s.unseen {
		lack := Lack{Path: dir + "/", Why: NoTime}
		if s.old[dir] != nil {
			lack.Why = Older
		}
		s.lacks = append(s.lacks, lack)
	}
}

func (s *scan) visit(dir string) {
	entries, err := s.place.list(dir)
	now := time.Now()
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lacks = append(s.lacks, Lack{Path: dir + "/", Why: Unreadable, Err: err})
		return
	}
	var below []string
	var lacks []Lack
	var work []job
	newPaths := false
	was := s.old[dir]
	kept := entries[:0]
	for _, e := range entries {
		path := join(dir, e.name)
		isDir := e.stat.mode.IsDir()
		if s.ignored[path] || isDir && e.name == ".git" {
			continue
		}
		old := was.find(e.name)
		if old != nil && old.stat.unchanged(e.stat) && old.flags&flagFresh == 0 {
			e.content, e.flags = old.content, old.flags
		} else {
			e.flags = s.flags(path, e, now)
			if e.stat.kind() == Link && e.flags&flagDenied == 0 {
				e.content, _ = s.place.readlink(path) // A link that cannot be read is not kept.
			}
		}
		kept = append(kept, e)
		newPaths = newPaths || old == nil || e.content == "" && e.name == ".gitignore"
		switch {
		case isDir && e.flags&flagMount != 0:
			lacks = append(lacks, Lack{Path: path + "/", Why: OtherMount})
		case isDir:
			below = append(below, path)
		case e.content == "":
			work = append(work, job{path, e})
		}
	}
	is := &folder{kept}
	if was != nil && slices.Equal(was.entries, kept) {
		is = was // so that it need not be saved again, nor take memory twice
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[dir], s.newPaths = is, s.newPaths || newPaths
	s.below, s.lacks, s.work = append(s.below, below...), append(s.lacks, lacks...), append(s.work, work...)
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

// withUnseen is the tree as seen now, and the rest of it as seen before.
func (s *scan) withUnseen() tree {
	if len(s.unseen) == 0 {
		return s.next
	}
	all, unseen := maps.Clone(s.next), setOf(s.unseen)
	for dir, f := range s.old {
		if all[dir] == nil && isBelow(unseen, dir) {
			all[dir] = f
		}
	}
	return all
}

// ignoredTime bounds git's listing of ignored paths.
const ignoredTime = 10 * time.Second

// askIgnored asks git for the ignored paths. An error leaves the last answer in force.
func (j *Journal) askIgnored(ctx context.Context) map[string]bool {
	if j.cfg.Ignored == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ignoredTime)
	defer cancel()
	if list, err := j.cfg.Ignored(ctx); err == nil {
		for i, path := range list {
			list[i] = strings.TrimSuffix(path, "/")
		}
		paths := setOf(list)
		j.ignored.Store(&paths)
	}
	last, _ := j.lastIgnored()
	return last
}

// lastIgnored is git's last answer. known says that there is one, or that none is needed.
func (j *Journal) lastIgnored() (paths map[string]bool, known bool) {
	if last := j.ignored.Load(); last != nil {
		return *last, true
	}
	return nil, j.cfg.Ignored == nil
}

func setOf(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, path := range paths {
		set[path] = true
	}
	return set
}

// isBelow reports whether the path is one of the directories or lies in one.
func isBelow(dirs map[string]bool, path string) bool { return dirs[""] || isIgnored(dirs, path) }

// isIgnored reports whether the path, or a directory above it, is among those.
func isIgnored(ignored map[string]bool, path string) bool {
	for path != "" {
		if ignored[path] {
			return true
		}
		path, _ = split(path)
	}
	return false
}

// waitIgnored asks git for the ignored paths. It waits a part of the budget; an answer that comes
// later is for the next time, and so is a crash.
func (j *Journal) waitIgnored(ctx context.Context, known bool) map[string]bool {
	if j.cfg.Ignored == nil {
		return nil
	}
	answered := make(chan *panics.Recovered, 1)
	j.background.Go(func() { answered <- panics.Try(func() { j.askIgnored(j.life) }) })
	patience := j.cfg.Budget / 2
	if known {
		patience = j.cfg.Budget / 6
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case crash := <-answered:
		if crash != nil {
			panic(crash)
		}
	case <-ctx.Done():
	}
	ignored, _ := j.lastIgnored()
	return ignored
}

// prune takes out ignored paths.
func (t tree) prune(ignored map[string]bool) {
	for dir, f := range t {
		if isIgnored(ignored, dir) {
			delete(t, dir)
			continue
		}
		t[dir] = &folder{slices.DeleteFunc(slices.Clone(f.entries), func(e entry) bool {
			return ignored[join(dir, e.name)]
		})}
	}
}
