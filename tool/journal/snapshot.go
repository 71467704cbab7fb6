package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Snapshot looks at the whole project and keeps contents that are new since the last time, before a shell command that
// may change anything. A large project takes no longer than Config.Budget, or than ctx allows. It returns the paths
// that are not covered, sorted, with those that git ignores. After an error the command must not run as one that can be
// undone.
func (s *Step) Snapshot(ctx context.Context) ([]Lack, error) {
	j := s.j
	if j.cfg.NamedOnly {
		return []Lack{{Path: "./", Why: NoProject}}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, j.cfg.Budget-j.cfg.Budget/10)
	defer cancel()
	if err := s.write(); err != nil {
		return nil, err
	}
	j.looking.Lock()
	defer j.looking.Unlock()
	// A part of the time is for the steps after the looking.
	looking, cancel := context.WithTimeout(ctx, j.cfg.Budget-j.cfg.Budget/4)
	defer cancel()
	sc, err := j.survey(looking)
	if err != nil {
		return nil, err
	}
	s.tree, s.unseen, s.ignored = j.tree, setOf(sc.unseen), sc.ignored
	lacks, err := j.saveTree(ctx, line{Type: lineWalk, Step: s.ID, Unseen: sc.unseen})
	lacks = append(sc.lacks, lacks...)
	for path := range sc.ignored {
		lacks = append(lacks, Lack{Path: path, Why: IsIgnored})
	}
	slices.SortStableFunc(lacks, byPath)
	return lacks, err
}

func byPath(a, b Lack) int { return strings.Compare(a.Path, b.Path) }

// Named are the paths of lacks, each with the reason.
func Named(lacks []Lack) (names []string) {
	for _, l := range lacks {
		names = append(names, fmt.Sprintf("%s (%s)", l.Path, l.Why))
	}
	return names
}

// survey looks at the project, and keeps new contents, until ctx ends. j.looking is held.
func (j *Journal) survey(ctx context.Context) (*scan, error) {
	if err := j.loadTree(); err != nil {
		return nil, err
	}
	ignored, known := j.lastIgnored()
	sc := j.scan(ctx, ignored)
	if !known || sc.newPaths {
		if sc.ignored = j.waitIgnored(ctx, known); !known {
			sc.next.prune(sc.ignored)
		}
	}
	sc.work = slices.DeleteFunc(sc.work, func(w job) bool { return isIgnored(sc.ignored, w.path) })
	if len(sc.work) < maxSorted {
		// The latest change is least likely to be kept anywhere else.
		slices.SortFunc(sc.work, func(a, b job) int { return cmp.Compare(b.stat.mtime, a.stat.mtime) })
	}
	err := j.keep(ctx, sc)
	j.tree = sc.withUnseen()
	return sc, err
}

// maxSorted is how many new files are put in order: for more there is no time.
const maxSorted = 20_000

// scan walks the project, with the tree of the last time at hand.
func (j *Journal) scan(ctx context.Context, ignored map[string]bool) *scan {
	sc := &scan{ctx: ctx, place: j.place, dev: j.root.dev, old: j.tree, ignored: ignored, denied: j.cfg.Denied}
	sc.run()
	return sc
}

// loadTree reads the tree that an earlier process saw.
func (j *Journal) loadTree() (err error) {
	if j.tree == nil {
		j.tree, err = readTree(j.files.log.file, 0)
		j.files.saved = maps.Clone(j.tree)
	}
	return err
}

// saveTree notes the tree in the log, with more lines. Directories that it has no time for
// before ctx ends stay as they were, and are listed.
func (j *Journal) saveTree(ctx context.Context, more ...line) (lacks []Lack, err error) {
	dirs := changedDirs(j.files.saved, j.tree)
	texts, errs := make([][]byte, len(dirs)), make([]error, len(dirs))
	n := sideBySide(ctx, len(dirs), always, func(i int) {
		texts[i], errs[i] = sawLine(dirs[i], j.files.saved[dirs[i]], j.tree[dirs[i]]).text()
	})
	for _, dir := range dirs[n:] {
		lacks = append(lacks, Lack{Path: dir + "/", Why: NoTime})
		if j.tree[dir] = j.files.saved[dir]; j.tree[dir] == nil {
			delete(j.tree, dir)
		}
	}
	for _, l := range more {
		text, err := l.text()
		texts, errs = append(texts, text), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil || len(texts) == 0 {
		return lacks, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.files.log.write(slices.Concat(texts...)); err != nil {
		return lacks, err
	}
	j.files.saved = maps.Clone(j.tree)
	return lacks, nil
}

// keep keeps the contents that the scan found to be new, and notes their hashes in its
// tree. It lists the directories of files that there was no time for.
func (j *Journal) keep(ctx context.Context, sc *scan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hashes, lacks, errs := make([]string, len(sc.work)), make([]*Lack, len(sc.work)), make([]error, len(sc.work))
	kept := sideBySide(ctx, len(sc.work), always, func(i int) {
		if hashes[i], lacks[i], errs[i] = j.keepOne(ctx, sc.work[i]); errs[i] != nil {
			cancel()
		}
	})
	listed, byPath := map[string]bool{}, map[string]string{}
	for i, w := range sc.work {
		dir, _ := split(w.path)
		switch {
		case i >= kept && !listed[dir]:
			listed[dir] = true
			sc.lacks = append(sc.lacks, Lack{Path: dir + "/", Why: NoTime})
		case lacks[i] != nil:
			sc.lacks = append(sc.lacks, *lacks[i])
		}
		byPath[w.path] = hashes[i]
	}
	sc.next.note(byPath)
	return errors.Join(errs...)
}

// keepOne keeps one content. Only a failure of the journal itself is an error.
func (j *Journal) keepOne(ctx context.Context, w job) (hash string, lack *Lack, err error) {
	no := func(why Reason, err error) (string, *Lack, error) {
		return "", &Lack{Path: w.path, Why: why, Size: w.stat.size, Err: err}, nil
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
		return no(Unreadable, nil)
	}
	hash, err = j.readFile(ctx, w.path, w.stat, keepAll)
	switch {
	case errors.As(err, new(storeError)):
		return "", nil, err
	case err != nil:
		return no(Unreadable, err)
	case !j.files.objects.has(hash):
		return no(NoSpace, nil)
	}
	return hash, nil, nil
}

// note notes the hashes of contents in the entries of their paths.
func (t tree) note(hashes map[string]string) {
	copied := map[string]bool{} // A folder is never changed.
	for path, hash := range hashes {
		dir, name := split(path)
		if hash == "" || t[dir].find(name) == nil {
			continue
		}
		if !copied[dir] {
			t[dir], copied[dir] = &folder{slices.Clone(t[dir].entries)}, true
		}
		t[dir].find(name).content = hash
	}
}
