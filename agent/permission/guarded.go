package permission

import (
	"slices"
	"strings"

	"artoo/tool"
)

// whyGuarded explains why a write to a path is always asked, "" for an ordinary file. Of a path
// in the project only the names below its root count.
func (p *Policy) whyGuarded(path string) (why string) {
	if by, name := autoExecutedBy(below(p.Root, path)); by != "" {
		return "it writes " + name + ", which " + by + " runs or obeys"
	}
	return p.guarded(path, false)
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
		if why := p.whyGuarded(path); why != "" {
			return why
		}
	}
	return ""
}

// coversGuarded reports whether an allow rule may let a call write auto-executed files: one for this
// very file, or, except for git's own files, one whose fixed words name all that the path goes through.
func (p *Policy) coversGuarded(r Rule, access tool.Access) bool {
	if r.exact() || p.guardedWrite(access) == "" {
		return true
	}
	if access.OtherNames {
		return false
	}
	named := autoExecutedNames(r.Arg)
	for _, file := range access.Paths {
		if p.whyGuarded(file) == "" {
			continue
		}
		inGit := slices.ContainsFunc(partsOf(file), func(part string) bool { return strings.EqualFold(part, ".git") })
		names := autoExecutedNames(below(p.Root, file))
		unnamed := slices.ContainsFunc(names, func(n autoExecutedRow) bool { return !slices.Contains(named, n) })
		if len(names) == 0 || inGit || unnamed { // only git's configuration names it
			return false
		}
	}
	return true
}
