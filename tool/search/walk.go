// Package search walks trees as git and ripgrep do, and searches names and contents of files.
package search

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/conc"

	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/names"
)

const (
	// MaxListed is how many files of a tree are looked at: some 20 MB of names.
	MaxListed = 200_000
	// maxWorkers bounds the parallel readers, and with it the memory that a search takes.
	maxWorkers = 8
)

// File is a file or link that a walk found.
type File struct {
	Name    string // relative to where it began, with slashes
	Changed int64  // Unix nanoseconds; 0 unless the walk looks
}

// keepFile decides which files a walk keeps; dir holds e. It is called from several goroutines.
type keepFile func(dir *os.File, e fs.DirEntry, name string) (changed int64, keep bool)

// Listing is the result of a walk, in no order that means anything.
type Listing struct {
	Files  []File
	looked int  // files that were looked at
	Hidden int  // files and directories left out since they are hidden
	More   bool // there are more of them than MaxListed
}

// List looks at the files and links below the absolute, link-free directory dir that
// no ignore rule names, and at those git tracks all the same. An ignored directory is
// searched when it is dir itself: a search that names it wants it. Whatever
// happens first, the answer is the same each time.
func List(ctx context.Context, files *files.Files, dir string, keep keepFile) (Listing, error) {
	var l Listing
	w := walker{ctx: ctx, files: files, dir: dir, keep: keep, max: MaxListed}
	err := w.walk(func(e treeEntry) error {
		if !e.dir {
			l.Files = append(l.Files, File{e.name, e.changed})
		}
		return nil
	})
	l.looked, l.Hidden, l.More = w.looked, w.hidden, w.looked >= w.max
	return l, err
}

func byName(a, b File) int { return strings.Compare(a.Name, b.Name) }

// walker goes through a tree, directories of one depth side by side. They are opened
// through the granted directory, so that a link put in place of one while it walks
// cannot lead it out.
type walker struct {
	ctx   context.Context
	files *files.Files
	dir   string   // absolute
	keep  keepFile // nil keeps all, also entries that are neither file nor link
	max   int      // files looked at, 0 for no bound

	looked  int
	hidden  int
	chains  []dirChain
	indexes sync.Map // maps the top of a work tree to a func() []string
}

// treeEntry is something that a walk found.
type treeEntry struct {
	name    string
	dir     bool
	changed int64
	rest    bool // a directory that git ignores, except for tracked files in it
}

// walkDir is one directory of a walk.
type walkDir struct {
	rel   string // relative to walker.dir, "" for that itself
	rules ignoreSet

	// The result of reading it.
	entries []treeEntry
	looked  int
	hidden  int
	err     error
}

// walk calls visit for all that lies below w.dir, is kept and not ignored, the shallow
// ones first. visit may return fs.SkipDir for a directory that is not to be entered;
// another error ends the walk. Directories that cannot be read are passed over, except w.dir itself.
func (w *walker) walk(visit func(treeEntry) error) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	t, err := w.files.Resolve(w.dir, false)
	if err == nil {
		err = t.Refused()
	}
	if err != nil {
		return err
	}
	w.chains = make([]dirChain, workers())
	for i := range w.chains {
		w.chains[i].at = t
		defer w.chains[i].close()
	}
	level := []*walkDir{{rules: w.rulesAbove()}}
	if top := level[0].rules.top; top != "" {
		w.index(top) // git may take a while: its list is needed later, if at all
	}
	for len(level) > 0 {
		w.readAll(level)
		if level[0].rel == "" && level[0].err != nil {
			return level[0].err
		}
		var next []*walkDir
		for _, d := range level {
			if w.max > 0 && w.looked >= w.max {
				return nil
			}
			w.looked += d.looked
			w.hidden += d.hidden
			for _, e := range d.entries {
				stop := visit(e)
				if stop != nil && !errors.Is(stop, fs.SkipDir) {
					return stop
				}
				if stop == nil && e.dir {
					below := &walkDir{rel: e.name, rules: d.rules}
					below.rules.rest = e.rest
					next = append(next, below)
				}
			}
			d.entries = nil
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
		level = next
	}
	return nil
}

// readAll reads directories of one depth, as many as are needed for w.max files.
func (w *walker) readAll(level []*walkDir) {
	var looked atomic.Int64
	enough := func() bool { return w.ctx.Err() != nil || w.max > 0 && looked.Load() >= int64(w.max-w.looked) }
	inOrder(len(level), len(w.chains), enough, func(worker, i int) {
		level[i].err = w.read(&w.chains[worker], level[i])
		looked.Add(int64(level[i].looked))
	})
}

// inOrder calls do for 0 to n-1 in so many goroutines, in order, until enough says so. All that
// was begun is done when it returns; a panic of one comes to the caller.
func inOrder(n, workers int, enough func() bool, do func(worker, i int)) {
	var next atomic.Int64
	var wg conc.WaitGroup
	for worker := range min(n, workers) {
		wg.Go(func() {
			for !enough() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(worker, i)
			}
		})
	}
	wg.Wait()
}

// workers is how many goroutines search now; the system may change it at any time.
func workers() int { return min(maxWorkers, runtime.GOMAXPROCS(0)) }

// read reads one directory.
func (w *walker) read(chain *dirChain, d *walkDir) error {
	abs := filepath.Join(w.dir, filepath.FromSlash(d.rel))
	dir, err := chain.entries(filepath.FromSlash(d.rel))
	if err != nil {
		return chain.at.Errorf(err, "")
	}
	defer dir.Close()
	var entries []fs.DirEntry
	for err == nil && w.ctx.Err() == nil && (w.max == 0 || len(entries) < w.max) {
		var some []fs.DirEntry
		some, err = dir.ReadDir(nameBatch)
		entries = append(entries, some...)
	}
	if err != nil && !errors.Is(err, io.EOF) && d.rel == "" {
		return chain.at.Errorf(err, "")
	}
	w.enter(d, abs, entries)
	w.take(d, dir, filepath.ToSlash(abs), entries)
	return nil
}

// enter brings the rules up to those of the directory itself.
func (w *walker) enter(d *walkDir, abs string, entries []fs.DirEntry) {
	var has [3]bool
	names := ignoreFiles()
	for _, e := range entries {
		switch name := e.Name(); {
		case name[0] != '.':
		case name == ".git":
			if d.rel != "" && git.IsWorkTree(abs, w.files.Tracked.Admitted...) {
				d.rules = d.rules.inRepository(w.files.Tracked.Environ, abs, w.files.Tracked.Admitted)
			}
		default:
			if i := slices.Index(names[:], name); i >= 0 {
				has[i] = true
			}
		}
	}
	d.rules = d.rules.with(w.files, abs, has)
}

// take keeps entries that are not ignored.
func (w *walker) take(d *walkDir, dir *os.File, abs string, entries []fs.DirEntry) {
	cut := len(filepath.ToSlash(w.dir)) + 1
	if strings.HasSuffix(abs, "/") {
		abs, cut = abs[:len(abs)-1], cut-1 // the root of a file system
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		path := abs + "/" + e.Name()
		ignored, byGit := d.rules.ignores(path, e.IsDir())
		if ignored && !(byGit && w.isTracked(&d.rules, path, e.IsDir())) {
			continue
		}
		found := treeEntry{name: path[cut:], dir: e.IsDir(), rest: ignored}
		if !found.dir && w.keep != nil {
			if !e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0 {
				continue
			}
			d.looked++
			var keep bool
			if found.changed, keep = w.keep(dir, e, found.name); !keep {
				continue
			}
		}
		if w.files.HidesName(filepath.FromSlash(path)) {
			d.hidden++
			continue
		}
		d.entries = append(d.entries, found)
	}
}

// isTracked reports whether git's index holds an ignored name.
func (w *walker) isTracked(rules *ignoreSet, abs string, isDir bool) bool {
	if rules.top == "" {
		return false
	}
	name := strings.TrimPrefix(abs[len(filepath.ToSlash(rules.top)):], "/")
	return isTracked(w.index(rules.top)(), name, isDir)
}

// index lists the files git tracks in the work tree at top, once they are known.
func (w *walker) index(top string) func() []string {
	known, _ := w.indexes.LoadOrStore(top, sync.OnceValue(w.files.Tracked.Start(w.ctx, top)))
	return known.(func() []string)
}

// rulesAbove collects the rules that come from above w.dir: from its repository on,
// else the project root, else w.dir itself. They are dropped when they ignore w.dir.
func (w *walker) rulesAbove() ignoreSet {
	var rules ignoreSet
	top := git.Top(w.files.Tracked.Environ, w.dir, w.files.Tracked.Admitted...)
	if top != "" {
		rules = rules.inRepository(w.files.Tracked.Environ, top, w.files.Tracked.Admitted)
	} else {
		top = w.dir
		if _, ok := names.Relative(w.files.Root(), w.dir); ok {
			top = w.files.Root()
		}
		rules = rules.outside(w.files.Tracked.Environ, top)
	}
	rel, ok := names.Relative(top, w.dir)
	if !ok || rel == "." {
		return rules
	}
	above := rules
	for at := top; at != w.dir; {
		above = above.with(w.files, at, [3]bool{true, true, true})
		name, _, _ := strings.Cut(strings.TrimPrefix(w.dir[len(at):], string(filepath.Separator)),
			string(filepath.Separator))
		at = filepath.Join(at, name)
	}
	if above.ignoresAny(top, w.dir) {
		return ignoreSet{top: rules.top, fold: rules.fold}
	}
	return above
}

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
	_ = w.walk(func(e treeEntry) error {
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
