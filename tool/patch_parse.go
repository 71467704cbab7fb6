package tool

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// filePatch is what a patch says of one file.
type filePatch struct {
	op     byte // A, M or D
	path   string
	moveTo string // "" where the file stays
	text   string // of a file that is added
	chunks []patchChunk
}

// patchChunk is a run of lines that others take the place of.
type patchChunk struct {
	line     int      // of the patch where it begins, from 1
	anchors  []string // lines that stand above it, one after the other
	old, new []string
	atEnd    bool // it is the end of the file
}

// What begins the sections of a patch.
const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File:"
	patchDelete = "*** Delete File:"
	patchUpdate = "*** Update File:"
	patchMove   = "*** Move to:"
	patchEOF    = "*** End of File"
)

// hunkHead is what unified diffs have behind @@: numbers that say nothing here.
var hunkHead = regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)? @@ ?`)

// patchReader goes through the lines of a patch.
type patchReader struct {
	lines []string
	at    int // the next one
}

// parsePatch takes a patch apart. The error names the line, for the model.
func parsePatch(input string) (files []filePatch, err error) {
	input = barePatch(input)
	r := &patchReader{lines: strings.Split(input, "\n")}
	last := len(r.lines) - 1
	if strings.TrimSpace(r.lines[0]) != patchBegin {
		return nil, errors.New("a patch begins with the line " + patchBegin)
	}
	if strings.TrimSpace(r.lines[last]) != patchEnd {
		return nil, errors.New("the patch does not end with the line " + patchEnd + ": perhaps it was cut off")
	}
	r.lines, r.at = r.lines[:last], 1
	for r.at < len(r.lines) {
		f, err := r.file()
		if err != nil {
			return nil, fmt.Errorf("line %d of the patch: %w", r.at, err)
		}
		if f.op != 0 {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, errors.New("the patch names no file: each one begins with " + patchAdd + ", " + patchUpdate + " or " +
			patchDelete + " and its path")
	}
	return files, nil
}

// next is the next line, which counts as read.
func (r *patchReader) next() string {
	r.at++
	return r.lines[r.at-1]
}

// ends reports whether a file's section ends before the next line.
func (r *patchReader) ends() bool {
	if r.at == len(r.lines) {
		return true
	}
	for _, mark := range []string{patchAdd, patchDelete, patchUpdate} {
		if strings.HasPrefix(r.lines[r.at], mark) {
			return true
		}
	}
	return false
}

// file reads one section; its op is 0 for a blank line between them.
func (r *patchReader) file() (f filePatch, err error) {
	line := strings.TrimSpace(r.next())
	for mark, op := range map[string]byte{patchAdd: 'A', patchDelete: 'D', patchUpdate: 'M'} {
		if path, ok := strings.CutPrefix(line, mark); ok {
			f.op, f.path = op, strings.TrimSpace(path)
		}
	}
	switch {
	case f.op == 0 && line != "":
		return f, fmt.Errorf("%.80q begins no file: that is %s, %s or %s and a path", line, patchAdd, patchUpdate,
			patchDelete)
	case f.op != 0 && f.path == "":
		return f, errors.New("the path is missing")
	case f.op == 'A':
		return f, r.added(&f)
	case f.op == 'M':
		return f, r.updated(&f)
	}
	return f, nil
}

func (r *patchReader) added(f *filePatch) error {
	var b strings.Builder
	for !r.ends() {
		line, ok := strings.CutPrefix(r.next(), "+")
		if !ok && strings.TrimSpace(line) == "" && r.ends() {
			break
		}
		if !ok {
			return fmt.Errorf("every line of a new file begins with +, not so %.80q", line)
		}
		b.WriteString(line + "\n")
	}
	f.text = b.String()
	return nil
}

func (r *patchReader) updated(f *filePatch) error {
	if !r.ends() {
		if to, ok := strings.CutPrefix(r.lines[r.at], patchMove); ok {
			r.at++
			if f.moveTo = strings.TrimSpace(to); f.moveTo == "" {
				return errors.New("the path to move to is missing")
			}
		}
	}
	var c *patchChunk // that lines go to
	for !r.ends() {
		line := r.next()
		anchor, begins := strings.CutPrefix(line, "@@")
		if strings.TrimRight(line, " ") == patchEOF {
			if c == nil {
				return errors.New(patchEOF + " stands behind the lines it is about")
			}
			c.atEnd, c = true, nil
			continue
		}
		if c == nil || begins && len(c.old)+len(c.new) > 0 {
			f.chunks = append(f.chunks, patchChunk{line: r.at})
			c = &f.chunks[len(f.chunks)-1]
		}
		switch {
		case begins:
			anchor = hunkHead.ReplaceAllString(strings.TrimPrefix(anchor, " "), "")
			if strings.TrimSpace(anchor) != "" {
				c.anchors = append(c.anchors, anchor)
			}
		case line == "":
			c.old, c.new = append(c.old, ""), append(c.new, "")
		case line[0] == ' ':
			c.old, c.new = append(c.old, line[1:]), append(c.new, line[1:])
		case line[0] == '-':
			c.old = append(c.old, line[1:])
		case line[0] == '+':
			c.new = append(c.new, line[1:])
		default:
			return fmt.Errorf("a line of a change begins with a blank (it stays), - or +, not so %.80q", line)
		}
	}
	return f.checkChunks()
}

// checkChunks drops what has blank lines only, which stand between sections.
func (f *filePatch) checkChunks() error {
	for i, c := range f.chunks {
		if len(c.old)+len(c.new) > 0 {
			continue
		}
		if i < len(f.chunks)-1 || len(c.anchors) > 0 || c.atEnd {
			return fmt.Errorf("the change that begins on line %d has no lines", c.line)
		}
	}
	if n := len(f.chunks); n > 0 && strings.Join(f.chunks[n-1].old, "")+strings.Join(f.chunks[n-1].new, "") == "" &&
		len(f.chunks[n-1].old) == len(f.chunks[n-1].new) {
		f.chunks = f.chunks[:n-1]
	}
	if len(f.chunks) == 0 && f.moveTo == "" {
		return errors.New("nothing is changed in " + f.path)
	}
	return nil
}

// barePatch is a patch without what a model wraps it in: a fence, a here-document, the
// shell line that would apply it.
func barePatch(input string) string {
	input = strings.TrimSpace(strings.ReplaceAll(input, "\r\n", "\n"))
	for wrapped := true; wrapped; input = strings.TrimSpace(input) {
		var body, dir string
		if body, wrapped = unfenced(input); !wrapped {
			if body, wrapped = hereDocument(input); !wrapped {
				if body, dir, wrapped = patchOf(input); wrapped {
					body = pathsBelow(body, dir)
				}
			}
		}
		if wrapped {
			input = body
		}
	}
	return input
}

// unfenced is what stands in a fence of Markdown that is all of the text.
func unfenced(s string) (body string, ok bool) {
	mark := s[:len(s)-len(strings.TrimLeft(s, "`"))]
	if mark == "" {
		mark = s[:len(s)-len(strings.TrimLeft(s, "~"))]
	}
	_, rest, more := strings.Cut(s, "\n")
	at := strings.LastIndexByte(rest, '\n') + 1
	if len(mark) < 3 || !more || strings.TrimSpace(rest[at:]) != mark {
		return "", false
	}
	return rest[:at], true
}

// hereDocument is what a shell reads of <<'EOF' … EOF.
func hereDocument(s string) (body string, ok bool) {
	head, rest, found := strings.Cut(s, "\n")
	word, begins := strings.CutPrefix(strings.TrimSpace(head), "<<")
	word = strings.Trim(strings.TrimSpace(strings.TrimPrefix(word, "-")), `'"`)
	at := strings.LastIndexByte(strings.TrimRight(rest, " \n"), '\n') + 1
	if !found || !begins || word == "" || strings.TrimSpace(rest[at:]) != word {
		return "", false
	}
	return rest[:at], true
}
