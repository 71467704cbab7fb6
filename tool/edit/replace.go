// Package edit finds the place of a change in a text, where the model may have copied it
// inexactly, reads patches, and shows changes as diffs.
package edit

import (
	"errors"
	"fmt"
	"strings"

	"artoo/tool/diff"
	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/text"
)

// Replacement is one edit; pointers separate an empty string from none.
type Replacement struct {
	OldString  *string `json:"old_string"`
	NewString  *string `json:"new_string"`
	ReplaceAll bool    `json:"replace_all,omitempty"`
}

// Locate finds the places of one edit, in order, and the differences there from
// old_string: they are the only ones that it can mean.
func Locate(t files.Text, e Replacement) (edits []diff.Edit, differs string, err error) {
	switch {
	case e.OldString == nil || *e.OldString == "":
		return nil, "", errors.New("old_string is empty: give the text to replace, or use write for the whole file")
	case e.NewString == nil:
		return nil, "", errors.New(`new_string is missing: give "" to delete old_string`)
	}
	old, replacement := t.Adopt(*e.OldString), t.Adopt(*e.NewString)
	if t.Ends == nil && strings.Contains(old, "\r\n") && !strings.Contains(t.Body, old) {
		// The model took the file for one with \r\n.
		old, replacement = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(replacement, "\r\n", "\n")
	}
	if old == replacement {
		return nil, "", errors.New("old_string and new_string are the same")
	}
	for _, start := range Occurrences(t.Body, old, !e.ReplaceAll) {
		edits = append(edits, diff.Edit{Start: start, End: start + len(old), New: replacement})
	}
	exceptFor := ""
	if edits == nil {
		if edits, differs = findLoosely(t.Body, old, replacement); edits != nil {
			exceptFor = ", ignoring " + differs
		}
	}
	switch {
	case edits == nil:
		return nil, "", errors.New(explainMiss(t.Body, old, replacement))
	case e.ReplaceAll:
		edits = apart(edits)
	case len(edits) > 1:
		return nil, "", fmt.Errorf("old_string is there %d times%s, %s; add lines around it to make it unique, or "+
			"set replace_all", len(edits), exceptFor, linesOf(t.Body, edits))
	}
	for _, edit := range edits {
		if err := t.Takes(edit.New); err != nil {
			return nil, "", fmt.Errorf("the file %w", err)
		}
	}
	return edits, differs, nil
}

// apart leaves out the edits that overlap with the one before.
func apart(edits []diff.Edit) (kept []diff.Edit) {
	end := 0
	for _, e := range edits {
		if e.Start >= end {
			kept, end = append(kept, e), e.End
		}
	}
	return kept
}

// Occurrences are the offsets of part in s.
func Occurrences(s, part string, overlapping bool) []int {
	var at []int
	for from := 0; ; {
		i := strings.Index(s[from:], part)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		if from += i + len(part); overlapping {
			from = at[len(at)-1] + 1
		}
	}
}

// Replace does one edit: at how many places, and the differences there from old_string.
func Replace(t files.Text, e Replacement) (after files.Text, places int, differs string, err error) {
	edits, differs, err := Locate(t, e)
	if err != nil {
		return t, 0, "", err
	}
	return t.Apply(edits), len(edits), differs, nil
}

// ApplyEdits returns the lines that the edits would change, as they are before.
func ApplyEdits(text files.Text, edits []Replacement) (lines []string, err error) {
	for _, e := range edits {
		places, _, err := Locate(text, e)
		if err != nil {
			return nil, err
		}
		lines = append(lines, Touched(text, places)...)
		text = text.Apply(places)
	}
	return lines, nil
}

// Touched are the lines that edits would change, as they are before.
func Touched(t files.Text, edits []diff.Edit) (lines []string) {
	for _, e := range edits {
		from := strings.LastIndexByte(t.Body[:e.Start], '\n') + 1
		to := len(t.Body)
		if i := strings.IndexByte(t.Body[e.End:], '\n'); i >= 0 {
			to = e.End + i
		}
		lines = append(lines, t.Body[from:to])
	}
	return lines
}

func bytesOf(content []byte) string { return text.Counted(len(content), "byte", "bytes") }

// DiffFiles compares two contents of a file as a unified diff; was and is say whether they are
// there. Binary content is named by its type and size.
func DiffFiles(name string, before, after []byte, was, is bool) string {
	from, to := git.Quote("a/"+name), git.Quote("b/"+name)
	if !was {
		from = "/dev/null"
	}
	if !is {
		to = "/dev/null"
	}
	old, oldErr := files.Decode(before)
	now, nowErr := files.Decode(after)
	kind := files.BinaryType(after)
	if kind == "" {
		kind = files.BinaryType(before)
	}
	if oldErr != nil || nowErr != nil || kind != "" {
		if kind == "" {
			kind = "binary"
		}
		name = git.Quote(name)
		switch {
		case !was:
			return fmt.Sprintf("%s: new, %s, %s\n", name, kind, bytesOf(after))
		case !is:
			return fmt.Sprintf("%s: deleted, %s, %s\n", name, kind, bytesOf(before))
		}
		return fmt.Sprintf("%s: %s, %s, was %d\n", name, kind, bytesOf(after), len(before))
	}
	if was && is && old.Body == now.Body {
		return fmt.Sprintf("%s: only line ends or the encoding changed\n", git.Quote(name))
	}
	if said := diff.Compare(from, to, old.Body, now.Body).String(); said != "" {
		return said
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", from, to) // an empty file
}
