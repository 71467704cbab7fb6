package permission

import (
	"path/filepath"

	"artoo/tool"
)

// covered finds a rule for the paths or host of a call. An allow rule (all)
// must cover every path, a deny or ask rule any of them.
func (p project) covered(rules []Rule, name string, access tool.Access, all bool) (Rule, bool) {
	for _, r := range rules {
		if !r.namesWidely(name, access.Kind) || all && (!r.names(name, access.Kind) || !p.coversGuarded(r, access)) {
			continue
		}
		if access.Host != "" {
			if r.matchesHost(access.Host, !all) {
				return r, true
			}
			continue
		}
		if !r.HasArg {
			return r, true
		}
		hits := 0
		for _, path := range access.Paths {
			if r.matchesPath(p.Root, path, !all) {
				hits++
			}
		}
		if hits > 0 && (!all || hits == len(access.Paths)) {
			return r, true
		}
	}
	return Rule{}, false
}

// rulesFor are the narrowest rule for a call on files or hosts and a wider one.
func (p project) rulesFor(name string, access tool.Access) (narrow, suggested string) {
	switch {
	case access.Host != "":
		r := ruleForHost(name, access.Host).String()
		return r, r
	case len(access.Paths) != 1:
		return name, name
	}
	path := below(p.Root, access.Paths[0])
	if filepath.IsAbs(path) {
		path = "/" + path
	}
	narrow = Rule{Tool: name, Arg: escapePattern(path), HasArg: true}.String()
	dir := filepath.Dir(path)
	if dir == "." || dir == string(filepath.Separator) || p.guardedWrite(access) != "" { // the last asks git
		return narrow, narrow
	}
	return narrow, Rule{Tool: name, Arg: escapePattern(dir) + "/**", HasArg: true}.String()
}

func (p *Policy) whyNotFile(r Rule, access tool.Access) string {
	switch {
	case p.Mode == ModePlan:
		return "plan mode only reads, whatever the rules"
	case !p.project().coversGuarded(r, access):
		return p.project().guardedWrite(access)
	case access.Kind == tool.KindNetwork:
		return "it names other hosts"
	}
	return "it names other files"
}
