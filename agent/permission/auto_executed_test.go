package permission

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool"
	facts "artoo/tool/project"
	"artoo/tool/sandbox"
)

func TestFilesThatOthersRunAreKnownByName(t *testing.T) {
	t.Parallel()
	cases := []struct{ path, by string }{
		{".git/hooks/pre-commit", "git"},
		{"/p/sub/.GIT/config", "git"},
		{`sub\.git\config`, "git"},
		{"a/.g\u200cit/config", "git"},
		{"GIT~1/config", "git"},
		{".git./config", "git"},
		{".husky/pre-push", "git"},
		{"lefthook-local.yml", "git"},
		{"deep/er/.gitattributes", "git"},
		{".vscode/tasks.json", "an editor"},
		{"my.code-workspace", "an editor"},
		{".github/workflows/ci.yml", "a build service"},
		{"vendor/x/.GitHub/Workflows/ci.yml", "a build service"},
		{"Jenkinsfile", "a build service"},
		{".npmrc", "a package manager or build"},
		{".yarnrc.yml", "a package manager or build"},
		{".cargo/config.toml", "a package manager or build"},
		{".envrc", "the shell or a tool on entering the directory"},
		{"mise.local.toml", "the shell or a tool on entering the directory"},
		{".artoo/config.toml", "a coding agent"},
		{".claude/settings.json", "a coding agent"},
		{"pkg/AGENTS.md", "a coding agent"},
		{"claude.md", "a coding agent"},
		{".mcp.json", "a coding agent"},
		{"sub/.vimrc", "an editor"},
		{".pdbrc", "a debugger or console"},
		{".Rprofile", "a debugger or console"},
		{".mvn/extensions.xml", "a package manager or build"},
		{".forgejo/workflows/x.yml", "a build service"},
		{".woodpecker.yml", "a build service"},
		{".roo/rules/a.md", "a coding agent"},
		{".aider.conf.yml", "a coding agent"},
		{"web/.lintstagedrc.json", "git"},
		{"lint-staged.config.mjs", "git"},
		{".overcommit.yml", "git"},
		{"CaptainHook.json", "git"},
		{".simple-git-hooks.cjs", "git"},
		{"src/.ycm_extra_conf.py", "an editor"},
		{".vim/plugin/a.vim", "an editor"},
		{".nvim/init.lua", "an editor"},
		{".local.vimrc", "an editor"},
		{".idx/dev.nix", "an editor"},
		{".replit", "an editor"},
		{".amazonq/rules/a.md", "a coding agent"},
		{".augment/rules/a.md", "a coding agent"},
		{".trae/rules/a.md", "a coding agent"},
		{".github/instructions/go.instructions.md", "a coding agent"},
		{".github/prompts/a.prompt.md", "a coding agent"},
		{".github/skills/a/SKILL.md", "a coding agent"},
		{".github/Hooks/a.json", "a coding agent"},
		{".readthedocs.yaml", "a build service"},
		{"netlify.toml", "a build service"},
		{".zuul.yaml", "a build service"},
		{"rust-toolchain.toml", "a package manager or build"},
		{"rust-toolchain", "a package manager or build"},
		{"main.go", ""},
		{"vimrc", ""},
		{".github/FUNDING.yml", ""},
		{"git/config", ""},
		{".github/CODEOWNERS", ""},
		{"workflows/.github", ""},
		{"docs/agents.md.txt", ""},
		{".gitignore", ""},
	}
	for _, c := range cases {
		if found := append(autoExecutedNames(c.path, false), autoExecutedRow{}); found[0].by != c.by {
			t.Errorf("%s: run by %+v, want %q", c.path, found[0], c.by)
		}
	}
	root := t.TempDir()
	hooks := filepath.Join(root, "hooks")
	p := hooked(root, func() []string { return []string{hooks} }).deciding()
	if why := p.whyGuarded(filepath.Join(hooks, "pre-commit"), false); !strings.Contains(why, "core.hookspath") {
		t.Errorf("a directory that git's configuration names: %q", why)
	}
	if why := p.whyGuarded(filepath.Join(root, ".envrc"), false); why == "" {
		t.Error(".envrc is a file like any other")
	}
}

func TestAFileThatAnInstructionFileImportsIsGuarded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := hooked(root, func() []string { return nil })
	p.World.Guard.Imported([]string{filepath.Join(root, "docs", "rules.md")})
	for name, guarded := range map[string]bool{"docs/rules.md": true, "docs/RULES.md": true, "docs/other.md": false} {
		if why := p.deciding().whyGuarded(filepath.Join(root, name), false); strings.Contains(why,
			"imports") != guarded {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// In a home directory such a walk takes minutes; there every write asks.
func TestFilesThatAreGuardedAreLookedForInProjectsOnly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	envrc := filepath.Join(root, "sub", ".envrc")
	if err := errors.Join(os.Mkdir(filepath.Dir(envrc), 0o755), os.WriteFile(envrc, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for none, want := range map[string]int{"": 1, "this is the home directory": 0} {
		p := hooked(root, func() []string { return nil })
		guard := p.World.Guard
		guard.git.None = none
		found, err := guard.Look()
		if err != nil || len(found.Paths) != want {
			t.Errorf("%q: %v, %v", none, found.Paths, err)
		}
		if why := p.deciding().whyGuarded(envrc, false); why == "" {
			t.Errorf("%q: the file is not guarded by its name", none)
		}
	}
}

// hooked is a policy for a project in which git names directories for hooks.
func hooked(root string, dirs func() []string) *Policy {
	guard := NewGuard(facts.Project{Root: root})
	guard.settings = func() (settings []facts.GitSetting) {
		for _, dir := range dirs() {
			settings = append(settings, facts.GitSetting{Key: "core.hookspath", Value: dir})
		}
		return settings
	}
	return &Policy{Root: root, Mode: ModeEdits, World: World{Guard: guard}}
}

// Git is a process of its own, and agents read all the time.
func TestNobodyIsAskedWhoRunsAFileThatIsOnlyRead(t *testing.T) {
	t.Parallel()
	p := hooked("/p", func() []string { t.Error("git was asked"); return nil })
	d := p.Decide("read", tool.Access{Kind: tool.KindRead, Paths: []string{"/p/dir/a.txt"}})
	if d.Verdict != Run || d.Suggested != "read(dir/**)" {
		t.Errorf("%+v", d)
	}
}

// A line may change thousands of files, each of which would wait for git.
func TestWhoRunsFilesIsAskedOnceForADecisionAndAnewForTheNext(t *testing.T) {
	t.Parallel()
	asked, hooks, root := 0, "", t.TempDir()
	p := hooked(root, func() []string {
		asked++
		return strings.Fields(hooks)
	})
	var changes []sandbox.Change
	var paths []string
	for i := range 50 {
		path := fmt.Sprintf("%s/hooks/%d.txt", root, i)
		paths = append(paths, path)
		changes = append(changes, sandbox.Change{Path: path, Kind: sandbox.Created, Mode: 0o644})
	}
	line := tool.Access{Kind: tool.KindRun, Command: "echo x > hooks/a; echo y > hooks/b; cp a.txt hooks/c"}
	for name, decide := range map[string]func() (others bool){
		"a layer": func() bool {
			return len(p.Judge(t.Context(), Decision{}, changes, Facts{}).Effects.By[RunsAutomatically]) == len(changes)
		},
		"a write": func() bool {
			return p.Decide("write", tool.Access{Kind: tool.KindWrite, Paths: paths}).Verdict == Ask
		},
		"a line": func() bool {
			return strings.Contains(p.Decide("bash", line).Reason(), "which git's configuration names")
		},
	} {
		for _, hooks = range []string{"", root + "/hooks"} {
			if _, err := p.World.Guard.Look(); err != nil { // Files found a moment ago count.
				t.Fatal(err)
			}
			asked = 0
			if others := decide(); others != (hooks != "") {
				t.Errorf("%s: git runs files of %q: %t", name, hooks, others)
			}
			if asked != 1 {
				t.Errorf("%s: git was asked %d times", name, asked)
			}
		}
	}
}

// A hard link may lead to any of these, and its own name does not show that.
func TestAWriteToAFileWithOtherNamesIsAsked(t *testing.T) {
	t.Parallel()
	write := tool.Access{Kind: tool.KindWrite, Paths: []string{"/p/notes.txt"}}
	linked := write
	linked.OtherNames = true
	for _, c := range []struct {
		allow        string
		single, many Verdict
	}{{"", Run, Ask}, {"write", Run, Ask}, {"write(*.txt)", Run, Ask}, {"write(notes.txt)", Run, Run}} {
		p := &Policy{Mode: ModeEdits, Root: "/p"}
		if c.allow != "" {
			r, err := ParseRule(c.allow)
			if err != nil {
				t.Fatal(err)
			}
			p.AllowRules = []Rule{r}
		}
		if one, many := p.Decide("write", write), p.Decide("write", linked); one.Verdict != c.single ||
			many.Verdict != c.many {
			t.Errorf("allow %q: %+v, and with other names %+v", c.allow, one, many)
		}
	}
}

// TestEveryGuardedNameIsFound asks about a name for each row of the list.
func TestEveryGuardedNameIsFound(t *testing.T) {
	t.Parallel()
	for _, row := range autoExecuted {
		for pattern := range strings.FieldsSeq(row.names) {
			name := strings.ReplaceAll(pattern, "*", "any")
			for _, path := range []string{name, "sub/" + strings.ToUpper(name)} {
				if len(autoExecutedNames(path, false)) == 0 {
					t.Errorf("%s, of %s, is not found", path, pattern)
				}
			}
		}
	}
}

// TestLookalikesOfGuardedNames asks about names that a file system may take for guarded ones.
func TestLookalikesOfGuardedNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".ｇｉｔ/config", "．git/config", ".g\u00adit/x", ".git\u2060/x", ".gi\ufe0ft/x",
		"ＡGENTS.md", ".ｅnvrc",
		".vscode\u180e/x", ".\U0001d420it/x", ".git\u034f/x", "WARP\u3164.md", ".gⁱt/x", ".envrc\U000e0001",
		"JenKinsﬁle", "agentſ.md"} {
		if len(autoExecutedNames(name, false)) == 0 {
			t.Errorf("%q is not guarded", name)
		}
	}
}
