package changes

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// Severity is how bad a finding is, in the words of SARIF.
type Severity string

// The severities, the worst first: what is wrong, what will probably cause trouble, what could be better.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// Severities lists them, the worst first.
func Severities() []Severity { return []Severity{SeverityError, SeverityWarning, SeverityNote} }

// AtLeast reports whether s is as bad as other, or worse.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(Severities(), s) <= slices.Index(Severities(), other)
}

// Finding is a problem that a review found. Path, Rule and Text are the model's, unsanitised: Path is relative to the
// top of the repository, with slashes, Rule as RuleName makes it, Text one line. Lines and columns count from 1, in the
// changed file: Column is the first that is not a space, EndCol behind the last character of EndLine.
type Finding struct {
	Path     string   `json:"path"`
	Line     int      `json:"line"`
	EndLine  int      `json:"end_line"`
	Column   int      `json:"column"`
	EndCol   int      `json:"end_column"`
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`
	Text     string   `json:"text"`
}

// In is a finding in a line, with its file under a name.
func (f Finding) In(name string) string {
	return fmt.Sprintf("%s:%d: %s: %s", name, f.Line, f.Severity, f.Text)
}

// RuleName is the name of a rule in small letters, digits and hyphens, at most 40.
func RuleName(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteRune(c)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	rule := b.String()
	return cmp.Or(strings.Trim(rule[:min(len(rule), 40)], "-"), "review")
}

// Find returns the path from the top of the repository of the file that a reviewer means: by its name from the working
// directory, from the top, or before it was renamed. "" is no file; another need not be there.
func (c *Set) Find(name string) (path string) {
	var tried []string
	for _, from := range []string{c.git.Dir, c.Root} {
		abs := filepath.FromSlash(name)
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(from, abs)
		}
		if rel, in := names.Relative(c.Root, abs); in && rel != "." {
			tried = append(tried, filepath.ToSlash(rel))
		}
	}
	for _, path := range tried {
		for _, f := range c.Files {
			if f.Path == path || f.From == path {
				return f.Path
			}
		}
	}
	return append(tried, "")[0]
}

// Place sets the lines and columns of a finding to ones that its file has: for a Line that is not there, the changed
// line next to it. The error is of a file that is neither in the change nor in the repository.
func (c *Set) Place(ctx context.Context, f *Finding) error {
	at := slices.IndexFunc(c.Files, func(of File) bool { return of.Path == f.Path })
	lines, err := c.Lines(ctx, f.Path)
	if at < 0 && err != nil {
		return err
	}
	end := f.EndLine
	if f.Line < 1 || f.Line > len(lines) {
		f.Line = max(1, min(f.Line, len(lines)))
		if at >= 0 {
			f.Line = c.Files[at].nearest(f.Line)
		}
	}
	f.EndLine, f.Column, f.EndCol = f.Line, 1, 1
	if end > f.Line && end <= len(lines) {
		f.EndLine = end
	}
	if f.EndLine <= len(lines) {
		first := strings.TrimRight(lines[f.Line-1], " \t\r")
		f.Column += len([]rune(first)) - len([]rune(strings.TrimLeft(first, " \t")))
		f.EndCol += len([]rune(strings.TrimRight(lines[f.EndLine-1], "\r")))
	}
	return nil
}

// nearest is the changed line next to one; that one itself in a file without.
func (f File) nearest(line int) int {
	best, found := line, false
	for _, h := range f.Hunks {
		at := h.New.First
		for _, text := range h.Lines {
			if text[0] == '+' && (!found || distance(at, line) < distance(best, line)) {
				best, found = at, true
			}
			if text[0] != '-' {
				at++
			}
		}
	}
	return best
}

func distance(a, b int) int { return max(a-b, b-a) }

// Sort puts findings in the order of the files of the change, then of lines.
func (c *Set) Sort(findings []Finding) {
	// A file that did not change has the highest place.
	place := func(path string) uint {
		return uint(slices.IndexFunc(c.Files, func(f File) bool { return f.Path == path }))
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(place(a.Path), place(b.Path)),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}
