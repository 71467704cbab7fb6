package names

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
	"golang.org/x/text/unicode/norm"
)

// InHome is a path with the home directory in place of a ~ at its beginning. It is not cleaned, and
// stays as it is where home is "".
func InHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

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

// ID is a file, whatever its names.
type ID struct{ device, number uint64 }

// Stamp says which file is at a path and in which state: two that are equal mean that
// nothing changed between them. Of a directory it says nothing about its entries.
// The zero value is that of a path at which nothing is.
type Stamp struct {
	id      ID
	mode    uint32
	size    int64
	changed int64 // ctime in nanoseconds since 1970; 0 for a directory
	owner   uint32
}

// StampAt follows links. It is the zero Stamp where nothing can be seen.
func StampAt(path string) Stamp {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return Stamp{}
	}
	stamp := Stamp{id: idOf(&st), mode: uint32(st.Mode), owner: st.Uid}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		stamp.size, stamp.changed = st.Size, changedAt(&st).UnixNano()
	}
	return stamp
}

// Changed is when the file at a path, links followed, changed last: no program can set that time.
func Changed(path string) (time.Time, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return changedAt(&st), err
}

// Identify says which file is at a path. Links are not followed.
func Identify(path string) (ID, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return idOf(&st), err
}

// Linked reports whether a path is that of a regular file with more than one name.
func Linked(path string) bool {
	_, count := linksOf(path)
	return count > 1
}

// Outside returns those of the paths that are Linked and have a name which is not among them.
func Outside(paths []string) (outside []string) {
	names, counts := map[ID][]string{}, map[ID]uint64{}
	for _, path := range paths {
		if id, count := linksOf(path); count > 1 {
			names[id], counts[id] = append(names[id], path), count
		}
	}
	for id, paths := range names {
		if uint64(len(paths)) < counts[id] {
			outside = append(outside, paths...)
		}
	}
	slices.Sort(outside)
	return outside
}

// linksOf counts the names of a regular file; 0 for any other.
func linksOf(path string) (file ID, count uint64) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return ID{}, 0
	}
	return idOf(&st), uint64(st.Nlink)
}

func idOf(st *unix.Stat_t) ID { return ID{uint64(st.Dev), st.Ino} }

// changedAt is when a file changed last, by the time that programs cannot set.
func changedAt(st *unix.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }
