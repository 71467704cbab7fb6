package edit

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// FilePatch is the section of a patch for one file.
type FilePatch struct {
	Op     byte // A, M or D
	Path   string
	MoveTo string // "" where the file stays
	Text   string
	Chunks []Chunk
}

// Chunk is a run of lines that others take the place of.
type Chunk struct {
	line     int      // counts from 1
	Anchors  []string // lines that stand above it, one after the other
	Old, New []string
	atEnd    bool // it is the end of the file
}

// The first words of a patch's sections.
const (
	PatchBegin  = "*** Begin Patch"
	PatchEnd    = "*** End Patch"
	PatchAdd    = "*** Add File:"
	patchDelete = "*** Delete File:"
	patchUpdate = "*** Update File:"
	patchMove   = "*** Move to:"
	patchEOF    = "*** End of File"
)

// hunkHead matches the numbers behind @@ in unified diffs, which say nothing here.
var hunkHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)? @@ ?`)
})

// patchReader goes through the lines of a patch.
type patchReader struct {
	lines []string
	at    int // the next one
}

// ParsePatch takes a patch apart. The error names the line, for the model.
func ParsePatch(input string) (files []FilePatch, err error) {
	input = BarePatch(input)
	r := &patchReader{lines: strings.Split(input, "\n")}
	last := len(r.lines) - 1
	if strings.TrimSpace(r.lines[0]) != PatchBegin {
		return nil, errors.New("a patch begins with the line " + PatchBegin)
	}
	if strings.TrimSpace(r.lines[last]) != PatchEnd {
		return nil, errors.New("the patch does not end with the line " + PatchEnd + ": perhaps it was cut off")
	}
	r.lines, r.at = r.lines[:last], 1
	for r.at < len(r.lines) {
		f, err := r.file()
		if err != nil {
			return nil, fmt.Errorf("line %d of the patch: %w", r.at, err)
		}
		if f.Op != 0 {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, errors.New("the patch names no file: each one begins with " + PatchAdd + ", " + patchUpdate + " or " +
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
	for _, mark := range []string{PatchAdd, patchDelete, patchUpdate} {
		if strings.HasPrefix(r.lines[r.at], mark) {
			return true
		}
	}
	return false
}

// file reads one section; its op is 0 for a blank line between them.
func (r *patchReader) file() (f FilePatch, err error) {
	line := strings.TrimSpace(r.next())
	for mark, op := range map[string]byte{PatchAdd: 'A', patchDelete: 'D', patchUpdate: 'M'} {
		if path, ok := strings.CutPrefix(line, mark); ok {
			f.Op, f.Path = op, strings.TrimSpace(path)
		}
	}
	switch {
	case f.Op == 0 && line != "":
		return f, fmt.Errorf("%.80q does not begin a file: use %s, %s or %s and a path", line, PatchAdd, patchUpdate,
			patchDelete)
	case f.Op != 0 && f.Path == "":
		return f, errors.New("the path is missing")
	case f.Op == 'A':
		return f, r.added(&f)
	case f.Op == 'M':
		return f, r.updated(&f)
	}
	return f, nil
}

func (r *patchReader) added(f *FilePatch) error {
	var b strings.Builder
	for !r.ends() {
		line, ok := strings.CutPrefix(r.next(), "+")
		if !ok && strings.TrimSpace(line) == "" && r.ends() {
			break
		}
		if !ok {
			return fmt.Errorf("every line of a new file begins with +, unlike %.80q", line)
		}
		b.WriteString(line + "\n")
	}
	f.Text = b.String()
	return nil
}

func (r *patchReader) updated(f *FilePatch) error {
	if !r.ends() {
		if to, ok := strings.CutPrefix(r.lines[r.at], patchMove); ok {
			r.at++
			if f.MoveTo = strings.TrimSpace(to); f.MoveTo == "" {
				return errors.New("the path to move to is missing")
			}
		}
	}
	var c *Chunk
	for !r.ends() {
		line := r.next()
		anchor, begins := strings.CutPrefix(line, "@@")
		if strings.TrimRight(line, " ") == patchEOF {
			if c == nil {
				return errors.New(patchEOF + " comes after the lines it applies to")
			}
			c.atEnd, c = true, nil
			continue
		}
		if c == nil || begins && len(c.Old)+len(c.New) > 0 {
			f.Chunks = append(f.Chunks, Chunk{line: r.at})
			c = &f.Chunks[len(f.Chunks)-1]
		}
		switch {
		case begins:
			anchor = hunkHead().ReplaceAllString(strings.TrimPrefix(anchor, " "), "")
			if strings.TrimSpace(anchor) != "" {
				c.Anchors = append(c.Anchors, anchor)
			}
		case line == "":
			c.Old, c.New = append(c.Old, ""), append(c.New, "")
		case line[0] == ' ':
			c.Old, c.New = append(c.Old, line[1:]), append(c.New, line[1:])
		case line[0] == '-':
			c.Old = append(c.Old, line[1:])
		case line[0] == '+':
			c.New = append(c.New, line[1:])
		default:
			return fmt.Errorf("a line of a change begins with a space (unchanged), - or +, unlike %.80q", line)
		}
	}
	return f.checkChunks()
}

// checkChunks drops chunks of blank lines only, which stand between sections.
func (f *FilePatch) checkChunks() error {
	for i, c := range f.Chunks {
		if len(c.Old)+len(c.New) > 0 {
			continue
		}
		if i < len(f.Chunks)-1 || len(c.Anchors) > 0 || c.atEnd {
			return fmt.Errorf("the change that begins on line %d has no lines", c.line)
		}
	}
	if n := len(f.Chunks); n > 0 && strings.Join(f.Chunks[n-1].Old, "")+strings.Join(f.Chunks[n-1].New, "") == "" &&
		len(f.Chunks[n-1].Old) == len(f.Chunks[n-1].New) {
		f.Chunks = f.Chunks[:n-1]
	}
	if len(f.Chunks) == 0 && f.MoveTo == "" {
		return errors.New("nothing is changed in " + f.Path)
	}
	return nil
}

// BarePatch is a patch without a fence, a here-document or the shell line around it.
func BarePatch(input string) string {
	input = strings.TrimSpace(strings.ReplaceAll(input, "\r\n", "\n"))
	for wrapped := true; wrapped; input = strings.TrimSpace(input) {
		var body, dir string
		if body, wrapped = unfenced(input); !wrapped {
			if body, wrapped = hereDocument(input); !wrapped {
				if body, dir, wrapped = PatchOf(input); wrapped {
					body = PathsBelow(body, dir)
				}
			}
		}
		if wrapped {
			input = body
		}
	}
	return input
}

// unfenced is the content of a Markdown fence that is all of the text.
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

// hereDocument is the text that a shell reads of <<'EOF' … EOF.
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

// Paths are those that a section of a patch writes.
func (f FilePatch) Paths() []string {
	if f.MoveTo != "" {
		return []string{f.Path, f.MoveTo}
	}
	return []string{f.Path}
}

// PatchPaths are the paths that a patch names; none where the text is no patch.
func PatchPaths(patch string) (paths []string) {
	files, err := ParsePatch(patch)
	if err != nil {
		return nil
	}
	for _, f := range files {
		paths = append(paths, f.Paths()...)
	}
	return paths
}

// PatchOf is the patch that a shell line applies, with nothing else, and the directory it goes to
// first.
func PatchOf(line string) (patch, dir string, ok bool) {
	line = strings.TrimSpace(line)
	if rest, goes := strings.CutPrefix(line, "cd "); goes {
		before, after, found := strings.Cut(rest, "&&")
		dir, line = strings.Trim(strings.TrimSpace(before), `"'`), strings.TrimSpace(after)
		if !found || strings.ContainsAny(dir, "$`*?[~;|&<>\n\\'\"") {
			return "", "", false
		}
	}
	rest, ok := strings.CutPrefix(line, "apply_patch")
	if !ok {
		rest, ok = strings.CutPrefix(line, "applypatch")
	}
	if !ok {
		return "", "", false
	}
	rest = strings.TrimSpace(rest)
	patch, ok = hereDocument(rest)
	if !ok {
		patch, ok = oneWord(rest)
	}
	return patch, dir, ok && strings.HasPrefix(strings.TrimSpace(patch), PatchBegin)
}

// oneWord is the content of one quoted word, in which a shell expands nothing.
func oneWord(s string) (word string, ok bool) {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return "", false
	}
	inner := s[1 : len(s)-1]
	switch s[0] {
	case '\'':
		inner = strings.ReplaceAll(inner, `'\''`, "\x00")
		return strings.ReplaceAll(inner, "\x00", "'"), !strings.Contains(inner, "'")
	case '"':
		return inner, !strings.ContainsAny(inner, "\"$`\\")
	}
	return "", false
}

// PathsBelow is the patch with its relative paths below dir.
func PathsBelow(patch, dir string) string {
	if dir == "" {
		return patch
	}
	var b strings.Builder
	for line := range strings.Lines(patch) {
		for _, mark := range []string{PatchAdd, patchDelete, patchUpdate, patchMove} {
			name, ok := strings.CutPrefix(line, mark)
			if name = strings.TrimSpace(name); ok && name != "" && !path.IsAbs(name) {
				line = mark + " " + path.Join(dir, name) + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
