package repo

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// subject is what a changed file of a git directory is about.
type subject string

const (
	unknown  subject = ""
	passing  subject = "passing" // Nothing depends on the files: they are left out silently.
	state    subject = "state"   // They hold the state of a sequence.
	messages subject = "messages"
	refs     subject = "refs" // HEAD and packed-refs are among them.
	logs     subject = "logs"
	index    subject = "index"
	shared   subject = "shared" // They are parts of a split index.
	config   subject = "config"
	objects  subject = "objects" // The loose objects are new.
	packs    subject = "packs"   // They are new.
	lost     subject = "lost"    // These files of the object store are changed or gone.
	removed  subject = "removed" // The git directory itself is gone.
	replaced subject = "replaced"
)

// files are the subjects of files by their names or the directories that they lie in.
type files []struct {
	about subject
	names []string
}

// ownFiles are those of a work tree, sharedFiles those that work trees share. The messages are what git needs to finish
// a merge: text, and in those that end in HEAD a commit on each line.
var (
	ownFiles = files{
		{refs, []string{"HEAD"}}, {index, []string{"index"}}, {logs, []string{"logs/HEAD"}},
		{shared, []string{"sharedindex.*"}},
		{messages, []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD"}},
		{passing, []string{"COMMIT_EDITMSG", "TAG_EDITMSG", "NOTES_EDITMSG", "MERGE_RR", "ORIG_HEAD", "FETCH_HEAD",
			"AUTO_MERGE", "REBASE_HEAD", "gc.log"}},
		{state, []string{"rebase-merge", "rebase-apply", "sequencer", "BISECT_*", "MERGE_AUTOSTASH", "NOTES_MERGE_*"}},
	}
	sharedFiles = files{{refs, []string{"refs", "packed-refs"}}, {logs, []string{"logs"}},
		{config, []string{"config"}}, {objects, []string{"objects"}}}
)

func (list files) about(name string) subject {
	first, _, _ := strings.Cut(name, "/")
	for _, row := range list {
		if slices.ContainsFunc(row.names, func(pattern string) bool {
			ok, err := path.Match(pattern, first)
			return err == nil && ok || name == pattern
		}) {
			return row.about
		}
	}
	return unknown
}

// sort finds the subject of a change.
func (v *View) sort(c Change) {
	name, inside := below(v.r.GitDir, c.Path)
	about := ownFiles.about(name)
	if !inside || about == unknown && v.r.GitDir == v.r.Common {
		if name, inside = below(v.r.Common, c.Path); !inside {
			return
		}
		about = sharedFiles.about(name)
	}
	if info, err := os.Lstat(c.Path); err == nil && c.Mode.IsDir() && !info.IsDir() {
		c.Gone = true // A directory took the place of the file.
	}
	switch isDir := c.Mode.IsDir() && !c.Gone; {
	case name == "." && c.Gone: // Without its directory nothing of the repository is to be judged or landed.
		about = removed
	case name == "." && !isDir:
		about = replaced
	case isDir, strings.HasSuffix(name, ".lock"): // Git makes the directories that it needs. A killed git left a lock.
		return
	case !c.Gone && (!c.Mode.IsRegular() || c.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0):
		v.special = append(v.special, c)
		return
	case about == objects:
		about = v.sortObject(name, c)
	}
	v.changed[c.Path] = c
	if about == unknown {
		first, _, _ := strings.Cut(name, "/")
		v.unknown[first] = append(v.unknown[first], v.shown(c.Path))
	} else if about != passing {
		v.sorted[about] = append(v.sorted[about], name)
	}
}

// sortObject finds the subject of a change below objects.
func (v *View) sortObject(name string, c Change) subject {
	fan, file, _ := strings.Cut(strings.TrimPrefix(name, "objects/"), "/")
	isFan, there := len(fan) == 2 && isHex(fan), names.Exists(c.Path)
	switch {
	case there && (c.Gone || isFan || fan == "pack"):
		return lost
	case c.Gone, isFan && strings.HasPrefix(file, "tmp_obj_"): // A killed git left it.
		return passing
	case isFan && isHex(file):
		return objects
	case strings.HasSuffix(file, ".pack"):
		v.sorted[packs] = append(v.sorted[packs], name)
	}
	return unknown
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
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func isHex(text string) bool { return text != "" && strings.Trim(text, "0123456789abcdef") == "" }
