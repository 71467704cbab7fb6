package tool

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/conc"
)

const (
	// maxListed is how many files of a tree are looked at: some 20 MB of names.
	maxListed = 200_000
	// maxWorkers bounds what goes on side by side, and with it the memory that a
	// search takes.
	maxWorkers = 8
)

// treeFile is a file or link that a walk found.
type treeFile struct {
	name    string // relative to where it began, with slashes
	changed int64  // in Unix nanoseconds, where the walk was told to look
}

// keepFile decides which files a walk keeps, by name, and may tell when one changed:
// e is an entry of dir. It is called from several goroutines.
type keepFile func(dir *os.File, e fs.DirEntry, name string) (changed int64, keep bool)

// listing is what a walk kept, in no order that means anything.
type listing struct {
	files  []treeFile
	looked int  // files that were looked at
	more   bool // there are more of them than maxListed
}

// list looks at the files and links below the absolute, link-free directory dir that
// no ignore rule names, and at those git tracks all the same. An ignored directory is
// searched when it is dir itself: whoever asks for it by name wants it. Whatever
// happens first, the answer is the same each time.
func list(ctx context.Context, files *Files, dir string, keep keepFile) (listing, error) {
	var l listing
	w := walker{ctx: ctx, files: files, dir: dir, keep: keep, max: maxListed}
	err := w.walk(func(e treeEntry) error {
		if !e.dir {
			l.files = append(l.files, treeFile{e.name, e.changed})
		}
		return nil
	})
	l.looked, l.more = w.looked, w.looked >= w.max
	return l, err
}

func byName(a, b treeFile) int { return strings.Compare(a.name, b.name) }

// gitTop is the nearest work tree of git's at or above dir, "" when there is none.
func gitTop(dir string) string {
	for at := range gitLooksIn(dir) {
		if isWorkTree(at) {
			return at
		}
	}
	return ""
}

// walker goes through a tree, directories of one depth side by side. They are opened
// through the granted directory, so that a link put in place of one while it walks
// cannot lead it out.
type walker struct {
	ctx   context.Context
	files *Files
	dir   string   // absolute
	keep  keepFile // nil keeps all, and what is neither file nor link too
	max   int      // files looked at, 0 for no bound

	looked  int
	chains  []dirChain // of each goroutine
	indexes sync.Map   // what git tracks in a work tree, by its top: func() []string
}

// treeEntry is something that a walk found.
type treeEntry struct {
	name    string
	dir     bool
	changed int64
	rest    bool // a directory that git ignores, but for what is tracked in it
}

// walkDir is one directory of a walk.
type walkDir struct {
	rel   string // relative to walker.dir, "" for that itself
	rules ignoreSet

	// What reading it gave.
	entries []treeEntry
	looked  int
	err     error
}

// walk calls visit for all that lies below w.dir, is kept and not ignored, the shallow
// ones first. visit may return fs.SkipDir for a directory that is not to be entered;
// another error ends the walk. What cannot be read is passed over, but for w.dir itself.
func (w *walker) walk(visit func(treeEntry) error) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	t, err := w.files.resolve(w.dir, false)
	if err == nil {
		err = t.refused()
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
		w.index(top) // git may take a while: what it lists is needed later, if at all
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

// readAll reads directories of one depth: all of them, or the first ones that hold as
// many files as are to be looked at.
func (w *walker) readAll(level []*walkDir) {
	var looked atomic.Int64
	enough := func() bool { return w.ctx.Err() != nil || w.max > 0 && looked.Load() >= int64(w.max-w.looked) }
	inOrder(len(level), len(w.chains), enough, func(worker, i int) {
		level[i].err = w.read(&w.chains[worker], level[i])
		looked.Add(int64(level[i].looked))
	})
}

// inOrder calls do for 0 to n-1 from so many workers, goroutines side by side, and with
// the number of the one that does. They are taken in order: when enough says so no more are begun, and all
// before the last that was begun are done. A panic of one comes to the caller when all have ended.
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
	if w.files.deniedName(abs) {
		return nil
	}
	dir, err := chain.entries(filepath.FromSlash(d.rel))
	if err != nil {
		return chain.at.errorf(err, "")
	}
	defer dir.Close()
	var entries []fs.DirEntry
	for err == nil && w.ctx.Err() == nil && (w.max == 0 || len(entries) < w.max) {
		var some []fs.DirEntry
		some, err = dir.ReadDir(nameBatch)
		entries = append(entries, some...)
	}
	if err != nil && !errors.Is(err, io.EOF) && d.rel == "" {
		return chain.at.errorf(err, "")
	}
	w.enter(d, abs, entries)
	w.take(d, dir, filepath.ToSlash(abs), entries)
	return nil
}

// enter brings the rules up to what counts in the directory itself.
func (w *walker) enter(d *walkDir, abs string, entries []fs.DirEntry) {
	var has [3]bool
	names := ignoreFiles()
	for _, e := range entries {
		switch name := e.Name(); {
		case name[0] != '.':
		case name == ".git":
			if d.rel != "" && isWorkTree(abs) {
				d.rules = d.rules.inRepository(abs)
			}
		default:
			if i := slices.Index(names[:], name); i >= 0 {
				has[i] = true
			}
		}
	}
	d.rules = d.rules.with(w.files, abs, has)
}

// take keeps what is not ignored.
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
		d.entries = append(d.entries, found)
	}
}

// isTracked says whether git's index holds what an ignore rule names.
func (w *walker) isTracked(rules *ignoreSet, abs string, isDir bool) bool {
	if rules.top == "" {
		return false
	}
	name := strings.TrimPrefix(abs[len(filepath.ToSlash(rules.top)):], "/")
	return isTracked(w.index(rules.top)(), name, isDir)
}

// index lists what git tracks in the work tree at top, once it is known.
func (w *walker) index(top string) func() []string {
	known, _ := w.indexes.LoadOrStore(top, sync.OnceValue(w.files.tracked.start(w.ctx, top)))
	return known.(func() []string)
}

// rulesAbove collects the rules that come from above w.dir: from its repository on,
// else the project root, else w.dir itself. They are dropped when they ignore w.dir.
func (w *walker) rulesAbove() ignoreSet {
	var rules ignoreSet
	top := gitTop(w.dir)
	if top != "" {
		rules = rules.inRepository(top)
	} else {
		top = w.dir
		if _, ok := under(w.files.Root(), w.dir); ok {
			top = w.files.Root()
		}
		rules = rules.outside(top)
	}
	rel, ok := under(top, w.dir)
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

var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file for reading. It looks before it opens,
// because opening a FIFO would wait for a writer.
func openRegular(files *Files, abs string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(abs)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	f, err := files.Open(abs)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
