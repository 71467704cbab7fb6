package screen

import (
	"fmt"
	"strings"
)

type diffKind int

// A noteLine stands outside hunks, such as one about a file of which no lines are shown; a fragLine begins a hunk;
// an endLine says that the line above has no line end.
const (
	noteLine diffKind = iota
	fileLine
	fragLine
	sameLine
	addedLine
	removedLine
	endLine
)

// diffLine is a line of a unified diff, with its sign and its numbers in both files, which are 0 outside hunks.
type diffLine struct {
	kind     diffKind
	text     string
	from, to int
}

// parseDiff reads the lines of a unified diff. Within a hunk nothing names a file, whatever it looks like.
func parseDiff(lines []string) []diffLine {
	all := make([]diffLine, len(lines))
	// The next numbers, and how many lines of each file the hunk still has.
	var from, to, olds, news int
	for i, l := range lines {
		d := diffLine{lineKind(l), l, from, to}
		if d.kind == removedLine && beginsFile(lines[i:], olds, news) ||
			i > 0 && strings.HasPrefix(l, "+++ ") && all[i-1].kind == fileLine && all[i-1].text[0] == '-' {
			d.kind = fileLine
		}
		switch {
		case d.kind == fragLine:
			from, to, olds, news = hunk(l)
		case d.kind == fileLine, d.kind == noteLine:
			from, to, olds, news = 0, 0, 0, 0
		case from+to == 0:
		case d.kind == addedLine:
			to, news = to+1, news-1
		case d.kind == removedLine:
			from, olds = from+1, olds-1
		case d.kind == sameLine:
			from, to, olds, news = from+1, to+1, olds-1, news-1
		}
		all[i] = d
	}
	return all
}

func lineKind(l string) diffKind {
	switch {
	case strings.HasPrefix(l, "@@"):
		return fragLine
	case l == "", l[0] == ' ':
		return sameLine
	case l[0] == '+':
		return addedLine
	case l[0] == '-':
		return removedLine
	case l[0] == '\\':
		return endLine
	}
	return noteLine
}

// beginsFile reports whether lines begin with the names of a file. olds and news are what the hunk still has: where a
// key of several lines was masked it has fewer, and its end is seen by the hunk that follows.
func beginsFile(lines []string, olds, news int) bool {
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return false
	}
	return olds <= 0 && news <= 0 || (olds != 1 || news != 1) && len(lines) > 2 && strings.HasPrefix(lines[2], "@@")
}

// hunk reads "@@ -from,olds +to,news @@", where numbers of 1 are left out; all are 0 where a line is no such one.
func hunk(l string) (from, to, olds, news int) {
	fields := strings.Fields(l)
	if len(fields) < 4 || fields[0] != "@@" {
		return 0, 0, 0, 0
	}
	side := func(s string) (at, n int) {
		if _, err := fmt.Sscanf(s, "%d,%d", &at, &n); err != nil {
			n = 1
		}
		return at, n
	}
	from, olds = side(strings.TrimPrefix(fields[1], "-"))
	to, news = side(strings.TrimPrefix(fields[2], "+"))
	return from, to, olds, news
}

// style is the style of a line of a unified diff.
func (d diffLine) style() style {
	switch d.kind {
	case fileLine:
		return metaStyle
	case fragLine:
		return fragStyle
	case addedLine:
		return addedStyle
	case removedLine:
		return removedStyle
	}
	return contextStyle
}

// diffFile is a file of a diff, or a note between files. from and to are its names, "" where there is no such file.
type diffFile struct {
	note, from, to string
	lines          []diffLine
	added, removed int
}

// filesOf are the files of a diff. Lines before the first name are those of a file without one.
func filesOf(all []diffLine) (files []diffFile) {
	for i, d := range all {
		begins := d.kind == fileLine && d.text[0] == '-'
		if i == 0 || begins || d.kind == noteLine || all[i-1].kind == noteLine {
			files = append(files, diffFile{})
		}
		f := &files[len(files)-1]
		switch d.kind {
		case noteLine:
			f.note = d.text
			continue
		case fileLine:
			if name := fileName(d.text); begins {
				f.from = name
			} else {
				f.to = name
			}
			continue
		case addedLine:
			f.added++
		case removedLine:
			f.removed++
		}
		f.lines = append(f.lines, d)
	}
	return files
}

// fileName is the name in a line such as "--- a/x", as git quotes it; "" for no file.
func fileName(l string) string {
	name := strings.TrimRight(l[len("--- "):], "\t")
	switch {
	case name == "/dev/null":
		return ""
	case strings.HasPrefix(name, `"a/`), strings.HasPrefix(name, `"b/`):
		return `"` + name[len(`"a/`):]
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "a/"), "b/")
}
