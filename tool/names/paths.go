package names

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
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

// Within reports whether path is dir or lies below it; both must be clean and without links.
func Within(dir, path string) bool {
	_, ok := Relative(dir, path)
	return ok
}

// Exists reports whether something is at a path. A link is, wherever it leads.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Fold brings names together that some file system takes for one: letters of either
// case, characters that are compatible by Unicode's NFKC, and those that are ignored.
func Fold(name string) string {
	if !strings.ContainsFunc(name, func(c rune) bool { return c >= unicode.MaxASCII || 'A' <= c && c <= 'Z' }) {
		return name
	}
	var b strings.Builder
	b.Grow(len(name))
	for _, c := range norm.NFKC.String(name) {
		switch {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(byte(c + 'a' - 'A'))
		case c < unicode.MaxASCII:
			b.WriteByte(byte(c))
		case c == 'ß' || c == 'ẞ':
			b.WriteString("ss")
		case !unicode.In(c, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			least := c
			for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
				least = min(least, r)
			}
			b.WriteRune(unicode.ToLower(least))
		}
	}
	return b.String()
}
