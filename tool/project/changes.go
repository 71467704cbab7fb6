package project

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/git"
	"artoo/tool/names"
)

// GitChange is one file of a repository's own that is to change.
type GitChange struct {
	Path string // relative to the project's root, with slashes, or absolute
	Gone bool   // it will not be there; else it will hold something new
}

// gitHeads are files that hold a ref or a commit, beside those below refs.
const gitHeads = " HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD "

// GitData reports whether a path, with slashes, is data in a .git that git reads and
// checks, not what it runs or obeys: its objects, refs, index and logs.
func GitData(path string) bool {
	_, rest, ok := splitGit(path)
	if !ok {
		return false
	}
	for _, data := range []string{"objects", "refs", "logs"} {
		if rest == data || strings.HasPrefix(rest, data+"/") {
			return true
		}
	}
	return rest == "" || strings.Contains(gitHeads+"index ORIG_HEAD FETCH_HEAD COMMIT_EDITMSG packed-refs ", " "+rest+" ")
}

// splitGit parts a path behind its first element .git, in whatever case.
func splitGit(path string) (dir, rest string, ok bool) {
	parts := strings.Split(path, "/")
	i := slices.IndexFunc(parts, func(part string) bool { return names.Fold(part) == ".git" })
	if i < 0 {
		return "", "", false
	}
	return strings.Join(parts[:i+1], "/"), strings.Join(parts[i+1:], "/"), true
}

// GitChanges says what changes of a repository's data mean, as git sees them: refs
// from where to where, with the subjects of their commits, and the paths whose place
// in the index changes. before reads what the files held, an error where there was
// none, and is nil where nothing has been done yet: then the files hold it themselves.
// after reads what they will hold. No program that the repository names runs.
func GitChanges(ctx context.Context, root string, changes []GitChange,
	before, after func(path string) (io.ReadCloser, error)) (rows []string) {
	ctx, cancel := context.WithTimeout(ctx, git.Timeout)
	defer cancel()
	dirs := map[string]map[string]bool{}
	for _, c := range changes {
		dir, rest, ok := splitGit(c.Path)
		if !ok {
			continue
		}
		if dirs[dir] == nil {
			dirs[dir] = map[string]bool{}
		}
		dirs[dir][rest] = c.Gone
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		top := filepath.FromSlash(strings.TrimSuffix(dir, ".git"))
		if !filepath.IsAbs(top) {
			top = filepath.Join(root, top)
		}
		g := gitChanges{ctx: ctx, top: top, dir: dir, gone: dirs[dir], before: before, after: after}
		found := append(g.refs(), g.index()...)
		if found = append(found, g.objects()...); len(found) == 0 {
			found = []string{fmt.Sprintf("%d of git's own files", len(g.gone))}
		}
		for _, row := range found {
			if dir != ".git" {
				row = dir + ": " + row
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// gitChanges are those of one repository.
type gitChanges struct {
	ctx  context.Context
	top  string
	dir  string          // its .git, relative to the project's root
	gone map[string]bool // the files that change, by their name in it: whether they will be gone
	// as for GitChanges
	before, after func(path string) (io.ReadCloser, error)
}

// now is what a file holds, then what it will hold; nothing where it cannot be read.
func (g *gitChanges) now(name string) []byte {
	if _, changed := g.gone[name]; changed && g.before != nil {
		return g.read(g.before, name, mostRefs)
	}
	text, err := git.ReadSome(filepath.Join(g.top, ".git", filepath.FromSlash(name)))
	if err != nil {
		return nil
	}
	return []byte(text)
}

func (g *gitChanges) then(name string, most int64) []byte {
	gone, changed := g.gone[name]
	switch {
	case !changed:
		return g.now(name)
	case gone:
		return nil
	}
	return g.read(g.after, name, most)
}

// read is what a file holds, up to a number of bytes; nothing where it cannot be read.
func (g *gitChanges) read(open func(path string) (io.ReadCloser, error), name string, most int64) []byte {
	file, err := open(g.dir + "/" + name)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil
	}
	return data
}

const mostRefs = 4 << 20 // bytes of packed-refs

// refs are the refs that change.
func (g *gitChanges) refs() (rows []string) {
	before, after := packedRefs(g.now("packed-refs")), packedRefs(g.then("packed-refs", mostRefs))
	names := map[string]bool{}
	for name := range g.gone {
		names[name] = strings.HasPrefix(name, "refs/") || strings.Contains(gitHeads, " "+name+" ")
	}
	for _, packed := range []map[string]string{before, after} {
		for name := range packed {
			names[name] = before[name] != after[name] || names[name]
		}
	}
	type move struct{ name, from, to string }
	var moves []move
	var tips []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		from := cmp.Or(strings.TrimSpace(string(g.now(name))), before[name])
		to := cmp.Or(strings.TrimSpace(string(g.then(name, 4096))), after[name])
		if names[name] && from != to {
			moves = append(moves, move{name, from, to})
			tips = append(tips, from, to)
		}
	}
	subjects := g.subjects(tips)
	shown := func(tip string) string {
		if branch, ok := strings.CutPrefix(tip, "ref: "); ok {
			return strings.TrimPrefix(branch, "refs/heads/")
		}
		return strings.TrimSpace(tip[:min(len(tip), 8)] + " " + subjects[tip])
	}
	for _, m := range moves {
		switch {
		case m.from == "":
			rows = append(rows, m.name+": new, "+shown(m.to))
		case m.to == "":
			rows = append(rows, m.name+": deleted, was "+shown(m.from))
		default:
			rows = append(rows, m.name+": "+shown(m.from)+" → "+shown(m.to))
		}
	}
	return rows
}

func packedRefs(data []byte) map[string]string {
	refs := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if tip, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && isHash(tip) {
			refs[name] = tip
		}
	}
	return refs
}

func isHash(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// subjects are the first lines of what commits and tags say: those that are new are
// read here, git knows the others.
func (g *gitChanges) subjects(tips []string) map[string]string {
	said := map[string]string{}
	args := []string{"-c", "log.showSignature=false", "-c", "log.mailmap=false",
		"log", "--no-walk=unsorted", "--ignore-missing", "-z", "--format=%H %s"}
	asked := len(args)
	for _, tip := range tips {
		if !isHash(tip) {
			continue
		}
		if gone, ok := g.gone[objectName(tip)]; ok && !gone {
			said[tip] = subject(g.then(objectName(tip), 1<<20))
		} else {
			args = append(args, tip)
		}
	}
	if len(args) == asked {
		return said
	}
	_ = git.Run(g.ctx, os.Environ(), g.top, g.top, func(entry string) error { // Without a subject they need none.
		tip, text, _ := strings.Cut(entry, " ")
		said[tip] = shortSubject(text)
		return nil
	}, args...)
	return said
}

func objectName(hash string) string { return "objects/" + hash[:2] + "/" + hash[2:] }

// subject is the first line of a commit's or tag's message, from its object.
func subject(object []byte) string {
	z, err := zlib.NewReader(bytes.NewReader(object))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(z, 64<<10))
	if err != nil {
		return ""
	}
	_, message, _ := strings.Cut(string(text), "\n\n")
	line, _ := bufio.NewReader(strings.NewReader(message)).ReadString('\n')
	return shortSubject(strings.TrimSpace(line))
}

func shortSubject(text string) string {
	const most = 60
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}

// index are the paths whose entry in the index changes.
func (g *gitChanges) index() (rows []string) {
	gone, changed := g.gone["index"]
	if !changed {
		return nil
	}
	if gone {
		return []string{"the index: deleted"}
	}
	was := g.before
	if was == nil {
		was = func(string) (io.ReadCloser, error) { return os.Open(filepath.Join(g.top, ".git", "index")) }
	}
	before, err := g.stagedIn(was)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = map[string]string{}, nil
	}
	if err != nil {
		return []string{"the index changes"}
	}
	after, err := g.stagedIn(g.after)
	if err != nil {
		return []string{"the index changes"}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch was, there := before[name]; {
		case !there:
			rows = append(rows, "staged, new: "+name)
		case was != after[name]:
			rows = append(rows, "staged: "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[name]; !there {
			rows = append(rows, "gone from the index: "+name)
		}
	}
	return rows
}

// stagedIn is what an index that open reads holds.
func (g *gitChanges) stagedIn(open func(path string) (io.ReadCloser, error)) (map[string]string, error) {
	file, err := open(g.dir + "/index")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	copied, err := os.CreateTemp("", "artoo-index-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(copied.Name())
	_, err = io.Copy(copied, file)
	if err := cmp.Or(err, copied.Close()); err != nil {
		return nil, err
	}
	return g.staged(copied.Name())
}

// staged is what an index holds: by path the modes and hashes of its entries.
func (g *gitChanges) staged(index string) (map[string]string, error) {
	entries := map[string]string{}
	run := git.Git{Dir: g.top, Env: append(git.SafeEnviron(os.Environ()), "GIT_WORK_TREE="+g.top, "GIT_INDEX_FILE="+index)}
	err := run.Run(g.ctx, nil, 0, func(entry string) error {
		what, name, _ := strings.Cut(entry, "\t")
		entries[name] += what + " "
		return nil
	}, "ls-files", "-s", "-z")
	return entries, err
}

// objects counts those that will be gone; new ones belong to refs and index.
func (g *gitChanges) objects() []string {
	n := 0
	for name, gone := range g.gone {
		if gone && strings.HasPrefix(name, "objects/") {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("files of the object store that go: %d", n)}
}
