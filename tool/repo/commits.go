package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"artoo/tool/text"
)

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

// rawLog reads what git log -z --raw says, piece by piece.
type rawLog struct {
	meta  bool // The piece before said what the next path holds.
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

// diffs are the diffs of commits.
func (v *View) diffs(ctx context.Context, ids []string) (map[string]string, error) {
	texts := map[string]*strings.Builder{}
	if len(ids) == 0 {
		return nil, nil
	}
	var now *strings.Builder
	total := 0
	// A line of a diff never begins with NUL.
	err := v.git.Run(ctx, lines(ids), '\n', func(line string) error {
		if id, ok := strings.CutPrefix(line, "\x00"); ok {
			now = &strings.Builder{}
			texts[id] = now
			return nil
		}
		if total += len(line) + 1; now != nil && total <= mostDiff && (line != "" || now.Len() > 0) {
			now.WriteString(line + "\n")
		}
		return nil
	}, "-c", "core.bigFileThreshold=1m", "log", "--stdin", "--no-walk=unsorted", "-p", "-c", "--root", "--no-color", "--no-renames",
		"--no-ext-diff", "--no-textconv", "--format=%x00%H")
	said := map[string]string{}
	for id, text := range texts {
		said[id] = strings.TrimRight(text.String(), "\n") + "\n"
		if total > mostDiff {
			said[id] += "the diff is too long to be shown whole\n"
		}
	}
	return said, err
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

// stored reads a file of the work tree as it will be. What cannot be read equals
// nothing.
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
