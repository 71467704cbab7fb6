//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/names"

	"artoo/provider"
)

const geminiGreets = "cat <<'END'\n" + geminiInit + `
{"type":"message","role":"assistant","content":"Hello.","delta":true}
` + geminiGood + "\nEND\n"

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// In each mode the settings, hooks and servers that a tool takes are its user's.
func TestNoToolTakesSettingsOfTheRepository(t *testing.T) {
	for _, mode := range []string{"ask", "plan", "edits", "auto"} {
		s := newStandIn(t, ClaudeName, claudeGreets)
		s.cli.Mode = func() string { return mode }
		s.ask(user("hi")).want(t, "Hello.")
		if args := s.given("args", 1); !strings.Contains(args, "\n--setting-sources=user\n--strict-mcp-config\n") {
			t.Errorf("claude %s: %s", mode, args)
		}
		c := newStandIn(t, CodexName, events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
		real := c.cli.Dir
		c.cli.Dir = filepath.Join(t.TempDir(), `a "link"`)
		must(t, os.Symlink(real, c.cli.Dir))
		c.cli.Mode = func() string { return mode }
		c.ask(user("hi")).want(t, "Hello.")
		for _, dir := range []string{tomlString(c.cli.Dir), tomlString(names.Real(real))} {
			if args := c.given("args", 1); !strings.Contains(args, dir+`={trust_level="untrusted"}`) {
				t.Errorf("codex %s: %s", mode, args)
			}
		}
	}
	if got := trustLevel(place{"/a\\b/c",
		"/a\\b"}, false); got != `projects={"/a\\b/c"={trust_level="untrusted"},"/a\\b"={trust_level="untrusted"}}` {
		t.Error(got)
	}
}

// The project's settings are given to the tools once it is trusted, as they are then: no run gets changed ones.
func TestATrustedProjectsSettingsAreGiven(t *testing.T) {
	trusted, changed := true, error(nil)
	for _, mode := range []string{"ask", "edits"} {
		trust := func(s *standIn) {
			s.cli.Mode = func() string { return mode }
			s.cli.Trusted = func() (bool, error) { return trusted, changed }
			trusted, changed = true, nil
		}
		s := newStandIn(t, ClaudeName, claudeGreets)
		trust(s)
		s.cli.Announce = true
		s.ask(user("hi")).want(t, "Hello.")
		args := s.given("args", 1)
		if !strings.Contains(args, "\n--setting-sources=user,project,local\n") ||
			strings.Contains(args, "--strict-mcp-config") != (mode == "ask") {
			t.Errorf("claude %s: %s", mode, args)
		}
		trusted, changed = false, errors.New("the project's settings are left out")
		got := s.ask(user("hi"))
		got.want(t, "Hello.")
		if !slices.Contains(got.notices, changed.Error()) {
			t.Errorf("told %q", got.notices)
		}
		if args := s.given("args", 2); !strings.Contains(args, "\n--setting-sources=user\n--strict-mcp-config\n") {
			t.Errorf("claude %s: %s", mode, args)
		}
		if got := s.ask(user("hi")); len(got.notices) > 0 {
			t.Errorf("told again: %q", got.notices)
		}
		s = newStandIn(t, CodexName, events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
		trust(s)
		s.ask(user("hi")).want(t, "Hello.")
		if args := s.given("args", 1); !strings.Contains(args, `={trust_level="trusted"}`) {
			t.Errorf("codex %s: %s", mode, args)
		}
		s = newStandIn(t, GeminiName, geminiGreets)
		trust(s)
		put(t, filepath.Join(s.cli.Dir, ".gemini", "settings.json"), "{}")
		put(t, filepath.Join(s.cli.Dir, ".env"), "NODE_OPTIONS=--require=./x.js\n")
		s.ask(user("hi")).want(t, "Hello.")
		env := s.given("env", 1)
		if !strings.Contains(env, "\nGEMINI_CLI_TRUST_WORKSPACE=true\n") || !strings.Contains(env, "\nNODE_OPTIONS=\n") {
			t.Errorf("gemini %s: %s", mode, env)
		}
		trusted = false
		s.ask(user("hi")).fails(t, provider.KindConfig, ".gemini/settings.json")
	}
	if text := Rules(ClaudeName, "ask", true); !strings.Contains(text, "the settings and hooks of this project hold") {
		t.Error(text)
	}
}

// gemini has no option to ignore a repository's settings.
func TestGeminiIsNotRunWhereTheRepositoryBringsSettings(t *testing.T) {
	for _, file := range []string{"settings.json", ".env", "commands/x.toml", "agents/x.md",
		"extensions/x/gemini-extension.json", "policies/x.toml"} {
		for _, below := range []string{"", "a/b"} {
			s := newStandIn(t, GeminiName, geminiGreets)
			s.cli.Root = s.cli.Dir
			s.cli.Dir = filepath.Join(s.cli.Root, below)
			put(t, filepath.Join(s.cli.Dir, "x"), "")
			put(t, filepath.Join(s.cli.Root, ".gemini", file), "x")
			s.ask(user("hi")).fails(t, provider.KindConfig, filepath.Join(".gemini", strings.Split(file, "/")[0]))
			if s.exists("args.1") {
				t.Errorf("%s: it was run", file)
			}
		}
	}
	s := newStandIn(t, GeminiName, geminiGreets)
	for _, name := range geminiIgnores {
		put(t, filepath.Join(s.cli.Dir, ".gemini", name), "x")
	}
	s.ask(user("hi")).want(t, "Hello.")
	// In the user's home directory they are the user's.
	put(t, filepath.Join(s.cli.Dir, ".gemini", "settings.json"), "x")
	s.cli.Environ = append(slices.DeleteFunc(s.cli.Environ,
		func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }), "HOME="+s.cli.Dir)
	s.ask(user("hi")).want(t, "Hello.")
}

// gemini sets the variables of an .env file, unless they are set already.
func TestEnvFilesOfTheRepositorySetNothing(t *testing.T) {
	t.Parallel()
}

// TestGeminiIncludesNoFileForAnAt in a message: a backslash stands before each that could mean one.
func TestGeminiIncludesNoFileForAnAt(t *testing.T) {
	t.Parallel()
	const told = "(In what follows, a backslash before an at sign is not part of the text.)\n\n"
	for text, want := range map[string]string{
		"": "", "no at": "", "@": "", "a @ b": "", "@. ": "", "@(x)": "", `\@notes.txt`: "",
		"see @notes.txt and a@b.org": `see \@notes.txt and a\@b.org`,
		"x@/etc/passwd":              `x\@/etc/passwd`,
		"@../x @.env":                `\@../x \@.env`,
		`@"q r" @*`:                  `\@"q r" \@*`,
		"@@x":                        `\@\@x`,
	} {
		if got := noAt(text); want == "" && got != text || want != "" && got != told+want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
