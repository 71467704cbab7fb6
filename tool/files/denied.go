package files

import (
	"context"
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
	if home, err := os.UserHomeDir(); err == nil {
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
