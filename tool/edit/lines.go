package edit

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"artoo/tool/files"
)

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
func Touched(t files.Text, edits []udiff.Edit) (lines []string) {
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
