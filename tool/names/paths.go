package names

import (
	"path/filepath"
	"strings"
)

// Real is a path without links, "." and "..", as the kernel follows them. The part of it
// that does not exist stays as it is written, behind the part that does.
func Real(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// Relative is path relative to dir, "." for dir itself; ok reports whether path is dir or
// lies below it. Nothing is looked up: both must be clean and without links.
func Relative(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, dir)
	switch {
	case !ok:
		return "", false
	case strings.HasSuffix(dir, string(filepath.Separator)): // the root of the file system
		return rest, true
	case rest[0] != filepath.Separator:
		return "", false
	}
	return rest[1:], true
}

// Within reports whether path is dir or lies below it. Nothing is looked up: both must be
// clean and without links.
func Within(dir, path string) bool {
	_, ok := Relative(dir, path)
	return ok
}
