package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddRule(t *testing.T) {
	world(t)
	root := t.TempDir() // absolute on every system
	head := "[project." + quoteTOML(root) + "]\n"
	for _, test := range []struct{ name, before, after string }{
		{"no file", "", head + "allow = [\"bash(go test:*)\"]\n"},
		{"no table", "# mine\n[ui]\nquiet = true", "# mine\n[ui]\nquiet = true\n\n" +
			head + "allow = [\"bash(go test:*)\"]\n"},
		{"no key", head + "# why\ndeny = [\"x\"]\n[ui]\n",
			head + "allow = [\"bash(go test:*)\"]\n# why\ndeny = [\"x\"]\n[ui]\n"},
		{"header at the end", strings.TrimSuffix(head, "\n"), head + "allow = [\"bash(go test:*)\"]\n"},
		{"more rules", head + "allow = [ # these\n  \"a\", # one\n]\n",
			head + "allow = [\"bash(go test:*)\",  # these\n  \"a\", # one\n]\n"},
		{"empty list", head + "allow = []\n", head + "allow = [\"bash(go test:*)\", ]\n"},
		{"there already", head + "allow = ['bash(go test:*)']\n", head + "allow = ['bash(go test:*)']\n"},
		{"another project", "[project.\"/other\"]\nallow = [\"a\"]\n", "[project.\"/other\"]\nallow = [\"a\"]\n\n" +
			head + "allow = [\"bash(go test:*)\"]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "artoo", "config.toml")
			if test.before != "" {
				writeFile(t, 0o640, test.before, path)
			}
			if err := AddRule(path, root, "allow", "bash(go test:*)"); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(got)); diff != "" {
				t.Error(diff)
			}
			c := mustLoad(t, LoadOptions{Flags: map[string][]string{"config": {path}}})
			if rules := c.AllRules(root); len(rules) == 0 || rules[0].Text != "bash(go test:*)" {
				t.Errorf("rules %+v", rules)
			}
			if info, err := os.Stat(path); err != nil ||
				info.Mode().Perm() != map[bool]os.FileMode{true: 0o600, false: 0o640}[test.before == ""] {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".config-*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

func TestAddRuleRefusesWhatItCannotEdit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, text := range []string{
		"project = { " + quoteTOML(root) + " = { deny = [\"x\"] } }\n",
		"[project]\n" + quoteTOML(root) + ".deny = [\"x\"]\n",
		"[project." + quoteTOML(root) + "]\nallow = \"a\"\n",
		"not toml",
	} {
		path := writeFile(t, 0o600, text, t.TempDir(), "config.toml")
		err := AddRule(path, root, "allow", "bash(go test:*)")
		wantError(t, err, "config", "config.toml line")
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file was changed to %q, %v", got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "c.toml")
	wantError(t, AddRule(path, root, "permit", "x"), "config", "permit")
	wantError(t, AddRule(path, "relative", "allow", "x"), "config", "relative")
}

func TestAddRuleFollowsALink(t *testing.T) {
	dir := t.TempDir()
	target := writeFile(t, 0o600, "", dir, "dotfiles", "artoo.toml")
	link := filepath.Join(dir, "config.toml")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	rule := "bash(echo \"a\\b\tc\")"
	if err := AddRule(link, dir, "deny", rule); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info.Mode(), err)
	}
	world(t)
	c := mustLoad(t, LoadOptions{Flags: map[string][]string{"config": {link}}})
	if rules := c.AllRules(dir); len(rules) != 1 || rules[0].List != "deny" || rules[0].Text != rule {
		t.Errorf("rules %+v", rules)
	}
}

func TestSetProvider(t *testing.T) {
	world(t)
	for _, test := range []struct{ before, after string }{
		{"", "[provider]\nprovider = \"openai\"\n"},
		{"[provider.openai]\napi_key_env = \"K\"\n",
			"[provider.openai]\napi_key_env = \"K\"\n\n[provider]\nprovider = \"openai\"\n"},
		{"[provider]\r\nmodel = \"m\"\n", "[provider]\r\nprovider = \"openai\"\nmodel = \"m\"\n"},
	} {
		path := writeFile(t, 0o600, test.before, t.TempDir(), "config.toml")
		if err := SetProvider(path, "openai"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != test.after {
			t.Errorf("%q, %v, want %q", got, err, test.after)
		}
		if c := mustLoad(t, LoadOptions{Flags: map[string][]string{"config": {path}}}); c.Provider != "openai" {
			t.Errorf("provider %q", c.Provider)
		}
	}
	path := writeFile(t, 0o600, "[provider]\ndefault = \"gemini\"\n", t.TempDir(), "config.toml")
	wantError(t, SetProvider(path, "openai"), "config", "line 2", "provider.default")
}

func TestSetNotify(t *testing.T) {
	world(t)
	for _, test := range []struct{ before, how, after string }{
		{"", "off", "[ui]\nnotify = \"off\"\n"},
		{"[ui]\ncolor = \"never\" # as ever\n", `say "now then"`, "[ui]\nnotify = \"say \\\"now then\\\"\"\ncolor = \"never\" # as ever\n"},
	} {
		path := writeFile(t, 0o600, test.before, t.TempDir(), "config.toml")
		if err := SetNotify(path, test.how); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != test.after {
			t.Errorf("%q, %v, want %q", got, err, test.after)
		}
		if c := mustLoad(t, LoadOptions{Flags: map[string][]string{"config": {path}}}); c.Notify != test.how || !c.IsSet("notify") {
			t.Errorf("notify is %q", c.Notify)
		}
	}
	path := writeFile(t, 0o600, "[ui]\nnotify = \"bell\"\n", t.TempDir(), "config.toml")
	wantError(t, SetNotify(path, "off"), "config", "line 2", "ui.notify")
}
