package git

import (
	"path/filepath"
	"strings"
)

// EachSetting calls each for every key of a git configuration, names in lower
// case. A section with a name of its own ([remote "x"]) is passed over.
func EachSetting(config string, each func(section, key, value string)) {
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(config, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, ok := strings.Cut(line[1:], "]")
			if !ok {
				continue
			}
			section, line = strings.ToLower(strings.TrimSpace(head)), strings.TrimSpace(rest)
		}
		if line == "" || line[0] == '#' || line[0] == ';' || strings.ContainsAny(section, " \t\"") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		each(section, strings.ToLower(strings.TrimSpace(key)), gitValue(strings.TrimSpace(value)))
	}
}

// gitValue takes quotes, escapes and a comment off a value.
func gitValue(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ModuleWorkTree is the work tree that a git directory's own configuration names, as that
// of a submodule does, absolute; "" where it names none.
func ModuleWorkTree(gitDir string) (top string) {
	text, err := ReadSome(filepath.Join(gitDir, "config"))
	if err != nil {
		return ""
	}
	EachSetting(text, func(section, key, value string) {
		if section == "core" && key == "worktree" {
			top = filepath.Clean(SeenFrom(gitDir, value))
		}
	})
	return top
}
