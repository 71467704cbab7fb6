package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	"artoo/tool/environ"
)

// EachIndexed calls each for every name that git's index of the work tree at top
// holds, with slashes; module marks the commit of another repository. Git itself reads
// the index, in whatever version and form (split, sparse), 100,000 names in 80 ms.
func EachIndexed(vars environ.Vars, top string, each func(name string, module bool) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	return Run(ctx, vars, vars, top, top, func(entry string) error {
		mode, name, _ := strings.Cut(entry, "\t")
		return each(name, strings.HasPrefix(mode, "160000 "))
	}, "ls-files", "-s", "-z")
}

// WithoutModules reports that the index in git's directory holds no commit of another repository. In each version of
// its format an entry has its mode as four bytes. An extension "link" names another file with entries, as of a split
// index; "sdir" says that an entry may be a whole directory.
func WithoutModules(dir string) bool {
	index, err := ReadSome(filepath.Join(dir, "index"))
	return err == nil && strings.HasPrefix(index, "DIRC") && !strings.Contains(index, "\x00\x00\xe0\x00") &&
		!strings.Contains(index, "link\x00") && !strings.Contains(index, "sdir\x00")
}

// Indexes keeps the entries of indexes until they change. The zero value is ready; safe for concurrent use.
type Indexes struct {
	// Admitted are the directories of git files that the user admitted; see Dirs.
	Admitted []string
	// Environ are the variables that git gets.
	Environ environ.Vars

	mu  sync.Mutex // guards now
	now map[string]*indexList
}

// maxIndexes is how many indexes are kept; with more, all are read again.
const maxIndexes = 16

type indexList struct {
	size  int64
	mtime time.Time
	names func() []string // reads them once, and panics each time where that panicked
	done  chan struct{}   // is closed once they are read
}

// Of lists the names that the index of the work tree at top holds, as Start does.
func (n *Indexes) Of(ctx context.Context, top string) []string { return n.Start(ctx, top)() }

// Start has the index of the work tree at top read and returns at once. The returned func waits for the names that the
// index holds, in git's order: none where git cannot say, or where ctx ends first, while git goes on for the next
// caller.
func (n *Indexes) Start(ctx context.Context, top string) func() []string {
	dir, _, err := Dirs(top, n.Admitted...)
	if err != nil {
		return func() []string { return nil }
	}
	path := filepath.Join(dir, "index")
	info, err := os.Stat(path)
	if err != nil {
		return func() []string { return nil }
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.now[path]
	if list == nil || list.size != info.Size() || !list.mtime.Equal(info.ModTime()) {
		if n.now == nil || len(n.now) >= maxIndexes {
			n.now = map[string]*indexList{}
		}
		list = &indexList{size: info.Size(), mtime: info.ModTime(), done: make(chan struct{})}
		list.names = sync.OnceValue(func() (names []string) {
			if err := EachIndexed(n.Environ, top, func(name string, _ bool) error {
				names = append(names, name)
				return nil
			}); err != nil {
				return nil
			}
			return names
		})
		n.now[path] = list
		go func() {
			defer close(list.done)
			_ = panics.Try(func() { list.names() }) // the panic reaches the caller that waits
		}()
	}
	return func() []string {
		select {
		case <-list.done:
		case <-ctx.Done():
			select { // Names that are known already count all the same.
			case <-list.done:
			default:
				return nil
			}
		}
		return list.names()
	}
}
