package search

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/git"
)

// ignoreFiles are the names of ignore files, git's first; a later one outweighs those before it.
func ignoreFiles() [3]string { return [3]string{".gitignore", ".ignore", ".rgignore"} }

// ignoreSet holds all ignore rules of one directory of a walk.
type ignoreSet struct {
	// lists are the rules of each of ignoreFiles, outer directories first.
	lists [3]ignoreRules
	// top is the git work tree around the directory, "" for none.
	top string
	// fold says that git ignores case there.
	fold bool
	// rest says that git ignores all in the directory except tracked files.
	rest bool
}

// ignores says whether the entry at an absolute slash path is ignored, and whether by git.
func (s *ignoreSet) ignores(abs string, isDir bool) (ignored, byGit bool) {
	for i := len(s.lists) - 1; i > 0; i-- {
		if ignored, known := s.lists[i].decide(abs, isDir); known {
			return ignored || s.rest, !ignored
		}
	}
	if s.rest {
		return true, true
	}
	ignored, _ = s.lists[0].decide(abs, isDir)
	return ignored, true
}

// ignoresAny says whether the directory abs below top, or one between them, is ignored.
func (s *ignoreSet) ignoresAny(top, abs string) bool {
	abs = filepath.ToSlash(abs)
	for i := len(top) + 1; i <= len(abs); i++ {
		if i < len(abs) && abs[i] != '/' {
			continue
		}
		if ignored, _ := s.ignores(abs[:i], true); ignored {
			return true
		}
	}
	return false
}

// with adds the rules of the ignore files that the directory abs has.
func (s ignoreSet) with(files *files.Files, abs string, has [3]bool) ignoreSet {
	for i, name := range ignoreFiles() {
		if has[i] {
			text, _ := files.Source(filepath.Join(abs, name)) // a file that cannot be read ignores nothing
			s.lists[i] = append(slices.Clip(s.lists[i]), parseIgnore(abs, text, s.fold && i == 0)...)
		}
	}
	return s
}

// inRepository begins again with git's excludes of the work tree at top.
func (s ignoreSet) inRepository(vars environ.Vars, top string, admitted []string) ignoreSet {
	_, common, err := git.Dirs(top, admitted...)
	if err != nil {
		return s.outside(vars, top)
	}
	user := gitExcludes(vars, filepath.Join(common, "config"))
	s.top, s.fold, s.rest = top, user.fold, false
	// A file that cannot be read excludes nothing.
	own, _ := git.ReadSome(filepath.Join(common, "info", "exclude"))
	s.lists[0] = append(user.rules(top), parseIgnore(top, own, s.fold)...)
	return s
}

// outside begins with the user's global excludes of git, for a tree in no repository.
func (s ignoreSet) outside(vars environ.Vars, dir string) ignoreSet {
	s.lists[0] = gitExcludes(vars).rules(dir)
	return s
}

// gitUser holds the settings of git's configuration about ignoring.
type gitUser struct {
	excludes string // core.excludesFile, "" for none
	fold     bool   // core.ignoreCase
}

// gitExcludes reads git's configuration as git does: the system's, the user's, then
// the further files named, each of which may be missing. It runs nothing, so that it
// answers where there is no git too; included files are not read.
func gitExcludes(vars environ.Vars, further ...string) gitUser {
	var user gitUser
	configs := []string{filepath.Join(string(filepath.Separator), "etc", "gitconfig")}
	home := vars.Home()
	if home != "" {
		xdg := vars.Get("XDG_CONFIG_HOME")
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
				user.excludes = gitPath(value, home)
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
	return parseIgnore(top, text, u.fold)
}

// gitPath expands ~; other paths that are not absolute mean nothing here.
func gitPath(value, home string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if home == "" {
			return ""
		}
		return filepath.Join(home, rest)
	}
	if !filepath.IsAbs(value) {
		return ""
	}
	return value
}

// isTracked says whether a sorted index holds name, or something below a directory of it.
func isTracked(index []string, name string, isDir bool) bool {
	if _, found := slices.BinarySearch(index, name); found || !isDir {
		return found
	}
	// Names that sort between a directory and its files begin with its name too.
	i, _ := slices.BinarySearch(index, name+"/")
	return i < len(index) && strings.HasPrefix(index[i], name+"/")
}
