package journal

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"unicode/utf8"

	"artoo/tool/sandbox"
)

// permissions are the bits of a mode that are kept and restored.
const permissions = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// same reports whether a and b are the same thing, as far as undo is concerned:
// the times of a file are not compared where both contents are known.
func same(a, b State) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Absent:
		return true
	case Link:
		return a.Target == b.Target // its mode means nothing
	case File:
		return a.Mode == b.Mode && sameContent(a, b)
	case Folder:
		return a.Mode == b.Mode
	}
	return a.Mode == b.Mode && sameStamp(a.Stamp, b.Stamp)
}

// sameStamp compares the stamps that distinguish files. The time of its last change is not
// part of that: a rename is one.
func sameStamp(a, b Stamp) bool { return a.Inode == b.Inode && a.Mtime == b.Mtime }

// sameContent compares two files by their hashes, or else by their stamps.
func sameContent(a, b State) bool {
	if a.Size != b.Size {
		return false
	}
	if a.Hash != "" && b.Hash != "" {
		return a.Hash == b.Hash
	}
	return sameStamp(a.Stamp, b.Stamp)
}

// matches reports whether now is the state that a command on a layer saw.
func matches(now State, saw sandbox.Before) bool {
	switch {
	case saw.Moved && !saw.Mode.IsDir():
		return false
	case !saw.Exists() || now.Kind == Absent:
		return !saw.Exists() && now.Kind == Absent
	case now.Kind != KindOf(saw.Mode):
		return false
	case now.Kind == Link:
		return now.Target == saw.Target
	}
	return now.Mode == saw.Mode&permissions && (now.Kind == Folder ||
		now.Size == saw.Size && now.Stamp.Inode == saw.Inode && now.Stamp.Ctime == saw.Changed.UnixNano())
}

// escape makes a path that may hold any bytes one of valid UTF-8: invalid bytes and the percent sign become %XX.
func escape(path string) string {
	if utf8.ValidString(path) && !strings.Contains(path, "%") {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		if r == '%' || r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "%%%02X", path[i])
		} else {
			b.WriteString(path[i : i+size])
		}
		i += size
	}
	return b.String()
}

func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
