//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
		s.terms.Mode = mode
		s.ask(user("hi")).want(t, "Hello.")
		if args := s.given("args", 1); !strings.Contains(args, "\n--setting-sources=user\n--strict-mcp-config\n") {
			t.Errorf("claude %s: %s", mode, args)
		}
		c := newStandIn(t, CodexName, events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
		real := c.cli.Dir
		c.cli.Dir = filepath.Join(t.TempDir(), `a "link"`)
		must(t, os.Symlink(real, c.cli.Dir))
		c.terms.Mode = mode
		c.ask(user("hi")).want(t, "Hello.")
		for _, dir := range []string{tomlString(c.cli.Dir), tomlString(names.Real(real))} {
			if args := c.given("args", 1); !strings.Contains(args, dir+`={trust_level="untrusted"}`) {
				t.Errorf("codex %s: %s", mode, args)
			}
		}
	}
	got := trustLevel("/a\\b/c", "/a\\b", false)
	if got != `projects={"/a\\b/c"={trust_level="untrusted"},"/a\\b"={trust_level="untrusted"}}` {
		t.Error(got)
	}
}

// The project's settings are given to the tools once it is trusted, as they are then: no run gets changed ones.
func TestATrustedProjectsSettingsAreGiven(t *testing.T) {
	changed := errors.New("the project's settings are left out")
	for _, mode := range []string{"ask", "edits"} {
		trust := func(s *standIn) {
			s.terms.Mode = mode
			s.terms.Trusted, s.terms.Untrusted = true, nil
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
		s.terms.Trusted, s.terms.Untrusted = false, changed
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
		s.terms.Trusted = false
		s.ask(user("hi")).fails(t, provider.KindConfig, ".gemini/settings.json")
	}
	if text := Rules(ClaudeName, "ask", true); !strings.Contains(text, "the settings and hooks of this project apply") {
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
	for _, name := range dialects[GeminiName].ignores {
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
	s := newStandIn(t, GeminiName, geminiGreets)
	s.cli.Root, s.cli.Dir = s.cli.Dir, filepath.Join(s.cli.Dir, "below")
	put(t, filepath.Join(s.cli.Root, ".env"), "export A=1\nHOME=/evil\n B : 2\n")
	put(t, filepath.Join(s.cli.Dir, ".env", "bin"), "a directory")
	s.ask(user("hi")).want(t, "Hello.")
	env := "\n" + s.given("env", 1)
	for _, set := range []string{"\nA=\n", "\nB=\n", "\nHOME=" + os.Getenv("HOME") + "\n"} {
		if !strings.Contains(env, set) {
			t.Errorf("%q is not in %s", set, env)
		}
	}
	must(t, os.RemoveAll(filepath.Join(s.cli.Dir, ".env")))
	must(t, syscall.Mkfifo(filepath.Join(s.cli.Dir, ".env"), 0o600))
	s.ask(user("hi")).fails(t, provider.KindConfig, "below/.env")
}

// gemini includes a file for an @ in a message unless a backslash stands before it.
func TestGeminiIncludesNoFileForAnAt(t *testing.T) {
	s := newStandIn(t, GeminiName, geminiGreets)
	s.ask(user(`see @notes.txt, a@b.org, \@x and @@y`)).want(t, "Hello.")
	const told = "(In what follows, the backslash before an at sign is not part of the text.)\n\n"
	if got := s.given("stdin", 1); got != told+`see \@notes.txt, a\@b.org, \\@x and \@\@y` {
		t.Errorf("it was told %q", got)
	}
}
