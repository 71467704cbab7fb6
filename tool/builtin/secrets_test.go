package builtin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/git/gittest"
	"artoo/tool/names"
	"artoo/tool/needs"
)

const testKey = "-----BEGIN " + "PRIVATE KEY-----\nMIIB\n"

func TestSecrets(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{
		"certs/ca.pem": "-----BEGIN CERTIFICATE-----\n", "certs/both.pem": "-----BEGIN CERTIFICATE-----\n" + testKey,
		"tls/server.key": testKey, "tls/der.key": "\x30\x82\x01\x02", "notes.key": "slides", "deploy_rsa": testKey,
		"use_rsa": "text",
		".npmrc":  "registry=https://registry.example/\n", "web/.npmrc": "//r/:_authToken=x\n",
		".yarnrc.yml": "npmAuthToken: x\n",
		"late.pem":    strings.Repeat("x", 100000) + testKey,
	})
	w.link(".env", "harmless.txt")
	w.link(w.path(".env"), "harmless2.txt")
	w.link("deploy_rsa", "harmless3.txt")
	for path, denied := range map[string]bool{
		".env": true, ".ENV": true, ".env.local": true, "sub/.env.production": true, ".envrc": true, ".envs/.django": true,
		".env.example": false, ".env.sample": false, ".Env.Example": false, "env": false, "environment.go": false,
		"a.env":         true,
		".env.template": false, "x/.env.dist": false, ".env.d.ts": false, ".env.prod.example": false, "prod.env": true,
		"sub/APP.ENV": true, ".env~": true, "#.env#": true,
		"..env.swp": true, "prod.env~": true, "env.go": false, "config/secrets.yml": true, "secrets.yaml": true,
		"secrets.yml~": true, "secrets.yml.erb": false,
		"secrets.go": false, "credentials.json": true, "credentials.go": false, "service-account.json": true,
		"a/service-account-prod.json": true,
		"service-account.go":          false, "terraform.tfstate": true, "terraform.tfstate.backup": true,
		"terraform.tf": false, "config/master.key": true,
		"id_rsa": true, "keys/ID_ED25519": true, "id_rsa.pub": false, "id_rsa.go": false,
		".ssh": true, ".ssh/config": true, ".ſsh/deploy": true, ".ssh/id_rsa.pub": false, ".gnupg/x": true,
		".aws/credentials": true, ".aws/task.json": false, "a/.kube/config": true, ".kube/x.yaml": false,
		".config/gcloud/x.db": true,
		".azure/t.json":       true, ".docker/config.json": true, ".docker/Dockerfile": false, ".netrc": true,
		".pypirc":          true,
		".git-credentials": true, ".codex/auth.json": true,
		"certs/ca.pem": false, "certs/both.pem": true, "late.pem": true, "certs/privkey.pem": true,
		"certs/pubkey.pem": false, "certs/tls-key.pem": true,
		"tls/server.key": true, "tls/der.key": true, "notes.key": false, "none.key": false, "x.p12": true,
		"deploy_rsa": true, "use_rsa": false,
		".npmrc": false, "web/.npmrc": true, ".yarnrc.yml": true,
		"harmless.txt": true, "harmless2.txt": true, "harmless3.txt": true, "no/../harmless.txt": true,
	} {
		place, err := w.env.Files.Resolve(path, false)
		if err != nil || place.Denied != denied || denied != (place.Why != "") {
			t.Errorf("%s: %+v %v, want denied %v", path, place, err, denied)
		}
		if !denied {
			continue
		}
		var refused *files.RefusedError
		if _, err := w.env.Files.Open(place.Abs); !errors.As(err, &refused) {
			t.Errorf("%s: Open says %v", path, err)
		}
		for _, tool := range []tool.Tool{Read(), Write(), Edit()} {
			access, _, err := w.call(tool, map[string]any{
				"read":  in{"path": path},
				"write": in{"path": path, "content": "x"},
				"edit":  in{"path": path, "old_string": "a", "new_string": "b"},
			}[tool.Name])
			if !access.Denied || access.Why == "" || access.Diff != "" {
				t.Errorf("%s %s: %+v %v", tool.Name, path, access, err)
			}
		}
	}
}

func TestOwnCredentialsAreDenied(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"state/credentials": "key", "state/session": "s", "keys/a": "k", "keys/opened/b": "k"},
		func(cfg *files.Config) {
			cfg.DenyFiles = []string{filepath.Join(cfg.Root, "state", "credentials"), filepath.Join(cfg.Root, "keys"),
				filepath.Join(cfg.Root, "later")}
			cfg.ReadDirs = []string{filepath.Join(cfg.Root, "keys", "opened")}
		})
	w.link("state/credentials", "x")
	for path, denied := range map[string]bool{
		"state/credentials": true, "state/CREDENTIALS": true, "x": true, "state/session": false,
		"state/credentials2": false,
		"keys":               true, "keys/a": true, "later": true,
		"keys/opened": false, "keys/opened/b": false,
	} {
		if place, err := w.env.Files.Resolve(path, false); err != nil || place.Denied != denied {
			t.Errorf("%s: %+v %v, want denied %v", path, place, err, denied)
		}
	}
}

// Services keep keys under names of their own, and editors and users make copies
// of each under a name made of its own.
func TestSecretsOfServicesAndTheirCopies(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"tls/server.key~": testKey, "tls/.server.key.swo": testKey, "tls/#x.pem#": testKey,
		"deploy_rsa.orig": testKey, ".npmrc.bak": "//r/:_authToken=x\n", "web/.npmrc.bak": "a=b\n", "slides.key.bak": "slides"})
	secrets := []string{".env", ".env.local", "prod.env", "env.production", ".dev.vars", "secret.yml", "secret.yaml", "secret.json", "secret.toml",
		"secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "credentials.json", "service-account.json",
		"service-account-prod.json", "local.settings.json", "client_secret_12-ab.apps.googleusercontent.com.json", "client_secret",
		"firebase-adminsdk-ab1.json", "shop-firebase-adminsdk-ab1.json", ".dockerconfigjson", "kubeconfig", ".vault_pass", "prod.tfvars", "terraform.tfstate",
		"master.key", "id_rsa", ".netrc", "a/.aws/credentials", "a/.docker/config.json", "Secrets.JSON"}
	check := func(path string, denied bool) {
		t.Helper()
		if place, err := w.env.Files.Resolve(path, false); err != nil || place.Denied != denied {
			t.Errorf("%s: %+v %v, want denied %v", path, place, err, denied)
		}
	}
	for _, secret := range secrets {
		dir, name := filepath.Split(secret)
		check(secret, true)
		for _, copied := range []string{name + "~", "." + name + ".swp", "." + name + ".swo", "#" + name + "#", name + ".bak", name + ".orig",
			"." + name + ".swp.bak"} {
			check(dir+copied, true)
			check("sub/"+dir+copied, true)
		}
		if strings.HasPrefix(name, ".") {
			check(dir+name+".swp", true)
		}
	}
	for _, path := range []string{"tls/server.key~", "tls/.server.key.swo", "tls/#x.pem#", "deploy_rsa.orig", ".npmrc.bak"} {
		check(path, true)
	}
	for _, path := range []string{"secret.go", "secrets_test.go", "dev.vars", "local.settings.go", "settings.json", "kubeconfig.go", "kubeconfig_test.sh",
		"vault_pass.md", "tfvars.go", "terraform.tfvars.example", "env.development.ts", "firebase.json", "main.go~", ".main.go.swp",
		"logo.swf", "slides.key.bak", "web/.npmrc.bak", ".env.example~", "#", "x~", ".swp", "id_rsa.pub.bak"} {
		check(path, false)
	}
}

// The directories above the project say nothing about its content.
func TestSecretsCountFromTheProject(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, nil, func(cfg *files.Config) {
		cfg.Root = filepath.Join(cfg.Root, ".environments")
		if err := os.Mkdir(cfg.Root, 0o755); err != nil {
			t.Fatal(err)
		}
	})
	if place, err := w.env.Files.Resolve("main.go", false); err != nil || place.Denied {
		t.Errorf("%+v %v", place, err)
	}
}

// Another name of a file does not open it, whichever kind of link it is.
func TestAHardLinkToADeniedFileIsDenied(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{".env": "KEY=x\n", "sub/prod.env": "KEY=y\n", "open.txt": "z\n",
		"state/credentials": "k"}, func(cfg *files.Config) {
		cfg.DenyFiles = []string{filepath.Join(cfg.Root, "state", "credentials")}
	})
	for name, of := range map[string]string{"a.txt": ".env", "sub/b.txt": "sub/prod.env", "c.txt": "open.txt",
		"d.txt": "state/credentials"} {
		if err := os.Link(w.path(of), w.path(name)); err != nil {
			t.Fatal(err)
		}
		needs.True(t, "counts of links", names.Linked(w.path(name)))
	}
	for name, denied := range map[string]bool{"a.txt": true, "sub/b.txt": true, "c.txt": false, "open.txt": false,
		"d.txt": true} {
		place, err := w.env.Files.Resolve(name, false)
		if err != nil || place.Denied != denied {
			t.Errorf("%s: %+v %v, want denied %v", name, place, err, denied)
		}
		if err := w.env.Files.Reach(w.root, name, false); (err != nil) != denied {
			t.Errorf("a command that reads %s: %v", name, err)
		}
	}
	if err := w.env.Files.Reach(w.root, "sub", true); err == nil {
		t.Error("a command may read all of sub")
	}
}

// What the repository itself has for its tests is no secret; what only lies there is.
func TestTrackedFilesOfTestsMayBeRead(t *testing.T) {
	t.Parallel()
	key := testKey + "-----END PRIVATE KEY-----\n"
	files := map[string]string{
		"testdata/id_rsa": key, "a/fixtures/server.key": key, "test/tls-key.pem": key,
		"testdata/raw.key": "\x30\x82\x01", "testdata/store.p12": key,
		"testdata/.env": "A=b", "testdata/master.key": "0123", "lib/id_rsa": key, "testdata/untracked.key": key, "test/.ssh/config": "c", "src/.env": "A=b",
	}
	w := newFileWorld(t, files)
	gittest.Git(t, w.root, "init", "-q")
	for name := range files {
		if name != "testdata/untracked.key" {
			gittest.Git(t, w.root, "add", "-f", name)
		}
	}
	for name := range files {
		open := name != "testdata/untracked.key" && name != "lib/id_rsa" && name != "src/.env"
		if place, err := w.env.Files.Resolve(name, false); err != nil || place.Denied == open {
			t.Errorf("%s: %+v %v, want denied %v", name, place, err, !open)
		}
	}
}

// Packages come with keys of their tests and with code that is named after them: there the content counts.
func TestInAPackageAKeyIsKnownByItsContent(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"node_modules/a/id_rsa": "module.exports = 1\n", "node_modules/a/server-key.pem": testKey, "vendor/x/y.p12": "text", "vendor/x/z.p12": "\x30\x82\x01",
		"node_modules/a/.env": "A=b", "a/id_rsa": "x"})
	for name, hidden := range map[string]bool{"node_modules/a/id_rsa": false, "node_modules/a/server-key.pem": true, "vendor/x/y.p12": false, "vendor/x/z.p12": true,
		"node_modules/a/.env": true, "a/id_rsa": true} {
		if place, err := w.env.Files.Resolve(name, false); err != nil || place.Denied != hidden {
			t.Errorf("%s: %+v %v, want hidden %v", name, place, err, hidden)
		}
	}
}

// What users, policies and repositories add to the hidden files, and what only the user takes from them.
func TestPatternsHideAndShowFiles(t *testing.T) {
	t.Parallel()
	contents := map[string]string{"own": "k", "AGENTS.md": "a", "secrets/AGENTS.md": "a"}
	for name := range strings.FieldsSeq(".env .env.test sub/.env.test secrets/a secrets/deep/b secrets/run.sh Sub/Secrets/a docs/x.md policy/a repo/a repo/run.sh flag.txt sub/flag.txt") {
		contents[name] = "content\n"
	}
	w := newFileWorld(t, contents, func(c *files.Config) {
		c.DenyFiles = []string{filepath.Join(c.Root, "own")}
		c.Hide = []files.Pattern{{Glob: "secrets/**", Origin: "hide secrets/**"}, {Glob: "policy/**", Firm: true}, {Glob: "flag.txt", Firm: true},
			{Glob: "repo/**", Repository: true}, {Glob: "**/AGENTS.md", Repository: true}, {Glob: "docs/*", Repository: true}}
		c.Show = []files.Pattern{{Glob: ".env.test"}, {Glob: "policy/a"}, {Glob: "own"}, {Glob: "docs/x.md"}, {Glob: "flag.txt"}}
		c.Guarded = func(abs string) bool { return filepath.Base(abs) == "AGENTS.md" }
	})
	w.env.Files.Runs([]string{filepath.Join(w.root, "repo/run.sh"), filepath.Join(w.root, "secrets/run.sh")})
	for name, hidden := range map[string]bool{".env": true, ".env.test": false, "sub/.env.test": false, "secrets/a": true, "SECRETS/deep/b": true, "secrets/run.sh": true,
		"Sub/Secrets/a": false, "own": true, "AGENTS.md": false, "secrets/AGENTS.md": true, "docs/x.md": false, "policy/a": true, "repo/a": true, "repo/run.sh": false,
		"flag.txt": true, "sub/flag.txt": true, "new/flag.txt": true} {
		if place, err := w.env.Files.Resolve(name, false); err != nil || place.Denied != hidden {
			t.Errorf("%s: %+v %v, want hidden %v", name, place, err, hidden)
		}
	}
	denied, err := w.env.Files.Denied()
	for i := range denied {
		denied[i], _ = filepath.Rel(w.root, denied[i])
	}
	if want := strings.Fields(".env flag.txt own policy repo/a secrets/AGENTS.md secrets/a secrets/deep/b secrets/run.sh sub/flag.txt"); err != nil || !slices.Equal(denied, want) {
		t.Errorf("commands do not see %q, want %q: %v", denied, want, err)
	}
}

// keyFile is a file with a private key in it, whose lines from 3 to 6 are the key.
func keyFile() (text string, body []string) {
	for i := range 3 {
		body = append(body, strings.Repeat(fmt.Sprintf("a%dB/", i), 16))
	}
	body = append(body, "Zg==")
	return "tls:\n  key: |\n    -----BEGIN " + "PRIVATE KEY-----\n    " + strings.Join(body, "\n    ") +
		"\n    -----END " + "PRIVATE KEY-----\nport: 1\n", body
}

// findsKeys finds private keys as a whole, as package redact does.
func findsKeys(text string) (found []tool.Secret) {
	from, to := strings.Index(text, "-----BEGIN "), strings.Index(text, "-----END ")
	if from < 0 || to < from {
		return nil
	}
	return []tool.Secret{{From: from, To: to + len("-----END "), Mark: "‹secret:aaaabbbbcccc›"}}
}

func TestPartOfAPrivateKeyIsMasked(t *testing.T) {
	t.Parallel()
	text, body := keyFile()
	for _, ends := range []string{"\n", "\r\n"} {
		w := newFileWorld(t, map[string]string{"conf.yaml": strings.ReplaceAll(text, "\n", ends),
			"other.txt": strings.Join(body, "\n")})
		w.env.Secrets = findsKeys
		leaks := func(text string) bool {
			return slices.ContainsFunc(body, func(line string) bool { return strings.Contains(text, line) })
		}
		for offset := 4; offset <= 9; offset++ {
			_, got, err := w.call(Read(), in{"path": "conf.yaml", "offset": offset, "limit": 2})
			if err != nil || leaks(got.Text) || strings.Contains(got.Text, "secret:") != (offset <= 7) {
				t.Errorf("from %d: %q, %v", offset, got.Text, err)
			}
		}
		for _, pattern := range []string{"a1B", "Zg==", "B/a"} {
			_, got, err := w.call(Grep(), in{"pattern": pattern, "path": "conf.yaml"})
			if err != nil || leaks(got.Text) || !strings.Contains(got.Text, "secret:") {
				t.Errorf("%s: %q, %v", pattern, got.Text, err)
			}
		}
		// From its begin it is whole, and masked outside; text that is no key stays.
		if _, got, err := w.call(Read(), in{"path": "conf.yaml"}); err != nil || !leaks(got.Text) {
			t.Errorf("%q, %v", got.Text, err)
		}
		for _, call := range []in{{"pattern": "a1B", "path": "other.txt"}, {"pattern": "port|tls", "path": "conf.yaml"}} {
			if _, got, err := w.call(Grep(), call); err != nil || strings.Contains(got.Text, "secret:") {
				t.Errorf("%q, %v", got.Text, err)
			}
		}
	}
}

const (
	oneMark = "‹secret:1a2b3c4d5e6f›"
	twoMark = "‹secret:9f9f9f9f9f9f›"
)

// showMarks makes KEY-ONE and KEY-UNO one mark's, and KEY-TWO another's.
func showMarks(text string) (found []tool.Secret) {
	for _, at := range regexp.MustCompile(`KEY-[A-Z]+`).FindAllStringIndex(text, -1) {
		mark := oneMark
		if text[at[0]:at[1]] == "KEY-TWO" {
			mark = twoMark
		}
		found = append(found, tool.Secret{From: at[0], To: at[1], Mark: mark})
	}
	return found
}

func TestAMarkInAnEditStandsForWhatIsThere(t *testing.T) {
	t.Parallel()
	file := "a = 1\nb = 2\ntoken = KEY-ONE\nc = 3\nd = 4\nother = KEY-TWO\nlast = 5\n"
	type edit = map[string]any
	one := func(old, new string) edit { return edit{"path": "f", "old_string": old, "new_string": new} }
	for name, c := range map[string]struct {
		file  string
		in    edit
		want  string
		moves bool
		why   string
	}{
		"two lines away": {file, one("token = "+oneMark+"\nc = 3\nd = 4", "token = "+oneMark+"\nc = 3\nd = 9"),
			strings.Replace(file, "d = 4", "d = 9", 1), false, ""},
		"the line itself": {file, one("token = "+oneMark, "key = "+oneMark),
			strings.Replace(file, "token", "key", 1), true, ""},
		"the line before": {file, one("b = 2\ntoken = "+oneMark, "b = 3\ntoken = "+oneMark),
			strings.Replace(file, "b = 2", "b = 3", 1), true, ""},
		"swapped": {file, one(oneMark+"\nc = 3\nd = 4\nother = "+twoMark, twoMark+"\nc = 3\nd = 4\nother = "+
			oneMark), strings.NewReplacer("KEY-ONE", "KEY-TWO", "KEY-TWO", "KEY-ONE").Replace(file), true, ""},
		"as a list": {file, edit{"path": "f",
			"edits": []edit{{"old_string": "token = " + oneMark, "new_string": "t = " + oneMark}}},
			strings.Replace(file, "token", "t", 1), true, ""},
		"copied":     {file, one("c = 3", "c = "+oneMark), "", false, "as often"},
		"doubled":    {file, one(oneMark, oneMark+oneMark), "", false, "as often"},
		"taken away": {file, one("token = "+oneMark, "token = ''"), "", false, "as often"},
		"another's": {file, one("‹secret:000000000000›", "x ‹secret:000000000000›"), "",
			false, "not one in this file"},
		"an old short one": {file, one("‹secret:1a2b›", "x ‹secret:1a2b›"), "", false, "not one in this file"},
		"fits two":         {file + "z = KEY-UNO\n", one("token = "+oneMark, "key = "+oneMark), "", false, "two values"},
		"stands there": {file + "doc = " + oneMark + "\n", one("token = "+oneMark, "key = "+oneMark), "",
			false, "occurs literally"},
		"in the path":   {file, edit{"path": oneMark, "old_string": "a", "new_string": "b"}, "", false, ""},
		"no mark in it": {file, one("a = 1", "a = 2"), strings.Replace(file, "a = 1", "a = 2", 1), false, ""},
		"every place of it": {file + "z = KEY-ONE\n", edit{"path": "f", "old_string": "= " + oneMark,
			"new_string": ": " + oneMark, "replace_all": true},
			strings.ReplaceAll(file+"z = KEY-ONE\n", "= KEY-ONE", ": KEY-ONE"), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f": c.file})
			w.env.Secrets = showMarks
			access, _, err := w.call(Edit(), c.in)
			now, readErr := os.ReadFile(w.path("f"))
			if readErr != nil {
				t.Fatal(readErr)
			}
			want := c.want
			if want == "" {
				want = c.file
			}
			if string(now) != want || (err != nil) != (c.want == "") || (access.MovesSecret != "") != c.moves {
				t.Errorf("the file is %q, want %q; %q, %v", now, want, access.MovesSecret, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("refused with %v, want %q", err, c.why)
			}
		})
	}
}
