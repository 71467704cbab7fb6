package conversation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// found is a session file in the directory.
type found struct {
	path     string
	modified time.Time
	size     int64
}

// files lists the session files, the last written first.
func (st Store) files() ([]found, error) {
	entries, err := os.ReadDir(st.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(st.Dir, err)
	}
	var files []found
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), fileExt) || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed since the directory was read
		}
		files = append(files, found{filepath.Join(st.Dir, e.Name()), info.ModTime(), info.Size()})
	}
	slices.SortStableFunc(files, func(a, b found) int {
		if c := b.modified.Compare(a.modified); c != 0 {
			return c
		}
		return strings.Compare(b.path, a.path)
	})
	return files, nil
}

// find returns the file of the session whose id is asked or begins with it.
func (st Store) find(asked string) (string, error) {
	files, err := st.files()
	if err != nil {
		return "", err
	}
	var paths, ids []string
	for _, f := range files {
		id := idOf(f.path)
		if id == asked {
			return f.path, nil
		}
		if asked != "" && strings.HasPrefix(id, strings.ToLower(asked)) {
			paths, ids = append(paths, f.path), append(ids, id)
		}
	}
	if len(paths) == 1 {
		return paths[0], nil
	}
	slices.Sort(ids)
	if len(ids) > 0 {
		return "", lookupError("session %s: several begin so: %s", asked, strings.Join(ids, ", "))
	}
	return "", lookupError("session %s: there is none with this id", asked)
}

// idOf is the id in a file's name; a name that artoo did not make is its own
// id.
func idOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), fileExt)
	if i := len(stamp); len(name) > i+1 && name[i] == '-' {
		if _, err := time.Parse(stamp, name[:i]); err == nil {
			return name[i+1:]
		}
	}
	return name
}
