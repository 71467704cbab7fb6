// Package files is the confined view of the file system that all file tools share: which
// paths may be read and written, which files are denied, and the lines that the model has seen of them.
package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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

// Resolve finds where path leads; relative paths start at the working directory. The
// error is for paths that cannot mean anything (empty, NUL byte, a loop of
// links, "~"). With write, a place that may only be read is Outside.
func (f *Files) Resolve(path string, write bool) (Place, error) {
	start, rest, err := f.start(path)
	if err != nil {
		return Place{}, err
	}
	abs, err := f.links.walk(start, rest)
	if err != nil {
		return Place{}, fmt.Errorf("path %q: %w", path, err)
	}
	t := Place{Abs: abs, Display: f.display(abs)}
	t.grant, t.rel = f.grantOf(abs, write)
	t.InGit = inGit(rest) || t.grant != nil && inGit(t.rel)
	if t.grant == nil {
		t.Outside = true
		t.Why = f.whyOutside(path, filepath.Join(start, rest), abs)
		return t, nil
	}
	if why := f.hidden(t); why != "" {
		t.Denied = true
		t.Why = fmt.Sprintf("%s %s, so it is hidden", t.Display, why)
	} else if t.InGit && write {
		t.Why = t.Display + " belongs to git itself: artoo asks about every write in .git"
	}
	return t, nil
}

// found is the place of an entry that a search of granted directories has found, which is no link.
func (f *Files) found(abs string) Place {
	t := Place{Abs: abs, Display: f.display(abs)}
	t.grant, t.rel = f.grantOf(abs, false)
	t.InGit = inGit(t.rel)
	return t
}

// start splits path into a link-free directory and the rest to follow from there.
func (f *Files) start(path string) (dir, rest string, err error) {
	switch {
	case strings.TrimSpace(path) == "":
		return "", "", errors.New("the path is empty: give one relative to the working directory, such as . for the " +
			"directory itself")
	case strings.ContainsRune(path, 0):
		return "", "", fmt.Errorf("path %q: holds a NUL byte", path)
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "", "", fmt.Errorf("path %q: ~ is not expanded here; give a path relative to the working directory, or "+
			"an absolute one", path)
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		return f.dir, path, nil
	}
	if g, _, rest := f.grantedAt(path); g != nil {
		return g.real, rest, nil // the way to the granted directory was followed when it was opened
	}
	return string(filepath.Separator), path, nil
}

// grantedAt is the granted directory, as it is spelled in path, and the rest; nil for none.
func (f *Files) grantedAt(path string) (g *grant, dir, rest string) {
	for _, g := range f.granted() {
		for _, dir := range []string{g.real, g.given} {
			if rest, ok := names.Relative(dir, path); ok {
				return g, dir, rest
			}
		}
	}
	return nil, "", ""
}

// grantOf finds the innermost granted directory around abs that may be read, or written.
func (f *Files) grantOf(abs string, write bool) (best *grant, rel string) {
	for _, g := range f.granted() {
		if write && !g.write || best != nil && len(g.real) <= len(best.real) {
			continue
		}
		if r, ok := g.covers(abs); ok {
			best, rel = g, r
		}
	}
	return best, rel
}

func (f *Files) display(abs string) string {
	if _, ok := f.granted()[0].covers(abs); !ok {
		return abs
	}
	rel, err := filepath.Rel(f.dir, abs)
	if err != nil {
		return abs // The path is on another volume.
	}
	return filepath.ToSlash(rel)
}

func (f *Files) whyOutside(path, written, abs string) string {
	what := path
	if written != abs {
		what = fmt.Sprintf("%s leads to %s, which", path, abs)
	}
	if g, _ := f.grantOf(abs, false); g != nil {
		return fmt.Sprintf("%s is in %s, which is open for reading only (--add-dir %s:rw opens it for writing)", what,
			g.given, g.given)
	}
	return fmt.Sprintf("%s is outside the project %s (--add-dir opens further directories)", what, f.Root())
}

// inGit reports whether a part of the path is .git in any spelling that a file system may take for it.
func inGit(path string) bool {
	for _, name := range Split(path) {
		if names.Fold(name) == ".git" {
			return true
		}
	}
	return false
}

// maxLinks is how many links one path may go through, as in Linux.
const maxLinks = 40

var errTooManyLinks = errors.New("too many symbolic links, perhaps a loop")

// resolver finds the link-free spelling of paths. It confines nothing: its result is checked against the grants, and
// the file is then opened through os.Root, which cannot leave them whatever has changed in between.
type resolver struct {
	lstat func(string) (fs.FileInfo, error)
	// foldCase is set where file systems ignore case: names are then spelled as in their directory.
	foldCase bool
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// real is the link-free spelling of an absolute path, as far as it can be looked at.
func (r *resolver) real(abs string) (string, error) {
	return r.walk(string(filepath.Separator), abs)
}

// walk follows rest from the link-free directory cur as the kernel does, ".." after a link included.
func (r *resolver) walk(cur, rest string) (string, error) {
	todo := Split(rest)
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, name)
		info, err := r.lstat(next)
		if err != nil && !slices.Contains(todo, "..") {
			return filepath.Join(append([]string{next}, todo...)...), nil // nothing below can be looked at
		}
		if err != nil {
			cur = next
			continue
		}
		var target string
		isLink := info.Mode()&fs.ModeSymlink != 0
		if isLink {
			target, err = os.Readlink(next)
		}
		if !isLink || err != nil {
			if r.foldCase {
				next = filepath.Join(cur, r.spelling(cur, name, info))
			}
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return "", errTooManyLinks
		}
		if filepath.IsAbs(target) {
			cur = string(filepath.Separator)
		}
		todo = append(Split(target), todo...)
	}
	return cur, nil
}

// Split returns the parts of path that mean something.
func Split(path string) []string {
	parts := strings.FieldsFunc(path, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) })
	kept := parts[:0]
	for _, p := range parts {
		if p != "." {
			kept = append(kept, p)
		}
	}
	return kept
}

// spelling is how dir itself spells the name of the file that info describes.
func (r *resolver) spelling(dir, name string, info fs.FileInfo) string {
	there, err := readNames(dir)
	if err != nil || slices.Contains(there, name) {
		return name
	}
	folded := names.Fold(name)
	at := slices.IndexFunc(there, func(other string) bool { return names.Fold(other) == folded })
	if at < 0 { // the file system may take another form of Unicode for the same name
		at = slices.IndexFunc(there, func(other string) bool {
			found, err := r.lstat(filepath.Join(dir, other))
			return err == nil && os.SameFile(info, found)
		})
	}
	if at < 0 {
		return name
	}
	return there[at]
}

// ReachLimit is how many entries are examined for secrets in a directory, or to expand a glob; beyond it the user is
// asked.
const ReachLimit = 20000

var errReachTooMuch = errors.New("it reads too many files to check beforehand")

// Reach returns nil if a command that runs in dir may read the paths of arg: inside the granted directories and not on
// the deny list. Links and ".." count as the kernel takes them. Globs stand for all that a shell could make of them,
// which must not look like options. A missing path is judged by its place. With recursive, a directory must not hold
// anything denied either, nor links to directories elsewhere. The policy asks before a command runs unasked.
func (f *Files) Reach(dir, arg string, recursive bool) error {
	base := dir
	if filepath.IsAbs(arg) {
		// A glob does not begin in the name of a granted directory.
		g, granted, rest := f.grantedAt(arg)
		if base, arg = granted, rest; g == nil {
			base, arg = string(filepath.Separator), strings.TrimLeft(rest, string(filepath.Separator))
		}
	}
	paths, err := f.expand(base, arg)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if recursive {
			err = f.readableBelow(p)
		} else {
			_, err = f.readable(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readable is the place that path leads to, if the command may read it.
func (f *Files) readable(path string) (Place, error) {
	place, err := f.Resolve(path, false)
	if err == nil && (place.Outside || place.Denied) {
		err = errors.New(place.Why)
	}
	return place, err
}

// readableBelow is readable for path and all that is beneath it.
func (f *Files) readableBelow(path string) error {
	top, err := f.readable(path)
	if err != nil {
		return err
	}
	seen := 0
	return filepath.WalkDir(top.Abs, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // The command cannot read it either.
		}
		if seen++; seen > f.reachLimit {
			return errReachTooMuch
		}
		if d.Type()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			t := f.found(at)
			if why := f.hidden(t); why != "" {
				return errors.New(t.Display + " " + why)
			}
			return nil
		}
		place, err := f.readable(at)
		if err != nil {
			return err
		}
		if _, inside := names.Relative(top.Abs, place.Abs); inside {
			return nil
		}
		if info, err := os.Stat(place.Abs); err == nil && info.IsDir() {
			return errors.New(f.display(at) + " is a link to another directory")
		}
		return nil
	})
}

// expand lists the paths a glob in base may stand for, and the path itself. It takes too many rather than too few: a
// shell's reading of brackets and question marks depends on its version and language, so they count as stars.
func (f *Files) expand(base, glob string) ([]string, error) {
	all := []string{below(base, glob)}
	if !strings.ContainsAny(glob, "*?[") {
		return all, nil
	}
	found, looked := []string{base}, 0
	for _, part := range Split(glob) {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, below(dir, part))
				continue
			}
			if _, err := f.readable(dir); err != nil {
				return nil, err
			}
			names, err := readNames(dir)
			if err != nil {
				continue // no directory, or none that the command can list
			}
			if looked += len(names); looked > f.reachLimit {
				return nil, errReachTooMuch
			}
			for _, name := range names {
				if !globMay(part, name) {
					continue
				}
				if dir == base && strings.HasPrefix(name, "-") {
					return nil, errors.New("a file is named like an option: " + name)
				}
				next = append(next, below(dir, name))
			}
		}
		found = next
	}
	return append(found, all...), nil
}

// below joins without cleaning: a/.. is not . when a is a link.
func below(dir, name string) string {
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + name
}

// globMay reports whether a part of a glob may stand for a name.
func globMay(glob, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(glob, ".") {
		return false
	}
	glob, _, cut := strings.Cut(strings.NewReplacer("?", "*", `\`, `\\`).Replace(glob), "[")
	if cut {
		glob += "*"
	}
	may, err := path.Match(glob, name)
	return may || err != nil
}

// LeadsOut says whether no directory on the way to path, which is absolute, is
// one that the file tools may read: where one is, a link in it led out, and that
// may be a repository's.
func (f *Files) LeadsOut(path string) bool {
	if path != filepath.Clean(path) {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		place, err := f.Resolve(dir, false)
		if err != nil || !place.Outside {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// Beside opens another directory, of which the same files of artoo's own are denied.
func (f *Files) Beside(dir string) (*Files, error) {
	beside := Config{Root: dir, DenyFiles: f.deny, Environ: f.Tracked.Environ}
	for _, p := range f.hide {
		beside.Hide = append(beside.Hide, p.Pattern)
	}
	return Open(beside)
}

// Seen holds the lines of files that the model knows: those it was shown, and those it wrote. The zero Seen is ready; it is safe for concurrent use.
type Seen struct {
	mu    sync.Mutex
	files map[string]ReadState
	kept  int // bytes of the texts in files
}

// Aside returns a func that restores the model's present knowledge of the files, whatever it is shown until then.
func (s *Seen) Aside() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, kept := maps.Clone(s.files), s.kept
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.files, s.kept = files, kept
	}
}

// ReadState is the state of a file when the model was shown it, and the lines shown.
type ReadState struct {
	State
	Whole bool
	Lines []Span // those shown of a file that is not whole; in order, apart
	Of    int    // lines the file has, 0 when unknown
	Cells []Span // those shown of a notebook, by their numbers; in order, apart
	// Body is the text as it was shown, "" when it was not Kept.
	Body string
	Kept bool
	// ours is the state in which a command of the model's own left the file since, nil for none.
	ours *State
}

// Span is a run of lines, counted from 1, to excluded.
type Span struct{ From, To int }

// JoinSpans puts spans in order and joins those that touch.
func JoinSpans(spans []Span) []Span {
	slices.SortStableFunc(spans, func(a, b Span) int { return a.From - b.From })
	var joined []Span
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && s.From <= joined[last].To {
			joined[last].To = max(joined[last].To, s.To)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// Replaced is where spans are after n new items took the place of those from one to another, excluded.
func Replaced(spans []Span, from, to, n int) []Span {
	now := []Span{{from, from + n}}
	shift := n - (to - from)
	for _, s := range spans {
		now = append(now, Span{s.From, min(s.To, from)}, Span{max(s.From, to) + shift, s.To + shift})
	}
	return JoinSpans(slices.DeleteFunc(now, func(s Span) bool { return s.From >= s.To }))
}

// ShowsCell reports whether the model has seen the source of a notebook's cell.
func (s ReadState) ShowsCell(number int) bool {
	return s.Whole || slices.ContainsFunc(s.Cells, func(c Span) bool { return c.From <= number && number < c.To })
}

// Unseen says why the file may not be replaced as a whole, "" where it may.
func (s ReadState) Unseen() string {
	if s.Whole {
		return ""
	}
	next, to := 1, s.Of
	if len(s.Lines) > 0 && s.Lines[0].From == 1 {
		next = s.Lines[0].To
		if len(s.Lines) > 1 {
			to = s.Lines[1].From - 1
		}
	} else if len(s.Lines) > 0 {
		to = s.Lines[0].From - 1
	}
	if s.Of == 0 {
		return "was not shown as the text it is; change a part of it with edit"
	}
	if next == to {
		return fmt.Sprintf("line %d of %d was not shown whole, and would be lost; read it first (offset=%d), or "+
			"change a part with edit, which also works on lines too long to show",
			next, s.Of, next)
	}
	return fmt.Sprintf("lines %d-%d of %d were not shown whole, and would be lost; read them first (offset=%d), or "+
		"change a part with edit", next, to, s.Of, next)
}

// ChangedByCommand reports whether a command of the model's own made the file's present state.
func (s ReadState) ChangedByCommand(now State) bool { return s.ours != nil && s.ours.Same(now) }

// Of is the model's state of the file at a Place.Abs; ok is false for an unknown file.
func (s *Seen) Of(abs string) (known ReadState, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok = s.files[abs]
	return known, ok
}

// Bounds of the texts that are kept to show the changes of others, in bytes.
const (
	MaxKeptText  = 256 << 10
	maxKeptTexts = 8 << 20
)

// Keep replaces the model's state of a file.
func (s *Seen) Keep(abs string, known ReadState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]ReadState{}
	}
	s.kept -= len(s.files[abs].Body)
	if len(known.Body) > MaxKeptText || s.kept+len(known.Body) > maxKeptTexts {
		known.Body, known.Kept = "", false
	}
	s.kept += len(known.Body)
	s.files[abs] = known
}

// AddPage adds lines shown of a file to those shown before of the same content.
func (s *Seen) AddPage(abs string, now ReadState) {
	if old, ok := s.Of(abs); ok && !now.Whole && old.Same(now.State) {
		if now.Whole = old.Whole; !now.Whole {
			now.Lines = JoinSpans(append(slices.Clone(old.Lines), now.Lines...))
			now.Cells = JoinSpans(append(slices.Clone(old.Cells), now.Cells...))
		}
		if !now.Kept {
			now.Body, now.Kept = old.Body, old.Kept
		}
	}
	if one := now.Lines; now.Of > 0 && len(one) == 1 && one[0] == (Span{1, now.Of + 1}) {
		now.Whole = true
	}
	s.Keep(abs, now)
}

// Forget drops the model's state of a file that is gone.
func (s *Seen) Forget(abs string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept -= len(s.files[abs].Body)
	delete(s.files, abs)
}

// State describes a file at one moment.
type State struct {
	Missing bool // there was no file
	ModTime time.Time
	Size    int64
	// Hash is the SHA-256 of the content, zero for a file too large to be read.
	Hash [sha256.Size]byte
}

// stateOf describes a file by its whole content.
func stateOf(info fs.FileInfo, content []byte) State {
	return State{ModTime: info.ModTime(), Size: int64(len(content)), Hash: sha256.Sum256(content)}
}

// StateWith describes a file that holds just this content; nil stands for no file.
func StateWith(content []byte) State {
	if content == nil {
		return State{Missing: true}
	}
	return State{Size: int64(len(content)), Hash: sha256.Sum256(content)}
}

// Same reports whether nothing has changed from s to t: by content where both
// were read whole, else by size and modification time.
func (s State) Same(t State) bool {
	if s.Missing || t.Missing {
		return s.Missing == t.Missing
	}
	var unknown [sha256.Size]byte
	if s.Hash != unknown && t.Hash != unknown {
		return s.Hash == t.Hash
	}
	return s.Size == t.Size && s.ModTime.Equal(t.ModTime)
}

// LoadText reads the text file at the target; one that does not exist is empty, with State.Missing.
func (t Place) LoadText() (Text, []byte, State, error) {
	info, err := t.Replaceable()
	if err != nil {
		return Text{}, nil, State{}, err
	}
	if info == nil {
		return Text{}, nil, State{Missing: true}, nil
	}
	raw, info, err := t.ReadFile(MaxEdit)
	if errors.Is(err, ErrTooLarge) {
		return Text{}, nil, State{}, fmt.Errorf("%w; change it with a command", err)
	}
	if err != nil {
		return Text{}, nil, State{}, err
	}
	if kind := BinaryType(raw); kind != "" {
		return Text{}, nil, State{}, t.Errorf(nil, "is a binary file (%s); change it with a command", kind)
	}
	raw = t.AsEdited(raw)
	text, err := Decode(raw)
	if err != nil {
		return Text{}, nil, State{}, t.Errorf(err, "")
	}
	return text, raw, stateOf(info, raw), nil
}

// MaxEdit is the size in bytes of the largest file that is changed here.
const MaxEdit = 10 << 20

// Source is the text of the file at an absolute path that Open may read.
func (f *Files) Source(abs string) (string, error) {
	t, err := f.Resolve(abs, false)
	if err != nil {
		return "", err
	}
	return t.Source()
}

// Source is the text of a file.
func (t Place) Source() (string, error) {
	data, _, err := t.ReadFile(MaxEdit)
	if err != nil {
		return "", err
	}
	file, err := Decode(data)
	if err != nil {
		return "", t.Errorf(err, "")
	}
	return file.Body, nil
}
