package repo

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// messages are the files of a git directory that git needs to finish a merge:
// text, and in those that end in HEAD a commit on each line.
var messages = []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD"}

// passing are files that nothing depends on, and locks that a killed git left: they are left out silently.
var passing = []string{"COMMIT_EDITMSG", "TAG_EDITMSG", "NOTES_EDITMSG", "MERGE_RR", "ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE", "REBASE_HEAD", "gc.log",
	"HEAD.lock", "index.lock", "packed-refs.lock", "config.lock"}

// sequences are the files and directories that hold the state of a sequence.
var sequences = []string{"rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG", "BISECT_START", "BISECT_TERMS",
	"BISECT_NAMES", "BISECT_RUN", "BISECT_HEAD", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK",
	"MERGE_AUTOSTASH", "NOTES_MERGE_WORKTREE", "NOTES_MERGE_REF", "NOTES_MERGE_PARTIAL"}

// sorted are the changes by subject.
type sorted struct {
	special  []Change // They are links, devices and the like.
	objects  []string // They are new loose objects.
	packs    []string // They are new.
	lost     []string // These files of the object store are changed or gone.
	refs     []string // They are named; HEAD and packed-refs are among them.
	logs     []string // They are named by their refs.
	messages []string
	state    []string            // They hold the state of a sequence.
	unknown  map[string][]string // The keys are their first directories.
	index    bool
	config   bool
	gone     bool // The git directory itself is gone.
}

func (s sorted) empty() bool {
	return len(s.special)+len(s.objects)+len(s.lost)+len(s.refs)+len(s.logs)+len(s.messages)+len(s.state)+len(s.unknown) == 0 &&
		!s.index && !s.config && !s.gone
}

// sort finds the subjects of changes.
func (v *View) sort(changes []Change) {
	v.changed, v.sorted = map[string]Change{}, sorted{unknown: map[string][]string{}}
	for _, c := range changes {
		c.Path = filepath.Clean(c.Path)
		name, isOwn := below(v.r.GitDir, c.Path)
		if isOwn {
			v.sortOwn(name, c)
		} else if name, isShared := below(v.r.Common, c.Path); isShared {
			v.sortChange(name, c)
		}
	}
}

// sortOwn sorts a change below the work tree's own git directory.
func (v *View) sortOwn(name string, c Change) {
	s := &v.sorted
	first, _, _ := strings.Cut(name, "/")
	switch {
	case name == ".": // Without its directory nothing of the repository is to be judged or landed.
		s.gone = s.gone || c.Gone || !c.Mode.IsDir()
		if !c.Gone && !c.Mode.IsDir() {
			v.unknown(name, c)
		}
	case v.isSpecial(&c):
	case slices.Contains(sequences, first):
		s.state = append(s.state, name)
	case slices.Contains(messages, name):
		s.messages = append(s.messages, name)
	case name == "HEAD":
		s.refs = append(s.refs, name)
	case name == "index" && v.r.WorkTree != "":
		s.index = true
	case name == "logs/HEAD":
		s.logs = append(s.logs, "HEAD")
	case slices.Contains(passing, name), strings.HasPrefix(name, "sharedindex."): // The index names those of it that count.
	case v.r.GitDir == v.r.Common:
		v.sortChange(name, c)
	case !c.Mode.IsDir() || c.Gone:
		v.unknown(first, c)
	}
}

// sortChange sorts a change below the directory that work trees share. Directories do not count: git makes those that it needs.
func (v *View) sortChange(name string, c Change) {
	s := &v.sorted
	first, rest, _ := strings.Cut(name, "/")
	switch {
	case v.isSpecial(&c):
	case c.Mode.IsDir() && !c.Gone, first == "refs" && strings.HasSuffix(name, ".lock"), slices.Contains(passing, name):
	case first == "objects":
		v.sortObject(rest, c)
	case name == "packed-refs", first == "refs":
		s.refs = append(s.refs, name)
	case first == "logs":
		s.logs = append(s.logs, rest)
	case name == "config":
		s.config = true
	default:
		v.unknown(first, c)
	}
}

// isSpecial notes a change, and reports whether it makes something among git's files that never lands.
func (v *View) isSpecial(c *Change) bool {
	if !c.Gone && !c.Mode.IsDir() && (!c.Mode.IsRegular() || c.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0) {
		v.sorted.special = append(v.sorted.special, *c)
		return true
	}
	if info, err := os.Lstat(c.Path); err == nil && c.Mode.IsDir() && !info.IsDir() {
		*c = Change{Path: c.Path, Gone: true} // a directory took the place of the file
	}
	if c.Gone || c.Mode.IsRegular() {
		v.changed[c.Path] = *c
	}
	return false
}

func (v *View) unknown(first string, c Change) {
	v.sorted.unknown[first] = append(v.sorted.unknown[first], v.shown(c.Path))
}

// sortObject sorts a change below objects.
func (v *View) sortObject(name string, c Change) {
	s := &v.sorted
	fan, file, _ := strings.Cut(name, "/")
	isFan := len(fan) == 2 && isHex(fan)
	there := names.Exists(c.Path)
	switch {
	case c.Gone && !there:
	case there && (c.Gone || isFan || fan == "pack"):
		s.lost = append(s.lost, v.shown(c.Path))
	case isFan && (len(file) == 38 || len(file) == 62) && isHex(file):
		s.objects = append(s.objects, c.Path)
	case isFan && strings.HasPrefix(file, "tmp_obj_"): // A killed git left it.
	default:
		if strings.HasSuffix(file, ".pack") {
			s.packs = append(s.packs, c.Path)
		}
		v.unknown("objects/"+fan, c)
	}
}

// shown is a path as people read it.
func (v *View) shown(path string) string {
	if rel, ok := below(v.r.WorkTree, path); ok {
		return rel
	}
	return path
}

// below is a path relative to dir, with slashes, "." for dir itself.
func below(dir, path string) (rel string, ok bool) {
	rel, ok = names.Relative(dir, path)
	return filepath.ToSlash(rel), ok
}

// keysOf are the keys of two maps, each once and sorted.
func keysOf[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func isHex(text string) bool { return text != "" && strings.Trim(text, "0123456789abcdef") == "" }
