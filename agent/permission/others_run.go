package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool"
)

// othersRun is the one list of files that something other than the user runs or
// obeys: git, editors, shells on entering a directory, package managers, build
// services, coding agents. Whoever writes one has a program of theirs run later,
// without a question. A row is a name, or names below each other, with * for
// any characters of a name; it counts at any depth, in letters of either case,
// and for all that is beneath it.
var othersRun = []runByOther{
	{"git", ".git git~1 .gitmodules .gitattributes .githooks .husky lefthook* .lefthook* .pre-commit-config.yaml"},
	{"an editor", `.vscode .idea .zed .devcontainer .devcontainer.json *.code-workspace .exrc .vimrc _vimrc .nvimrc
		.nvim.lua .dir-locals.el .dir-locals-2.el`},
	{"a debugger or console", ".gdbinit .lldbinit .pdbrc .irbrc .pryrc .rprofile"},
	{"the shell or a tool on entering the directory", ".envrc mise.toml mise.*.toml .mise* .tool-versions"},
	{"a package manager or build", ".npmrc .yarnrc* .pnpmfile.cjs .pnpmfile.mjs .cargo .bazelrc .bundle .mvn"},
	{"a build service", `.github/workflows .github/actions .gitlab-ci.yml .circleci .buildkite .travis.yml
		azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile .gitea/workflows .forgejo/workflows .woodpecker*
		.drone.yml appveyor.yml .appveyor.yml`},
	{"a coding agent", `.artoo .claude .codex .gemini .cursor .windsurf .clinerules .mcp.json opencode.json
		opencode.jsonc .opencode agents.md agents.override.md agent.md claude.md claude.local.md gemini.md .cursorrules
		.windsurfrules .aider* .continue .roo* .kiro .junie .qwen .github/copilot-instructions.md`},
}

// runByOther is who runs or obeys files, and their names.
type runByOther struct{ by, names string }

// OthersRun says who runs or obeys the file at a path, and by which name of the
// list; "" for a file like any other. Only the names in the path count: of
// directories that git's configuration names, Policy.OthersRun knows.
func OthersRun(path string) (by, name string) {
	if found := othersRunNames(path); len(found) > 0 {
		return found[0].by, found[0].names
	}
	return "", ""
}

// othersRunNames are all the names of the list that the path goes through, each
// by itself, in the list's order.
func othersRunNames(file string) (found []runByOther) {
	parts := partsOf(tool.FoldName(file))
	for _, row := range othersRun {
		for name := range strings.FieldsSeq(row.names) {
			if passesThrough(parts, strings.Split(name, "/")) {
				found = append(found, runByOther{row.by, name})
			}
		}
	}
	return found
}

func partsOf(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
}

// passesThrough reports whether names stand one below the other in a path.
func passesThrough(parts, names []string) bool {
	for i := 0; i+len(names) <= len(parts); i++ {
		if slices.EqualFunc(parts[i:i+len(names)], names, func(part, name string) bool {
			// Windows takes "name." and "name " for the same file.
			ok, err := path.Match(name, strings.TrimRight(part, " ."))
			return err == nil && ok
		}) {
			return true
		}
	}
	return false
}

// runByOthers says in words why a write to a path is asked whatever the mode,
// "" when it is a file like any other. Below the project root, and for a
// relative path, only the names from there on count.
func (p *Policy) runByOthers(path string) (why string) {
	if by, name := OthersRun(p.below(path)); by != "" {
		return "it writes " + name + ", which " + by + " runs or obeys"
	}
	if p.OthersRun != nil {
		return p.OthersRun(path)
	}
	return ""
}

// below is a path relative to the project root where it is in it.
func (p *Policy) below(path string) string {
	if rel, err := filepath.Rel(p.Root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// writesForOthers is runByOthers for the first file of a call that others run.
func (p *Policy) writesForOthers(access tool.Access) (why string) {
	if access.Kind != tool.KindWrite {
		return ""
	}
	if access.OtherNames {
		return "it changes a file that has other names too (hard links), which may be run or obeyed by others"
	}
	for _, path := range access.Paths {
		if why := p.runByOthers(path); why != "" {
			return why
		}
	}
	return ""
}

// coversOthersRun reports whether an allow rule may let a call write files that
// others run: one for this very file may, and one whose fixed words name all
// that the path goes through, as write(.github/workflows/**) does. Git's own
// files need the first.
func (p *Policy) coversOthersRun(r Rule, access tool.Access) bool {
	if r.exact() || p.writesForOthers(access) == "" {
		return true
	}
	if access.OtherNames {
		return false
	}
	named := othersRunNames(r.Arg)
	for _, file := range access.Paths {
		if p.runByOthers(file) == "" {
			continue
		}
		inGit := slices.ContainsFunc(partsOf(file), func(part string) bool { return strings.EqualFold(part, ".git") })
		names := othersRunNames(p.below(file))
		unnamed := slices.ContainsFunc(names, func(n runByOther) bool { return !slices.Contains(named, n) })
		if len(names) == 0 || inGit || unnamed { // without a name only git's configuration knows it
			return false
		}
	}
	return true
}
