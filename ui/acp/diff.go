package acp

import (
	"path/filepath"
	"strconv"
	"strings"

	"artoo/tool"
)

// diffs are the hunks of a call's unified diff as old and new text; nil for none, and where they
// are too long.
func diffs(access tool.Access) (list []callContent) {
	if access.Diff == "" || len(access.Diff) > mostDiff {
		return nil
	}
	from, to := "", ""
	var before, after strings.Builder
	open := false
	flush := func() {
		if open {
			c := callContent{Type: "diff", Path: pathOf(access.Paths, from, to), New: new(after.String())}
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
		case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "):
			flush()
			from, to = strings.TrimSpace(line[4:]), strings.TrimSpace(lines[i+1][4:])
			i++
		case strings.HasPrefix(line, "@@ "):
			flush()
			open = true
		case !open || line == "":
		case line[0] == '-':
			before.WriteString(line[1:])
		case line[0] == '+':
			after.WriteString(line[1:])
		case line[0] == ' ':
			before.WriteString(line[1:])
			after.WriteString(line[1:])
		}
	}
	flush()
	return list
}

const devNull = "/dev/null"

// pathOf is the absolute path that the names of a diff mean.
func pathOf(paths []string, from, to string) string {
	if to == devNull {
		to = from
	}
	name := strings.TrimPrefix(strings.TrimPrefix(to, "b/"), "a/")
	for _, path := range paths {
		if strings.HasSuffix(path, string(filepath.Separator)+filepath.FromSlash(name)) || path == name {
			return path
		}
	}
	if len(paths) > 0 {
		return paths[0]
	}
	return name
}

// firstLine is the first line of the new file that a diff is about, 0 where it says none.
func firstLine(diff string) int {
	_, hunk, found := strings.Cut(diff, "\n@@ ")
	if !found {
		return 0
	}
	_, at, _ := strings.Cut(hunk, "+")
	at = at[:max(0, strings.IndexAny(at, ", "))]
	n, _ := strconv.Atoi(at) // 0 for what is no number
	return n
}
