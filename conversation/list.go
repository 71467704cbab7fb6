package conversation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Info describes a session for a list. Its JSON is what artoo sessions --json prints.
type Info struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	CWD      string    `json:"cwd"`     // "" when the header cannot be read
	Started  time.Time `json:"started"` // zero when the header cannot be read
	Updated  time.Time `json:"updated"` // when the file was last written
	First    string    `json:"first"`   // the first words of the user on one line; may be ""
	Messages int       `json:"messages"`
	Provider string    `json:"provider"` // configured name at the start
	Model    string    `json:"model"`    // that answered last, else the one it started with
	ForkOf   string    `json:"fork_of,omitempty"`
	Name     string    `json:"name,omitempty"`     // that the user gave it
	Headless bool      `json:"headless,omitempty"` // it began with a headless run
	// CostUSD is what its requests cost in US dollars; nil where a price is not
	// known, or an older artoo wrote the session.
	CostUSD *float64 `json:"cost_usd"`
}

// Bounds of what List reads of each file.
const (
	headBytes  = 32 << 10 // for the header, and the whole of a short file
	peekBytes  = 1 << 20  // at most, to find the header and the first user message
	tailBytes  = 4 << 10  // to find the last turn marker
	longTail   = 64 << 10 // where it does not stand there
	firstChars = 80
)

// List describes all sessions, the last written first. It reads the beginning
// and the end of each file, and the whole only where the end does not tell how
// many messages there are. Files that are broken or cannot be read are listed
// with what is known.
func (st Store) List() ([]Info, error) {
	files, err := st.files()
	if err != nil {
		return nil, err
	}
	return describeAll(files), nil
}

// Recent is the newest n sessions, newest first, as List describes them.
func (st Store) Recent(n int) ([]Info, error) {
	files, err := st.files()
	if err != nil {
		return nil, err
	}
	return describeAll(files[:min(n, len(files))]), nil
}

// describeAll describes files, on as many processors as there are.
func describeAll(files []found) []Info {
	infos := make([]Info, len(files))
	errs := make([]error, len(files))
	inParallel(len(files), filesAtOnce, func() func(from, to int) {
		var d describer
		return func(from, to int) {
			for i := from; i < to; i++ {
				infos[i], errs[i] = d.describe(files[i])
			}
		}
	})
	known := infos[:0]
	for i, info := range infos {
		if !errors.Is(errs[i], os.ErrNotExist) { // removed since the directory was read
			known = append(known, info)
		}
	}
	return known
}

// filesAtOnce is how many files one processor describes before it looks for more.
const filesAtOnce = 16

// inParallel does n things on as many processors as there are, some at once at a time.
// worker is called for each processor, on a goroutine of its own.
func inParallel(n, some int, worker func() func(from, to int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+some-1)/some) {
		workers.Go(func() {
			do := worker()
			for to := int(next.Add(int64(some))); to-some < n; to = int(next.Add(int64(some))) {
				do(to-some, min(to, n))
			}
		})
	}
	workers.Wait()
}

// found is a session file in the directory.
type found struct {
	path     string
	modified time.Time
	size     int64
}

// files lists the session files, the last written first.
func (st Store) files() ([]found, error) {
	entries, err := os.ReadDir(st.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(st.Dir, err)
	}
	files := make([]found, len(entries))
	inParallel(len(entries), filesAtOnce, func() func(from, to int) {
		return func(from, to int) {
			for i := from; i < to; i++ {
				files[i] = st.look(entries[i])
			}
		}
	})
	files = slices.DeleteFunc(files, func(f found) bool { return f.path == "" })
	slices.SortStableFunc(files, func(a, b found) int {
		if c := b.modified.Compare(a.modified); c != 0 {
			return c
		}
		return strings.Compare(b.path, a.path)
	})
	return files, nil
}

// look looks at an entry of the directory; the path is "" where it is no session's, or
// is gone since the directory was read.
func (st Store) look(e fs.DirEntry) found {
	if !strings.HasSuffix(e.Name(), fileExt) || e.IsDir() {
		return found{}
	}
	path := filepath.Join(st.Dir, e.Name())
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return found{}
	}
	return found{path, info.ModTime(), info.Size()}
}

// find returns the file of the session whose id is asked, or begins with it, or
// which the user called so.
func (st Store) find(asked string) (string, error) {
	files, err := st.files()
	if err != nil {
		return "", err
	}
	var paths, ids []string
	for _, f := range files {
		id := idOf(f.path)
		if id == asked {
			return f.path, nil
		}
		if asked != "" && strings.HasPrefix(id, strings.ToLower(asked)) {
			paths, ids = append(paths, f.path), append(ids, id)
		}
	}
	if len(paths) == 0 {
		for _, info := range describeAll(files) {
			if asked != "" && strings.EqualFold(info.Name, asked) {
				paths, ids = append(paths, info.Path), append(ids, info.ID)
			}
		}
	}
	if len(paths) == 1 {
		return paths[0], nil
	}
	slices.Sort(ids)
	if len(ids) > 0 {
		return "", lookupError("session %s: several are called so: %s", asked, strings.Join(ids, ", "))
	}
	return "", lookupError("session %s: there is none with this id or name", asked)
}

// idOf is the id in a file's name; a name that artoo did not make is its own
// id.
func idOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), fileExt)
	if i := len(stamp); len(name) > i+1 && name[i] == '-' {
		if _, err := time.Parse(stamp, name[:i]); err == nil {
			return name[i+1:]
		}
	}
	return name
}
