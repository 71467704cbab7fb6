package builtin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/text"
)

// hugeLine ends the reading of a large file: no line of a text is so long.
const hugeLine = 64 << 20

var errHugeLine = errors.New("a line is too long")

// lineReader reads lines of any length in little memory.
type lineReader struct {
	r *bufio.Reader
}

// rawLine is one line without its end.
type rawLine struct {
	text       []byte // at most about maxLine bytes, valid until the next line is read
	cut        int    // how many more bytes there were
	ended, ret bool
}

// next returns io.EOF when nothing is left, and errHugeLine.
func (l lineReader) next() (rawLine, error) {
	var line rawLine
	var tail byte // the last byte before the end
	for n := 0; ; {
		piece, err := l.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return line, err
		}
		if len(piece) == 0 && n == 0 {
			return line, io.EOF
		}
		if n += len(piece); n > hugeLine {
			return line, errHugeLine
		}
		line.ended = bytes.HasSuffix(piece, []byte("\n"))
		piece = bytes.TrimSuffix(piece, []byte("\n"))
		if len(piece) > 0 {
			tail = piece[len(piece)-1]
		}
		keep := min(len(piece), max(0, maxLine+utf8.UTFMax-len(line.text)))
		line.text = append(line.text, piece[:keep]...)
		line.cut += len(piece) - keep
		if err == nil || errors.Is(err, io.EOF) {
			break
		}
	}
	line.ret = line.ended && tail == '\r'
	if line.ret && line.cut == 0 {
		line.text = line.text[:len(line.text)-1]
	}
	return line, nil
}

// page is what showText collects.
type page struct {
	body         strings.Builder
	first, last  int  // numbers of the lines shown
	lines        int  // lines read
	more         bool // lines were left out after the last
	crlf, lf     bool // some lines end so
	bad, partial bool // not UTF-8; the last line has no end
	seen         []files.Span
}

// showText shows lines of a text, and notes in seen which. With whole the rest is
// read too, to count the lines.
func showText(t files.Place, r io.Reader, size int64, in readInput, whole bool, seen *files.Sight) (tool.Result, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, _ := buffered.Peek(4) // an error comes again with the first line
	set := files.CharsetOf(head)
	if _, err := buffered.Discard(len(set.Mark())); err != nil {
		return tool.Result{}, t.Errorf(err, "")
	}
	if wide := set.Wide(); wide != nil {
		buffered = bufio.NewReaderSize(transform.NewReader(buffered, wide.NewDecoder()), 64<<10)
	}
	var p page
	err := p.fill(lineReader{buffered}, in, whole)
	switch {
	case errors.Is(err, errHugeLine):
		p.more = true
	case err != nil:
		return tool.Result{}, t.Errorf(err, "")
	}
	seen.Lines, seen.Whole = files.JoinSpans(p.seen), p.lines == 0 && !p.more
	if whole {
		seen.Of = p.lines
	}
	switch {
	case p.lines == 0 && !p.more:
		return tool.Result{Text: t.Display + " is empty", Summary: "empty"}, nil
	case p.first == 0:
		return tool.Result{}, t.Errorf(nil, "offset %d is past the end: there are %s", in.Offset, text.Count(p.lines, "line"))
	}
	return p.result(size, set, whole, errors.Is(err, errHugeLine)), nil
}

// fill reads lines and keeps those that were asked for.
func (p *page) fill(r lineReader, in readInput, whole bool) error {
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.lines++
		p.crlf = p.crlf || line.ret
		p.lf = p.lf || line.ended && !line.ret
		p.partial = !line.ended
		if p.lines < in.Offset {
			continue
		}
		full := p.lines-in.Offset >= in.Limit || p.first > 0 && p.body.Len()+len(line.text) > in.bytes
		if p.more = p.more || full; p.more {
			if !whole {
				p.lines--
				return nil
			}
			continue
		}
		shown, cut := text.CutLine(string(line.text), maxLine)
		cut += line.cut
		p.bad = p.bad || !utf8.ValidString(shown)
		text.WriteLine(&p.body, p.lines, shown, cut)
		if cut == 0 {
			p.seen = append(p.seen, files.Span{From: p.lines, To: p.lines + 1})
		}
		if p.first == 0 {
			p.first = p.lines
		}
		p.last = p.lines
	}
}

// result puts the notes under the lines.
func (p *page) result(size int64, set files.Charset, whole, huge bool) tool.Result {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	result := tool.Result{Summary: text.Count(p.lines, "line")}
	switch {
	case huge:
		note("line %d is longer than %s; nothing from there on is shown", p.lines+1, text.Bytes(hugeLine))
		result.Summary = fmt.Sprintf("lines %d-%d", p.first, p.last)
	case p.more && whole:
		note("lines %d-%d of %d; use offset=%d to continue", p.first, p.last, p.lines, p.last+1)
		result.Summary = fmt.Sprintf("lines %d-%d of %d", p.first, p.last, p.lines)
	case p.more:
		note("lines %d-%d of a file of %s; use offset=%d to continue", p.first, p.last, text.Bytes(size), p.last+1)
		result.Summary = fmt.Sprintf("lines %d-%d of %s", p.first, p.last, text.Bytes(size))
	case p.first > 1:
		note("lines %d-%d, the end of the file", p.first, p.last)
		result.Summary = fmt.Sprintf("lines %d-%d of %d", p.first, p.last, p.lines)
	}
	switch {
	case p.crlf && p.lf:
		note("line ends are mixed, CRLF and LF")
	case p.crlf:
		note(`line ends are CRLF; write \n, they are kept`)
	}
	if set != files.Plain {
		note("encoded as %s, which is kept", set)
	}
	if p.bad {
		note("not all of it is UTF-8; � stands for other bytes")
	}
	if p.partial && !p.more {
		note("no newline at the end")
	}
	if len(notes) > 0 {
		fmt.Fprintf(&p.body, "[%s]\n", strings.Join(notes, "; "))
	}
	result.Text = p.body.String()
	return result
}
