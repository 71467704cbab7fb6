package journal

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"unicode/utf8"
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

// sameStamp compares what tells a file from another. The time of its last change is not
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

// matches reports whether now is what want describes in the fields that it sets.
func matches(now, want State) bool {
	if now.Kind != want.Kind {
		return false
	}
	ok := func(known, equal bool) bool { return !known || equal }
	switch now.Kind {
	case Absent:
		return true
	case Folder:
		return ok(want.Mode != 0, now.Mode == want.Mode)
	case Link:
		return now.Target == want.Target
	}
	return now.Size == want.Size && ok(want.Mode != 0, now.Mode == want.Mode) &&
		ok(want.Hash != "" && now.Hash != "", now.Hash == want.Hash) &&
		ok(want.Stamp.Inode != 0, now.Stamp.Inode == want.Stamp.Inode) &&
		ok(want.Stamp.Ctime != 0, now.Stamp.Ctime == want.Stamp.Ctime) &&
		ok(want.Stamp.Mtime != 0, now.Stamp.Mtime == want.Stamp.Mtime)
}

// escape makes a path that may hold any bytes one of valid UTF-8: what is not,
// and the percent sign, become %XX.
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
