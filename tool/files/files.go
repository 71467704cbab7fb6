// Package files is the confined view of the file system that all file tools share: which
// paths may be read and written, which files are denied, and the lines that the model has seen of them.
package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/names"
)

// Config lists the places that the file tools may reach.
type Config struct {
	Root string // the project root, absolute
	// Dir is the working directory, absolute, in Root; "" means Root.
	Dir string
	// ReadDirs and WriteDirs are further directories, absolute; WriteDirs are
	// readable too. The session's output directory is one of ReadDirs. All of
	// them must exist.
	ReadDirs, WriteDirs []string
	// DenyFiles are further absolute paths (artoo's own settings, keys and state)
	// that are denied besides the built-in list of secrets. One that names a directory
	// denies all beneath it but the granted directories there; they need not exist.
	DenyFiles []string
	// Hide adds to the built-in list of hidden files, and Show takes from it.
	Hide, Show []Pattern
	// Guarded reports whether programs run or obey the file at an absolute path, which a repository must not hide; nil is none.
	Guarded func(abs string) bool
	// Buffers has texts that are not saved yet; nil for none.
	Buffers Buffers
	// GitDirs are the directories of git files that the user admitted.
	GitDirs []string
	// Environ are artoo's own variables, of which the home directory is one. git gets them.
	Environ environ.Vars
}

// Files is the confined view of the file system that all file tools share. It
// follows links inside the granted directories and refuses all that leads out.
// Safe for concurrent use.
type Files struct {
	grants atomic.Pointer[[]*grant] // the project first
	deny   []string                 // DenyFiles, links resolved
	links  resolver
	dir    string // the working directory, links resolved

	hide, show []pattern
	guarded    func(abs string) bool
	run        sync.Map // paths that a command named to run

	buffers Buffers
	unsaved sync.Map // paths that the editor writes the next time
	synced  sync.Map // see grant

	// Seen is the model's knowledge of the files.
	Seen Seen
	// Tracked are the indexes of git's that were read.
	Tracked git.Indexes

	testKeys   testKeys
	secrets    deniedFiles // the denied files with their inodes, as of a moment ago
	finder     func() *names.Finder
	reachLimit int
	writing    sync.Mutex // one write at a time: its check and its rename belong together
}

// grant is a directory the user opened to the file tools.
type grant struct {
	given string
	real  string // the same without links
	root  *os.Root
	write bool

	buffers Buffers   // nil for none
	synced  *sync.Map // hashes of the texts that editor and disk had in common last, by path
}

// Place is a resolved path.
type Place struct {
	Abs     string // absolute, clean, links resolved as far as the path exists
	Display string // relative to the working directory where it is in the project (with slashes), else Abs
	Outside bool   // true in no granted directory (for writing, if write was asked)
	Denied  bool   // it is hidden
	Why     string // why it is Outside or Denied, or the meaning of InGit for a write, in words
	InGit   bool   // true in a .git directory: writing there is asked in every mode

	grant *grant // nil where the place is Outside
	rel   string // the path in there
}

// RefusedError is returned for a place that is Outside or Denied.
type RefusedError struct{ Place Place }

// Error is the place's Why.
func (e *RefusedError) Error() string { return e.Place.Why }

// GrantError says that a directory of a FilesConfig cannot be opened.
type GrantError struct {
	Dir string
	Err error
}

// Error names the directory and the reason.
func (e *GrantError) Error() string { return fmt.Sprintf("directory %s: %v", e.Dir, cause(e.Err)) }

// Unwrap returns the reason.
func (e *GrantError) Unwrap() error { return e.Err }

// ErrorKind is "config": the directory came from the user.
func (e *GrantError) ErrorKind() string { return "config" }

// ErrorHint names the remedy.
func (e *GrantError) ErrorHint() string {
	return "name an existing directory, with its full path; several are separated by commas"
}

// Open opens the granted directories, or returns a *GrantError. Close it at the end.
func Open(cfg Config) (*Files, error) {
	f := &Files{guarded: cfg.Guarded, buffers: cfg.Buffers, reachLimit: ReachLimit,
		links: resolver{lstat: os.Lstat, foldCase: runtime.GOOS == "darwin"}}
	f.Tracked.Admitted, f.Tracked.Environ = cfg.GitDirs, cfg.Environ
	f.finder = sync.OnceValue(f.deniedFinder)
	if dir, err := f.open(cfg); err != nil {
		f.Close()
		return nil, &GrantError{Dir: dir, Err: err}
	}
	return f, nil
}

// open opens the granted directories. With an error it names the directory.
func (f *Files) open(cfg Config) (dir string, err error) {
	for i, dir := range slices.Concat([]string{cfg.Root}, cfg.WriteDirs, cfg.ReadDirs) {
		if err := f.grant(dir, i <= len(cfg.WriteDirs)); err != nil {
			return dir, err
		}
	}
	for _, path := range cfg.DenyFiles {
		real, err := f.links.real(filepath.Clean(path))
		if err != nil {
			return path, err
		}
		f.deny = append(f.deny, real)
	}
	if err := f.workIn(cfg.Dir); err != nil {
		return cfg.Dir, err
	}
	home := cfg.Environ.Home()
	f.hide, f.show = ready(cfg.Hide, f.Root(), f.dir, home), ready(cfg.Show, f.Root(), f.dir, home)
	return "", nil
}

// workIn sets the working directory, which must be in the project.
func (f *Files) workIn(dir string) error {
	f.dir = f.Root()
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		return errors.New("is not an absolute path")
	}
	real, err := f.links.real(filepath.Clean(dir))
	if err != nil {
		return err
	}
	if _, ok := f.granted()[0].covers(real); !ok {
		return errors.New("is not in the project " + f.Root())
	}
	f.dir = real
	return nil
}

func (f *Files) grant(dir string, write bool) error {
	if !filepath.IsAbs(dir) {
		return errors.New("is not an absolute path")
	}
	dir = filepath.Clean(dir)
	real, err := f.links.real(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(real)
	if err == nil {
		more := append(slices.Clone(f.granted()), &grant{given: dir, real: real, root: root, write: write, buffers: f.buffers, synced: &f.synced})
		f.grants.Store(&more)
	}
	return err
}

// granted are the granted directories, the project first.
func (f *Files) granted() []*grant {
	if all := f.grants.Load(); all != nil {
		return *all
	}
	return nil
}

// AllowRead opens one more directory, absolute, for reading; one that may be read already stays as
// it is. It is safe beside calls of other methods, not beside another AllowRead. The error is a
// *GrantError.
func (f *Files) AllowRead(dir string) error {
	if place, err := f.Resolve(dir, false); err == nil && !place.Outside && !place.Denied {
		return nil
	}
	if err := f.grant(dir, false); err != nil {
		return &GrantError{Dir: dir, Err: err}
	}
	return nil
}

// Close gives the directories back. Calls that still run fail.
func (f *Files) Close() error {
	var errs []error
	for _, g := range f.granted() {
		errs = append(errs, g.root.Close())
	}
	return errors.Join(errs...)
}

// Root is the project root, absolute and without links.
func (f *Files) Root() string { return f.granted()[0].real }

// Dir is the working directory, absolute and without links.
func (f *Files) Dir() string { return f.dir }

// covers is path relative to the granted directory, if it is in there.
func (g *grant) covers(path string) (rel string, ok bool) { return names.Relative(g.real, path) }

// cause strips the operation and path that os puts around an error.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return linkErr.Err
	}
	return err
}

// Refused returns a *RefusedError if nothing may be done at the place.
func (t Place) Refused() error {
	if t.Outside || t.Denied {
		return &RefusedError{t}
	}
	return nil
}

// Errorf describes a failure at the place; err may be nil.
func (t Place) Errorf(err error, format string, args ...any) error {
	words := t.Display + ": " + fmt.Sprintf(format, args...)
	if err == nil {
		return errors.New(words)
	}
	return fmt.Errorf("%s%w", words, cause(err))
}

// Beside opens another directory, of which the same files of artoo's own are denied.
func (f *Files) Beside(dir string) (*Files, error) {
	beside := Config{Root: dir, DenyFiles: f.deny, Environ: f.Tracked.Environ}
	for _, p := range f.hide {
		beside.Hide = append(beside.Hide, p.Pattern)
	}
	return Open(beside)
}
