package repo

import (
	"bufio"
	"bytes"
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
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// mostObject is how many bytes a loose object may hold.
const mostObject = 1 << 30

// errObject says that a loose object does not match its name.
var errObject = errors.New("not the object of this id")

// takeObject copies a loose object of the layer into the view, if its content matches its name. Others are left out:
// they could stand in for content that is stored later.
func (v *View) takeObject(ctx context.Context, path string) error {
	id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
	if !v.format.isID(id) {
		return nil
	}
	from, err := v.open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	name := filepath.Join(v.dir, "git", "objects", id[:2], id[2:])
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = v.format.check(id, io.TeeReader(text.Reader(ctx, from), to))
	if err := errors.Join(err, to.Close()); err == nil {
		v.made[id] = true
		return nil
	}
	if removed := os.Remove(name); removed != nil {
		return removed
	}
	if errors.Is(err, errObject) {
		return nil
	}
	return err
}

// mostPack is how many bytes of a pack are taken.
const mostPack = 64 << 20

// takePack has git unpack a new pack of the layer in the view, which computes the ids of its objects. Those
// that are damaged or behind mostPack are left out. The pack itself is never landed.
func (v *View) takePack(ctx context.Context, path string) error {
	from, err := v.open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	err = v.git.Run(ctx, io.LimitReader(from, mostPack), 0, nil, "unpack-objects", "-q", "-r")
	if err != nil && (ctx.Err() != nil || !exited(err)) {
		return err
	}
	objects := filepath.Join(v.dir, "git", "objects")
	return filepath.WalkDir(objects, func(path string, d fs.DirEntry, err error) error {
		if id := filepath.Base(filepath.Dir(path)) + d.Name(); err == nil && v.format.isID(id) {
			v.made[id] = true
		}
		return err
	})
}

// check reads a loose object to its end: it must be whole, have a correct header and
// the hash that is its id.
func (f format) check(id string, r io.Reader) error {
	packed := bufio.NewReader(r)
	z, err := zlib.NewReader(packed)
	if err != nil {
		return damaged(err)
	}
	text := bufio.NewReader(z)
	head, err := text.ReadSlice(0)
	if err != nil {
		return damaged(err)
	}
	kind, length, ok := strings.Cut(string(head[:len(head)-1]), " ")
	size, err := strconv.ParseInt(length, 10, 64)
	if !ok || err != nil || strconv.FormatInt(size, 10) != length || size < 0 || size > mostObject ||
		kind != "blob" && kind != "tree" && kind != "commit" && kind != "tag" {
		return errObject
	}
	sum := f.hash()
	sum.Write(head)
	n, err := io.Copy(sum, io.LimitReader(text, size+1))
	if err != nil {
		return damaged(err)
	}
	_, end := packed.ReadByte()
	switch {
	case end == nil, n != size, hex.EncodeToString(sum.Sum(nil)) != id:
		return errObject
	case !errors.Is(end, io.EOF):
		return end
	}
	return nil
}

// damaged is errObject where the content is at fault, else the error.
func damaged(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*os.PathError)) {
		return err
	}
	return errObject
}

// kinds asks git for the types of objects; those that the view lacks have none.
func (v *View) kinds(ctx context.Context, ids []string) (map[string]string, error) {
	found := map[string]string{}
	if len(ids) == 0 {
		return found, nil
	}
	err := v.git.Run(ctx, lines(ids), '\n', func(line string) error {
		id, kind, ok := strings.Cut(line, " ")
		if !ok {
			return fmt.Errorf("git cat-file says %q", line)
		}
		if kind != "missing" {
			found[id] = kind
		}
		return nil
	}, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	return found, err
}

func lines(list []string) io.Reader {
	var b bytes.Buffer
	for _, line := range list {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return &b
}

// reached are the objects that tips reach and the refs of before do not. The error
// says that one is missing.
func (v *View) reached(ctx context.Context, tips []string) (ids []string, err error) {
	args := []string{"rev-list", "--objects", "--no-object-names", "--stdin"}
	if v.promises() {
		args = append(args, "--missing=allow-any")
	}
	err = v.git.Run(ctx, lines(append(tips[:len(tips):len(tips)], v.refs.excluded...)), '\n', func(id string) error {
		if v.made[id] {
			ids = append(ids, id)
		}
		return nil
	}, args...)
	return ids, err
}

// exited reports whether git ran and failed.
func exited(err error) bool { return errors.As(err, new(*exec.ExitError)) }

// blob is the id of content.
func (f format) blob(data []byte) string { return git.ObjectID(f.hash(), "blob", data) }

// emptyTree is the id of a tree without entries, which git knows without storing it.
func (f format) emptyTree() string { return git.ObjectID(f.hash(), "tree", nil) }

// commit is one that no ref reached before the line.
type commit struct {
	id      string
	parents []string
	subject string
	files   []file // those that differ from all parents
}

// file is a path of a commit.
type file struct{ mode, id, path string }

func (f file) key() string { return f.path + "\x00" + f.id }

// gone reports whether the commit removes the path.
func (f file) gone() bool { return f.mode == "000000" }

// newCommits are the commits that tips reach and no ref of before did, the newest
// first.
func (v *View) newCommits(ctx context.Context, tips []string) (list []*commit, err error) {
	if len(tips) == 0 {
		return nil, nil
	}
	var raw rawLog
	input := append(tips[:len(tips):len(tips)], v.refs.excluded...)
	err = v.git.Run(ctx, lines(input), 0, func(piece string) error {
		switch head, isHead, err := raw.take(piece); {
		case err != nil:
			return err
		case isHead:
			ids, subject, _ := strings.Cut(head, "\n")
			fields := strings.Fields(ids)
			if len(fields) == 0 {
				return fmt.Errorf("git log says %q", head)
			}
			list = append(list, &commit{id: fields[0], parents: fields[1:], subject: subject})
		case raw.whole:
			if len(list) > 0 {
				c := list[len(list)-1]
				c.files = append(c.files, raw.now)
			}
		}
		return nil
	}, "log", "--stdin", "--topo-order", "-z", "--raw", "-c", "--no-abbrev", "--no-renames", "--root", "--format=%H %P%n%s")
	return list, err
}

// rawLog reads the output of git log -z --raw, piece by piece.
type rawLog struct {
	meta  bool // The piece before described the next path.
	whole bool // The fields now and was are complete.
	now   file
	was   []string // The parents hold these ids.
}

// take reports whether a piece is the head of a commit.
func (r *rawLog) take(piece string) (head string, isHead bool, err error) {
	if r.meta {
		r.now.path, r.meta, r.whole = piece, false, true
		return "", false, nil
	}
	r.whole = false
	meta := strings.TrimPrefix(piece, "\n")
	if !strings.HasPrefix(meta, ":") {
		return piece, piece != "", nil
	}
	parents := len(meta) - len(strings.TrimLeft(meta, ":"))
	fields := strings.Fields(meta[parents:])
	if len(fields) != 2*(parents+1)+1 {
		return "", false, fmt.Errorf("git log says %q", piece)
	}
	r.now = file{mode: fields[parents], id: fields[2*parents+1]}
	r.was = fields[parents+1 : 2*parents+1]
	r.meta = true
	return "", false, nil
}

// held says which of the files, at their paths, a commit held that a ref reached before
// the line.
func (v *View) held(ctx context.Context, files []file) (map[string]bool, error) {
	found := map[string]bool{}
	paths, wanted := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		paths[f.path], wanted[f.key()] = true, true
	}
	if len(paths) == 0 || len(v.refs.excluded) == 0 {
		return found, nil
	}
	input := make([]string, 0, len(v.refs.excluded)+len(paths)+1)
	for _, tip := range v.refs.excluded {
		input = append(input, strings.TrimPrefix(tip, "^"))
	}
	input = append(input, "--")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.Contains(path, "\n") { // It does not fit in a line of input, so it counts as new.
			continue
		}
		input = append(input, path)
	}
	if input[len(input)-1] == "--" {
		return found, nil
	}
	all := errors.New("all are found")
	var raw rawLog
	err := v.git.Run(ctx, lines(input), 0, func(piece string) error {
		if _, _, err := raw.take(piece); err != nil || !raw.whole {
			return err
		}
		for _, id := range append(raw.was, raw.now.id) {
			if key := (file{id: id, path: raw.now.path}).key(); wanted[key] {
				found[key] = true
			}
		}
		if len(found) == len(wanted) {
			return all
		}
		return nil
	}, "log", "--stdin", "-z", "--raw", "-m", "--full-history", "--no-abbrev", "--no-renames", "--root", "--format=%H")
	if errors.Is(err, all) {
		err = nil
	}
	return found, err
}

// mostDiff is how many bytes the diffs of all commits take together.
const mostDiff = 4 << 20

// uncounted is how many lines a change counts for that has none, such as that of a binary file.
const uncounted = 1 << 30

// diff is that of a commit.
type diff struct {
	text  string // cut after mostDiff bytes of all
	lines int    // so many are added and removed
}

// diffs are the diffs of commits.
func (v *View) diffs(ctx context.Context, ids []string) (map[string]diff, error) {
	all := map[string]diff{}
	if len(ids) == 0 {
		return all, nil
	}
	var now string // the commit of the present line; "" before the first
	var text strings.Builder
	total, count, columns := 0, 0, 0 // columns of signs in a hunk, one for each parent; 0 outside hunks
	end := func() {
		if now != "" {
			all[now] = diff{strings.TrimRight(text.String(), "\n") + "\n", count}
		}
		text.Reset()
		count, columns = 0, 0
	}
	// A line of a diff never begins with NUL.
	err := v.git.Run(ctx, lines(ids), '\n', func(line string) error {
		if id, ok := strings.CutPrefix(line, "\x00"); ok {
			end()
			now = id
			return nil
		}
		switch {
		case strings.HasPrefix(line, "@@"):
			columns = len(line) - len(strings.TrimLeft(line, "@")) - 1
		case strings.HasPrefix(line, "diff "):
			columns = 0
		case columns == 0 && strings.HasPrefix(line, "Binary files "):
			count = uncounted
		case columns > 0 && strings.ContainsAny(line[:min(columns, len(line))], "+-"):
			count = min(count+1, uncounted)
		}
		if total += len(line) + 1; now != "" && total <= mostDiff && (line != "" || text.Len() > 0) {
			text.WriteString(line + "\n")
		}
		return nil
	}, "-c", "core.bigFileThreshold=1m", "log", "--stdin", "--no-walk=unsorted", "-p", "-c", "--root", "--no-color", "--no-renames",
		"--no-ext-diff", "--no-textconv", "--format=%x00%H")
	end()
	if total > mostDiff {
		for id, d := range all {
			d.text += "the diff is too long to be shown whole\n"
			all[id] = d
		}
	}
	return all, err
}

// mostAsked is how many pairs of commits git is asked about, one process each.
const mostAsked = 500

// descends reports whether a commit is a descendant of another; beyond mostAsked pairs the
// answer is no.
func (j *judge) descends(ctx context.Context, from, to string) (bool, error) {
	if j.kinds[from] != "commit" || j.kinds[to] != "commit" {
		return false, nil // A tag object or a tree has no descendants.
	}
	pair := [2]string{from, to}
	if known, ok := j.asked[pair]; ok || len(j.asked) >= mostAsked {
		return known, nil
	}
	err := j.v.git.Do(ctx, "merge-base", "--is-ancestor", from, to)
	if err != nil && (ctx.Err() != nil || !exited(err)) {
		return false, err
	}
	j.asked[pair] = err == nil
	return err == nil, nil
}

// stored is how git would store a file of the work tree.
type stored struct {
	mode string
	ids  []string // The second is the one with line ends as git normalizes them.
	none bool     // There is no such file.
}

// mostFile is how many bytes of a file of the work tree are read.
const mostFile = 64 << 20

// stored reads a file of the work tree as it will be. A file that cannot be read equals nothing.
func (j *judge) stored(ctx context.Context, path string) (stored, error) {
	if s, ok := j.files[path]; ok {
		return s, nil
	}
	s, err := j.store(ctx, path)
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if err != nil {
		s = stored{none: errors.Is(err, fs.ErrNotExist)}
	}
	j.files[path] = s
	return s, nil
}

func (j *judge) store(ctx context.Context, path string) (stored, error) {
	if j.w.Open == nil {
		return stored{}, nil
	}
	f, mode, err := j.w.Open(path)
	if err != nil {
		return stored{}, err
	}
	defer f.Close()
	var s stored
	switch {
	case mode&fs.ModeSymlink != 0:
		s.mode = "120000"
	case !mode.IsRegular():
		return s, nil
	case mode&0o100 != 0:
		s.mode = "100755"
	default:
		s.mode = "100644"
	}
	data, err := io.ReadAll(io.LimitReader(text.Reader(ctx, f), mostFile+1))
	if err != nil || len(data) > mostFile {
		return stored{}, err
	}
	s.ids = []string{j.v.format.blob(data)}
	if text := strings.ReplaceAll(string(data), "\r\n", "\n"); len(text) != len(data) && s.mode != "120000" {
		s.ids = append(s.ids, j.v.format.blob([]byte(text)))
	}
	return s, nil
}

// holds reports whether the work tree will hold a file as a commit or an index has it.
func (j *judge) holds(ctx context.Context, mode, id, path string) (bool, error) {
	s, err := j.stored(ctx, path)
	if err != nil {
		return false, err
	}
	if s.mode != mode && (!j.anyMode || mode == "120000" || s.mode == "120000") {
		return false, nil
	}
	return slices.Contains(s.ids, id), nil
}
