package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/tool/diff"
	"artoo/tool/files"
)

// ApplyChunks finds the chunks from top to bottom; only added lines go to the end. differs names the differences of
// those that were found loosely.
func ApplyChunks(t files.Text, chunks []Chunk) (edits []diff.Edit, differs []string, err error) {
	lines := splitBody(t.Body)
	next := 0 // the line behind the chunk before
	var added []string
	for _, c := range chunks {
		if only := c.withoutLastBlank(); only != nil && only.addsAtEnd() && len(lines.find(next, c.Old, degrees[0].plain)) == 0 {
			c = *only
		}
		if c.addsAtEnd() {
			added = append(added, c.New...)
			continue
		}
		edit, how, after, err := applyChunk(t, lines, next, c)
		if err != nil {
			return nil, nil, fmt.Errorf("the change on line %d of the patch: %w", c.line, err)
		}
		if next = after; how != "" {
			differs = append(differs, fmt.Sprintf("line %d of the patch: it and the file differ in %s", c.line, how))
		}
		edits = append(edits, edit)
	}
	if len(added) > 0 {
		edit := appended(t, added)
		if n := len(edits); n > 0 && edits[n-1].End == edit.Start { // behind a change there
			edits[n-1].New += edit.New
		} else {
			edits = append(edits, edit)
		}
	}
	for _, edit := range edits {
		if err := t.Takes(edit.New); err != nil {
			return nil, nil, fmt.Errorf("the file %w", err)
		}
	}
	return edits, differs, nil
}

// addsAtEnd reports whether a chunk has added lines only, whose place is the end of the file.
func (c Chunk) addsAtEnd() bool { return len(c.Old) == 0 && (len(c.Anchors) == 0 || c.atEnd) }

// applyChunk finds one chunk from the line first on; after is the line behind it.
func applyChunk(t files.Text, lines bodyLines, first int, c Chunk) (edit diff.Edit, differs string, after int,
	err error) {
	for _, anchor := range c.Anchors {
		if first, err = lines.behind(first, anchor); err != nil {
			return edit, "", 0, err
		}
	}
	if len(c.Old) == 0 {
		return edit, "", 0, errors.New("it only adds lines, so its place is unknown: begin it with the unchanged " +
			"line above them")
	}
	at, differs, err := lines.findChunk(first, c)
	if trimmed := c.withoutLastBlank(); err != nil && trimmed != nil && len(trimmed.Old) > 0 {
		if i, how, again := lines.findChunk(first, *trimmed); again == nil {
			c, at, differs, err = *trimmed, i, how, nil
		}
	}
	if err != nil {
		return edit, "", 0, err
	}
	after = at + len(c.Old)
	text, ok := adapted(lines.text[at:after], c.Old, strings.Join(c.New, "\n"))
	if !ok {
		return edit, "", 0, fmt.Errorf("it is on line %d, but how to indent its new lines is unclear; "+
			"the file has\n%s", at+1, showLines(lines.text, at, len(c.Old)))
	}
	edit = diff.Edit{Start: lines.start(at), End: lines.end(after - 1), New: text}
	if len(c.New) == 0 && edit.End < len(t.Body) { // the lines go with their ends
		edit.End++
	}
	return edit, differs, after, nil
}

// withoutLastBlank is the chunk without the blank last line that models often add, nil where it
// has none.
func (c Chunk) withoutLastBlank() *Chunk {
	o, n := len(c.Old)-1, len(c.New)-1
	if o < 0 || n < 0 || c.Old[o] != "" || c.New[n] != "" {
		return nil
	}
	c.Old, c.New = c.Old[:o], c.New[:n]
	return &c
}

// appended is the edit that puts lines at the end, where a missing newline stays missing.
func appended(t files.Text, added []string) diff.Edit {
	text := strings.Join(added, "\n") + "\n"
	if t.Body != "" && !strings.HasSuffix(t.Body, "\n") {
		text = "\n" + strings.TrimSuffix(text, "\n")
	}
	return diff.Edit{Start: len(t.Body), End: len(t.Body), New: text}
}

// behind is the line after the anchor from line first on, or after the only line that contains it.
func (b bodyLines) behind(first int, anchor string) (int, error) {
	if at, _ := b.closest(first, []string{anchor}, degrees); len(at) > 0 {
		return at[0] + 1, nil
	}
	var has []int
	for i, line := range b.text[first:] {
		if strings.Contains(line, strings.TrimSpace(anchor)) {
			has = append(has, first+i)
		}
	}
	if len(has) == 1 {
		return has[0] + 1, nil
	}
	return 0, fmt.Errorf("@@ %.200s: no such line from line %d on", anchor, first+1)
}

// findChunk finds the first exact place of a chunk from line first on, else the only loose one.
func (b bodyLines) findChunk(first int, c Chunk) (at int, differs string, err error) {
	if c.atEnd {
		first = max(first, len(b.text)-len(c.Old))
	}
	solid := slices.ContainsFunc(c.Old, func(w string) bool { return !IsBlank(w) })
	places, differs := b.closest(first, c.Old, degrees)
	switch {
	case len(places) == 0 || differs != "" && !solid:
		return 0, "", errors.New("its lines are not there" + b.nearby(first, c))
	case differs == "" || len(places) == 1:
		return places[0], differs, nil
	}
	return 0, "", fmt.Errorf("ignoring %s, its lines occur %d times, on line %d and on line %d; name a line above "+
		"them after @@", differs, len(places), places[0]+1, places[1]+1)
}

// nearby shows the lines that a chunk without a match may have meant.
func (b bodyLines) nearby(first int, c Chunk) string {
	where := ""
	if first > 0 {
		where = fmt.Sprintf(" from line %d on", first+1)
	}
	if at := b.find(0, c.Old, strings.TrimSpace); len(at) > 0 && at[0] < first {
		return fmt.Sprintf("%s, but on line %d: changes go from top to bottom", where, at[0]+1)
	}
	if at := nearestLines(b.text, c.Old); at >= 0 {
		return fmt.Sprintf("%s. The nearest lines are\n%s", where, showLines(b.text, max(0, at-1), len(c.Old)+2))
	}
	return where + ", nor anything like them; read the file again"
}
