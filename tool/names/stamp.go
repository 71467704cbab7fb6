package names

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// ID is a file, whatever its names.
type ID struct{ device, number uint64 }

// Stamp says which file is at a path and in which state: two that are equal mean that
// nothing changed between them. Of a directory it says nothing about what is in it.
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

// linksOf is a regular file and how many names it has; 0 of what is none.
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
