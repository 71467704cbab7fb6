package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"artoo/tool/environ"
	"artoo/tool/names"
)

// Unseen knows which files that commands cannot see git tracks. The zero value is ready; safe for concurrent use.
type Unseen struct {
	Own      environ.Vars // They are artoo's, by which git is looked up, and which it gets.
	Admitted []string     // See Dirs.

	mu    sync.Mutex              // guards known
	known map[string]*unseenIndex // The keys are the directories of the copies with the indexes' paths.
}

// unseenIndex is an index that may hold files which commands cannot see.
type unseenIndex struct {
	state   string // It tells the index and those files from others.
	tracked []string
	marked  string // the copy in which they are marked; "" before there is one
	before  string // the copy that it replaced, which a command that starts just now may still use
}

// Tracked lists the tracked ones among the hidden paths, which are absolute: for a hidden directory, the files in it. Git is
// asked for the repositories below the directories of within. What it cannot read it does not track.
func (u *Unseen) Tracked(hidden, within []string) (tracked []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for top, list := range tops(hidden, within) {
		if _, i := u.index("", top, list); i != nil {
			for _, name := range i.tracked {
				tracked = append(tracked, filepath.Join(top, filepath.FromSlash(name)))
			}
		}
	}
	slices.Sort(tracked)
	return tracked
}

// Marked makes in dir, for each index below the directories of within that tracks hidden paths, a copy in which git is to look
// no more at those: it takes them for unchanged although they are gone. The copies are listed by the indexes' paths, and
// stay until the next call that replaces them. Where git makes none, it has no entry.
func (u *Unseen) Marked(dir string, hidden, within []string) (map[string]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	marked := map[string]string{}
	for top, list := range tops(hidden, within) {
		path, i := u.index(dir, top, list)
		if i == nil || len(i.tracked) == 0 || !slices.ContainsFunc(within, func(dir string) bool { return names.Within(dir, path) }) {
			continue
		}
		if i.marked == "" {
			var err error
			if i.marked, err = u.mark(dir, top, path, i.tracked); err != nil {
				return nil, err
			}
		}
		if i.marked != "" {
			marked[path] = i.marked
		}
	}
	return marked, nil
}

// tops are the hidden paths by the nearest directories above them that have a .git, all below the directories of within.
func tops(hidden, within []string) map[string][]string {
	known := map[string]string{}
	var top func(dir string) string
	top = func(dir string) string {
		if at, ok := known[dir]; ok {
			return at
		}
		at := ""
		if names.Exists(filepath.Join(dir, ".git")) {
			at = dir
		} else if !slices.Contains(within, dir) && dir != filepath.Dir(dir) {
			at = top(filepath.Dir(dir))
		}
		known[dir] = at
		return at
	}
	all := map[string][]string{}
	for _, path := range hidden {
		if !slices.ContainsFunc(within, func(dir string) bool { return path != dir && names.Within(dir, path) }) {
			continue
		}
		if at := top(filepath.Dir(path)); at != "" {
			all[at] = append(all[at], filepath.ToSlash(path[len(at)+1:]))
		}
	}
	return all
}

// index is the index of the work tree at top, and which of the hidden files it holds; nil where there is none, or git cannot
// read it. copies is the directory of its copies.
func (u *Unseen) index(copies, top string, hidden []string) (string, *unseenIndex) {
	dir, _, err := Dirs(top, u.Admitted...)
	if err != nil {
		return "", nil
	}
	path := filepath.Join(dir, "index")
	key := copies + "\x00" + path
	info, err := os.Stat(path)
	if err != nil {
		return "", nil
	}
	state := fmt.Sprint(info.Size(), info.ModTime().UnixNano(), hidden)
	i := u.known[key]
	if i != nil && i.state == state {
		return path, i
	}
	if u.known == nil {
		u.known = map[string]*unseenIndex{}
	}
	before := ""
	if i != nil && i.marked != "" {
		before = i.marked
		_ = os.Remove(i.before) // the directory goes in the end
	}
	i = &unseenIndex{state: state, before: before}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	for part := range slices.Chunk(hidden, mostPathspecs) {
		if err := Run(ctx, u.Own, u.Own, top, top, func(entry string) error {
			what, name, _ := strings.Cut(entry, "\t")
			if strings.HasSuffix(what, " 0") { // one in conflict cannot be marked
				i.tracked = append(i.tracked, name)
			}
			return nil
		}, slices.Concat([]string{"--literal-pathspecs", "ls-files", "-s", "-z", "--"}, part)...); err != nil {
			return "", nil
		}
	}
	u.known[key] = i
	return path, i
}

// mostPathspecs is how many paths git is given as arguments.
const mostPathspecs = 500

// mark makes a copy of an index in dir in which files are marked; "" where git cannot.
func (u *Unseen) mark(dir, top, index string, tracked []string) (copied string, err error) {
	from, err := os.Open(index)
	if err != nil {
		return "", nil // it has gone
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return "", err
	}
	to, err := os.CreateTemp(dir, "index-")
	if err != nil {
		return "", err
	}
	copied = to.Name()
	_, err = io.Copy(to, from)
	// Git takes an entry that is as young as its index for one that may have changed since.
	if err = errors.Join(err, to.Close(), os.Chtimes(copied, info.ModTime(), info.ModTime())); err != nil {
		return "", errors.Join(err, os.Remove(copied))
	}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	g := Git{Own: u.Own, Dir: top, Env: append(SafeEnviron(u.Own), "GIT_WORK_TREE="+top, "GIT_INDEX_FILE="+copied),
		Flags: []string{"-c", "core.splitIndex=false"}}
	if g.Run(ctx, strings.NewReader(strings.Join(tracked, "\x00")+"\x00"), 0, nil, "update-index", "--skip-worktree", "-z", "--stdin") != nil {
		return "", os.Remove(copied) // The line's changes are judged all the same.
	}
	return copied, os.Chmod(copied, info.Mode().Perm()|0o600)
}
