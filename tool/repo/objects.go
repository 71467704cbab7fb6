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
	data, sum := v.read(v.path(name), !v.done), v.format.hash()
	object, damaged := zlib.NewReader(text.Reader(ctx, bytes.NewReader(data)))
	if damaged == nil {
		_, damaged = io.Copy(sum, io.LimitReader(object, mostObject))
	}
	if id := hex.EncodeToString(sum.Sum(nil)); damaged == nil && name == "objects/"+id[:2]+"/"+id[2:] {
		v.write("git/"+name, data)
	}
	v.err = cmp.Or(v.err, ctx.Err())
}

// mostPack is how many bytes of a pack are taken.
const mostPack = 64 << 20

// takePack has git unpack a new pack of the layer in the view, which computes the ids of its objects. Those
// that are damaged or behind mostPack are left out.
func (v *View) takePack(ctx context.Context, name string) {
	data := v.read(v.path(name), !v.done)
	v.ask(ctx, v.git, bytes.NewReader(data[:min(len(data), mostPack)]), 0, nil, "unpack-objects", "-q", "-r")
}

// kinds asks git for the types of objects; those that the view lacks are "missing".
func (v *View) kinds(ctx context.Context, ids []string) map[string]string {
	found := map[string]string{}
	if len(ids) > 0 {
		v.run(ctx, v.git, lines(ids), '\n', func(line string) {
			id, kind, _ := strings.Cut(line, " ")
			found[id] = kind
		}, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	}
	return found
}

// whole reports whether git reaches all objects of the ids that the refs of before do not reach. Those may be missing.
func (v *View) whole(ctx context.Context, ids ...string) bool {
	args := append([]string{"rev-list", "--objects", "--quiet"}, ids...)
	if v.promises() {
		args = append(args, "--missing=allow-any")
	}
	args = append(args, "--ignore-missing", "--stdin")
	return len(ids) == 0 || v.ask(ctx, v.git, lines(v.refs.excluded), 0, nil, args...)
}

// askCommits asks git for the subjects of those ids that are commits.
func (j *judge) askCommits(ctx context.Context, ids []string) {
	ids = slices.DeleteFunc(ids, func(id string) bool { return !j.v.format.isID(id) })
	j.v.ask(ctx, j.v.git, lines(ids), '\n', func(line string) {
		id, subject, _ := strings.Cut(line, " ")
		j.commits[id] = short(id) + " " + subject
	}, "log", "--ignore-missing", "--stdin", "--no-walk=unsorted", "--format=%H %s")
}

// file is a path of a commit.
type file struct{ mode, id, path string }

// deleted is the mode of a path that a commit removes.
const deleted = "000000"

func (f file) gone() bool { return f.mode == deleted }

// log runs git log over commits. It calls commit for the line that the format makes of each, then each for its paths,
// with the ids that the parents hold there.
func (v *View) log(ctx context.Context, input []string, commit func(line string), each func(now file, was []string),
	args ...string) {
	var now file // has a mode where its path comes next
	var was []string
	args = append([]string{"log", "--ignore-missing", "--stdin", "-z", "--raw", "--no-abbrev", "--no-renames",
		"--root"}, args...)
	v.run(ctx, v.git, lines(input), 0, func(piece string) {
		meta := strings.TrimPrefix(piece, "\n")
		switch parents := len(meta) - len(strings.TrimLeft(meta, ":")); {
		case now.mode != "":
			each(file{now.mode, now.id, piece}, was)
			now = file{}
		case parents > 0:
			fields := strings.Fields(meta[parents:])
			if len(fields) != 2*(parents+1)+1 {
				v.err = fmt.Errorf("git log says %q", piece)
				return
			}
			now, was = file{mode: fields[parents], id: fields[2*parents+1]}, fields[parents+1:2*parents+1]
		case piece != "":
			commit(piece)
		}
	}, args...)
}

// commit is one that no ref reached before the line.
type commit struct {
	id, ref, subject string
	tip              string // The ref reaches it by this id.
	parents          []string
	by               string // as authored says
	files            []file // those that differ from all parents
}

// newCommits are the commits that tips reach and no ref of before did, the newest first.
func (j *judge) newCommits(ctx context.Context, tips []string, owner map[string]string) (list []*commit) {
	if len(tips) == 0 {
		return nil
	}
	j.p.objects = append(j.p.objects, tips...)
	j.v.log(ctx, slices.Concat(tips, j.v.refs.excluded), func(line string) {
		said := strings.SplitN(line, "\n", 5)
		list = append(list, &commit{id: said[0], tip: said[1], ref: owner[said[1]], parents: strings.Fields(said[2]),
			by: said[3], subject: said[4]})
	}, func(now file, _ []string) {
		c := list[len(list)-1]
		c.files = append(c.files, now)
	}, "--topo-order", "-c", "--format=%H%n%S%n%P%n"+authored+"%n%s")
	return list
}

// change is one of a path's content: ids, "" for no file, and the author of the commit with the time.
type change struct{ from, to, by string }

// authored is a format of git's that a rebase keeps.
const authored = "%an <%ae> %at"

// history has the changes of paths in the commits that a ref reached before the line. A path with a line end has none.
func (v *View) history(ctx context.Context, paths ...string) map[string][]change {
	changes := map[string][]change{}
	var input []string
	for _, tip := range v.refs.excluded {
		input = append(input, strings.TrimPrefix(tip, "^"))
	}
	if len(input) == 0 || len(paths) == 0 {
		return changes
	}
	by, none := "", v.format.none()
	input = slices.Concat(input, []string{"--"}, paths)
	v.log(ctx, input, func(line string) { by = line }, func(now file, was []string) {
		for _, id := range was {
			changes[now.path] = append(changes[now.path],
				change{strings.Replace(id, none, "", 1), strings.Replace(now.id, none, "", 1), by})
		}
	}, "-m", "--full-history", "--format="+authored)
	return changes
}

// had reports whether a path had a content in one of some changes.
func had(changes []change, id string) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.from == id || c.to == id })
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
	v.run(ctx, v.git, lines(keysOf(rows, nil)), '\n', func(line string) {
		id, isCommit := strings.CutPrefix(line, "\x00")
		switch {
		case isCommit:
			row, columns = rows[id], 0
			return
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
	}, "-c", "core.bigFileThreshold=1m", "log", "--stdin", "--no-walk=unsorted", "-p", "-c", "--root", "--no-color",
		"--no-renames", "--no-ext-diff", "--no-textconv", "--format=%x00%H")
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
func (j *judge) store(ctx context.Context, path string,
	open func(path string) (io.ReadCloser, fs.FileMode, error)) (s stored) {
	var data []byte
	f, mode, err := open(path)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(text.Reader(ctx, f), mostFile+1))
	}
	if s.mode = "100644"; mode&fs.ModeSymlink != 0 {
		s.mode = "120000"
	} else if mode&0o100 != 0 {
		s.mode = "100755"
	}
	if err == nil && len(data) <= mostFile {
		s.ids = []string{j.v.format.blob(data), j.v.format.blob(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))}
	}
	s.none = errors.Is(err, fs.ErrNotExist)
	j.v.err = cmp.Or(j.v.err, ctx.Err())
	return s
}

// holds reports whether the work tree will hold a file as a commit or an index has it. Where nothing is known of the
// work tree, it does.
func (j *judge) holds(ctx context.Context, f file) bool {
	if _, nothing := j.w.(noTree); nothing {
		return true
	}
	s := j.stored(ctx, f.path)
	sameMode := s.mode == f.mode || j.anyMode && f.mode != "120000" && s.mode != "120000"
	return f.gone() && s.none || sameMode && slices.Contains(s.ids, f.id)
}
