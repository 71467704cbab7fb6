package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// oldLife is a project and its journal as an earlier artoo left them, which ended or was killed, and the states of the
// project: the first one, and those after turns 1, 2 and 3.
type oldLife struct {
	Name  string              `json:"name"`
	Files []oldFile           `json:"files"`
	Wants []map[string]string `json:"wants"`
}

// oldFile is one file. Where two have one inode they are one.
type oldFile struct {
	Path  string      `json:"path"`
	Mode  fs.FileMode `json:"mode"`
	Text  string      `json:"text"`
	Inode uint64      `json:"inode"`
	Mtime int64       `json:"mtime"`
}

// make makes the file at the path; other is where the same file is already, or "".
func (f oldFile) make(path, other string) error {
	switch {
	case f.Mode.IsDir():
		return os.Mkdir(path, 0o700)
	case f.Mode&fs.ModeSymlink != 0:
		return os.Symlink(f.Text, path)
	case other != "":
		return os.Link(other, path)
	}
	written := time.Unix(0, f.Mtime)
	return errors.Join(os.WriteFile(path, []byte(f.Text), 0o600), os.Chmod(path, f.Mode),
		os.Chtimes(path, written, written))
}

// restore makes the files below base, and has the log name them by their inodes there.
func (l oldLife) restore(t *testing.T, base string) {
	t.Helper()
	paths, known := map[uint64]string{}, map[uint64]stat{}
	for _, f := range l.Files {
		path := filepath.Join(base, f.Path)
		err := f.make(path, paths[f.Inode])
		st, statErr := lstatPath(path)
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		paths[f.Inode], known[f.Inode] = path, st
	}
	for _, f := range slices.Backward(l.Files) {
		if f.Mode.IsDir() {
			if err := os.Chmod(filepath.Join(base, f.Path), f.Mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	number := func(text []byte) uint64 { n, _ := strconv.ParseUint(string(text), 10, 64); return n }
	log := filepath.Join(base, "state", "s1", logName)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("@BASE@"), []byte(base))
	text = regexp.MustCompile(`"inode":\d+`).ReplaceAllFunc(text, func(found []byte) []byte {
		old := number(found[len(`"inode":`):])
		if st, there := known[old]; there {
			return fmt.Appendf(nil, `"inode":%d`, st.inode)
		}
		// The file is gone, and no file here has this inode.
		return fmt.Appendf(nil, `"inode":%d`, old+1<<40)
	})
	text = regexp.MustCompile(`"stat":\[(\d+,\d+),\d+,\d+,(\d+),\d+`).ReplaceAllFunc(text, func(found []byte) []byte {
		fields := bytes.Split(found, []byte(","))
		st := known[number(fields[4])]
		return fmt.Appendf(nil, `%s,%s,%d,%d,%d,%d`, fields[0], fields[1], st.uid, st.gid, st.inode, st.dev)
	})
	if err := os.WriteFile(log, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestJournalsOfAnEarlierArtooAreRead opens journals that artoo wrote at e19b76ae: of a session that ended after an
// undo, and of artoos that were killed in a command, in a landing, in git's part of one, and in an undo.
func TestJournalsOfAnEarlierArtooAreRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "version1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	// The states that they are opened to, how many turns are left to undo, and whether one can be redone.
	opened := map[string]struct{ state, turns, redo int }{"ended": {2, 2, 1}, "command": {1, 1, 0},
		"landing": {2, 2, 0}, "then": {2, 2, 0}, "undo": {2, 2, 1}}
	for text := range strings.Lines(string(data)) {
		var l oldLife
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		t.Run(l.Name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			l.restore(t, base)
			p := &project{t: t, root: filepath.Join(base, "project")}
			p.cfg = Config{Dir: filepath.Join(base, "state", "s1"), Root: p.root, Budget: unhurried}
			p.reopen()
			defer p.shut()
			want := opened[l.Name]
			p.same(l.Wants[want.state])
			if want.redo > 0 {
				p.redo(1)
				p.same(l.Wants[want.state+1])
				p.undo(1)
				p.same(l.Wants[want.state])
			}
			if report := p.undo(want.turns); len(report.Left) > 0 {
				t.Errorf("left: %v", report.Left)
			}
			p.same(l.Wants[0])
		})
	}
}
