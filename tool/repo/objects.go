package repo

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // Git names objects by it.
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/git"
	"artoo/tool/text"
)

// format is how a repository names objects.
type format struct{ hex int } // letters of an id

func (f format) hash() hash.Hash {
	if f.hex == 64 {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // Git names objects by it.
}

func (f format) isID(text string) bool { return len(text) == f.hex && isHex(text) }

func (f format) none() string { return strings.Repeat("0", f.hex) }

// blob is the id of content.
func (f format) blob(data []byte) string { return git.ObjectID(f.hash(), "blob", data) }

// emptyTree is the id of a tree without entries, which git knows without storing it.
func (f format) emptyTree() string { return git.ObjectID(f.hash(), "tree", nil) }

// mostObject is how many bytes a loose object may hold.
const mostObject = 1 << 30

// takeObject copies a loose object of the layer into the view, if its content has the hash that is its name. Others are
// left out: git reads objects without that check, and they could stand in for content that the project has.
func (v *View) takeObject(ctx context.Context, name string) {
	v.copy(ctx, "git/"+name, v.path(name), !v.done)
	copied := filepath.Join(v.dir, "git", filepath.FromSlash(name))
	f, err := os.Open(copied)
	if v.err = cmp.Or(v.err, err); v.err != nil {
		return
	}
	defer f.Close()
	sum := v.format.hash()
	object, err := zlib.NewReader(f)
	if err == nil {
		_, err = io.Copy(sum, io.LimitReader(text.Reader(ctx, object), mostObject))
	}
	if v.err = ctx.Err(); v.err == nil && (err != nil || "objects/"+fanned(hex.EncodeToString(sum.Sum(nil))) != name) {
		v.err = os.Remove(copied)
	}
}

// fanned is the name of a loose object.
func fanned(id string) string { return id[:2] + "/" + id[2:] }

// mostPack is how many bytes of a pack are taken.
const mostPack = 64 << 20

// takePack has git unpack a new pack of the layer in the view, which computes the ids of its objects. Those
// that are damaged or behind mostPack are left out.
func (v *View) takePack(ctx context.Context, name string) {
	from, err := v.openFile(v.path(name), !v.done)
	if v.err = cmp.Or(v.err, err); v.err != nil {
		return
	}
	defer from.Close()
	v.ask(ctx, v.git, io.LimitReader(from, mostPack), 0, nil, "unpack-objects", "-q", "-r")
}

// kinds asks git for the types of objects; those that the view lacks have none.
func (v *View) kinds(ctx context.Context, ids []string) map[string]string {
	found := map[string]string{}
	if ids = slices.DeleteFunc(ids, func(id string) bool { return !v.format.isID(id) }); len(ids) == 0 {
		return found
	}
	v.run(ctx, v.git, lines(ids), '\n', func(line string) error {
		if id, kind, _ := strings.Cut(line, " "); kind != "missing" {
			found[id] = kind
		}
		return nil
	}, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	return found
}

// whole reports whether git reaches all objects of the ids that the refs of before do not reach.
func (v *View) whole(ctx context.Context, ids ...string) bool {
	args := []string{"rev-list", "--objects", "--quiet", "--ignore-missing", "--stdin"}
	if v.promises() {
		args = slices.Insert(args, 1, "--missing=allow-any")
	}
	return v.ask(ctx, v.git, lines(append(ids, v.refs.excluded...)), 0, nil, args...)
}

// askSubjects asks git for the subjects of the commits among kinds.
func (j *judge) askSubjects(ctx context.Context) {
	commits := slices.DeleteFunc(slices.Collect(maps.Keys(j.kinds)), func(id string) bool { return j.kinds[id] != "commit" })
	if len(commits) == 0 {
		return // Without input git would show HEAD.
	}
	j.v.run(ctx, j.v.git, lines(commits), '\n', func(line string) error {
		id, subject, _ := strings.Cut(line, " ")
		j.subjects[id] = subject
		return nil
	}, "log", "--stdin", "--no-walk=unsorted", "--format=%H %s")
}

// file is a path of a commit.
type file struct{ mode, id, path string }

func (f file) key() string { return f.path + "\x00" + f.id }

// deleted is the mode of a path that a commit removes.
const deleted = "000000"

func (f file) gone() bool { return f.mode == deleted }

// log runs git log over commits. It calls commit for the line that the format makes of each, then each for its paths,
// with the ids that the parents hold there.
func (v *View) log(ctx context.Context, input []string, commit func(line string), each func(now file, was []string) error, args ...string) {
	var now file // has a mode where its path comes next
	var was []string
	args = append([]string{"log", "--ignore-missing", "--stdin", "-z", "--raw", "--no-abbrev", "--no-renames", "--root"}, args...)
	v.run(ctx, v.git, lines(input), 0, func(piece string) error {
		meta := strings.TrimPrefix(piece, "\n")
		switch parents := len(meta) - len(strings.TrimLeft(meta, ":")); {
		case now.mode != "":
			whole := file{now.mode, now.id, piece}
			now = file{}
			return each(whole, was)
		case parents > 0:
			fields := strings.Fields(meta[parents:])
			if len(fields) != 2*(parents+1)+1 {
				return fmt.Errorf("git log says %q", piece)
			}
			now, was = file{mode: fields[parents], id: fields[2*parents+1]}, fields[parents+1:2*parents+1]
		case piece != "":
			commit(piece)
		}
		return nil
	}, args...)
}

// commit is one that no ref reached before the line.
type commit struct {
	id, ref, subject string
	tip              string // The ref reaches it by this id.
	files            []file // those that differ from all parents
}

// newCommits are the commits that tips reach and no ref of before did, the newest first.
func (j *judge) newCommits(ctx context.Context, tips []tip) (list []*commit) {
	refs := map[string]string{}
	var ids []string
	for _, t := range tips {
		ids, refs[t.id] = append(ids, t.id), cmp.Or(refs[t.id], t.ref)
	}
	if len(tips) == 0 {
		return nil
	}
	j.p.objects = append(j.p.objects, ids...)
	j.v.log(ctx, append(ids, j.v.refs.excluded...), func(line string) {
		id, rest, _ := strings.Cut(line, " ")
		tip, subject, _ := strings.Cut(rest, " ")
		list = append(list, &commit{id: id, ref: refs[tip], tip: tip, subject: subject})
	}, func(now file, _ []string) error {
		c := list[len(list)-1]
		c.files = append(c.files, now)
		return nil
	}, "--topo-order", "-c", "--format=%H %S %s")
	return list
}

// errEnough ends a history.
var errEnough = errors.New("enough is known")

// history calls each for each change of the paths in the commits that a ref reached before the line. by is the author
// with the time, which a rebase keeps. An empty id is no file. Paths that do not fit in a line of input are passed over.
func (v *View) history(ctx context.Context, paths []string, each func(path, from, to, by string) error) {
	var input []string
	for _, tip := range v.refs.excluded {
		input = append(input, strings.TrimPrefix(tip, "^"))
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.Contains(path, "\n") })
	if len(input) == 0 || len(paths) == 0 || v.err != nil {
		return
	}
	by, none := "", v.format.none()
	v.log(ctx, slices.Concat(input, []string{"--"}, paths), func(line string) { by = line }, func(now file, was []string) (err error) {
		for _, id := range was {
			err = cmp.Or(err, each(now.path, strings.Replace(id, none, "", 1), strings.Replace(now.id, none, "", 1), by))
		}
		return err
	}, "-m", "--full-history", "--format="+authored)
	if errors.Is(v.err, errEnough) {
		v.err = nil
	}
}

// authored is a format of git's that a rebase keeps.
const authored = "%an <%ae> %at"

// unheld are the keys of those files that no commit had at their paths which a ref reached before the line.
func (v *View) unheld(ctx context.Context, files []file) map[string]bool {
	wanted := map[string]bool{}
	var paths []string
	for _, f := range files {
		wanted[f.key()], paths = true, append(paths, f.path)
	}
	v.history(ctx, paths, func(path, from, to, _ string) error {
		delete(wanted, file{id: from, path: path}.key())
		delete(wanted, file{id: to, path: path}.key())
		if len(wanted) == 0 {
			return errEnough
		}
		return nil
	})
	return wanted
}

// mostDiff is how many bytes the diffs of all commits take together.
const mostDiff = 4 << 20

// uncounted is how many lines a change counts for that has none, such as that of a binary file.
const uncounted = 1 << 30

// diffs puts the diffs of commits into their rows, by id.
func (v *View) diffs(ctx context.Context, rows map[string]*Row) {
	if len(rows) == 0 {
		return
	}
	row := &Row{} // that of the present line
	texts := map[*Row][]string{}
	total, columns := 0, 0 // columns of signs in a hunk, one for each parent; 0 outside hunks
	// A line of a diff never begins with NUL.
	v.run(ctx, v.git, lines(keysOf(rows, nil)), '\n', func(line string) error {
		id, isCommit := strings.CutPrefix(line, "\x00")
		switch {
		case isCommit:
			row, columns = rows[id], 0
			return nil
		case strings.HasPrefix(line, "@@"):
			columns = len(line) - len(strings.TrimLeft(line, "@")) - 1
		case strings.HasPrefix(line, "diff "):
			columns = 0
		case columns == 0 && strings.HasPrefix(line, "Binary files "):
			row.Lines = uncounted
		case columns > 0 && strings.ContainsAny(line[:min(columns, len(line))], "+-"):
			row.Lines++
		}
		if total += len(line) + 1; total <= mostDiff {
			texts[row] = append(texts[row], line)
		}
		return nil
	}, "-c", "core.bigFileThreshold=1m", "log", "--stdin", "--no-walk=unsorted", "-p", "-c", "--root", "--no-color", "--no-renames",
		"--no-ext-diff", "--no-textconv", "--format=%x00%H")
	for _, row := range rows {
		if row.Diff = strings.Trim(strings.Join(texts[row], "\n"), "\n") + "\n"; total > mostDiff {
			row.Diff += "the diff is too long to be shown whole\n"
		}
	}
}

// stored is how git would store a file of the work tree.
type stored struct {
	mode string
	ids  []string // The second is the one with line ends as git normalizes them.
	none bool     // There is no such file.
}

// mostFile is how many bytes of a file of the work tree are read.
const mostFile = 64 << 20

// stored reads a file of the work tree as it will be.
func (j *judge) stored(ctx context.Context, path string) stored {
	if _, known := j.files[path]; !known {
		j.files[path] = j.store(ctx, path, j.w.Open)
	}
	return j.files[path]
}

// store reads a file that open opens. One that cannot be read equals nothing.
func (j *judge) store(ctx context.Context, path string, open func(path string) (io.ReadCloser, fs.FileMode, error)) (s stored) {
	var data []byte
	f, mode, err := open(path)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(text.Reader(ctx, f), mostFile+1))
	}
	switch s.mode = "100644"; {
	case mode&fs.ModeSymlink != 0:
		s.mode = "120000"
	case mode&0o100 != 0:
		s.mode = "100755"
	}
	if err == nil && len(data) <= mostFile {
		s.ids = []string{j.v.format.blob(data), j.v.format.blob(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))}
	}
	s.none = errors.Is(err, fs.ErrNotExist)
	j.v.err = cmp.Or(j.v.err, ctx.Err())
	return s
}

// holds reports whether the work tree will hold a file as a commit or an index has it. Where nothing is known of the work
// tree, it does.
func (j *judge) holds(ctx context.Context, f file) bool {
	if j.w.Open == nil {
		return true
	}
	s := j.stored(ctx, f.path)
	sameMode := s.mode == f.mode || j.anyMode && f.mode != "120000" && s.mode != "120000"
	return f.gone() && s.none || sameMode && slices.Contains(s.ids, f.id)
}
