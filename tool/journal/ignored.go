package journal

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/panics"
)

// ignoredTime bounds the question what git ignores.
const ignoredTime = 10 * time.Second

// askIgnored asks what git ignores. An error leaves the last answer in force.
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

// isIgnored reports whether the path, or a directory that it lies in, is among
// those.
func isIgnored(ignored map[string]bool, path string) bool {
	for path != "" {
		if ignored[path] {
			return true
		}
		path, _ = split(path)
	}
	return false
}

// waitIgnored asks what git ignores, as there are paths that it was not asked
// about. It waits a part of the budget; an answer that comes later is for the next
// time, which also meets a crash that this one did not wait for.
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

// prune takes out what is ignored.
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
