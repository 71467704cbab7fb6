package files

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/names"
)

// secret says why the target is on the deny list ("holds …"), "" if it is not.
// Names count in any spelling of case, and the target is the end of all links.
func (f *Files) secret(t Place) string {
	switch {
	case f.own(t.Abs):
		return "is artoo's own"
	case f.testKey(t):
		return ""
	}
	if why := f.secretItself(t); why != "" {
		return why
	}
	if name := f.otherName(t); name != "" {
		return "is another name of " + name + ", which may hold secrets"
	}
	return ""
}

// secretItself is secret by the target's own name and content.
func (f *Files) secretItself(t Place) string {
	inside := filepath.ToSlash(names.Fold(t.rel))
	if why := SecretName(inside, filepath.ToSlash(names.Fold(t.Abs))); why != "" {
		return why
	}
	if marks := secretMarks(path.Base(inside)); marks != nil && t.holds(marks) {
		return "holds a key or token"
	}
	return ""
}

// DeniedName says whether an absolute path is denied by its name alone, with all beneath it.
func (f *Files) DeniedName(abs string) bool {
	g, _ := f.grantOf(abs, false)
	if g == nil {
		return true
	}
	rel, _ := g.covers(abs)
	return f.own(abs) || SecretName(filepath.ToSlash(names.Fold(rel)), filepath.ToSlash(names.Fold(abs))) != ""
}

// own reports whether a path without links is one of DenyFiles, or is below one. A
// granted directory below one, such as the session's output directory, is open.
func (f *Files) own(abs string) bool {
	g, _ := f.grantOf(abs, false)
	return slices.ContainsFunc(f.deny, func(denied string) bool {
		denied = names.Fold(denied)
		_, within := names.Relative(denied, names.Fold(abs))
		if g == nil || !within {
			return within
		}
		_, open := names.Relative(denied, names.Fold(g.real))
		return !open
	})
}

// Reopened reports whether a rule of the user's opens a denied file, not artoo's own, to a question.
func (f *Files) Reopened(abs string) bool {
	return f.asked != nil && f.asked(abs) && !f.own(abs)
}

// ResolveRead is Resolve for the read tool, which may read a file that a rule reopens.
func (f *Files) ResolveRead(path string) (Place, error) {
	t, err := f.Resolve(path, false)
	if err == nil && t.Denied && f.Reopened(t.Abs) {
		t.Denied, t.Why = false, ""
	}
	return t, err
}

// secretMarks lists the content that makes a file of this folded name, or a copy of one, a secret; nil for none.
func secretMarks(base string) (marks []string) {
	ofCopy(base, func(original string) string {
		if marks == nil {
			marks = originalMarks(original)
		}
		return ""
	})
	return marks
}

func originalMarks(base string) []string {
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

// holds reports whether the file holds a mark; one of raw DER counts at the beginning only.
func (t Place) holds(marks []string) bool {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return false // The command cannot read it either.
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

// isStore reports whether a folded path is that of git's own store, in which no denied name counts.
func isStore(at string) bool {
	return path.Base(at) == "objects" && (path.Base(path.Dir(at)) == ".git" || strings.Contains(at, "/.git/modules/"))
}

// deniedFinder finds paths whose name may deny them, and those that lead a command to other files.
func (f *Files) deniedFinder() *names.Finder {
	return names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		folded := filepath.ToSlash(names.Fold(at))
		base := path.Base(folded)
		if kind&(fs.ModeSocket|fs.ModeNamedPipe) != 0 {
			return true, false
		}
		for _, g := range f.granted() {
			if rel, ok := g.covers(at); ok {
				inside := filepath.ToSlash(names.Fold(rel))
				found = found || SecretName(inside, folded) != "" || secretMarks(base) != nil
			}
		}
		own := slices.Contains(f.deny, at)
		return found || own, kind.IsDir() && !isStore(folded) && !own
	})
}

// Denied lists the paths that a confined command must not see, absolute and sorted: denied files and directories in the
// granted directories, under every name they have, and the FIFOs and sockets there, which lead out. It looks again each
// time, but does not list unchanged directories again.
func (f *Files) Denied() ([]string, error) {
	candidates, err := f.finder().Find(f.roots()...)
	if err != nil {
		return nil, err
	}
	var denied []string
	var linked []fs.FileInfo // denied files that have other names
	for _, at := range candidates {
		info, err := os.Lstat(at)
		if err != nil {
			continue // it is gone
		}
		if info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe) != 0 {
			denied = append(denied, at)
			continue
		}
		place, err := f.Resolve(at, false)
		if err != nil || !place.Denied || info.Mode()&fs.ModeSymlink != 0 {
			continue // a link is only a name: its target is denied itself
		}
		denied = append(denied, at)
		if info.Mode().IsRegular() && linkCount(info) > 1 {
			linked = append(linked, info)
		}
	}
	secrets, _ := f.deniedInodes()
	for _, secret := range secrets { // those of the home directory
		if linkCount(secret) > 1 {
			linked = append(linked, secret)
		}
	}
	if len(linked) > 0 {
		others, err := linkedNames(f.roots(), linked)
		if err != nil {
			return nil, err
		}
		denied = append(denied, others...)
	}
	slices.Sort(denied)
	return slices.Compact(denied), nil
}

// roots are the granted directories.
func (f *Files) roots() (roots []string) {
	for _, g := range f.granted() {
		roots = append(roots, g.real)
	}
	return roots
}

// linkedNames finds every name that files have below the roots, by their inodes.
func linkedNames(roots []string, files []fs.FileInfo) ([]string, error) {
	return names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		if !kind.IsRegular() {
			return false, kind.IsDir()
		}
		info, err := os.Lstat(at)
		return err == nil && slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) }), false
	}).Find(roots...)
}

// inodesFresh is how long the found inodes count.
const inodesFresh = time.Second

// deniedFiles are the denied files, kept for a while.
type deniedFiles struct {
	mu    sync.Mutex // guards the fields below
	found time.Time
	infos []fs.FileInfo
	names []string
}

// otherName is the denied file that the target is a hard link to, "" for none.
func (f *Files) otherName(t Place) string {
	info, err := os.Lstat(t.Abs)
	if err != nil || !info.Mode().IsRegular() || linkCount(info) < 2 {
		return ""
	}
	infos, shown := f.deniedInodes()
	at := slices.IndexFunc(infos, func(other fs.FileInfo) bool { return os.SameFile(info, other) })
	if at < 0 {
		return ""
	}
	return shown[at]
}

// deniedInodes finds the denied files of the granted directories, artoo's own and those of the home.
func (f *Files) deniedInodes() (infos []fs.FileInfo, shown []string) {
	d := &f.secrets
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.found) < inodesFresh {
		return d.infos, d.names
	}
	d.infos, d.names = nil, nil
	note := func(path, name string) {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			d.infos, d.names = append(d.infos, info), append(d.names, name)
		}
	}
	for _, path := range f.deny {
		note(path, "a file of artoo's own")
	}
	if home := f.Tracked.Environ.Home(); home != "" {
		for _, name := range homeSecrets() {
			note(filepath.Join(home, name), "~/"+name)
		}
	}
	// A granted directory that cannot be looked at has no files to be read.
	candidates, _ := f.finder().Find(f.roots()...)
	for _, at := range candidates {
		t := Place{Abs: at}
		if t.grant, t.rel = f.grantOf(at, false); t.grant != nil && !f.testKey(t) && f.secretItself(t) != "" {
			note(at, f.display(at))
		}
	}
	d.found = time.Now()
	return d.infos, d.names
}

// homeSecrets are files of the home directory whose other names are known too.
func homeSecrets() []string {
	return []string{
		".netrc", ".pgpass", ".git-credentials", ".aws/credentials", ".kube/config", ".docker/config.json",
		".config/gh/hosts.yml", ".config/gcloud/application_default_credentials.json", ".ssh/id_rsa", ".ssh/id_ecdsa", ".ssh/id_ed25519", ".claude/.credentials.json",
		".codex/auth.json", ".gemini/oauth_creds.json",
	}
}

// testKey reports whether the target is a private key of the project's tests:
// below testdata, fixtures or test, and tracked. Such keys are no secret, and are
// masked where they are shown.
func (f *Files) testKey(t Place) bool {
	root := f.granted()[0]
	rel, ok := root.covers(t.Abs)
	if !ok || !MayBeTestKey(filepath.ToSlash(rel)) {
		return false
	}
	_, tracked := slices.BinarySearch(f.Tracked.Of(context.Background(), root.real), filepath.ToSlash(rel))
	return tracked && t.holds([]string{"-----BEGIN "})
}

// MayBeTestKey reports whether a project's name is that of a test's key of a kind that is masked.
func MayBeTestKey(name string) bool {
	folded := names.Fold(name)
	below := slices.ContainsFunc(strings.Split(path.Dir(folded), "/"), func(dir string) bool {
		return dir == "testdata" || dir == "fixtures" || dir == "test"
	})
	if !below {
		return false
	}
	switch path.Ext(folded) {
	case ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx":
		return false
	}
	why := SecretName(folded, "/"+folded)
	return why == whyKey || why == "" && secretMarks(path.Base(folded)) != nil && !strings.HasPrefix(path.Base(folded), ".")
}
