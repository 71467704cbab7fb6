package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/names"
)

// maxLinks is how many links one path may go through, as in Linux.
const maxLinks = 40

var errTooManyLinks = errors.New("too many symbolic links, perhaps a loop")

// resolver finds the link-free spelling of paths. It confines nothing: what it
// says is checked against the grants, and the file is then opened through
// os.Root, which cannot leave them whatever has changed in between.
type resolver struct {
	lstat    func(string) (fs.FileInfo, error)
	readlink func(string) (string, error)
	names    func(dir string) ([]string, error)
	// foldCase is set where file systems usually ignore case: names are then
	// spelled as the directory has them, so that a rule or the deny list
	// cannot be passed by in other letters.
	foldCase bool

	mu   sync.Mutex
	dirs map[string]dirNames
}

// dirNames are the names in a directory as of a modification time.
type dirNames struct {
	modTime time.Time
	names   map[string]bool
}

// maxDirs bounds resolver.dirs; when it is full it starts anew.
const maxDirs = 512

func newResolver() *resolver {
	return &resolver{
		lstat:    os.Lstat,
		readlink: os.Readlink,
		names:    readNames,
		foldCase: runtime.GOOS == "darwin",
		dirs:     map[string]dirNames{},
	}
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// real is the link-free spelling of an absolute path. What does not exist, or
// cannot be looked at, stays as it is written.
func (r *resolver) real(abs string) (string, error) {
	return r.walk(string(filepath.Separator), abs)
}

// walk follows rest from the link-free directory cur. Like the kernel, it takes
// ".." after a link as the parent of where the link leads.
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
		target, isLink := r.link(next, info)
		if !isLink {
			if spelled := r.spelling(cur, name, info); spelled != name {
				next = filepath.Join(cur, spelled)
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

// link tells where path leads if it is a link.
func (r *resolver) link(path string, info fs.FileInfo) (target string, ok bool) {
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", false
	}
	target, err := r.readlink(path)
	return target, err == nil
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
	if !r.foldCase {
		return name
	}
	list := r.list(dir)
	if list == nil || list[name] {
		return name
	}
	folded := names.Fold(name)
	for candidate := range list {
		if names.Fold(candidate) == folded {
			return candidate
		}
	}
	// The file system may take another form of Unicode for the same name.
	for candidate := range list {
		if other, err := r.lstat(filepath.Join(dir, candidate)); err == nil && os.SameFile(info, other) {
			return candidate
		}
	}
	return name
}

// list returns the names in dir, kept until the directory changes; nil if it
// cannot be read.
func (r *resolver) list(dir string) map[string]bool {
	info, err := r.lstat(dir)
	if err != nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.dirs[dir]; ok && known.modTime.Equal(info.ModTime()) {
		return known.names
	}
	list, err := r.names(dir)
	if err != nil {
		return nil
	}
	names := make(map[string]bool, len(list))
	for _, n := range list {
		names[n] = true
	}
	if len(r.dirs) >= maxDirs {
		clear(r.dirs)
	}
	r.dirs[dir] = dirNames{info.ModTime(), names}
	return names
}
