package builtin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/pdf"
	"artoo/tool/text"
)

// The limits of one read.
const (
	readLines = 2000      // lines shown unless asked otherwise
	readBytes = 100 << 10 // bytes shown, whatever was asked: so many ordinary lines of code with their numbers
	maxLine   = 2000      // bytes shown of one line
)

type readInput struct {
	Path   string `json:"path" jsonschema:"relative to the working directory, or absolute"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines; default 2000"`

	bytes   int            // how many are shown at most
	marks   map[int]string // lines as they are shown, masked, by their numbers
	returns bool           // \r alone ends lines, too
}

// Read is the tool that shows a file.
func Read() tool.Tool {
	return tool.New(tool.Def{
		Name: "read",
		Kind: tool.KindRead,
		Description: "Show a file: text as lines, each after its number and a tab, which are not part of the file; " +
			"images (PNG, JPEG, GIF, WebP); PDFs as text; notebooks as cells, which offset and limit then count. " +
			"Long files come in pieces. For a directory use ls.",
	}, planRead, runRead)
}

func planRead(_ context.Context, env *tool.Env, in readInput) (tool.Access, error) {
	t, err := env.Files.Resolve(in.Path, false)
	if err != nil {
		return tool.Access{Kind: tool.KindRead, Verb: "read", Object: in.Path}, err
	}
	access := accessTo(t, tool.KindRead, "read", t.Display)
	if in.Offset < 0 || in.Limit < 0 {
		return access, errors.New("offset and limit count from 1")
	}
	return access, nil
}

func runRead(ctx context.Context, env *tool.Env, in readInput, _ io.Writer) (tool.Result, error) {
	t, err := env.Files.Resolve(in.Path, false)
	if err != nil {
		return tool.Result{}, err
	}
	file, info, err := t.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Result{}, missingFile(ctx, env, t, "glob finds files by name")
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer file.Close()
	if info.IsDir() {
		return tool.Result{}, t.Errorf(nil, "is a directory; ls lists it")
	}
	in.Offset = max(in.Offset, 1)
	if in.Limit <= 0 {
		in.Limit = readLines
	}
	in.bytes = env.Page(readBytes)
	if isPDF(file) {
		return showPDF(ctx, t, env, file, info.Size(), in)
	}
	result, seen, err := showFile(ctx, env, t, file, info, in)
	if err != nil {
		return tool.Result{}, err
	}
	env.Files.Seen.AddPage(t.Abs, seen)
	result.Paged = true
	return result, nil
}

// showFile shows a part of the file, and notes that the model has seen it. A file that is
// too large to be edited is not read further than to the end of that part.
func showFile(ctx context.Context, env *tool.Env, t files.Place, file *os.File, info fs.FileInfo, in readInput) (
	tool.Result, files.ReadState, error) {
	seen := files.ReadState{State: files.State{ModTime: info.ModTime(), Size: info.Size()}}
	source := contextReader{ctx, file}
	head, err := io.ReadAll(io.LimitReader(source, files.HeadSize))
	if err != nil {
		return tool.Result{}, seen, t.Errorf(err, "")
	}
	rest := io.MultiReader(bytes.NewReader(head), source)
	if kind := files.BinaryType(head); kind != "" {
		result, err := showBinary(t, rest, info.Size(), kind)
		return result, seen, err
	}
	if info.Size() > files.MaxEdit {
		result, err := showText(t, rest, info.Size(), in, false, &seen)
		return result, seen, err
	}
	data, err := io.ReadAll(io.LimitReader(rest, files.MaxEdit))
	if err != nil {
		return tool.Result{}, seen, t.Errorf(err, "")
	}
	data = t.AsEdited(data)
	seen.Size, seen.Hash = int64(len(data)), sha256.Sum256(data)
	text, err := files.Decode(data)
	in.returns = text.ReturnsEndLines()
	if len(data) <= files.MaxKeptText {
		if seen.Body, seen.Kept = text.Body, err == nil; seen.Kept {
			in.marks = insideSecrets(env, text.Body, in.Offset)
		}
	}
	if isNotebook(t.Display) {
		if result, ok, err := showNotebook(t, data, in, &seen); ok || err != nil {
			return result, seen, err
		}
	}
	result, err := showText(t, bytes.NewReader(data), int64(len(data)), in, true, &seen)
	return result, seen, err
}

// isPDF reports whether a file begins as a PDF does.
func isPDF(file io.ReaderAt) bool {
	head := make([]byte, len(pdf.Magic))
	_, err := file.ReadAt(head, 0) // one that cannot be read fails again where that is said
	return err == nil && string(head) == pdf.Magic
}

// showPDF shows the text of a PDF, whose lines offset and limit count.
func showPDF(ctx context.Context, t files.Place, env *tool.Env, file *os.File, size int64, in readInput) (tool.Result, error) {
	if size > pdf.MaxSize {
		return tool.Result{}, t.Errorf(nil, "is a PDF of %s; the limit is %s", text.Bytes(size), text.Bytes(pdf.MaxSize))
	}
	content, err := pdf.Text(ctx, file, size)
	if err != nil {
		return tool.Result{}, t.Errorf(err, "")
	}
	in.marks = insideSecrets(env, content, in.Offset)
	result, err := showText(t, strings.NewReader(content), int64(len(content)), in, true, &files.ReadState{})
	if err != nil {
		return tool.Result{}, err
	}
	result.Text = fmt.Sprintf("[%s is a PDF (%s); this is its text]\n", t.Display, text.Bytes(size)) + result.Text
	result.Summary = "PDF, " + result.Summary
	result.Paged = true
	return result, nil
}

// contextReader stops reading when the context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// showBinary returns an image, or names the type of the file.
func showBinary(t files.Place, r io.Reader, size int64, kind string) (tool.Result, error) {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return tool.Result{
			Text: fmt.Sprintf("%s is a binary file (%s, %s), which cannot be shown as text", t.Display, kind,
				text.Bytes(size)),
			Summary: "binary, " + text.Bytes(size),
		}, nil
	}
	if size > maxImageFile {
		return tool.Result{}, t.Errorf(nil, "is an image of %s (%s); the limit is %s, make a smaller copy first",
			text.Bytes(size), kind, text.Bytes(maxImageFile))
	}
	data, err := io.ReadAll(io.LimitReader(r, maxImageFile))
	if err != nil {
		return tool.Result{}, t.Errorf(err, "")
	}
	result, err := shownImage(data, kind, size, t.Display)
	if err != nil {
		return tool.Result{}, t.Errorf(err, "is ")
	}
	result.Text = t.Display + " is " + result.Text
	return result, nil
}

// hugeLine is where the reading of a file ends, in bytes: no line of one that can be edited is so long.
const hugeLine = 16 << 20

// wholeLines is bufio.ScanLines with the ends of the lines, which one of marks begins.
func wholeLines(marks string) bufio.SplitFunc {
	return func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		end := bytes.IndexAny(data, marks) + 1
		switch {
		case end > 0 && end == len(data) && data[end-1] == '\r' && !atEOF: // \n may follow
			end = 0
		case end > 0 && end < len(data) && data[end-1] == '\r' && data[end] == '\n':
			end++
		case end == 0 && atEOF:
			end = len(data)
		}
		if end == 0 {
			return 0, nil, nil
		}
		return end, data[:end], nil
	}
}

// page is the text that showText collects.
type page struct {
	body         strings.Builder
	first, last  int     // numbers of the lines shown
	lines        int     // lines read
	more         bool    // lines were left out after the last
	ends         [3]bool // whether some lines end so, by lineEnds
	bad, partial bool    // not UTF-8; the last line has no end
	seen         []files.Span
}

// lineEnds are the ends that a line may have, the longest first.
func lineEnds() [3]struct{ is, called string } {
	return [3]struct{ is, called string }{{"\r\n", "CRLF"}, {"\n", "LF"}, {"\r", "CR"}}
}

// showText shows lines of a text, and notes them in seen. With whole it counts all lines.
func showText(t files.Place, r io.Reader, size int64, in readInput, whole bool, seen *files.ReadState) (tool.Result, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, _ := buffered.Peek(files.HeadSize) // an error comes again with the first line
	set := files.CharsetOf(head)
	if _, err := buffered.Discard(len(set.Mark())); err != nil {
		return tool.Result{}, t.Errorf(err, "")
	}
	if wide := set.Wide(); wide != nil {
		buffered = bufio.NewReaderSize(transform.NewReader(buffered, wide.NewDecoder()), 64<<10)
	}
	var p page
	err := p.fill(buffered, in, whole)
	huge := errors.Is(err, bufio.ErrTooLong)
	switch {
	case huge:
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
	return p.result(size, set, whole, huge), nil
}

// fill reads lines and keeps those that were asked for.
func (p *page) fill(r io.Reader, in readInput, whole bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), hugeLine)
	marks := "\n"
	if in.returns {
		marks = "\r\n"
	}
	lines.Split(wholeLines(marks))
	for lines.Scan() {
		line := lines.Bytes()
		p.lines++
		p.partial = !bytes.ContainsAny(line, marks)
		for i, end := range lineEnds() {
			if bare, ended := bytes.CutSuffix(line, []byte(end.is)); ended && !p.partial {
				line, p.ends[i] = bare, true
				break
			}
		}
		if p.lines < in.Offset {
			continue
		}
		full := p.lines-in.Offset >= in.Limit || p.first > 0 && p.body.Len()+min(len(line), maxLine) > in.bytes
		if p.more = p.more || full; p.more {
			if !whole {
				p.lines--
				return nil
			}
			continue
		}
		shown, cut := text.CutLine(string(line), maxLine)
		if mark := in.marks[p.lines]; mark != "" {
			shown, cut = mark, 0
		}
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
	return lines.Err()
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
	var ends []string
	for i, end := range lineEnds() {
		if p.ends[i] {
			ends = append(ends, end.called)
		}
	}
	switch {
	case len(ends) > 1:
		note("line ends are mixed, %s", strings.Join(ends, " and "))
	case len(ends) == 1 && ends[0] != "LF":
		note(`line ends are %s; write \n, they are kept`, ends[0])
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
