package files

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

// ofCopy judges the file that one of this name is a copy of, as editors and users name their copies, and a file of
// another name by that name. why returns "" for a file that is no secret.
func ofCopy(name string, why func(original string) string) string {
	bare := strings.Trim(strings.TrimSuffix(name, "~"), "#")
	for _, ending := range []string{".bak", ".orig", ".old", ".save", ".backup"} {
		bare = strings.TrimSuffix(bare, ending)
	}
	if stem := len(bare) - len(".swp"); stem > 0 && bare[stem:len(bare)-1] == ".sw" {
		bare = bare[:stem]
		// A swap file has a dot before its file's name, where that has none itself.
		if visible, hidden := strings.CutPrefix(bare, "."); hidden {
			if found := ofCopy(visible, why); found != "" {
				return found
			}
		}
	}
	if bare == name {
		return why(name)
	}
	return ofCopy(bare, why)
}

// secretEnv judges the folded name of a file or directory that may hold an environment's variables.
func secretEnv(name string) string {
	for _, ending := range openEnv() {
		if strings.HasSuffix(name, ending) {
			return ""
		}
	}
	for _, base := range []string{".env", ".envs", ".envrc"} {
		if rest, is := strings.CutPrefix(name, base); is && (rest == "" || strings.ContainsAny(rest[:1], ".-_")) {
			return whyEnv
		}
	}
	return ""
}

// SecretName judges a file by name: inside is the path within the granted
// directory, abs the whole one, both folded and with slashes.
func SecretName(inside, abs string) string {
	for name := range strings.SplitSeq(inside, "/") {
		if why := ofCopy(name, secretEnv); why != "" {
			return why
		}
	}
	dir := "/" + strings.TrimPrefix(path.Dir(abs), "/")
	return ofCopy(path.Base(inside), func(base string) string {
		if why, known := secretBase(base); known {
			return why
		}
		return secretPath(path.Join(dir, base))
	})
}

// secretBase judges a file by its own name; known is false where the directory decides.
func secretBase(base string) (why string, known bool) {
	switch base {
	case "env.production", ".dev.vars":
		return whyEnv, true
	case "master.key", "credentials.json", "local.settings.json", ".vault_pass":
		return whySecrets, true
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss":
		return whyKey, true
	case ".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".git-credentials", ".dockercfg", ".dockerconfigjson", "kubeconfig",
		".vault-token", ".s3cfg", ".boto", ".htpasswd", ".terraformrc", "application_default_credentials.json":
		return whyCloud, true
	}
	stem, ext := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
	switch {
	case strings.HasPrefix(base, "client_secret"), strings.Contains(base, "firebase-adminsdk"),
		strings.HasPrefix(base, "service-account") && ext == ".json":
		return whyCloud, true
	}
	switch ext {
	case ".env":
		if stem != "" {
			return whyEnv, true
		}
	case ".yml", ".yaml", ".json", ".toml":
		if stem == "secret" || stem == "secrets" {
			return whySecrets, true
		}
	case ".tfstate", ".tfvars":
		return whySecrets, true
	case ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx":
		return whyKey, true
	case ".pem":
		if !strings.Contains(stem, "pub") && (strings.Contains(stem, "priv") || strings.HasSuffix(stem, "key")) {
			return whyKey, true
		}
	case ".pub": // the public half, also in .ssh
		return "", true
	}
	return "", false
}

// secretPath judges a file by its directory; names that end in a slash stand for all beneath.
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
