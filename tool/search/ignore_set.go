package search

import (
	"io"
	"path/filepath"
	"slices"

	"artoo/tool/files"
	"artoo/tool/git"
)

// maxIgnoreFile is where reading an ignore file stops, in bytes.
const maxIgnoreFile = 1 << 20

// ignoreFiles are the names of ignore files, those that outweigh the others last:
// git's, and the two that ripgrep reads as well.
func ignoreFiles() [3]string { return [3]string{".gitignore", ".ignore", ".rgignore"} }

// ignoreSet is all that says what is ignored in one directory of a walk. Files have
// the same rules whether or not git is there.
type ignoreSet struct {
	// lists are the rules of each of ignoreFiles, the outer directories' first; those
	// of git begin with what it excludes everywhere.
	lists [3]ignoreRules
	// top is the git work tree that the directory is in, "" for none: what is
	// tracked there git does not ignore.
	top string
	// fold says that git ignores case there.
	fold bool
	// rest says that git ignores all in the directory but what is tracked.
	rest bool
}

// ignores says whether the entry at the absolute path abs (with slashes) is ignored,
// and whether it is git that does.
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
			data := readIgnoreFile(files, filepath.Join(abs, name))
			s.lists[i] = append(slices.Clip(s.lists[i]), parseIgnore(abs, data, s.fold && i == 0)...)
		}
	}
	return s
}

// inRepository begins anew with what git excludes in the work tree at top. The rules
// that are not git's stay.
func (s ignoreSet) inRepository(top string) ignoreSet {
	_, common, err := git.Dirs(top)
	if err != nil {
		return s.outside(top)
	}
	user := gitExcludes(filepath.Join(common, "config"))
	s.top, s.fold, s.rest = top, user.fold, false
	// What cannot be read excludes nothing.
	own, _ := git.ReadSome(filepath.Join(common, "info", "exclude"))
	s.lists[0] = append(user.rules(top), parseIgnore(top, []byte(own), s.fold)...)
	return s
}

// outside begins with what the user's git excludes everywhere, for a tree that is in
// no repository: it is searched as it would be in one.
func (s ignoreSet) outside(dir string) ignoreSet {
	s.lists[0] = gitExcludes().rules(dir)
	return s
}

// readIgnoreFile reads one ignore file; one that is missing, lies outside what may be
// read, or is no regular file is empty.
func readIgnoreFile(files *files.Files, abs string) []byte {
	f, _, err := openRegular(files, abs)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return data
}
