package search

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/git"
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
		text, err := git.ReadSome(path)
		if err != nil {
			continue
		}
		git.EachSetting(text, func(section, key, value string) {
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
	text, err := git.ReadSome(u.excludes)
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

// isTracked says whether git's index, as indexNames lists it, holds name, or for a
// directory something below it.
func isTracked(index []string, name string, isDir bool) bool {
	if _, found := slices.BinarySearch(index, name); found || !isDir {
		return found
	}
	// What sorts between a directory and its files begins with its name too.
	i, _ := slices.BinarySearch(index, name+"/")
	return i < len(index) && strings.HasPrefix(index[i], name+"/")
}
