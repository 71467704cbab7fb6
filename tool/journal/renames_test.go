package journal

import "testing"

// A file system gives the inode of a directory that was removed to the next new file:
// that one was not renamed.
func TestAFileIsNeverARenamedDirectory(t *testing.T) {
	file := func(hash string) State { return State{Kind: File, Hash: hash, Size: 1, Stamp: Stamp{Inode: 5}} }
	folder := State{Kind: Folder, Stamp: Stamp{Inode: 5}}
	for _, c := range []struct {
		gone, came State
		from       string
	}{
		{folder, file("a"), ""}, {file("a"), folder, ""}, {folder, file(""), ""}, {file(""), folder, ""},
		{folder, folder, "d"}, {file("a"), file("a"), "d"}, {file("a"), file(""), "d"}, {file("a"), file("b"), ""},
	} {
		changes := []Change{{Path: "c.txt", After: c.came}, {Path: "d", Before: c.gone}}
		findRenames(changes)
		if changes[0].From != c.from {
			t.Errorf("%+v became %+v: from %q, want %q", c.gone, c.came, changes[0].From, c.from)
		}
	}
}
