package edit

import (
	"path"
	"strings"
)

// PatchOf is the patch that a shell line applies, and the directory it goes to first:
// apply_patch with a here-document or with one quoted word, and nothing else.
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

// oneWord is what is quoted, where that is one word for a shell that expands nothing
// in it.
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
