package journal

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/conc"
)

// Snapshot looks at the whole project and keeps what is new since the last time,
// before a shell command that may change anything. It takes no longer than
// Config.Budget, or than ctx allows; what there was no time for is listed. After
// an error the command must not run as one that can be undone.
func (s *Step) Snapshot(ctx context.Context) (Coverage, error) {
	j := s.j
	// A quarter is for what comes after the looking.
	ctx, cancel := context.WithTimeout(ctx, j.cfg.Budget-j.cfg.Budget/4)
	defer cancel()
	if err := s.write(); err != nil {
		return Coverage{}, err
	}
	j.looking.Lock()
	defer j.looking.Unlock()
	sc, coverage, err := j.survey(ctx)
	if err != nil {
		return Coverage{}, err
	}
	s.tree, s.unseen = j.tree, setOf(sc.queue)
	s.ignored, _ = j.lastIgnored()
	end, err := j.files.tree.save(s.tree)
	if err != nil {
		return Coverage{}, err
	}
	return coverage, s.write(line{Type: lineWalk, Step: s.info.ID, Tree: end, Unseen: sc.queue})
}

// survey looks at the project, and keeps the contents that are not kept yet,
// until ctx ends. j.looking is held.
func (j *Journal) survey(ctx context.Context) (*scan, Coverage, error) {
	if err := j.loadTree(); err != nil {
		return nil, Coverage{}, err
	}
	ignored, known := j.lastIgnored()
	sc := j.scan(ctx, ignored)
	if !known || sc.newPaths {
		if ignored = j.waitIgnored(ctx, known); !known {
			sc.next.prune(ignored)
		}
	}
	sc.work = slices.DeleteFunc(sc.work, func(w job) bool { return isIgnored(ignored, w.path) })
	if len(sc.work) < maxSorted {
		// What changed last is least likely to be kept anywhere else.
		slices.SortFunc(sc.work, func(a, b job) int { return cmp.Compare(b.stat.mtime, a.stat.mtime) })
	}
	lacks, err := j.keep(ctx, sc)
	j.tree = sc.withUnseen()
	lacks = append(lacks, sc.lacks...)
	for path := range ignored {
		lacks = append(lacks, Lack{Path: path, Why: IsIgnored})
	}
	slices.SortFunc(lacks, func(a, b Lack) int { return strings.Compare(a.Path, b.Path) })
	return sc, Coverage{Files: j.tree.kept(), Bytes: j.files.objects.bytes(), Lacks: lacks}, err
}

// maxSorted is how many new files are put in order: of more, there is no time for
// most of them, nor for the sorting.
const maxSorted = 20_000

// kept is how many regular files of the tree are kept.
func (t tree) kept() (n int) {
	for _, f := range t {
		for _, e := range f.entries {
			if e.ref != 0 && e.stat.mode.IsRegular() {
				n++
			}
		}
	}
	return n
}

// scan walks the project, with what was seen the last time at hand.
func (j *Journal) scan(ctx context.Context, ignored map[string]bool) *scan {
	sc := &scan{ctx: ctx, place: j.place, dev: j.root.dev, old: j.tree, ignored: ignored, denied: j.cfg.Denied}
	sc.run()
	return sc
}

// loadTree reads what an earlier process saw of the project.
func (j *Journal) loadTree() error {
	if j.tree != nil {
		return nil
	}
	t, size, err := readTree(j.files.tree.file, -1)
	if err != nil {
		return err
	}
	count := j.files.objects.count()
	for dir, f := range t {
		for _, e := range f.entries {
			if e.ref > count { // lost in a crash of the machine
				delete(t, dir)
				break
			}
		}
	}
	j.tree, j.files.tree.size, j.files.tree.saved = t, size, t
	if j.pending > 0 { // a step that is to be taken back needs the file as it is
		return nil
	}
	return j.files.tree.compact()
}

// keep keeps the contents that the scan found to be new, and notes their numbers
// in its tree.
func (j *Journal) keep(ctx context.Context, sc *scan) ([]Lack, error) {
	var mu sync.Mutex
	var lacks []Lack
	var failed error
	refs := map[string]map[string]uint32{}
	next := 0
	var wg conc.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for next < len(sc.work) && failed == nil && ctx.Err() == nil {
				w := sc.work[next]
				next++
				ref, lack, err := func() (uint32, *Lack, error) {
					mu.Unlock()
					defer mu.Lock()
					return j.keepOne(ctx, w)
				}()
				if err != nil {
					failed = err
				}
				if lack != nil {
					lacks = append(lacks, *lack)
				}
				if ref != 0 {
					dir, name := split(w.path)
					if refs[dir] == nil {
						refs[dir] = map[string]uint32{}
					}
					refs[dir][name] = ref
				}
			}
		})
	}
	wg.Wait()
	lacks = append(lacks, noTime(sc.work[next:])...)
	for dir, names := range refs {
		sc.next.setRefs(dir, names)
	}
	return lacks, failed
}

// noTime lists the directories of files that there was no time to keep.
func noTime(work []job) (lacks []Lack) {
	listed := map[string]bool{}
	for _, w := range work {
		dir, _ := split(w.path)
		if !listed[dir] {
			listed[dir] = true
			lacks = append(lacks, Lack{Path: dir + "/", Why: NoTime})
		}
	}
	return lacks
}

// keepOne keeps one content. Only what the journal itself could not do is an error.
func (j *Journal) keepOne(ctx context.Context, w job) (ref uint32, lack *Lack, err error) {
	no := func(why Reason, err error) (uint32, *Lack, error) {
		return 0, &Lack{Path: w.path, Why: why, Size: w.stat.size, Err: err}, nil
	}
	kind := w.stat.kind()
	switch {
	case w.flags&flagDenied != 0:
		return no(IsDenied, nil)
	case kind == Special:
		return no(IsSpecial, nil)
	case kind == File && w.stat.size > j.cfg.MaxFile:
		return no(TooLarge, nil)
	case kind == Link:
		target, err := j.place.readlink(w.path)
		if err != nil {
			return no(Unreadable, err)
		}
		if ref, _, err = j.files.objects.put([]byte(target), true); err != nil {
			return 0, nil, err
		}
		return ref, nil, nil
	}
	_, ref, err = j.readFile(ctx, w.path, w.stat, keepAll)
	if errors.As(err, new(storeError)) {
		return 0, nil, err
	}
	if err != nil {
		return no(Unreadable, err)
	}
	if ref == 0 {
		return no(NoSpace, nil)
	}
	return ref, nil, nil
}

// setRefs notes the numbers of contents in a directory's entries.
func (t tree) setRefs(dir string, refs map[string]uint32) {
	if t[dir] == nil {
		return
	}
	f := &folder{slices.Clone(t[dir].entries)}
	for i := range f.entries {
		if ref, ok := refs[f.entries[i].name]; ok {
			f.entries[i].ref = ref
		}
	}
	t[dir] = f
}
