package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/text/transform"

	"artoo/tool/files"
)

const (
	// MaxFile is the size in bytes up to which files of a tree are searched; a named file has no limit.
	MaxFile = 16 << 20
	// maxGrepWhole bounds the part of a file in memory, in bytes, for patterns that span lines.
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
	files *files.Files
	// inside finds the lines of a text that are part of a secret of several lines, by their
	// number from 1, with the mark that stands for each; nil finds none.
	inside func(body string) map[int]string
	lines  lineSearch
	chain  dirChain
}

// file searches the file at an absolute path, whatever its size. It may return a *RefusedError.
func (s *fileSearch) file(ctx context.Context, abs string, keep int) (fileHits, error) {
	f, err := s.files.Open(abs)
	if err != nil {
		return fileHits{}, err
	}
	defer f.Close()
	hits, err := s.text(ctx, f, 0, keep)
	if err == nil {
		err = s.hideHits(abs, hits)
	}
	return hits, err
}

// inDir searches the file base of a directory of a tree, whose absolute path is abs. A check whether a file may be
// shown takes longer than a search of it: so only files with something to show are checked, and the file checked is
// always the one that was read.
func (s *fileSearch) inDir(ctx context.Context, dir openDir, base, abs string, keep int) (fileHits, error) {
	f, err := dir.file(base)
	if err != nil {
		if no := s.refused(abs, nil); no != nil {
			err = no
		}
		return fileHits{}, err
	}
	defer f.close()
	if !f.regular() {
		return fileHits{}, errNotRegular
	}
	var hits fileHits
	if err = errTooBig; f.size() <= MaxFile {
		hits, err = s.text(ctx, &f, f.size(), keep)
	}
	if hits.count == 0 && (err == nil || leftOut(err)) {
		return fileHits{}, err
	}
	if no := s.refused(abs, &f); no != nil {
		return fileHits{}, no
	}
	if err == nil {
		err = s.hideHits(abs, hits)
	}
	return hits, err
}

// refused is why the file at an absolute path may not be shown, or is not f; f may be nil.
func (s *fileSearch) refused(abs string, f *searchFile) error {
	t, err := s.files.Resolve(abs, false)
	if err == nil {
		err = t.Refused()
	}
	if err != nil || f == nil {
		return err
	}
	named, err := os.Lstat(t.Abs)
	if err == nil && !f.is(named) {
		err = files.ErrReplaced
	}
	return err
}

// text searches the content of r, if it is text: size bytes, 0 when that is not known.
func (s *fileSearch) text(ctx context.Context, r io.Reader, size int64, keep int) (fileHits, error) {
	l := &s.lines
	l.begin(keep)
	if size > 0 {
		// To ask for more, only to be told that it has ended, is a call in five.
		r = io.LimitReader(r, size)
	}
	have, ended, err := l.fill(r, 0)
	if err != nil {
		return fileHits{}, err
	}
	head := l.buf[:min(have, files.HeadSize)]
	set := files.CharsetOf(head)
	from := len(set.Mark())
	if wide := set.Wide(); wide != nil {
		r = transform.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(l.buf[from:have])), r), wide.NewDecoder())
		if have, ended, err = l.fill(r, 0); err != nil {
			return fileHits{}, err
		}
		from = 0
	} else if bytes.IndexByte(head, 0) >= 0 {
		return fileHits{}, errBinary
	}
	if !l.pattern.multi {
		return l.from(ctx, r, from, have, ended)
	}
	data := bytes.Clone(l.buf[from:have])
	if !ended {
		rest, err := io.ReadAll(io.LimitReader(r, maxGrepWhole+1))
		if data = append(data, rest...); err != nil {
			return fileHits{}, err
		}
	}
	if len(data) > maxGrepWhole {
		return fileHits{}, fmt.Errorf("%w to be searched in one piece", errTooBig)
	}
	return l.whole(ctx, data, keep)
}

// whole searches for matches that may span lines. Line breaks become \n first.
func (s *lineSearch) whole(ctx context.Context, data []byte, keep int) (fileHits, error) {
	if s.pattern.size*len(data) > maxMultiWork {
		return fileHits{}, errHeavy
	}
	s.begin(keep)
	if i := bytes.IndexByte(data, 0); s.quit && i >= 0 {
		data, s.hits.binary = data[:i], true
	}
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte{'\n'})
	}
	defer func(chunk []byte) { s.buf = chunk }(s.buf)
	s.buf = data
	if s.needs.start(s.pattern.needs, data); s.pattern.needs != nil && s.needs.next(0) < 0 {
		return s.hits, nil
	}
	for at := 0; at < len(data) && s.keep > 0; {
		if err := ctx.Err(); err != nil {
			return s.hits, err
		}
		// Each search begins at a line, so that it can look back to its beginning.
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
			s.add(at, end, 0, HitRest)
		case n == maxMultiLines:
			s.count(at)
			s.hits.lines = append(s.hits.lines, HitLine{Num: s.line, Text: "… (the match goes on)", Kind: HitRest})
		}
		s.shown = end
	}
}

// maxInside is the size in bytes up to which a file is looked through for secrets of several lines, such as private
// keys: one of these lines alone does not show that it is a secret.
const maxInside = 1 << 20

// hideHits puts marks in place of lines that are part of a secret.
func (s *fileSearch) hideHits(abs string, hits fileHits) error {
	suspect := false
	for _, line := range hits.lines {
		suspect = suspect || hasBase64(line.Text)
	}
	if !suspect || s.inside == nil {
		return nil
	}
	text, err := s.files.Source(abs)
	switch {
	case errors.Is(err, files.ErrTooLarge), len(text) > maxInside:
		return nil
	case err != nil:
		return err
	}
	marks := s.inside(text)
	for i, line := range hits.lines {
		if mark := marks[line.Num]; mark != "" {
			hits.lines[i].Text = mark
		}
	}
	return nil
}

// hasBase64 reports whether a line may be one of a key.
func hasBase64(line string) bool {
	run := 0
	for i := range len(line) {
		switch c := line[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '+', c == '/':
			if run++; run >= 32 {
				return true
			}
		default:
			run = 0
		}
	}
	return strings.HasSuffix(strings.TrimSpace(line), "=")
}
