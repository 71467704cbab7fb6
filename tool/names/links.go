package names

import (
	"errors"
	"os"
)

// Linked reports whether a path is that of a regular file with more than one name.
func Linked(path string) bool {
	_, count := linksOf(path)
	return count > 1
}

// Outside returns those of the paths that are Linked by now and have a name which is
// not among them. Each path is there once.
func Outside(paths []string) []string {
	type file struct {
		paths []string
		count uint64
	}
	files := map[ID]*file{}
	var order []*file
	for _, path := range paths {
		id, count := linksOf(path)
		if count < 2 {
			continue
		}
		f := files[id]
		if f == nil {
			f = &file{}
			files[id], order = f, append(order, f)
		}
		f.paths, f.count = append(f.paths, path), count
	}
	var outside []string
	for _, f := range order {
		if uint64(len(f.paths)) < f.count {
			outside = append(outside, f.paths...)
		}
	}
	return outside
}

// ID is a file, whatever its names.
type ID struct{ device, number uint64 }

// Identify says which file is at a path. Links are not followed.
func Identify(path string) (ID, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return ID{}, err
	}
	device, number, _, known := identityOf(info)
	if !known {
		return ID{}, errors.ErrUnsupported
	}
	return ID{device, number}, nil
}
