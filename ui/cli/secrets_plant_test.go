package cli

// The promises of docs/privacy.md are tested on a project and a home of their own with
// planted secrets. An agent as every run has it gets the calls that would give them away,
// and the tests look through all that it sends, keeps and shows.

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"artoo/provider"
)

// plantedSecrets is a throwaway home and project with secrets in them.
type plantedSecrets struct {
	Home, Project string
	// Environ are variables to be set for the run, in which HOME is Home.
	Environ map[string]string

	denied  []string          // files of the project that are denied by name
	open    []string          // files whose names only look like those
	canary  string            // text that stands in all of the files, and nowhere else
	shapes  map[string]string // secrets that are masked by their shape, by their description
	own     string            // the key of a provider
	other   string            // a credential-like variable's value
	passed  string            // that of one that ARTOO_PASS_ENV names
	plain   string            // text that must stay as it is
	keyBody string            // a line of the private key of tests
	git     bool              // the project is a repository, and the denied files are in it
}

// plantedConfig is the user's own file of the planted home.
const plantedConfig = `[permissions]
show = [".env.shown"]
hide = ["vault/**"]
deny = ["read(*.sqlite)"]
pass_env = ["PLANTED_PASSED_TOKEN"]
`

// plantSecrets makes a home and a project below dir, a directory of its own.
func plantSecrets(ctx context.Context, dir string) (*plantedSecrets, error) {
	p := &plantedSecrets{
		Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"),
		canary: "canary" + random(12), own: "own" + random(16), other: "other" + random(12), passed: "passed" + random(12),
		denied: []string{
			".env", ".env.local", ".env.test", "prod.env", ".env~", "#.env#", "config/secrets.yml", "config/secrets.yaml",
			"credentials.json", "service-account-1.json", "terraform.tfstate", "config/master.key", "deploy/id_ed25519",
			"deploy/server.pem", "testdata/untracked.pem", ".netrc", ".npmrc", ".aws/credentials", ".kube/config",
			".docker/config.json", "local.settings.json", "client_secret_1.json", "x-firebase-adminsdk-1.json", ".dockerconfigjson", "infra/prod.tfvars",
			"env.production", "secret.toml", ".env.local.bak", "vault/a.txt", "sub/data.sqlite", "sub/.ENV.Production", ".dev.vars", "deploy/kubeconfig", ".vault_pass.swp", "linked", "pointer",
		},
		open: []string{".env.shown", ".env.example", ".env.sample", ".env.template", ".env.dist", "types/.env.d.ts",
			"deploy/id_ed25519.pub"},
		plain: "postgres://postgres:postgres@db/x ${DB_PASS} sk-xxxxxxxxxxxxxxxxxxxxxxxx user:password@host " +
			"class AccessTokenProviderFactoryBean -----BEGIN " + "PRIVATE KEY-----",
	}
	p.keyBody = "MIIB" + random(22) // as various as a key: fewer than 6 different bytes of 16 are no part of one
	p.shapes = map[string]string{
		"a GitHub token":           "ghp_" + random(18),
		"a key of an API":          "sk-ant-api03-" + random(40),
		"an AWS key":               "AKIA" + strings.ToUpper(letters(16)),
		"a Slack token":            "xoxb-" + digits(12) + "-" + digits(12) + "-" + random(12),
		"a password in an address": "pw" + random(8),
	}
	p.Environ = map[string]string{
		"HOME": p.Home, keyVariable(): p.own, "ARTOO_API_KEY": p.own, "PLANTED_TOKEN": p.other,
		"PLANTED_PASSED_TOKEN": p.passed, "PLANTED_ADDRESS": "postgres://app:" + p.shapes["a password in an address"] + "@db/x",
	}
	if err := p.write(); err != nil {
		return nil, err
	}
	return p, p.repository(ctx)
}

// random is 2n hexadecimal digits; digits and letters are n of them.
func random(n int) string {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails
	return hex.EncodeToString(data)
}

func digits(n int) string { return alphabet(n, "0123456789") }

func letters(n int) string { return alphabet(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") }

func alphabet(n int, chars string) string {
	data := make([]byte, n)
	_, _ = rand.Read(data)
	for i := range data {
		data[i] = chars[int(data[i])%len(chars)]
	}
	return string(data)
}

// write puts all files in their places.
func (p *plantedSecrets) write() error {
	files := map[string]string{
		"notes.txt": p.notes(), "plain.txt": p.plain + "\n", "main.go": "package main\n",
		"key.txt":              "first = 1\nkey = " + p.own + "\nsecond = 2\nthird = 3\nfourth = 4\n",
		"testdata/tracked.pem": pemKey(p.keyBody),
	}
	for _, name := range p.denied {
		switch {
		case name == "linked" || name == "pointer": // links, made below
		case strings.HasSuffix(name, ".pem"):
			files[name] = pemKey(p.canary)
		case name == ".npmrc":
			files[name] = "//registry.example/:_authToken=" + p.canary + "\n"
		default:
			files[name] = "PASSWORD=" + p.canary + "\n"
		}
	}
	for _, name := range p.open {
		files[name] = "open to read\n"
	}
	for name, text := range files {
		if err := put(filepath.Join(p.Project, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	env := filepath.Join(p.Project, ".env")
	return errors.Join(
		put(filepath.Join(p.Home, ".config", "artoo", "config.toml"), plantedConfig),
		put(filepath.Join(p.Home, ".local", "share", "artoo", "credentials.toml"), "# "+p.canary+"\n"),
		os.Link(env, filepath.Join(p.Project, "linked")), os.Symlink(".env", filepath.Join(p.Project, "pointer")))
}

// notes hold the secrets that are masked by their shape.
func (p *plantedSecrets) notes() string {
	var b strings.Builder
	for what, value := range p.shapes {
		if strings.Contains(what, "address") {
			value = "https://me:" + value + "@example.org/"
		}
		fmt.Fprintf(&b, "%s: %s\n", what, value)
	}
	return b.String() + pemKey(p.keyBody) + "own: " + p.own + "\n"
}

func pemKey(body string) string {
	return "-----BEGIN " + "PRIVATE KEY-----\n" + body + "\n" + body + "\n-----END " + "PRIVATE KEY-----\n"
}

func put(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// repository makes the project one of git's, which tracks a denied file, changed since then, and a
// key of tests. Where there is no git there is none.
func (p *plantedSecrets) repository(ctx context.Context) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, git, args...)
		cmd.Dir = p.Project
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
		return nil
	}
	identity := []string{"-c", "user.name=artoo", "-c", "user.email=artoo@localhost", "-c", "commit.gpgsign=false"}
	env := filepath.Join(p.Project, ".env")
	if err := put(env, "PASSWORD=committed\n"); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-f", ".env", "main.go", "testdata/tracked.pem"},
		append(identity, "commit", "-q", "--no-verify", "-m", "planted"),
	} {
		if err := run(args...); err != nil {
			return err
		}
	}
	p.git = true
	return put(env, "PASSWORD="+p.canary+"\n")
}

// leaked names the planted secrets that stand in a text.
func (p *plantedSecrets) leaked(text string) (found []string) {
	for what, value := range p.shapes {
		if strings.Contains(text, value) {
			found = append(found, what)
		}
	}
	for what, value := range map[string]string{"a denied file": p.canary, "a provider's key": p.own,
		"a withheld variable": p.other, "a private key": p.keyBody} {
		if strings.Contains(text, value) {
			found = append(found, what)
		}
	}
	return found
}

// keyVariable is a variable in which a provider's key is looked for.
func keyVariable() string { return provider.KeyVariables()[0] }
