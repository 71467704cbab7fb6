package permission

import (
	"io/fs"
	"path/filepath"
	"strings"

	"artoo/tool/names"
	facts "artoo/tool/project"
	"artoo/tool/sandbox"
)

// installedAt is the directory of packages that a line which only installs made a change in, "" for none; git has to
// ignore it, too. Names guard nothing there, since no program takes its settings from an installed package; a
// repository, a link that leads elsewhere and a file that git's configuration names count as everywhere. target is
// where a link leads.
func (p *Policy) installedAt(d Decision, c sandbox.Change, target func(sandbox.Change) string) string {
	name := below(p.Root, c.Path)
	dir := d.installedIn(name)
	if dir == "" || inRepository(name) || p.guarded(c.Path, false) != "" {
		return ""
	}
	plain := func(mode fs.FileMode) bool { return mode.IsRegular() || mode.IsDir() || mode&fs.ModeSymlink != 0 }
	if !plain(c.Mode) || c.Before.Exists() && !plain(c.Before.Mode) {
		return ""
	}
	if c.Kind == sandbox.Deleted || c.Mode&fs.ModeSymlink == 0 {
		return dir
	}
	to := target(c)
	rel := below(p.Root, to)
	if d.installedIn(rel) == "" && (!names.Within(p.Root, to) || p.whyGuarded(to, true) != "") || inRepository(rel) {
		return ""
	}
	return dir
}

// inRepository reports whether a path goes through a directory of git's.
func inRepository(name string) bool {
	_, _, in := facts.SplitGit(filepath.ToSlash(name))
	return in
}

// installedIn is the directory of packages, of those into which the line installs, that a path lies in; "" for none.
func (d Decision) installedIn(name string) string {
	for dir := range strings.FieldsSeq(d.Installs) {
		before, _, in := strings.Cut("/"+filepath.ToSlash(name)+"/", "/"+dir+"/")
		if in {
			return strings.TrimPrefix(before+"/"+dir, "/")
		}
	}
	return ""
}
