package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"artoo/tool/files"
)

const (
	// grepGroup is how many files of a directory one worker takes at a time.
	grepGroup = 64
	// Timeout ends a search that takes too long; its hits so far are shown.
	Timeout = 30 * time.Second
	// grepFileTimeout bounds the search of one file: a heavy pattern on long lines.
	grepFileTimeout = 5 * time.Second
)

// Hits are the results of a Query.
type Hits struct {
	Files    []NamedHits
	Shown    int  // matches in Files
	Total    int  // matches found
	More     bool // the search stopped at its limit: there may be more
	TimedOut bool
	TooBig   []string // names of files left out for their size
	Slow     []string // names of files left out for the time they take
	Binary   []string // names of files searched up to where they are no text any more
	Unread   int      // files that could not be read
	Cut      bool     // only the first MaxListed files were looked at
	Hidden   int      // files and directories left out since they are hidden
	Passed   int      // files that there are, where glob and type left none to search
}

// NamedHits are the lines found in one file; Name is relative to the directory, "" for a named file.
type NamedHits struct {
	Name  string
	Lines []HitLine
}

// treeSearch searches the files of a listing side by side.
type treeSearch struct {
	Query
	files   *files.Files
	top     files.Place
	timeout time.Duration // the search ends then, even if not all files were looked at
}

// fileResult is the result of a file in which something was found.
type fileResult struct {
	at   int // its place in the listing
	hits fileHits
	err  error
}

// search looks at files, which are relative to the top, in their order.
func (t *treeSearch) search(ctx context.Context, files []File) (all Hits, err error) {
	inner, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	results := t.results(inner, files)
	if err := ctx.Err(); err != nil {
		return all, err
	}
	limit := t.options.Limit
	for _, r := range results {
		all.add(files[r.at].Name, r, t.options)
		// Whatever the workers did meanwhile: the answer is the same each time.
		all.More = all.More || all.Shown >= limit && r.at < len(files)-1
	}
	all.TimedOut = inner.Err() != nil
	return all, nil
}

// results searches files until enough is found, in groups of one directory. Groups are
// begun in order: with enough found, those that are under way hold the first matches.
func (t *treeSearch) results(ctx context.Context, files []File) []fileResult {
	groups := groupByDir(files)
	found := make([][]fileResult, workers())
	searchers := make([]fileSearch, len(found))
	var count atomic.Int64
	enough := func() bool { return ctx.Err() != nil || count.Load() >= int64(t.options.Limit) }
	inOrder(len(groups), len(found), enough, func(worker, i int) {
		s := &searchers[worker]
		if s.files == nil {
			*s = t.fileSearch(t.files)
			s.chain.at = t.top
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
	return all
}

// span is a run of a listing, to excluded.
type span struct{ from, to int }

// groupByDir parts a listing into runs of files that lie in one directory.
func groupByDir(files []File) []span {
	var groups []span
	last := ""
	for i, f := range files {
		dir := f.Name[:strings.LastIndexByte(f.Name, '/')+1]
		if n := len(groups); n > 0 && dir == last && i-groups[n-1].from < grepGroup {
			groups[n-1].to++
			continue
		}
		groups = append(groups, span{i, i + 1})
		last = dir
	}
	return groups
}

// group searches the files of one group, and appends the results worth reporting.
func (t *treeSearch) group(ctx context.Context, s *fileSearch, files []File, g span,
	found []fileResult) []fileResult {
	below := filepath.FromSlash(path.Dir(files[g.from].Name))
	dir, err := s.chain.dir(below)
	if err != nil {
		for at := g.from; at < g.to; at++ {
			found = append(found, fileResult{at: at, err: err})
		}
		return found
	}
	count, limit := 0, t.options.Limit
	for at := g.from; at < g.to && count < limit && ctx.Err() == nil; at++ {
		base := path.Base(files[at].Name)
		hits, err := s.inDir(ctx, dir, base, filepath.Join(t.top.Abs, below, base), limit)
		if hits.count > 0 || err != nil && !leftOut(err) {
			found = append(found, fileResult{at, hits, err})
			count += hits.count
		}
	}
	return found
}

var errSlow = errors.New("takes too long")

// add takes up a file's hits, as far as the limit allows.
func (all *Hits) add(name string, r fileResult, options QueryOptions) {
	left := options.Limit - all.Shown
	switch {
	case errors.Is(r.err, errTooBig):
		all.TooBig = append(all.TooBig, name)
	case errors.Is(r.err, errSlow), errors.Is(r.err, errHeavy):
		all.Slow = append(all.Slow, name)
	case r.err != nil && !leftOut(r.err):
		all.Unread++
	}
	all.More = all.More || r.hits.more || r.hits.count > left
	if r.hits.count == 0 {
		return
	}
	if r.hits.binary {
		all.Binary = append(all.Binary, name)
	}
	all.Total += r.hits.count
	if left <= 0 {
		return
	}
	if options.FilesOnly {
		all.Shown++
		all.Files = append(all.Files, NamedHits{Name: name})
		return
	}
	hits := r.hits
	if hits.count > left {
		hits.lines = firstHits(hits.lines, left)
	}
	all.Shown += min(hits.count, left)
	all.Files = append(all.Files, NamedHits{name, hits.lines})
}

// leftOut says whether a file is passed over without a word for err.
func leftOut(err error) bool {
	var refused *files.RefusedError
	return errors.As(err, &refused) || errors.Is(err, errBinary) || errors.Is(err, errNotRegular) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// firstHits keeps the lines up to and with the n-th match.
func firstHits(lines []HitLine, n int) []HitLine {
	for i, l := range lines {
		if l.Kind == HitStart {
			if n == 0 {
				return lines[:i]
			}
			n--
		}
	}
	return lines
}

// Query is a search of file contents. Make one with NewQuery.
type Query struct {
	pattern textPattern
	filter  fileFilter
	options QueryOptions
}

// QueryOptions say which files a Query searches, and for which text.
type QueryOptions struct {
	IgnoreCase, Multiline bool
	Glob, Type            string // "" selects all files
	Context               int    // lines before and after a match that are found too
	FilesOnly             bool   // finds the names of files only
	Limit                 int    // matches, or files, that are found at most
	// Inside finds the lines of a text that are part of a secret of several lines, by their
	// number from 1, with the mark that is found in place of each; nil finds none.
	Inside func(body string) map[int]string
}

// NewQuery compiles a pattern in RE2 syntax. The error is for the model.
func NewQuery(pattern string, options QueryOptions) (q Query, err error) {
	q.options = options
	if q.pattern, err = compilePattern(pattern, options.IgnoreCase, options.Multiline); err != nil {
		return q, err
	}
	q.filter, err = newFileFilter(options.Glob, options.Type)
	return q, err
}

func (q Query) fileSearch(files *files.Files) fileSearch {
	return fileSearch{files: files, inside: q.options.Inside,
		lines: lineSearch{pattern: q.pattern, context: q.options.Context, first: q.options.FilesOnly}}
}

// File searches one file, whatever its name and size. The error continues a sentence about it.
func (q Query) File(ctx context.Context, files *files.Files, place files.Place) (Hits, error) {
	s := q.fileSearch(files)
	inner, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	hits, err := s.file(inner, place.Abs, q.options.Limit)
	all := Hits{TimedOut: errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil}
	switch {
	case all.TimedOut, err == nil:
	case errors.Is(err, errBinary):
		return all, errors.New("is a binary file")
	case (errors.Is(err, errTooBig) || errors.Is(err, errHeavy)) && q.pattern.multi:
		return all, fmt.Errorf("is %w: search it without multiline", err)
	default:
		return all, fmt.Errorf("cannot be searched: %w", err)
	}
	all.add("", fileResult{hits: hits}, q.options)
	return all, nil
}

// Tree searches the files below a directory that no ignore rule names.
func (q Query) Tree(ctx context.Context, files *files.Files, place files.Place) (Hits, error) {
	all, err := List(ctx, files, place.Abs, func(_ *os.File, e fs.DirEntry, name string) (changed int64, keep bool) {
		return 0, e.Type().IsRegular() && q.filter.takes(name, place.Child(name))
	})
	if err != nil {
		return Hits{}, err
	}
	if len(all.Files) == 0 && all.looked > 0 && all.Hidden == 0 && q.options.Glob+q.options.Type != "" {
		return Hits{Passed: all.looked}, nil
	}
	slices.SortFunc(all.Files, byName)
	t := treeSearch{Query: q, files: files, top: place, timeout: Timeout}
	hits, err := t.search(ctx, all.Files)
	hits.Cut, hits.Hidden = all.More, all.Hidden
	return hits, err
}
