package journal

import (
	"maps"
	"slices"
	"strings"
)

// pair finds for each path to restore the present path of its file, by its inode, else by its content: then it is
// renamed back. A file that is not kept has no other source, so it goes first.
func (b *backwards) pair(changes map[string]Change) {
	byInode, byHash := map[uint64]string{}, map[string]string{}
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(changes))) {
		c := changes[path]
		if c.After.Kind != Absent || c.Before.Kind == Absent {
			continue
		}
		byInode[c.Before.Stamp.Inode] = path
		if c.Before.Hash != "" && c.Before.Size > 0 {
			byHash[c.Before.Hash] = path
		}
	}
	taken := map[string]bool{}
	for _, kept := range []bool{false, true} {
		for _, path := range slices.Sorted(maps.Keys(changes)) {
			c := changes[path]
			if c.Before.Kind != Absent || c.After.Kind != File && c.After.Kind != Special || b.paths[path].unkept == kept ||
				b.twins[path] {
				continue
			}
			for _, from := range []string{byInode[c.After.Stamp.Inode], byHash[c.After.Hash]} {
				if from == "" || taken[from] || !isThing(changes[from].Before, c.After) {
					continue
				}
				c.From, c.After.Stamp = from, changes[from].Before.Stamp
				changes[path], taken[from] = c, true
				break
			}
		}
	}
	b.pairDirs(changes)
	for path, back := range b.paths {
		if c, ok := changes[path]; ok && back.unkept && c.From == "" {
			delete(changes, path)
			b.plan.Cannot = append(b.plan.Cannot, b.j.lack(path, back.target))
		}
	}
}

// isThing reports whether the file there now is the one that was elsewhere before.
func isThing(now, was State) bool {
	if now.Kind != was.Kind || now.Mode != was.Mode || now.Size != was.Size {
		return false
	}
	return now.Hash != "" && now.Hash == was.Hash || sameStamp(now.Stamp, was.Stamp)
}

// pairDirs renames a directory back with all that it holds, as ignored files, or a
// repository, where nothing in it is the user's by now.
func (b *backwards) pairDirs(changes map[string]Change) {
	byInode := map[uint64]string{}
	for path, c := range changes {
		if c.Before.Kind == Folder && c.After.Kind == Absent {
			byInode[c.Before.Stamp.Inode] = path
		}
	}
	var above string // the directory that was paired last
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		c := changes[path]
		from := byInode[c.After.Stamp.Inode]
		if c.Before.Kind != Absent || c.After.Kind != Folder || from == "" || changes[from].Before.Mode != c.After.Mode ||
			above != "" && strings.HasPrefix(path, above+"/") || !sharesFile(changes, from, path) || !b.movesWhole(from) {
			continue
		}
		c.From, above = from, path
		changes[path] = c
	}
}

// sharesFile reports whether a file goes back from the one directory to the same place in
// the other: the inode of a directory that was removed may be that of a new one.
func sharesFile(changes map[string]Change, from, to string) bool {
	for path, c := range changes {
		if rel, below := strings.CutPrefix(path, to+"/"); below && c.From == join(from, rel) {
			return true
		}
	}
	return false
}

// movesWhole reports whether all in a directory is as artoo left it, or ignored.
func (b *backwards) movesWhole(from string) bool {
	entries, err := b.j.list(from)
	if err != nil {
		return false
	}
	for _, e := range entries {
		path := join(from, e.name)
		known := b.paths[path]
		isDir := e.stat.mode.IsDir()
		switch {
		case known != nil && known.stopped, known == nil && e.name != ".git" && !isIgnored(b.ignores(), path):
			return false
		case known != nil && isDir && !b.movesWhole(path):
			return false
		}
	}
	return true
}

// stays is why a path that was made does not go: its content is not known.
func (b *backwards) stays(c Change) Reason {
	if b.plan.Redo || c.After.Kind != Absent || c.Before.Kind != File || c.Before.Hash != "" || b.sources[c.Path] {
		return ""
	}
	return b.j.whyNot(c.Path, c.Before)
}
