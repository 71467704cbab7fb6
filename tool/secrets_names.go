package tool

import (
	"path"
	"strings"
)

const (
	whyEnv     = "may hold passwords and keys of an environment"
	whyKey     = "is or holds a private key"
	whySecrets = "may hold passwords and keys of a service"
	whyCloud   = "holds credentials of a service"
)

// openEnv are endings of files of an environment that hold examples or types.
func openEnv() []string { return []string{".example", ".sample", ".template", ".dist", ".d.ts"} }

// bareName is a name without what editors and users put around that of a copy.
func bareName(name string) string {
	name = strings.Trim(strings.TrimSuffix(name, "~"), "#")
	if swap, ok := strings.CutSuffix(name, ".swp"); ok {
		return strings.TrimPrefix(swap, ".")
	}
	for _, ending := range []string{".bak", ".orig", ".old", ".save", ".backup"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// secretEnv reports whether a folded name is that of a file, or of a directory of
// files, with the variables of an environment.
func secretEnv(name string) bool {
	name = bareName(name)
	for _, ending := range openEnv() {
		if strings.HasSuffix(name, ending) {
			return false
		}
	}
	return strings.HasPrefix(name, ".env")
}

// secretName judges a file by name: inside is the path within the granted
// directory, abs the whole one, both folded and with slashes.
func secretName(inside, abs string) string {
	for _, name := range strings.Split(inside, "/") {
		if secretEnv(name) {
			return whyEnv
		}
	}
	base := bareName(path.Base(inside))
	switch base {
	case "secrets.yml", "secrets.yaml", "master.key", "credentials.json":
		return whySecrets
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss":
		return whyKey
	case ".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".git-credentials", ".dockercfg", ".vault-token",
		".s3cfg", ".boto", ".htpasswd", ".terraformrc", "application_default_credentials.json":
		return whyCloud
	}
	if strings.HasPrefix(base, "service-account") && strings.HasSuffix(base, ".json") {
		return whyCloud
	}
	stem, ext := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
	switch ext {
	case ".env":
		if stem != "" {
			return whyEnv
		}
	case ".tfstate":
		return whySecrets
	case ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx":
		return whyKey
	case ".pem":
		if !strings.Contains(stem, "pub") && (strings.Contains(stem, "priv") || strings.HasSuffix(stem, "key")) {
			return whyKey
		}
	case ".pub": // the public half, also in .ssh
		return ""
	}
	return secretPath("/" + strings.TrimPrefix(abs, "/"))
}

// secretPath judges a file by the directory it is in. Directories end in a
// slash and stand for all beneath them.
func secretPath(abs string) string {
	dirs := abs + "/"
	for _, dir := range []string{"/.ssh/", "/.gnupg/", "/.password-store/", "/library/keychains/",
		"/.local/share/keyrings/"} {
		if strings.Contains(dirs, dir) {
			return whyKey
		}
	}
	for _, dir := range []string{"/.azure/", "/.config/gcloud/", "/.aws/sso/", "/.aws/cli/", "/.oci/", "/.config/op/"} {
		if strings.Contains(dirs, dir) {
			return whyCloud
		}
	}
	for _, file := range []string{
		"/.aws/credentials", "/.aws/config", "/.kube/config", "/.docker/config.json", "/.config/gh/hosts.yml",
		"/.config/git/credentials", "/.config/rclone/rclone.conf", "/.config/doctl/config.yaml", "/.fly/config.yml",
		"/.cargo/credentials", "/.cargo/credentials.toml", "/.gem/credentials", "/.m2/settings.xml",
		"/.m2/settings-security.xml", "/.gradle/gradle.properties", "/.terraform.d/credentials.tfrc.json",
		"/.composer/auth.json", "/.claude/.credentials.json", "/.codex/auth.json", "/.gemini/oauth_creds.json",
	} {
		if strings.HasSuffix(abs, file) {
			return whyCloud
		}
	}
	return ""
}
