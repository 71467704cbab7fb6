package tool

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// grepBatch is how many files are searched before their hits are put in
	// order.
	grepBatch = 256
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

type fileResult struct {
	hits fileHits
	err  error
}

// search looks at names, which are relative to dir, in their order.
func (t *treeSearch) search(ctx context.Context, names []string) (treeHits, error) {
	var all treeHits
	inner, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	workers := make([]*fileSearch, min(4, max(2, runtime.GOMAXPROCS(0))))
	for i := range workers {
		workers[i] = &fileSearch{env: t.env, lines: t.proto}
	}
	for len(names) > 0 && !all.more {
		batch := names[:min(grepBatch, len(names))]
		names = names[len(batch):]
		results := t.batch(inner, workers, batch, t.limit-all.shown)
		if err := ctx.Err(); err != nil {
			return all, err
		}
		for i, r := range results {
			all.add(batch[i], r, t.limit, t.proto.first)
			// Whatever the workers did meanwhile: the answer is the same each time.
			all.more = all.more || all.shown >= t.limit && (i < len(batch)-1 || len(names) > 0)
		}
		if inner.Err() != nil {
			all.timedOut = true
			break
		}
	}
	return all, nil
}

// batch searches some files; the results are in the order of names.
func (t *treeSearch) batch(ctx context.Context, workers []*fileSearch, names []string, keep int) []fileResult {
	results := make([]fileResult, len(names))
	var next, found atomic.Int64
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				// Names are taken in order: with enough found, those that are
				// under way hold the first matches.
				if i >= len(names) || ctx.Err() != nil || found.Load() >= int64(keep) {
					return
				}
				abs := filepath.Join(t.dir, filepath.FromSlash(names[i]))
				results[i] = t.one(ctx, w, abs, keep)
				found.Add(int64(results[i].hits.count))
			}
		})
	}
	wg.Wait()
	return results
}

// one searches one file, for a limited time.
func (t *treeSearch) one(ctx context.Context, w *fileSearch, abs string, keep int) fileResult {
	inner, cancel := context.WithTimeout(ctx, grepFileTimeout)
	defer cancel()
	hits, err := w.file(inner, abs, keep, maxGrepFile)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errSlow
	}
	return fileResult{hits: hits, err: err}
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
