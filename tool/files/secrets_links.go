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

const (
	// inodesLimit is how many entries are looked at to find the denied files of the
	// project, the shallow ones first.
	inodesLimit = 20000
	// inodesFresh is how long what was found counts.
	inodesFresh = time.Second
)

// deniedFiles are the denied files of the project, kept for a while.
type deniedFiles struct {
	mu    sync.Mutex // guards what follows
	found time.Time
	infos []fs.FileInfo
	names []string
}

// otherName is the denied file that the target is a hard link to, "" for none.
// Only files with several names are looked at, and the project is searched for
// denied ones up to a limit: in a larger one a link may be missed.
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

// deniedInodes finds the denied files of the project, the files of artoo's own and
// the best known ones of the home directory.
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
	root := f.grants[0]
	looked := 0
	for queue := []string{"."}; len(queue) > 0 && looked < inodesLimit; queue = queue[1:] {
		entries, err := os.ReadDir(filepath.Join(root.real, queue[0]))
		if err != nil {
			continue
		}
		looked += len(entries)
		for _, e := range entries {
			rel := filepath.Join(queue[0], e.Name())
			switch {
			case e.IsDir() && names.Fold(e.Name()) != ".git":
				queue = append(queue, rel)
			case e.Type().IsRegular() && f.deniedByName(rel):
				note(filepath.Join(root.real, rel), f.display(filepath.Join(root.real, rel)))
			}
		}
	}
	d.found = time.Now()
	return d.infos, d.names
}

func (f *Files) deniedByName(rel string) bool {
	abs := filepath.Join(f.grants[0].real, rel)
	return SecretName(filepath.ToSlash(names.Fold(rel)), filepath.ToSlash(names.Fold(abs))) != "" &&
		!f.testKey(Place{Abs: abs, grant: f.grants[0], rel: rel})
}

// homeSecrets are files of the home directory whose other names are known too.
func homeSecrets() []string {
	return []string{
		".netrc", ".pgpass", ".git-credentials", ".aws/credentials", ".kube/config", ".docker/config.json",
		".config/gh/hosts.yml", ".ssh/id_rsa", ".ssh/id_ecdsa", ".ssh/id_ed25519", ".claude/.credentials.json",
		".codex/auth.json", ".gemini/oauth_creds.json",
	}
}

// testKey reports whether the target is a private key of the project's tests:
// below testdata, fixtures or test, and tracked. Such keys are no secret, and are
// masked where they are shown.
func (f *Files) testKey(t Place) bool {
	root := f.grants[0]
	rel, ok := root.covers(t.Abs)
	if !ok || !MayBeTestKey(filepath.ToSlash(rel)) {
		return false
	}
	_, tracked := slices.BinarySearch(f.Tracked.Of(context.Background(), root.real), filepath.ToSlash(rel))
	return tracked && t.holds([]string{"-----BEGIN "})
}

// MayBeTestKey reports whether a name within the project is one of a test's key,
// of a kind that is masked.
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
