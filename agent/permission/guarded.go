package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
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

// writesGuarded names the auto-executed file that the words of a command write, "" for none.
func (p *Policy) writesGuarded(s line.Command) (why string) {
	if words := s.Git(); len(words) > 0 && words[0].Text == "config" {
		words = words[1:] // git takes no value beside a list of all
		lists := len(words) > 0 && words[0].Known && line.In("-l --list list", words[0].Text)
		if !lists && gitConfigWrites(line.Texts(words)) != "" {
			return "it can write git's configuration, which git obeys"
		}
	}
	for _, w := range s.Writes() {
		text := strings.TrimPrefix(w.Text, "of=")
		if w.Glob {
			if why := globOfGuarded(text); why != "" {
				return why
			}
		}
		for _, file := range p.places(s, text) {
			why := p.whyGuarded(file)
			// A link on the way may lead to one.
			if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil && why == "" {
				why = p.whyGuarded(filepath.Join(real, filepath.Base(file)))
			}
			if why != "" {
				return why
			}
		}
	}
	return ""
}

func (p *Policy) places(s line.Command, to string) (files []string) {
	if len(s.Dirs) == 0 {
		return line.PathsFrom([]string{p.Root}, to)
	}
	return s.Paths(to)
}

// globOfGuarded reports whether a glob may stand for a well-known auto-executed file. Others of the list
// do not count: a* may be azure-pipelines.yml, and hardly ever is.
func globOfGuarded(glob string) (why string) {
	for part := range strings.SplitSeq(glob, "/") {
		if strings.Trim(part, "*") == "" || !strings.ContainsAny(part, "*?[") {
			continue
		}
		for name := range strings.FieldsSeq(`.git .github .husky .vscode .idea .envrc .npmrc .claude .artoo .cargo .gitmodules
			.gitattributes .githooks .mcp.json AGENTS.md CLAUDE.md Jenkinsfile`) {
			if fits, err := path.Match(part, name); fits || err != nil {
				return "it may write " + name + ", which programs run automatically (" + glob + ")"
			}
		}
	}
	return ""
}
