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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
		if err := os.Symlink(real, c.cli.Dir); err != nil {
			t.Fatal(err)
		}
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

// What the project brings is given to the tools once it is trusted, as it is then:
// no run gets what has changed.
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

// gemini cannot be told to leave a repository's settings alone.
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

// gemini sets what an .env file says, unless it is set already.
func TestEnvFilesOfTheRepositorySetNothing(t *testing.T) {
	s := newStandIn(t, GeminiName, geminiGreets)
	s.cli.Root = s.cli.Dir
	s.cli.Dir = filepath.Join(s.cli.Root, "sub")
	put(t, filepath.Join(s.cli.Dir, ".env"),
		"export NODE_OPTIONS='--require=./x.js'\rGEMINI_SANDBOX : sh\n A.B=1 # c\nPATH=/evil\n")
	put(t, filepath.Join(s.cli.Root, ".env"), "GOOGLE_GEMINI_BASE_URL=http://evil\n")
	s.cli.Environ = append(s.cli.Environ, "A.B=mine")
	environ, err := geminiEnviron(s.cli.place(), "", s.cli.Environ)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NODE_OPTIONS=", "GEMINI_SANDBOX=", "GOOGLE_GEMINI_BASE_URL=", "A.B=mine"} {
		if !slices.Contains(environ, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if slices.Contains(environ, "PATH=") {
		t.Error("PATH is gone")
	}
	s.ask(user("hi")).want(t, "Hello.")
	if env := s.given("env", 1); !strings.Contains(env, "\nGEMINI_SANDBOX=\n") {
		t.Error("the tool was not given the empty variables")
	}
	put(t, filepath.Join(s.cli.Dir, ".env"), strings.Repeat("x", mostEnv+1))
	s.ask(user("hi")).fails(t, provider.KindConfig, "no file of at most 1 MiB")
}

// What the user's own settings allow does not hold where a tool only reads.
func TestReadingIsReadingWhateverTheUserAllows(t *testing.T) {
	s := newStandIn(t, GeminiName,
		"for a; do case $a in --admin-policy=*) cp \"${a#*=}\" $DIR/policy.$N;; esac; done\n"+geminiGreets)
	for n, mode := range []string{"ask", "plan", "edits"} {
		s.cli.Mode = func() string { return mode }
		s.ask(user("hi")).want(t, "Hello.")
		name := "policy." + string(rune('1'+n))
		if !mayEdit(mode) != s.exists(name) {
			t.Fatalf("%s: there is a policy: %v", mode, s.exists(name))
		}
		if !mayEdit(mode) && s.given("policy", n+1) != geminiPolicy {
			t.Errorf("%s: the policy is %s", mode, s.given("policy", n+1))
		}
	}
	path := s.cli.policy
	if s.cli.Close(); path == "" || s.cli.policy != "" {
		t.Errorf("the policy stays at %s", path)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the policy's file stays: %v", err)
	}
	reads, edits := strings.Join(claudeArgs(call{}), "\n"), strings.Join(claudeArgs(call{edits: true}), "\n")
	if strings.Contains(reads, "Bash") || !strings.Contains(reads, "--tools=Read,") ||
		!strings.Contains(reads, `"useAutoModeDuringPlan":false`) || strings.Contains(edits, "--tools") {
		t.Errorf("claude reads with %s\nedits with %s", reads, edits)
	}
	if args := codex.args(call{edits: true}); slices.Contains(args, "--ignore-rules") ||
		!slices.Contains(codex.args(call{}), "--ignore-rules") {
		t.Errorf("codex edits with %q", args)
	}
}

// Long input lies outside of the project.
func TestLongInputMayBeRead(t *testing.T) {
	for name, want := range map[string]string{ClaudeName: "--add-dir=/state/s.out",
		GeminiName: "--include-directories=/state/s.out"} {
		for _, mode := range []string{"ask", "edits"} {
			c := &CLI{Name: name, Mode: func() string { return mode },
				Reads: func() []string { return []string{"/state/s.out"} }}
			r := run{CLI: c, dialect: dialectOf(name)}
			if args := r.dialect.args(r.call(plan{})); !slices.Contains(args, want) {
				t.Errorf("%s %s: %q", name, mode, args)
			}
		}
	}
}

// The project's root bounds what a tool may touch, not the directory it starts in.
func TestTheWholeProjectIsOpenFromBelowItsRoot(t *testing.T) {
	opens := map[string]string{ClaudeName: "--add-dir=/p", CodexName: "--add-dir=/p",
		GeminiName: "--include-directories=/p"}
	for name, want := range opens {
		for _, mode := range []string{"ask", "edits"} {
			c := &CLI{Name: name, Dir: "/p/sub/deep", Root: "/p", Mode: func() string { return mode }}
			r := run{CLI: c, dialect: dialectOf(name)}
			args := r.dialect.args(r.call(plan{session: session{ID: "s-1"}}))
			at := slices.Index(args, want)
			if reads := name == CodexName && mode == "ask"; (at < 0) != reads { // codex reads everywhere
				t.Errorf("%s %s: %q", name, mode, args)
			}
			if resumes := slices.Index(args, "resume"); resumes >= 0 && at > resumes {
				t.Errorf("%s %s: it is no option of resume: %q", name, mode, args)
			}
			c.Dir = "/p"
			if args := r.dialect.args(r.call(plan{})); slices.Contains(args, want) {
				t.Errorf("%s %s in the root: %q", name, mode, args)
			}
		}
	}
	if args := strings.Join(gemini.args(call{opens: []string{"/a,b", "/c"}}), " "); strings.Contains(args, "/a,b") ||
		!strings.Contains(args, "--include-directories=/c") {
		t.Errorf("gemini parts a name at its comma: %s", args)
	}
	s := newStandIn(t, GeminiName, geminiGreets)
	s.cli.Root = s.cli.Dir
	s.cli.Dir = filepath.Join(s.cli.Root, "sub")
	put(t, filepath.Join(s.cli.Dir, "x"), "")
	put(t, filepath.Join(s.cli.Root, "notes.txt"), "")
	s.ask(user("see @notes.txt")).want(t, "Hello.")
	if told := s.given("stdin", 1); !strings.HasSuffix(told, `see \@notes.txt`) {
		t.Errorf("a file of the root is meant: %q", told)
	}
}

// An @ stays as it is unless gemini would find a file or an agent of that name.
func TestGeminiIsToldAnAtAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "src", "Override.java"), "")
	put(t, filepath.Join(dir, "notes.txt"), "")
	a := around{dirs: []string{dir}}
	for _, text := range []string{
		"", "no at", "mail a@b.org, or x@y.z.", "@", "a @ b", "@ ", "\\@notes.txt", "git@host:",
		"@Injectable() class A", "a@b@c.org", "@\"q r\" s", "x@é.org", "@@", "@notes.txt@notes.txt",
	} {
		if got := noAt(text, a); got != text && !strings.Contains(text, ":") && !strings.Contains(text, `"`) {
			t.Errorf("%q became %q", text, got)
		}
	}
	const told = "(In what follows, a backslash before an at sign is not part of the text.)\n\n"
	for text, want := range map[string]string{
		"see @notes.txt and a@b.org": `see \@notes.txt and a@b.org`,
		"@Override":                  `\@Override`,
		"x@/etc/passwd":              `x\@/etc/passwd`,
		"@../x":                      `\@../x`,
		"@no\\tes.txt":               `\@no\tes.txt`,
		"@codebase_investigator":     `\@codebase_investigator`,
		"@db:thing":                  `\@db:thing`,
		"@*":                         `\@*`,
		"@src/":                      `\@src/`,
	} {
		if got := noAt(text, a); got != told+want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
