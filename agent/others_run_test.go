package agent

import "testing"

func TestFilesThatOthersRunAreKnownByName(t *testing.T) {
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
		{"main.go", ""},
		{"git/config", ""},
		{".github/CODEOWNERS", ""},
		{"workflows/.github", ""},
		{"docs/agents.md.txt", ""},
		{".gitignore", ""},
	}
	for _, c := range cases {
		if by, name := OthersRun(c.path); by != c.by {
			t.Errorf("%s: run by %q (%s), want %q", c.path, by, name, c.by)
		}
	}
	p := &Policy{OthersRun: func(path string) string {
		if path == "/p/hooks/pre-commit" {
			return "git's core.hooksPath names it"
		}
		return ""
	}}
	if why := p.runByOthers("/p/hooks/pre-commit"); why != "git's core.hooksPath names it" {
		t.Errorf("a directory that git's configuration names: %q", why)
	}
	if why := p.runByOthers("/p/.envrc"); why == "" {
		t.Error(".envrc is a file like any other")
	}
}
