package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"artoo/tool/files"
)

// Query is a search of file contents. Make one with NewQuery.
type Query struct {
	pattern textPattern
	filter  fileFilter
	options QueryOptions
}

// QueryOptions say which files a Query searches, and what it finds.
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

func (q Query) lines() lineSearch {
	return lineSearch{pattern: q.pattern, context: q.options.Context, first: q.options.FilesOnly}
}

// File searches one file, whatever its name and size. The error continues a sentence that
// begins with the name of the file.
func (q Query) File(ctx context.Context, files *files.Files, place files.Place) (Hits, error) {
	s := fileSearch{files: files, inside: q.options.Inside, lines: q.lines()}
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
	all.add("", fileResult{hits: hits}, q.options.Limit, q.options.FilesOnly)
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
	if len(all.Files) == 0 && all.looked > 0 && q.options.Glob+q.options.Type != "" {
		return Hits{Passed: all.looked}, nil
	}
	slices.SortFunc(all.Files, byName)
	t := treeSearch{files: files, inside: q.options.Inside, dir: place.Abs, proto: q.lines(), limit: q.options.Limit, timeout: Timeout}
	hits, err := t.search(ctx, all.Files)
	hits.Cut = all.More
	return hits, err
}
