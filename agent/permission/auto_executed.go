package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/names"
)

// autoExecuted is the one list of files that something other than the user runs or obeys, so that
// who writes one has code run later without a question. A row is a name, or names below each
// other, with * for any characters; it counts at any depth, in either case, and for all beneath it.
var autoExecuted = []autoExecutedRow{
	{"git", `.git git~1 .gitmodules .gitattributes .githooks .husky lefthook* .lefthook* .pre-commit-config.yaml .hg .jj`},
	{"an editor", `.vscode .vs .idea .fleet .zed .helix .devcontainer .devcontainer.json .gitpod.yml *.code-workspace
		*.sublime-project .exrc .vimrc _vimrc .nvimrc .lvimrc .nvim.lua .dir-locals.el .dir-locals-2.el`},
	{"a debugger or console", `.gdbinit .lldbinit .pdbrc .irbrc .pryrc .rprofile .ghci .ocamlinit .iex.exs .octaverc
		.erlang`},
	{"the shell or a tool on entering the directory", ".envrc mise.toml mise.*.toml .mise* .tool-versions"},
	{"a package manager or build", `.npmrc .yarnrc* .yarn .pnp.* .pnpmfile.cjs .pnpmfile.mjs .cargo .bazelrc .bundle .mvn
		compose.override.* docker-compose.override.*`},
	{"a build service", `.github/workflows .github/actions .gitlab-ci.yml .circleci .cirrus.yml .buildkite .travis.yml
		.semaphore .teamcity azure-pipelines.yml bitbucket-pipelines.yml cloudbuild.yaml jenkinsfile .gitea/workflows
		.forgejo/workflows .woodpecker* .drone.yml appveyor.yml .appveyor.yml`},
	{"a coding agent", `.artoo .claude .codex .gemini .cursor .windsurf .clinerules .mcp.json mcp.json opencode.json
		opencode.jsonc .opencode agents.md agents.override.md agent.md claude.md claude.local.md gemini.md warp.md
		crush.json .cursorrules .windsurfrules .aider* .continue .roo* .kiro .kilocode* .junie .qwen .pi .factory .agents
		.goosehints .rules .github/agents .github/copilot-instructions.md`},
}

type autoExecutedRow struct{ by, names string }

// autoExecutedBy says who runs or obeys the file at a path, and by which name of the list; "" for
// another file. Directories that git's configuration names only a Guard knows.
func autoExecutedBy(path string) (by, name string) {
	if found := autoExecutedNames(path); len(found) > 0 {
		return found[0].by, found[0].names
	}
	return "", ""
}

// holdsAutoExecuted is autoExecutedBy for what a directory such as .github would hold: a link in
// its place gives other files these names.
func holdsAutoExecuted(path string) (by, name string) {
	for _, row := range autoExecuted {
		for name := range strings.FieldsSeq(row.names) {
			if _, below, ok := strings.Cut(name, "/"); ok {
				if by, _ := autoExecutedBy(path + "/" + below); by != "" {
					return by, name
				}
			}
		}
	}
	return "", ""
}

// autoExecutedNames are all names of the list that the path goes through.
func autoExecutedNames(file string) (found []autoExecutedRow) {
	plain, others := autoExecutedIndex()
	parts := partsOf(names.Fold(file))
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, " .") // some file systems take "name." and "name " for the same file
	}
	for i, part := range parts {
		if row, ok := plain[part]; ok {
			found = append(found, row)
		}
		for _, row := range others {
			if beginWith(parts[i:], row.names) {
				found = append(found, row)
			}
		}
	}
	return found
}

// autoExecutedIndex are the names of the list, each by itself: those without * of one part, by
// name, and the others. Each path that a build writes is looked up.
var autoExecutedIndex = sync.OnceValues(func() (plain map[string]autoExecutedRow, others []autoExecutedRow) {
	plain = map[string]autoExecutedRow{}
	for _, row := range autoExecuted {
		for name := range strings.FieldsSeq(row.names) {
			if one := (autoExecutedRow{row.by, name}); strings.ContainsAny(name, "*/") {
				others = append(others, one)
			} else {
				plain[name] = one
			}
		}
	}
	return plain, others
})

// beginWith reports whether the parts of a path begin with a name of the list.
func beginWith(parts []string, name string) bool {
	for wanted := range strings.SplitSeq(name, "/") {
		before, after, star := strings.Cut(wanted, "*")
		if len(parts) == 0 || !star && parts[0] != wanted || len(parts[0]) < len(before)+len(after) ||
			!strings.HasPrefix(parts[0], before) || !strings.HasSuffix(parts[0], after) {
			return false
		}
		parts = parts[1:]
	}
	return true
}

// AutoExecutedDoc lists these files for the documentation, as rows of a Markdown table.
func AutoExecutedDoc() string {
	var b strings.Builder
	for _, row := range autoExecuted {
		b.WriteString("| " + row.by + " | `" + strings.Join(strings.Fields(row.names), " ") + "` |\n")
	}
	return b.String()
}

func partsOf(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
}

// whyGuarded says in words why a write to a path is always asked, "" for an ordinary file. Of a path
// in the project only the names below its root count.
func (p *Policy) whyGuarded(path string) (why string) {
	if by, name := autoExecutedBy(below(p.Root, path)); by != "" {
		return "it writes " + name + ", which " + by + " runs or obeys"
	}
	return p.guarded.why(path)
}

// below is a path relative to the project root where it is in it.
func below(root, path string) string {
	if rel, ok := names.Relative(root, path); ok {
		return rel
	}
	return path
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

// writesGuarded says which auto-executed file the words of a command write, "" for none.
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

// globOfGuarded says that a glob may stand for a well-known auto-executed file. Others of the list
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
