package repo

import (
	"fmt"
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

// passing are files that nothing depends on: they are left out silently.
var passing = []string{"COMMIT_EDITMSG", "TAG_EDITMSG", "NOTES_EDITMSG", "MERGE_RR", "ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE", "REBASE_HEAD", "gc.log"}

// sequences are the files and directories that hold the state of a sequence.
var sequences = []string{"rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG", "BISECT_START", "BISECT_TERMS",
	"BISECT_NAMES", "BISECT_RUN", "BISECT_HEAD", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK",
	"MERGE_AUTOSTASH", "NOTES_MERGE_WORKTREE", "NOTES_MERGE_REF", "NOTES_MERGE_PARTIAL"}

// sort finds the subject of a change.
func (v *View) sort(c Change) {
	path := filepath.Clean(c.Path)
	own, isOwn := below(v.r.GitDir, path)
	shared, isShared := below(v.r.Common, path)
	if !isOwn && !isShared {
		return
	}
	s := &v.sorted
	name := own
	if !isOwn {
		name = shared
	}
	if name == "." {
		// Without its directory nothing of the repository is to be judged or landed.
		s.gone = s.gone || c.Gone || !c.Mode.IsDir()
		if !c.Gone && !c.Mode.IsDir() {
			v.unknown(name, path)
		}
		return
	}
	irregular := !c.Gone && !c.Mode.IsRegular() && !c.Mode.IsDir()
	if irregular || !c.Gone && !c.Mode.IsDir() && c.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		s.forbidden = append(s.forbidden, Row{Kind: Special, Object: v.shown(path), Left: true,
			Text: fmt.Sprintf("%s: %s", v.shown(path), special(c.Mode))})
		return
	}
	if info, err := os.Lstat(path); err == nil && c.Mode.IsDir() && !info.IsDir() {
		c = Change{Path: path, Gone: true} // a directory took the place of the file
	}
	if c.Gone || c.Mode.IsRegular() {
		v.changed[path] = c
	}
	first, rest, _ := strings.Cut(name, "/")
	directory := c.Mode.IsDir() && !c.Gone
	switch {
	case isOwn && slices.Contains(sequences, first):
		s.state = append(s.state, name)
	case isOwn && slices.Contains(messages, name):
		s.messages = append(s.messages, name)
	case isOwn && slices.Contains(passing, name):
	case isOwn && name == "HEAD":
		s.refs = true
	case isOwn && name == "index" && v.r.WorkTree != "":
		s.index = true
	case isOwn && strings.HasPrefix(name, "sharedindex."): // The index names the entries of it that count.
	case isShared && name == "config":
		s.config = true
	case isShared && name == "packed-refs":
		s.refs = true
	case isShared && first == "objects":
		v.sortObject(rest, path, c)
	case isOwn && (name == "HEAD.lock" || name == "index.lock"), isShared && (name == "packed-refs.lock" || name == "config.lock"),
		isShared && first == "refs" && strings.HasSuffix(name, ".lock"):
		// A killed git left it, and it would be in the way.
	case directory && (first == "refs" || first == "logs" || name == "info" || name == "hooks" || name == "branches"):
	case isShared && first == "refs" && (v.r.GitDir == v.r.Common || !isOwn):
		s.refs = true
	case isOwn && name == "logs/HEAD":
		s.logs = append(s.logs, "HEAD")
	case isShared && first == "logs" && strings.HasPrefix(rest+"/", "refs/") && (v.r.GitDir == v.r.Common || !isOwn):
		s.logs = append(s.logs, rest)
	case name == "logs" && c.Gone && isShared:
		s.logs = append(s.logs, ".")
	default:
		v.unknown(first, path)
	}
}

func (v *View) unknown(first, path string) {
	if v.sorted.unknown == nil {
		v.sorted.unknown = map[string][]string{}
	}
	v.sorted.unknown[first] = append(v.sorted.unknown[first], v.shown(path))
}

// sortObject sorts a change below objects.
func (v *View) sortObject(name, path string, c Change) {
	fan, file, nested := strings.Cut(name, "/")
	isFan := len(fan) == 2 && isHex(fan)
	if c.Mode.IsDir() && !c.Gone {
		if !isFan && fan != "info" && fan != "pack" {
			v.unknown("objects", path)
		}
		return
	}
	there := names.Exists(path)
	switch {
	case c.Gone:
		if there {
			v.sorted.lost = append(v.sorted.lost, v.shown(path))
		}
	case isFan && nested && isHex(file) && (len(file) == 38 || len(file) == 62):
		if there {
			v.sorted.lost = append(v.sorted.lost, v.shown(path))
		} else {
			v.sorted.objects = append(v.sorted.objects, path)
		}
	case isFan && strings.HasPrefix(file, "tmp_obj_"): // A killed git left it.
	case there && fan == "pack":
		v.sorted.lost = append(v.sorted.lost, v.shown(path))
	default:
		if fan == "pack" && strings.HasSuffix(file, ".pack") {
			v.sorted.packs = append(v.sorted.packs, path)
		}
		v.unknown("objects/"+fan, path)
	}
}

func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link among git's files"
	case mode.IsRegular():
		return "a file of git's with setuid or setgid"
	}
	return "a device, FIFO or socket among git's files"
}

// below is a path relative to dir, with slashes, "." for dir itself.
func below(dir, path string) (rel string, ok bool) {
	rel, ok = names.Relative(dir, path)
	return filepath.ToSlash(rel), ok
}

// keysOf are the keys of two maps, each once and sorted.
func keysOf[V any](a, b map[string]V) []string {
	all := map[string]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func isHex(text string) bool { return text != "" && strings.Trim(text, "0123456789abcdef") == "" }
