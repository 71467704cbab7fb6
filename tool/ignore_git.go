package tool

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// gitUser is what git's configuration says of ignoring.
type gitUser struct {
	excludes string // core.excludesFile, "" for none
	fold     bool   // core.ignoreCase
}

// gitExcludes reads git's configuration as git does: the system's, the user's, then
// the further files named, each of which may be missing. It runs nothing, so that it
// answers where there is no git too; what include brings in is not read.
func gitExcludes(further ...string) gitUser {
	var user gitUser
	configs := []string{filepath.Join(string(filepath.Separator), "etc", "gitconfig")}
	if home, err := os.UserHomeDir(); err == nil {
		xdg := os.Getenv("XDG_CONFIG_HOME")
		if xdg == "" {
			xdg = filepath.Join(home, ".config")
		}
		user.excludes = filepath.Join(xdg, "git", "ignore")
		configs = append(configs, filepath.Join(xdg, "git", "config"), filepath.Join(home, ".gitconfig"))
	}
	for _, path := range append(configs, further...) {
		text, err := readSome(path)
		if err != nil {
			continue
		}
		eachGitSetting(text, func(section, key, value string) {
			switch section + "." + key {
			case "core.excludesfile":
				user.excludes = gitPath(value)
			case "core.ignorecase":
				on, err := strconv.ParseBool(strings.ToLower(value))
				user.fold = value == "" || err == nil && on || strings.EqualFold(value, "yes") ||
					strings.EqualFold(value, "on")
			}
		})
	}
	return user
}

// rules are the user's excludes, for the tree at top.
func (u gitUser) rules(top string) ignoreRules {
	if u.excludes == "" {
		return nil
	}
	text, err := readSome(u.excludes)
	if err != nil {
		return nil // most have none
	}
	return parseIgnore(top, []byte(text), u.fold)
}

// gitPath expands the ~ of the user's home; other paths that are not absolute mean
// nothing here.
func gitPath(value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		return filepath.Join(home, rest)
	}
	if !filepath.IsAbs(value) {
		return ""
	}
	return value
}

// eachGitSetting calls each for every key of a git configuration, names in lower
// case. A section with a name of its own ([remote "x"]) is passed over.
func eachGitSetting(config string, each func(section, key, value string)) {
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
