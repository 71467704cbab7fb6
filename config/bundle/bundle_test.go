package bundle

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/tool/extension"
	"artoo/tool/needs"
)

// tree makes a directory of files; a name that ends in a star is executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if name, exec := strings.CutSuffix(name, "*"); exec {
			delete(files, name)
			mode = 0o755
		}
		at := filepath.Join(dir, strings.TrimSuffix(name, "*"))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

const named = `{"name": "review"}`

func TestBundlesAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files                            map[string]string
		err                              string
		skills, commands, servers, hooks int
		unused                           string
	}{
		"plugin": {files: map[string]string{claudeManifest: `{"name":"review","mcpServers":{"db":{"command":"x"}},"commands":["./more"],"hooks":"./h.json"}`,
			"skills/a/SKILL.md": "x", "commands/c.md": "x", "more/d.md": "x", "hooks/hooks.json": "{}", "h.json": "{}", ".mcp.json": "{}"},
			skills: 1, commands: 2, servers: 2, hooks: 2},
		"extension":        {files: map[string]string{GeminiManifest: `{"name":"review","mcpServers":{"db":{"command":"x"}},"contextFileName":"X.md"}`, "commands/a.toml": "x"}, servers: 1, commands: 1, unused: "context file"},
		"policies":         {files: map[string]string{GeminiManifest: named, "policies/deny.toml": "x"}, unused: "the extension's own rules in policies/deny.toml"},
		"plugin with TOML": {files: map[string]string{claudeManifest: named, GeminiManifest: named, "commands/a.toml": "x", "commands/a.md": "x"}, commands: 1},
		"no value":         {files: map[string]string{claudeManifest: named, "a/x.sh": "$CLAUDE_PLUGIN_DATA"}, unused: "a/x.sh names ${CLAUDE_PLUGIN_DATA}, which has no value here"},
		"none":             {files: map[string]string{"README.md": "x"}, err: "neither a Claude Code plugin"},
		"broken":           {files: map[string]string{claudeManifest: `{`}, err: "is not the JSON of a manifest"},
		"name":             {files: map[string]string{claudeManifest: `{"name":"../evil"}`}, err: "cannot be a bundle's name"},
		"name of staging":  {files: map[string]string{claudeManifest: `{"name":".new-1"}`}, err: "cannot be a bundle's name"},
		"name of servers":  {files: map[string]string{claudeManifest: `{"name":"mcp"}`}, err: "cannot be a bundle's name"},
		"name of skills":   {files: map[string]string{claudeManifest: `{"name":"skill"}`}, err: "cannot be a bundle's name"},
		"unknown event":    {files: map[string]string{claudeManifest: named, "hooks/hooks.json": `{"hooks":{"PreTolUse":[]}}`}, hooks: 1, unused: "review: hooks/hooks.json: hooks on PreTolUse"},
		"Gemini's event":   {files: map[string]string{GeminiManifest: named, "hooks/hooks.json": `{"hooks":{"BeforeTool":[]}}`}, hooks: 1, unused: "hooks on BeforeTool"},
		"other hook":       {files: map[string]string{claudeManifest: `{"name":"review","hooks":{"Stop":[{"hooks":[{"type":"prompt"}]}]}}`}, hooks: 1, unused: `a hook of type "prompt" on Stop`},
		"hooks' form":      {files: map[string]string{claudeManifest: named, "hooks/hooks.json": "[]"}, hooks: 1, unused: "its hooks cannot be read"},
		"files": {files: map[string]string{claudeManifest: `{"name":"review","commands":["./cmds/a.md"],"agents":"ag/x.md","skills":["./my/skill", "./"]}`,
			"cmds/a.md": "x", "cmds/b.md": "x", "ag/x.md": "x", "my/skill/SKILL.md": "x", "SKILL.md": "x"}, commands: 1, skills: 2},
		"nothing there":      {files: map[string]string{claudeManifest: `{"name":"review","commands":["./cmds"]}`, "cmds/a.txt": "x"}, unused: "commands of cmds: none are there"},
		"within manifest":    {files: map[string]string{claudeManifest: `{"name":"review","commands":{"a":{"content":"x"}}}`}, unused: "commands within the manifest"},
		"hooks that are all": {files: map[string]string{claudeManifest: `{"name":"review","hooks":"./"}`}, err: "no such file: ."},
		"path out":           {files: map[string]string{claudeManifest: `{"name":"review","skills":"../../home"}`}, err: "leads out of the bundle"},
		"absolute path":      {files: map[string]string{claudeManifest: `{"name":"review","hooks":["/etc/hooks.json"]}`}, err: "leads out of the bundle"},
		"missing hooks":      {files: map[string]string{claudeManifest: `{"name":"review","hooks":"none.json"}`}, err: "no such file: none.json"},
		"hooks not JSON":     {files: map[string]string{claudeManifest: named, "hooks/hooks.json": "{"}, err: "hooks/hooks.json: is not JSON"},
		"language servers":   {files: map[string]string{claudeManifest: `{"name":"review","lspServers":"x"}`}, unused: "lspServers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Store{t.TempDir()}
			b, done, err := s.Fetch(t.Context(), os.Environ(), tree(t, c.files), "")
			defer done()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %q", err, c.err)
				}
				return
			}
			found := map[extension.Kind]int{}
			for _, p := range b.Places {
				found[p.Kind]++
			}
			if err != nil || found[extension.KindSkill] != c.skills || found[extension.KindCommand] != c.commands ||
				len(b.Servers) != c.servers || len(b.Hooks) != c.hooks ||
				!strings.Contains(strings.Join(b.Unused, "; "), c.unused) {
				t.Errorf("%v: %+v", err, b)
			}
		})
	}
}

func TestLinksOutOfABundleAreRefused(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"out": "/etc/passwd", "up": "../../x", "nowhere": "none", "directory": "/etc"} {
		dir := tree(t, map[string]string{claudeManifest: named, "skills/a/SKILL.md": "x"})
		if err := os.Symlink(target, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		_, done, err := Store{t.TempDir()}.Fetch(t.Context(), os.Environ(), dir, "")
		if done(); err == nil || !strings.Contains(err.Error(), "link") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABundleIsPinned(t *testing.T) {
	t.Parallel()
	s := Store{t.TempDir()}
	from := tree(t, map[string]string{claudeManifest: named, "run*": "one\n", ".mcp.json": `{"mcpServers":{"a":{"command":"${CLAUDE_PLUGIN_ROOT}/run"}}}`})
	b, done, err := s.Fetch(t.Context(), os.Environ(), from, "")
	defer done()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open("review"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("before it was kept: %v", err)
	}
	if err := s.Keep(b, time.Now()); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Open("review")
	if err != nil || kept.Sum != b.Sum || !strings.Contains(string(kept.Servers[0].Data), kept.Root+"/run") {
		t.Fatalf("%v: %+v", err, kept)
	}
	write(t, from, map[string]string{"run*": "two\n"}) // Changes in its source do not count.
	if again, err := s.Open("review"); err != nil || again.Sum != b.Sum {
		t.Errorf("%v, %s", err, again.Sum)
	}
	for name, change := range map[string]func() error{
		"content":    func() error { return os.WriteFile(filepath.Join(kept.Root, "run"), []byte("evil\n"), 0o755) },
		"executable": func() error { return os.Chmod(filepath.Join(kept.Root, ".mcp.json"), 0o755) },
		"new file":   func() error { return os.WriteFile(filepath.Join(kept.Root, "new"), nil, 0o644) },
		"removed":    func() error { return os.Remove(filepath.Join(kept.Root, "run")) },
		"link": func() error {
			run := filepath.Join(kept.Root, "run")
			return errors.Join(os.Remove(run), os.Symlink("/bin/sh", run))
		},
	} {
		b, done, err := s.Fetch(t.Context(), os.Environ(), from, "")
		if err == nil {
			err = s.Keep(b, time.Now())
		}
		if done(); err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open("review"); err == nil || !strings.Contains(err.Error(), "bundle review: not used") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Remove("review"); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Names(); err != nil || names != nil {
		t.Errorf("%v, %v", names, err)
	}
}

// A repository names programs in its attributes, modules and hooks: none runs while it is fetched.
func TestGitFetchesABundleWithoutItsPrograms(t *testing.T) {
	needs.Git(t)
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	repo := tree(t, map[string]string{claudeManifest: named, ".gitattributes": "* filter=evil\n",
		".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c \"touch " + ran + "\"\n\tupdate = !touch " + ran + "\n", "a": "1\n"})
	for _, line := range []string{"git init -q .", "git add -A", "git -c user.name=a -c user.email=a@b commit -qm one", "git tag v1",
		"echo 2 > a", "git -c user.name=a -c user.email=a@b commit -qam two", "git config filter.evil.smudge 'touch " + ran + "'",
		"printf '#!/bin/sh\\ntouch " + ran + "\\n' | tee .git/hooks/post-checkout .git/hooks/post-update > .git/hooks/pre-receive; chmod +x .git/hooks/*",
		"git config uploadpack.packObjectsHook 'touch " + ran + "; exec'"} {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Dir, cmd.Env = repo, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	home := tree(t, map[string]string{".gitconfig": "[filter \"evil\"]\n\tsmudge = touch " + ran + "; cat\n"})
	environ := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	s := Store{t.TempDir()}
	for ref, content := range map[string]string{"": "2\n", "v1": "1\n"} {
		b, done, err := s.Fetch(t.Context(), environ, "file://"+repo, ref)
		if done(); err != nil || string(b.Data("a")) != content || len(b.Commit) != 40 {
			t.Errorf("%s: %v, %q, %s", ref, err, b.Data("a"), b.Commit)
		}
	}
	for _, wrong := range []struct{ source, ref, why string }{
		{"file://" + repo, "--upload-pack=touch", "is not a ref"}, {"file://" + repo, "none", "cannot be fetched"},
		{"ext::sh -c touch://x", "", "cannot be fetched"}, {"https://me:secret@localhost/x", "", "holds a password"},
	} {
		_, done, err := s.Fetch(t.Context(), os.Environ(), wrong.source, wrong.ref)
		if done(); err == nil || !strings.Contains(err.Error(), wrong.why) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository ran")
	}
}

func TestSplitRef(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][2]string{
		"https://h.example/o/r":              {"https://h.example/o/r", ""},
		"https://h.example/o/r@v1.2":         {"https://h.example/o/r", "v1.2"},
		"https://me@h.example/o/r@feature/x": {"https://me@h.example/o/r", "feature/x"},
		"https://h.example/@scope/r":         {"https://h.example/@scope/r", ""},
		"https://h.example/@scope/r@v1":      {"https://h.example/@scope/r", "v1"},
		"git@h.example:o/r.git":              {"git@h.example:o/r.git", ""},
		"git@h.example:o/r.git@main":         {"git@h.example:o/r.git", "main"},
		"ssh://git@h.example/o/r":            {"ssh://git@h.example/o/r", ""},
		"/home/me/plug@in":                   {"/home/me/plug@in", ""},
		"plug":                               {"plug", ""},
	} {
		if address, ref := SplitRef(given); address != want[0] || ref != want[1] {
			t.Errorf("%s: %q %q", given, address, ref)
		}
	}
}
