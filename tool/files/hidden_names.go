package files

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// HiddenRow is a row of the built-in list of hidden files: names, each of a file or of a directory with all beneath it, and
// why they are hidden, in words that follow a name. In a name * stands for any characters; one with a slash counts with the
// directories before it, also above the project.
type HiddenRow struct{ Why, Names string }

const (
	whyEnv     = "may hold passwords and keys of an environment"
	whySecrets = "may hold passwords and keys of a service"
	whyKey     = "is or holds a private key"
	whyCloud   = "holds credentials of a service"
)

// HiddenRows is the built-in list. docs/hidden.md is made of it.
func HiddenRows() []HiddenRow {
	return []HiddenRow{
		{whyEnv, `.env .env.* .env-* .env_* .envs .envs.* .envs-* .envs_* .envrc .envrc.* .envrc-* .envrc_* *.env .#env env.production .dev.vars`},
		{whySecrets, `secret.yml secret.yaml secret.json secret.toml secrets.yml secrets.yaml secrets.json secrets.toml credentials.json
			local.settings.json .vault_pass master.key *.tfstate *.tfvars`},
		{whyKey, `id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk id_xmss *.p12 *.pfx *.ppk *.jks *.keystore *.kdbx *priv*.pem *key.pem
			/.ssh /.gnupg /.password-store /library/keychains /.local/share/keyrings`},
		{whyCloud, `client_secret* *firebase-adminsdk* service-account*.json .netrc _netrc .pgpass .my.cnf .pypirc .git-credentials .dockercfg .dockerconfigjson
			kubeconfig .vault-token .s3cfg .boto .htpasswd .terraformrc application_default_credentials.json /.azure /.config/gcloud /.aws/sso
			/.aws/cli /.oci /.config/op /.aws/credentials /.aws/config /.kube/config /.docker/config.json /.config/gh/hosts.yml
			/.config/git/credentials /.config/rclone/rclone.conf /.config/doctl/config.yaml /.fly/config.yml /.cargo/credentials
			/.cargo/credentials.toml /.gem/credentials /.m2/settings.xml /.m2/settings-security.xml /.gradle/gradle.properties
			/.terraform.d/credentials.tfrc.json /.composer/auth.json /.claude/.credentials.json /.codex/auth.json /.gemini/oauth_creds.json`},
	}
}

// OpenEndings are the endings of environments that hold examples or types, which are shown.
func OpenEndings() []string { return []string{".example", ".sample", ".template", ".dist", ".d.ts"} }

// CopyEndings are those of copies, which are hidden as the file is that they are copies of.
func CopyEndings() []string { return []string{".bak", ".orig", ".old", ".save", ".backup"} }

// HiddenContent is a row of files that are hidden by their content alone.
type HiddenContent struct{ Names, Marks string }

// HiddenContents are the files that are hidden where they hold one of the marks, which stand between spaces: a private key,
// or the credentials of a package manager. DER is the beginning of one in that form.
func HiddenContents() []HiddenContent {
	return []HiddenContent{
		{"*.pem *.key *.p8 *.asc *_rsa *_dsa *_ecdsa *_ed25519 *_ecdsa_sk *_ed25519_sk", "PRIVATE_KEY DER"},
		{".npmrc", "_authToken _auth _password"},
		{".yarnrc.yml .yarnrc", "npmAuthToken npmAuthIdent _authToken _password"},
	}
}

// packageMarks are those by which a name of a private key is judged in a package directory.
const packageMarks = "PRIVATE_KEY DER PuTTY-User-Key-File JKS KDBX"

// markBytes are the marks as they stand in a file; those of a form begin it.
func markBytes(mark string) (text string, first bool) {
	switch mark {
	case "DER":
		return "\x30\x82", true
	case "JKS":
		return "\xfe\xed\xfe\xed", true
	case "KDBX":
		return "\x03\xd9\xa2\x9a", true
	}
	return strings.ReplaceAll(mark, "_KEY", " KEY"), false
}

// namePattern is a name of the list with a star.
type namePattern struct {
	pieces []string // what stands between the stars
	value  string
}

func (p namePattern) fits(name string) bool {
	last := len(p.pieces) - 1
	rest, ok := strings.CutPrefix(name, p.pieces[0])
	if !ok || !strings.HasSuffix(rest, p.pieces[last]) {
		return false
	}
	for _, piece := range p.pieces[1:last] {
		at := strings.Index(rest, piece)
		if at < 0 {
			return false
		}
		rest = rest[at+len(piece):]
	}
	return len(rest) >= len(p.pieces[last])
}

// nameIndex has the names of a list: each path that a search meets is looked up.
type nameIndex struct {
	plain    map[string]string // names without a star
	endings  map[string]string // those of *.ext, by their ending
	patterns []namePattern
	deep     map[string][][2]string // the last parts of those with a slash: whole and value
}

func (x *nameIndex) add(names, value string) {
	for name := range strings.FieldsSeq(names) {
		ext, isEnding := strings.CutPrefix(name, "*")
		switch {
		case strings.HasPrefix(name, "/"):
			x.deep[path.Base(name)] = append(x.deep[path.Base(name)], [2]string{name, value})
		case isEnding && ext == path.Ext(ext):
			x.endings[ext] = value
		case strings.Contains(name, "*"):
			x.patterns = append(x.patterns, namePattern{strings.Split(name, "*"), value})
		default:
			x.plain[name] = value
		}
	}
}

// of is the value of a folded name at the end of a path, "" for a name that is not on the list.
func (x *nameIndex) of(name string) string {
	if value, ok := x.plain[name]; ok {
		return value
	}
	if ext := path.Ext(name); ext != "" && len(ext) < len(name) {
		if value, ok := x.endings[ext]; ok {
			return value
		}
	}
	for _, p := range x.patterns {
		if p.fits(name) {
			return p.value
		}
	}
	return ""
}

func newNameIndex() *nameIndex {
	return &nameIndex{plain: map[string]string{}, endings: map[string]string{}, deep: map[string][][2]string{}}
}

var hiddenIndex = sync.OnceValue(func() *nameIndex {
	x := newNameIndex()
	for _, row := range HiddenRows() {
		x.add(row.Names, row.Why)
	}
	return x
})

var contentIndex = sync.OnceValue(func() *nameIndex {
	x := newNameIndex()
	for _, row := range HiddenContents() {
		x.add(row.Names, row.Marks)
	}
	return x
})

// ofCopy judges the file that one of this name is a copy of, as editors and users name their copies, and a file of
// another name by that name. why returns "" for a file that is shown.
func ofCopy(name string, why func(original string) string) string {
	bare := strings.Trim(strings.TrimSuffix(name, "~"), "#")
	for _, ending := range CopyEndings() {
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

// ownName judges a file or directory by its own folded name; dir is the folded path of its directory, which ends in a slash.
// Above the project only names with a slash count.
func ownName(name, dir string, above bool) string {
	x := hiddenIndex()
	return ofCopy(name, func(name string) string {
		why := ""
		if !above {
			why = x.of(name)
		}
		switch {
		case why == whyEnv && slices.ContainsFunc(OpenEndings(), func(ending string) bool { return strings.HasSuffix(name, ending) }),
			why == whyKey && strings.HasSuffix(name, ".pem") && strings.Contains(name, "pub"):
			return ""
		case why != "":
			return why
		}
		for _, deep := range x.deep[name] {
			if strings.HasSuffix(dir, deep[0][:len(deep[0])-len(name)]) {
				return deep[1]
			}
		}
		return ""
	})
}

// SecretName judges a file by its names alone: inside is the path within the granted directory, abs the whole one, both
// folded and with slashes. It says why the file is hidden, "" for one that its names do not hide. What lies below a hidden
// name is hidden with it, public keys apart.
func SecretName(inside, abs string) string {
	if path.Ext(inside) == ".pub" {
		return ""
	}
	depth := strings.Count(inside, "/") + 1
	if inside == "." {
		depth = 0
	}
	for at := abs; len(at) > 1; depth-- {
		cut := strings.LastIndexByte(at, '/')
		if why := ownName(at[cut+1:], at[:cut+1], depth <= 0); why != "" || cut <= 0 {
			return why
		}
		at = at[:cut]
	}
	return ""
}
