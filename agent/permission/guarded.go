package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/tool"
)

// whyGuarded explains why a write to a path is always asked, "" for an ordinary file. Of a path
// in the project only the names below its root count. link means that a link is to be there.
func (p *Policy) whyGuarded(path string, link bool) (why string) {
	if found := autoExecutedNames(below(p.Root, path), link); len(found) > 0 {
		return found[0].names + ", which " + found[0].by + " runs or obeys"
	}
	return p.guarded(path, link)
}

// guardedWrite is whyGuarded for the first such file of a call.
func (p *Policy) guardedWrite(access tool.Access) (why string) {
	if access.Kind != tool.KindWrite {
		return ""
	}
	if access.OtherNames {
		return "it changes a file that has other names too (hard links), which programs may run automatically"
	}
	for _, path := range access.Paths {
		why = cmp.Or(why, p.whyGuarded(path, false))
	}
	return why
}

// coversGuarded reports whether an allow rule may let a call write auto-executed files: one for this
// very file, or, except for git's own files, one whose fixed words name all that the path goes through.
func (p *Policy) coversGuarded(r Rule, access tool.Access) bool {
	if access.Kind != tool.KindWrite || r.exact() {
		return true
	}
	named := autoExecutedNames(r.Arg, false)
	return !access.OtherNames && !slices.ContainsFunc(access.Paths, func(file string) bool {
		inGit := slices.ContainsFunc(partsOf(file), func(part string) bool { return strings.EqualFold(part, ".git") })
		names := autoExecutedNames(below(p.Root, file), false)
		unnamed := slices.ContainsFunc(names, func(n autoExecutedRow) bool { return !slices.Contains(named, n) })
		// Only git's configuration may name it.
		return (len(names) == 0 || inGit || unnamed) && p.whyGuarded(file, false) != ""
	})
}
