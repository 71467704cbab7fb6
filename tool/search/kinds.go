package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"artoo/tool/files"
)

// maxKindsLooked is how many files of a project are looked at for their kinds.
const maxKindsLooked = 5000

// Kinds returns those of some extensions, in lower case and with their dot, that a file
// of the project has which no ignore rule names. It looks at a bounded number of files,
// the shallow ones first, until ctx ends.
func Kinds(ctx context.Context, f *files.Files, extensions []string) (found []string) {
	kind := func(name string) string { return strings.ToLower(path.Ext(name)) }
	w := walker{ctx: ctx, files: f, dir: f.Root(), max: maxKindsLooked,
		keep: func(_ *os.File, _ fs.DirEntry, name string) (int64, bool) {
			return 0, slices.Contains(extensions, kind(name))
		}}
	enough := errors.New("all were found")
	_ = w.walk(func(e treeEntry) error { // what cannot be read has none
		if !e.dir && !slices.Contains(found, kind(e.name)) {
			found = append(found, kind(e.name))
		}
		if len(found) == len(extensions) {
			return enough
		}
		return nil
	})
	return found
}
