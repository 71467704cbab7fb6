package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/transform"
)

const (
	// maxGrepFile is the size in bytes up to which the files of a tree are
	// searched. A file that is named itself has no limit.
	maxGrepFile = 16 << 20
	// maxGrepWhole is what of a file can be in memory at once, for patterns that
	// span lines.
	maxGrepWhole = 16 << 20
	// maxMultiLines is how many lines of one match are shown.
	maxMultiLines = 20
)

var (
	errBinary = errors.New("a binary file")
	errTooBig = errors.New("too big")
	errHeavy  = errors.New("too large for so long a pattern with multiline")
)

// fileSearch searches files one after the other; each worker has its own.
type fileSearch struct {
	env   *Env
	lines lineSearch
}

// file searches the file at the absolute path abs. The error for one that is
// denied or leads out of what may be read is a *RefusedError. max bounds the
// size, in bytes; 0 means no bound.
func (s *fileSearch) file(ctx context.Context, abs string, keep int, max int64) (fileHits, error) {
	hits, err := s.find(ctx, abs, keep, max)
	if err == nil {
		err = s.hideHits(abs, hits)
	}
	return hits, err
}

func (s *fileSearch) find(ctx context.Context, abs string, keep int, max int64) (fileHits, error) {
	f, info, err := openRegular(s.env.Files, abs)
	if err != nil {
		return fileHits{}, err
	}
	defer f.Close()
	if max > 0 && info.Size() > max {
		return fileHits{}, errTooBig
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fileHits{}, err
	}
	head = head[:n]
	set := charsetOf(head)
	r := io.MultiReader(bytes.NewReader(head[len(set.mark()):]), f)
	if wide := set.wide(); wide != nil {
		r = transform.NewReader(r, wide.NewDecoder())
	} else if bytes.IndexByte(head, 0) >= 0 {
		return fileHits{}, errBinary
	}
	if !s.lines.pattern.multi {
		return s.lines.search(ctx, r, keep)
	}
	data, err := readWhole(r)
	if err != nil {
		return fileHits{}, err
	}
	return s.lines.whole(ctx, data, keep)
}

func readWhole(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxGrepWhole+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxGrepWhole {
		return nil, fmt.Errorf("%w to be searched in one piece", errTooBig)
	}
	return data, nil
}

// whole searches text for matches that may span lines. Line breaks are made
// uniform first, so that a pattern need not know of \r.
func (s *lineSearch) whole(ctx context.Context, data []byte, keep int) (fileHits, error) {
	if s.pattern.size*len(data) > maxMultiWork {
		return fileHits{}, errHeavy
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte{'\n'})
	s.buf, s.keep, s.hits, s.after, s.shown, s.seen, s.line = data, keep, fileHits{}, 0, 0, 0, 1
	defer func() { s.buf = nil }() // it is as large as the file was
	if s.prefilter(0, len(data)) && s.nextNeed(0) < 0 {
		return s.hits, nil
	}
	for at := 0; at < len(data) && s.keep > 0; {
		if err := ctx.Err(); err != nil {
			return s.hits, err
		}
		// Each search begins at a line: what it looks back at is there.
		m := s.pattern.re.FindIndex(data[at:])
		if m == nil || at > 0 && s.pattern.atStart {
			break
		}
		from, last := at+m[0], at+max(m[0], m[1]-1)
		if from == len(data) && data[from-1] == '\n' {
			break // behind the last line
		}
		line := at + bytes.LastIndexByte(data[at:from], '\n') + 1
		at = s.lineEnd(last, len(data))
		s.hitLines(line, at, from-line)
		if s.first {
			break
		}
		s.hits.more = s.keep == 0 && at < len(data)
	}
	s.owed(len(data))
	return s.hits, nil
}

// hitLines notes a match that covers the lines buf[at:stop].
func (s *lineSearch) hitLines(at, stop, col int) {
	end := s.lineEnd(at, stop)
	s.hit(at, end, col)
	if s.first || s.shown != end {
		return // only counted
	}
	for n := 1; end < stop; n++ {
		at, end = end, s.lineEnd(end, stop)
		switch {
		case n < maxMultiLines:
			s.add(at, end, 0, hitRest)
		case n == maxMultiLines:
			s.count(at)
			s.hits.lines = append(s.hits.lines, hitLine{num: s.line, text: "… (the match goes on)", kind: hitRest})
		}
		s.shown = end
	}
}
