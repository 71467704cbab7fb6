package tool

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// grepGroup is how many files of a directory one worker takes at a time: the
	// directory is opened once for them.
	grepGroup = 64
	// grepTimeout ends a search that takes too long; what was found is shown.
	grepTimeout = 30 * time.Second
	// grepFileTimeout leaves a file out of a tree that takes too long: a heavy
	// pattern on long lines.
	grepFileTimeout = 5 * time.Second
)

type treeHits struct {
	files    []namedHits // with lines to show, by path
	shown    int         // matches in files
	total    int         // matches found
	more     bool        // the search stopped at its limit: there may be more
	full     bool        // what was found did not fit into one answer
	timedOut bool
	tooBig   []string // names of files left out for their size
	slow     []string // names of files left out for the time they take
	binary   []string // names of files searched up to where they are no text any more
	unread   int      // files that could not be read
}

type namedHits struct {
	name string
	fileHits
}

// treeSearch searches the files of a listing side by side.
type treeSearch struct {
	env   *Env
	dir   string // absolute
	proto lineSearch
	limit int // matches shown, or with first, files
	// timeout is when the search ends before all files were looked at.
	timeout time.Duration
}

// fileResult is what came of a file, but for those in which nothing was found.
type fileResult struct {
	at   int // its place in the listing
	hits fileHits
	err  error
}

// search looks at files, which are relative to dir, in their order.
func (t *treeSearch) search(ctx context.Context, files []treeFile) (treeHits, error) {
	var all treeHits
	inner, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	results, err := t.results(inner, files)
	if err := ctx.Err(); err != nil {
		return all, err
	}
	if err != nil {
		return all, err
	}
	for _, r := range results {
		all.add(files[r.at].name, r, t.limit, t.proto.first)
		// Whatever the workers did meanwhile: the answer is the same each time.
		all.more = all.more || all.shown >= t.limit && r.at < len(files)-1
	}
	all.timedOut = inner.Err() != nil
	return all, nil
}

// results searches files until enough is found, in groups of one directory. Groups are
// begun in order: with enough found, those that are under way hold the first matches.
func (t *treeSearch) results(ctx context.Context, files []treeFile) ([]fileResult, error) {
	top, err := t.env.Files.resolve(t.dir, false)
	if err == nil {
		err = top.refused()
	}
	if err != nil {
		return nil, err
	}
	groups := groupByDir(files)
	found := make([][]fileResult, workers())
	searchers := make([]fileSearch, len(found))
	var count atomic.Int64
	enough := func() bool { return ctx.Err() != nil || count.Load() >= int64(t.limit) }
	inOrder(len(groups), len(found), enough, func(worker, i int) {
		s := &searchers[worker]
		if s.env == nil {
			*s = fileSearch{env: t.env, lines: t.proto, chain: dirChain{at: top}}
			s.lines.quit, s.lines.patience = true, grepFileTimeout
		}
		from := len(found[worker])
		found[worker] = t.group(ctx, s, files, groups[i], found[worker])
		for _, r := range found[worker][from:] {
			count.Add(int64(r.hits.count))
		}
	})
	for i := range searchers {
		searchers[i].chain.close()
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b fileResult) int { return a.at - b.at })
	return all, nil
}

// span is a run of a listing, to excluded.
type span struct{ from, to int }

// groupByDir parts a listing into runs of files that lie in one directory.
func groupByDir(files []treeFile) []span {
	var groups []span
	last := ""
	for i, f := range files {
		dir := f.name[:strings.LastIndexByte(f.name, '/')+1]
		if n := len(groups); n > 0 && dir == last && i-groups[n-1].from < grepGroup {
			groups[n-1].to++
			continue
		}
		groups = append(groups, span{i, i + 1})
		last = dir
	}
	return groups
}

// group searches the files of one group, and appends what is worth telling.
func (t *treeSearch) group(ctx context.Context, s *fileSearch, files []treeFile, g span,
	found []fileResult) []fileResult {
	below := filepath.FromSlash(path.Dir(files[g.from].name))
	dir, err := s.chain.dir(below)
	if err != nil {
		for at := g.from; at < g.to; at++ {
			found = append(found, fileResult{at: at, err: err})
		}
		return found
	}
	count := 0
	for at := g.from; at < g.to && count < t.limit && ctx.Err() == nil; at++ {
		base := path.Base(files[at].name)
		hits, err := s.inDir(ctx, dir, base, filepath.Join(s.chain.at.Abs, below, base), t.limit)
		if hits.count > 0 || err != nil && !leftOut(err) {
			found = append(found, fileResult{at, hits, err})
			count += hits.count
		}
	}
	return found
}

var errSlow = errors.New("takes too long")

// add takes up a file's hits, as far as the limit allows.
func (all *treeHits) add(name string, r fileResult, limit int, filesOnly bool) {
	switch {
	case errors.Is(r.err, errTooBig):
		all.tooBig = append(all.tooBig, name)
	case errors.Is(r.err, errSlow), errors.Is(r.err, errHeavy):
		all.slow = append(all.slow, name)
	case r.err != nil && !leftOut(r.err):
		all.unread++
	}
	all.more = all.more || r.hits.more || r.hits.count > limit-all.shown
	if r.hits.count == 0 {
		return
	}
	if r.hits.binary {
		all.binary = append(all.binary, name)
	}
	all.total += r.hits.count
	left := limit - all.shown
	if left <= 0 {
		return
	}
	if filesOnly {
		all.shown++
		all.files = append(all.files, namedHits{name: name})
		return
	}
	hits := r.hits
	if hits.count > left {
		hits.lines = firstHits(hits.lines, left)
	}
	all.shown += min(hits.count, left)
	all.files = append(all.files, namedHits{name, hits})
}

// leftOut says whether err is why a file is passed over without a word: it is
// no text, is denied, leads out, or is gone.
func leftOut(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) || errors.Is(err, errBinary) || errors.Is(err, errNotRegular) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// firstHits keeps the lines up to and with the n-th match: a file of a batch
// did not know what the files before it would use up.
func firstHits(lines []hitLine, n int) []hitLine {
	for i, l := range lines {
		if l.kind == hitStart {
			if n == 0 {
				return lines[:i]
			}
			n--
		}
	}
	return lines
}
