package tool

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// asPatch is the call of apply_patch that a call of another tool means: models that
// are trained on patches write them into the shell, or into whatever edits. It is nil
// for all else, and where there is no apply_patch.
func asPatch(tools []Tool, found *Tool, input json.RawMessage) (*Tool, json.RawMessage) {
	var in struct{ Command, Cwd, Input, Patch, Diff string }
	if found == nil || found.Name != "bash" && found.Name != "edit" || json.Unmarshal(found.mend(input), &in) != nil {
		return nil, nil
	}
	apply := Find(tools, "apply_patch")
	if apply == nil || apply == found {
		return nil, nil
	}
	if found.Name == "bash" {
		patch, dir, ok := patchOf(in.Command)
		if !ok {
			return nil, nil
		}
		if !path.IsAbs(dir) {
			dir = path.Join(in.Cwd, dir)
		}
		return apply, patchCall(pathsBelow(patch, dir))
	}
	for _, text := range []string{in.Input, in.Patch, in.Diff} {
		if strings.HasPrefix(barePatch(text), patchBegin) {
			return apply, patchCall(text)
		}
	}
	return nil, nil
}

func patchCall(patch string) json.RawMessage {
	return slices.Concat([]byte(`{"input":`), quoted(patch), []byte("}"))
}

// patchOf is the patch that a shell line applies, and the directory it goes to first:
// apply_patch with a here-document or with one quoted word, and nothing else.
func patchOf(line string) (patch, dir string, ok bool) {
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
	return patch, dir, ok && strings.HasPrefix(strings.TrimSpace(patch), patchBegin)
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

// pathsBelow is the patch with its relative paths below dir.
func pathsBelow(patch, dir string) string {
	if dir == "" {
		return patch
	}
	var b strings.Builder
	for line := range strings.Lines(patch) {
		for _, mark := range []string{patchAdd, patchDelete, patchUpdate, patchMove} {
			name, ok := strings.CutPrefix(line, mark)
			if name = strings.TrimSpace(name); ok && name != "" && !path.IsAbs(name) {
				line = mark + " " + path.Join(dir, name) + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// FromText is the input of a call that a model wrote as bare text where the tool takes
// one text; ok is false for all else.
func (t Tool) FromText(text string) (input json.RawMessage, ok bool) {
	if t.Name != "apply_patch" || !strings.HasPrefix(barePatch(text), patchBegin) {
		return nil, false
	}
	return patchCall(text), true
}
