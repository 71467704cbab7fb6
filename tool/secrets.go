package tool

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// secret says why the target is on the deny list ("holds …"), "" if it is not.
// Names count in any spelling of case, and the target is the end of all links.
func (f *Files) secret(t target) string {
	for _, denied := range f.deny {
		if _, ok := under(FoldName(denied), FoldName(t.Abs)); ok {
			return "holds artoo's own credentials"
		}
	}
	inside := filepath.ToSlash(FoldName(t.rel))
	if why := secretName(inside, filepath.ToSlash(FoldName(t.Abs))); why != "" {
		return why
	}
	if marks := secretMarks(path.Base(inside)); marks != nil && t.holds(marks) {
		return "holds a key or token"
	}
	return ""
}

const (
	whyEnv   = "may hold passwords and keys of an environment"
	whyKey   = "is or holds a private key"
	whyCloud = "holds credentials of a service"
)

// secretName judges a file by name: inside is the path within the granted
// directory, abs the whole one, both folded and with slashes.
func secretName(inside, abs string) string {
	for _, name := range strings.Split(inside, "/") {
		if strings.HasPrefix(name, ".env") && name != ".env.example" && name != ".env.sample" {
			return whyEnv
		}
	}
	base := path.Base(inside)
	switch base {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss":
		return whyKey
	case ".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".git-credentials", ".dockercfg", ".vault-token",
		".s3cfg", ".boto", ".htpasswd", ".terraformrc", "application_default_credentials.json":
		return whyCloud
	}
	stem, ext := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
	switch ext {
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
	for _, dir := range []string{"/.ssh/", "/.gnupg/", "/.password-store/", "/library/keychains/", "/.local/share/keyrings/"} {
		if strings.Contains(abs+"/", dir) {
			return whyKey
		}
	}
	for _, dir := range []string{"/.azure/", "/.config/gcloud/", "/.aws/sso/", "/.aws/cli/", "/.oci/", "/.config/op/"} {
		if strings.Contains(abs+"/", dir) {
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

// secretMarks lists what makes a file of this folded name a secret if it holds
// one of them; nil for most names.
func secretMarks(base string) []string {
	switch base {
	case ".npmrc":
		return []string{"_authToken", "_auth", "_password"}
	case ".yarnrc.yml", ".yarnrc":
		return []string{"npmAuthToken", "npmAuthIdent", "_authToken", "_password"}
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p8", ".asc":
		return []string{"PRIVATE KEY", "\x30\x82"}
	case "":
		for _, kind := range []string{"_rsa", "_dsa", "_ecdsa", "_ed25519"} {
			if strings.HasSuffix(base, kind) {
				return []string{"PRIVATE KEY"}
			}
		}
	}
	return nil
}

// sniffMax is how far into a file the marks are looked for.
const sniffMax = 1 << 20

// holds reports whether the file holds one of the marks. A mark of raw DER only
// counts at the beginning.
func (t target) holds(marks []string) bool {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return false // what cannot be opened cannot be read either
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	head, err := io.ReadAll(io.LimitReader(file, sniffMax))
	if err != nil {
		return true // half-read: fail closed
	}
	for _, mark := range marks {
		if mark[0] < ' ' || mark[0] == '0' {
			if bytes.HasPrefix(head, []byte(mark)) {
				return true
			}
		} else if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}

// FoldName brings names together that some file system takes for one: case is
// ignored as APFS and NTFS do, and the characters HFS+ does not see are left
// out.
func FoldName(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for _, c := range name {
		if c < unicode.MaxASCII {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			b.WriteByte(byte(c))
			continue
		}
		switch {
		case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
			continue
		}
		b.WriteString(foldRune(c))
	}
	return b.String()
}

// foldRune folds one character that is not ASCII: by its simple folding, and
// where the full folding of Unicode comes to ASCII letters, by that.
func foldRune(c rune) string {
	switch c {
	case 'ß', 'ẞ':
		return "ss"
	case 'ﬀ':
		return "ff"
	case 'ﬁ':
		return "fi"
	case 'ﬂ':
		return "fl"
	case 'ﬃ':
		return "ffi"
	case 'ﬄ':
		return "ffl"
	case 'ﬅ', 'ﬆ':
		return "st"
	}
	least := c
	for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
		least = min(least, r)
	}
	return string(unicode.ToLower(least))
}
