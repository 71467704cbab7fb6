package search

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/names"
)

// Entry is a file or directory that a word someone types may stand for.
type Entry struct {
	Path    string // slash-separated, relative to the directory that was asked about
	Dir     bool   // a directory, or a link to one
	Ignored bool   // an ignore rule names it
}

// MaxEntriesRead bounds the entries read of a directory, so that the ones that are shown can be sorted.
const MaxEntriesRead = 20000

// nameBatch is how many entries are read before the time is looked at.
const nameBatch = 4096

// Names lists the entries of the absolute directory dir whose names begin with prefix: by name, ignored
// ones last, limit at most. Case counts only if something matches with it. Hidden ones are left out unless
// the prefix begins with a dot; .git, denied files, links that lead out, and names that do not stay on a
// line always are. Nothing below dir is read.
func Names(ctx context.Context, f *files.Files, dir, prefix string, limit int) ([]Entry, error) {
	t, err := f.Resolve(dir, false)
	if err != nil {
		return nil, err
	}
	entries, _, err := t.ReadDir(MaxListed)
	if err != nil {
		return nil, err
	}
	w := walker{ctx: ctx, files: f, dir: t.Abs}
	rules := w.rulesAbove().with(f, t.Abs, [3]bool{true, true, true})
	var names, ignored []Entry
	for _, e := range beginning(entries, prefix) {
		if no, _ := rules.ignores(filepath.ToSlash(filepath.Join(t.Abs, e.Name())), e.IsDir()); no {
			ignored = append(ignored, Entry{Path: e.Name(), Ignored: true})
		} else {
			names = append(names, Entry{Path: e.Name()})
		}
	}
	return present(f, t.Abs, append(names, ignored...), limit), nil
}

// present keeps the first limit of the names below dir that are there and may be read.
func present(f *files.Files, dir string, names []Entry, limit int) (kept []Entry) {
	for _, n := range names {
		if len(kept) == limit {
			break
		}
		if info, err := f.Stat(filepath.Join(dir, filepath.FromSlash(n.Path))); err == nil {
			n.Dir = info.IsDir()
			kept = append(kept, n)
		}
	}
	return kept
}

// beginning are the entries whose names begin with prefix, by name.
func beginning(entries []fs.DirEntry, prefix string) []fs.DirEntry {
	folded := strings.ToLower(prefix)
	var exact, other []fs.DirEntry
	for _, e := range entries {
		name := e.Name()
		switch {
		case !typeable(name), strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix, "."):
		case strings.HasPrefix(name, prefix):
			exact = append(exact, e)
		case strings.HasPrefix(strings.ToLower(name), folded):
			other = append(other, e)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return other
}

// typeable reports whether a name, other than .git, can stand in a line of text.
func typeable(name string) bool {
	return names.Fold(name) != ".git" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	})
}

// maxFindDirs bounds how many directories Find reads.
const maxFindDirs = 2000

// Find looks for files and directories whose name contains word anywhere below the absolute directory dir,
// and returns the best at most limit: those whose name begins with the word first, then the shallower.
// Tracked files are found in git's index; for the rest a bounded number of directories is read, the shallow
// ones first, until ctx ends. Names that Names leaves out are left out here, and ignored ones too.
func Find(ctx context.Context, f *files.Files, dir, word string, limit int) ([]Entry, error) {
	s := finder{files: f, ctx: ctx, word: word, folded: strings.ToLower(word), limit: limit}
	return s.find(dir)
}

type finder struct {
	files        *files.Files
	ctx          context.Context
	word, folded string
	limit        int

	best []finding
	dirs int // directories to read
}

// finding is a name with its rank.
type finding struct {
	name  string
	worth int // 0 is best
	depth int
}

func (a finding) compare(b finding) int {
	return cmp.Or(cmp.Compare(a.worth, b.worth), cmp.Compare(a.depth, b.depth), cmp.Compare(a.name, b.name))
}

func (s *finder) find(dir string) ([]Entry, error) {
	t, err := s.files.Resolve(dir, false)
	if err != nil {
		return nil, err
	}
	if err := t.Refused(); err != nil {
		return nil, err
	}
	if s.word == "" {
		return nil, nil
	}
	top := git.Top(s.files.Tracked.Environ, t.Abs, s.files.Tracked.Admitted...)
	if top != "" {
		s.index(top, t.Abs)
	}
	w := walker{ctx: s.ctx, files: s.files, dir: t.Abs}
	s.dirs = 1
	if err := w.walk(s.visit); err != nil && s.ctx.Err() == nil {
		return nil, err
	}
	names := make([]Entry, len(s.best))
	for i, b := range s.best {
		names[i].Path = b.name
	}
	return present(s.files, t.Abs, names, s.limit), nil
}

// visit is for the walk: it reads a bounded number of directories.
func (s *finder) visit(e treeEntry) error {
	if s.hidden(path.Base(e.name)) {
		return fs.SkipDir
	}
	s.consider(e.name)
	if e.dir {
		if s.dirs == maxFindDirs {
			return fs.SkipDir
		}
		s.dirs++
	}
	return nil
}

// index looks through tracked files, for which git has half of the time.
func (s *finder) index(top, dir string) {
	rel, ok := names.Relative(top, dir)
	if !ok {
		return
	}
	below := ""
	if rel != "." {
		below = filepath.ToSlash(rel) + "/"
	}
	half := s.ctx
	if end, ok := s.ctx.Deadline(); ok {
		var cancel func()
		half, cancel = context.WithTimeout(s.ctx, time.Until(end)/2)
		defer cancel()
	}
	last := ""
	for i, name := range s.files.Tracked.Of(half, top) {
		if i%nameBatch == nameBatch-1 && s.ctx.Err() != nil {
			return
		}
		name, ok := strings.CutPrefix(name, below)
		if !ok {
			continue
		}
		if parent := path.Dir(name); parent != last {
			s.parents(parent, last)
			last = parent
		}
		s.consider(name)
	}
}

// parents considers the directories above a tracked file that are not above the one before it.
func (s *finder) parents(dir, last string) {
	for ; dir != "." && dir != last && !strings.HasPrefix(last, dir+"/"); dir = path.Dir(dir) {
		s.consider(dir)
	}
}

func (s *finder) hidden(name string) bool {
	return names.Fold(name) == ".git" || strings.HasPrefix(name, ".") && !strings.HasPrefix(s.word, ".")
}

// consider keeps the name if it matches and is among the best so far.
func (s *finder) consider(name string) {
	base := path.Base(name)
	folded := strings.ToLower(base)
	f := finding{name: name, depth: strings.Count(name, "/")}
	switch {
	case !strings.Contains(folded, s.folded):
		return
	case strings.HasPrefix(base, s.word):
	case strings.HasPrefix(folded, s.folded):
		f.worth = 1
	case strings.Contains(base, s.word):
		f.worth = 2
	default:
		f.worth = 3
	}
	for part := range strings.SplitSeq(name, "/") {
		if s.hidden(part) || !typeable(part) {
			return
		}
	}
	at, there := slices.BinarySearchFunc(s.best, f, finding.compare)
	if there || at == s.limit {
		return
	}
	s.best = slices.Insert(s.best, at, f)
	if len(s.best) > s.limit {
		s.best = s.best[:s.limit]
	}
}
