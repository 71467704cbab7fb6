package acp

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"artoo/tool"
)

// diffs are the hunks of a call's unified diff as old and new text; nil for none, and where they
// are too long. whole is false where they leave out something of it: a change without hunks, or one
// whose path is not sure.
func diffs(access tool.Access) (list []callContent, whole bool) {
	if access.Diff == "" {
		return nil, true
	}
	if len(access.Diff) > mostDiff {
		return nil, false
	}
	whole = true
	from, to := "", ""
	var before, after strings.Builder
	open, hunks := false, 1
	var olds, news int // so many lines of the hunk are to come
	flush := func() {
		if open {
			path, sure := pathOf(access.Paths, from, to)
			whole = whole && sure && olds == 0 && news == 0
			c := callContent{Type: "diff", Path: path, New: new(after.String())}
			if from != devNull {
				c.Old = new(before.String())
			}
			list = append(list, c)
		}
		before.Reset()
		after.Reset()
		open = false
	}
	lines := strings.SplitAfter(access.Diff, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case line == "":
		case olds+news > 0 && line[0] == '-':
			olds--
			before.WriteString(line[1:])
		case olds+news > 0 && line[0] == '+':
			news--
			after.WriteString(line[1:])
		case olds+news > 0 && line[0] == ' ':
			olds, news = olds-1, news-1
			before.WriteString(line[1:])
			after.WriteString(line[1:])
		case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "):
			flush()
			whole = whole && hunks > 0
			hunks = 0
			from, to = strings.TrimSpace(line[4:]), strings.TrimSpace(lines[i+1][4:])
			i++
		case strings.HasPrefix(line, "@@ "):
			flush()
			open = true
			hunks++
			olds, news = hunkLines(line)
		default:
			whole = whole && strings.HasPrefix(line, `\ No newline`)
		}
	}
	flush()
	return list, whole && hunks > 0
}

// hunkLines are the numbers of lines in the header of a hunk; one that is not there is 1.
func hunkLines(header string) (olds, news int) {
	count := func(sign string) int {
		_, at, _ := strings.Cut(header, " "+sign)
		at, _, _ = strings.Cut(at, " ")
		_, n, counted := strings.Cut(at, ",")
		if !counted {
			return 1
		}
		lines, _ := strconv.Atoi(n) // 0 if n is not a number: then the diff is not whole
		return lines
	}
	return count("-"), count("+")
}

const devNull = "/dev/null"

// pathOf is the absolute path that the names of a diff mean; sure is false where several may be meant.
func pathOf(paths []string, from, to string) (path string, sure bool) {
	if to == devNull {
		to = from
	}
	name := strings.TrimPrefix(strings.TrimPrefix(to, "b/"), "a/")
	fits := 0
	for _, p := range paths {
		if strings.HasSuffix(p, string(filepath.Separator)+filepath.FromSlash(name)) || p == name {
			path = p
			fits++
		}
	}
	if fits == 0 && len(paths) > 0 {
		path = paths[0]
	}
	return cmp.Or(path, name), fits == 1 || len(paths) == 1
}

// firstLine is the first line of the new file that a diff is about, 0 where it says none.
func firstLine(diff string) int {
	_, hunk, found := strings.Cut(diff, "\n@@ ")
	if !found {
		return 0
	}
	_, at, _ := strings.Cut(hunk, "+")
	at = at[:max(0, strings.IndexAny(at, ", "))]
	n, _ := strconv.Atoi(at) // 0 if at is not a number
	return n
}
