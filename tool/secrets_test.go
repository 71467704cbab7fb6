package tool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testKey = "-----BEGIN " + "PRIVATE KEY-----\nMIIB\n"

func TestSecrets(t *testing.T) {
	w := newFileWorld(t, map[string]string{
		"certs/ca.pem": "-----BEGIN CERTIFICATE-----\n", "certs/both.pem": "-----BEGIN CERTIFICATE-----\n" + testKey,
		"tls/server.key": testKey, "tls/der.key": "\x30\x82\x01\x02", "notes.key": "slides", "deploy_rsa": testKey, "use_rsa": "text",
		".npmrc": "registry=https://registry.example/\n", "web/.npmrc": "//r/:_authToken=x\n", ".yarnrc.yml": "npmAuthToken: x\n",
		"late.pem": strings.Repeat("x", 100000) + testKey,
	})
	w.link(".env", "harmless.txt")
	w.link(w.path(".env"), "harmless2.txt")
	w.link("deploy_rsa", "harmless3.txt")
	for path, denied := range map[string]bool{
		".env": true, ".ENV": true, ".env.local": true, "sub/.env.production": true, ".envrc": true, ".envs/.django": true,
		".env.example": false, ".env.sample": false, ".Env.Example": false, "env": false, "environment.go": false, "a.env": false,
		"id_rsa": true, "keys/ID_ED25519": true, "id_rsa.pub": false, "id_rsa.go": false,
		".ssh": true, ".ssh/config": true, ".ſsh/deploy": true, ".ssh/id_rsa.pub": false, ".gnupg/x": true,
		".aws/credentials": true, ".aws/task.json": false, "a/.kube/config": true, ".kube/x.yaml": false, ".config/gcloud/x.db": true,
		".azure/t.json": true, ".docker/config.json": true, ".docker/Dockerfile": false, ".netrc": true, ".pypirc": true,
		".git-credentials": true, ".codex/auth.json": true,
		"certs/ca.pem": false, "certs/both.pem": true, "late.pem": true, "certs/privkey.pem": true, "certs/pubkey.pem": false, "certs/tls-key.pem": true,
		"tls/server.key": true, "tls/der.key": true, "notes.key": false, "none.key": false, "x.p12": true, "deploy_rsa": true, "use_rsa": false,
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
		var refused *RefusedError
		if _, err := w.env.Files.Open(place.Abs); !errors.As(err, &refused) {
			t.Errorf("%s: Open says %v", path, err)
		}
		for _, tool := range []Tool{Read(), Write(), Edit()} {
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
	w := newFileWorld(t, map[string]string{"state/credentials": "key", "state/session": "s", "keys/a": "k"}, func(cfg *FilesConfig) {
		cfg.DenyFiles = []string{filepath.Join(cfg.Root, "state", "credentials"), filepath.Join(cfg.Root, "keys"), filepath.Join(cfg.Root, "later")}
	})
	w.link("state/credentials", "x")
	for path, denied := range map[string]bool{
		"state/credentials": true, "state/CREDENTIALS": true, "x": true, "state/session": false, "state/credentials2": false,
		"keys": true, "keys/a": true, "later": true,
	} {
		if place, err := w.env.Files.Resolve(path, false); err != nil || place.Denied != denied {
			t.Errorf("%s: %+v %v, want denied %v", path, place, err, denied)
		}
	}
}

// The directories above the project say nothing about what is in it.
func TestSecretsCountFromTheProject(t *testing.T) {
	w := newFileWorld(t, nil, func(cfg *FilesConfig) {
		cfg.Root = filepath.Join(cfg.Root, ".environments")
		if err := os.Mkdir(cfg.Root, 0o755); err != nil {
			t.Fatal(err)
		}
	})
	if place, err := w.env.Files.Resolve("main.go", false); err != nil || place.Denied {
		t.Errorf("%+v %v", place, err)
	}
}
