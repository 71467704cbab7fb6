package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// broken stands for the value of a ref that git could not read.
const broken = "?"

// states are the refs and the heads before the line and after it. A value is an id,
// "ref: NAME", broken, or "" for none.
type states struct {
	before, after map[string]string
	head, headNow string
	headRaw       []byte // HEAD held these bytes before.
	logs          map[string]logs
	excluded      []string // Each is "^ID" with the old value of a ref.
}

// logs are the entries of a reflog before and after the line.
type logs struct {
	before, after []byte
	gone          bool
}

// readStates reads all refs. Git is not asked: a process would see either side alone, and
// a layer can hold refs that git refuses to list.
func (v *View) readStates(ctx context.Context) (states, error) {
	s := states{logs: map[string]logs{}}
	loose, err := v.looseRefs(ctx)
	if err != nil {
		return s, err
	}
	packedPath := filepath.Join(v.r.Common, "packed-refs")
	packed, err := v.before(packedPath)
	if err != nil {
		return s, err
	}
	packedNow, err := v.after(packedPath)
	if err != nil {
		return s, err
	}
	s.before, s.after = v.packedRefs(packed), v.packedRefs(packedNow)
	for name, value := range loose {
		s.before[name] = value
		if path := filepath.Join(v.r.Common, filepath.FromSlash(name)); !v.isGone(path) {
			s.after[name] = value
		}
	}
	for path := range v.changed {
		name, ok := below(v.r.Common, path)
		if !ok || !strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, ".lock") {
			continue
		}
		if v.was != nil {
			was, err := v.before(path)
			if err != nil {
				return s, err
			}
			s.before[name] = cmp.Or(v.refValue(was), s.before[name])
		}
		if v.changed[path].Gone {
			continue
		}
		data, err := v.after(path)
		if err != nil {
			return s, err
		}
		s.after[name] = v.refValue(data)
	}
	head := filepath.Join(v.r.GitDir, "HEAD")
	if s.headRaw, err = v.before(head); err != nil {
		return s, err
	}
	headNow, err := v.after(head)
	if err != nil {
		return s, err
	}
	s.head, s.headNow = v.refValue(s.headRaw), v.refValue(headNow)
	return s, v.readLogs(&s)
}

// looseRefs are the refs of the repository that have a file each.
func (v *View) looseRefs(ctx context.Context) (map[string]string, error) {
	refs := map[string]string{}
	top := filepath.Join(v.r.Common, "refs")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".lock") {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := v.before(path)
		if name, ok := below(v.r.Common, path); ok {
			refs[name] = v.refValue(data)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return refs, nil
	}
	return refs, err
}

// refValue is the value of a loose ref or HEAD.
func (v *View) refValue(data []byte) string {
	if data == nil {
		return ""
	}
	text := strings.TrimRight(string(data), " \t\r\n")
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		return "ref: " + strings.TrimLeft(target, " \t")
	}
	if len(data) > 4096 || !v.format.isID(text) || text == v.format.none() {
		return broken
	}
	return text
}

func (v *View) packedRefs(data []byte) map[string]string {
	refs := map[string]string{}
	for line := range bytes.Lines(data) {
		id, name, ok := strings.Cut(strings.TrimRight(string(line), "\n"), " ")
		if ok && v.format.isID(id) {
			refs[name] = id
		}
	}
	return refs
}

// readLogs reads the reflogs that changed.
func (v *View) readLogs(s *states) error {
	for _, name := range v.sorted.logs {
		err := filepath.WalkDir(v.logPath(name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				return nil // The log is new.
			}
			if err != nil || d.IsDir() {
				return err
			}
			// A directory that is gone stands for its logs.
			top := v.logPath(".")
			if path == v.logPath("HEAD") {
				top = filepath.Dir(path)
			}
			rel, _ := below(top, path)
			s.logs[rel] = logs{}
			return nil
		})
		if err != nil {
			return err
		}
		if info, err := os.Lstat(v.logPath(name)); err != nil || !info.IsDir() {
			s.logs[name] = logs{}
		}
	}
	for name := range s.logs {
		var err error
		l := logs{gone: v.isGone(v.logPath(name))}
		if l.before, err = v.before(v.logPath(name)); err != nil {
			return err
		}
		if l.after, err = v.after(v.logPath(name)); err != nil {
			return err
		}
		s.logs[name] = l
	}
	return nil
}

func (v *View) logPath(name string) string {
	dir := v.r.Common
	if name == "HEAD" {
		dir = v.r.GitDir
	}
	return filepath.Join(dir, "logs", filepath.FromSlash(name))
}

// entry is one line of a reflog.
type entry struct{ id, text string }

func (v *View) entries(log []byte) (list []entry) {
	for line := range strings.Lines(string(log)) {
		ids, text, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if fields := strings.Fields(ids); len(fields) >= 2 && v.format.isID(fields[1]) {
			list = append(list, entry{fields[1], text})
		}
	}
	return list
}

// validRef reports whether git takes a name below refs/, by the rules of
// git check-ref-format.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.Count(name, "/") < 1 || len(name) > 1024 ||
		strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.HasSuffix(name, ".") {
		return false
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock")
	})
}

// unambiguous reports whether git and people take the name of a branch for this branch
// alone.
func unambiguous(branch string, refs map[string]string) bool {
	if strings.HasPrefix(branch, "-") || branch == "HEAD" || branch == "@" || strings.HasSuffix(branch, "_HEAD") ||
		len(branch) >= 4 && isHex(strings.ToLower(branch)) {
		return false
	}
	for _, prefix := range []string{"refs/", "heads/", "tags/", "remotes/"} {
		if strings.HasPrefix(branch, prefix) {
			return false
		}
	}
	for _, other := range []string{"refs/", "refs/tags/", "refs/remotes/"} {
		if refs[other+branch] != "" {
			return false
		}
	}
	if refs["refs/remotes/"+branch+"/HEAD"] != "" {
		return false
	}
	for name := range refs { // A file system can fold letters.
		if name != "refs/heads/"+branch && strings.EqualFold(name, "refs/heads/"+branch) {
			return false
		}
	}
	return true
}

// commitOf is the commit that a value of HEAD leads to, "" for none.
func commitOf(value string, refs map[string]string) string {
	for range 5 {
		name, symbolic := strings.CutPrefix(value, "ref: ")
		if !symbolic {
			if value == broken {
				return ""
			}
			return value
		}
		value = refs[name]
	}
	return ""
}
