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

// hidden says why the target is hidden, in words that follow its name; "" for one that is shown. Nothing else decides.
// Names count in any spelling of case, and the target is the end of all links.
func (f *Files) hidden(t Place) string {
	if f.own(t.Abs) {
		return "is artoo's own"
	}
	if why, _ := f.hiddenItself(t); why != "" {
		return why
	}
	if name := f.otherName(t); name != "" {
		return "is another name of " + name + ", which is hidden"
	}
	return ""
}

// hiddenItself is hidden by the target's own name and content, and reports whether only a repository hides it. Where
// something below it may be shown, a directory is not hidden as a whole.
func (f *Files) hiddenItself(t Place) (why string, byRepository bool) {
	folded := filepath.ToSlash(names.Fold(t.Abs))
	for _, p := range f.hide {
		switch {
		case t.rel == "." || t.InGit || !p.covers(folded):
		case p.Firm:
			return "is named by " + p.Origin, false
		case p.Repository && why == "":
			why, byRepository = "is named by "+p.Origin, true
		case !p.Repository:
			why, byRepository = "is named by "+p.Origin, false
		}
	}
	if covered(f.show, folded) {
		return "", false
	}
	if byRepository && f.free(t.Abs) {
		why = ""
	}
	if why == "" {
		why, byRepository = f.builtIn(t, folded), false
	}
	if why == "" || !byRepository && len(f.show) == 0 {
		return why, byRepository
	}
	if info, err := os.Lstat(t.Abs); err == nil && info.IsDir() {
		return "", false
	}
	return why, byRepository
}

// ByRepository lists the files, as they are shown, that only a repository hides.
func (f *Files) ByRepository() (list []string) {
	if !slices.ContainsFunc(f.hide, func(p pattern) bool { return p.Repository }) {
		return nil
	}
	candidates, _ := f.finder().Find(f.roots()...) // What cannot be looked at is not shown either.
	for _, at := range candidates {
		if t := f.found(at); t.grant != nil {
			if _, byRepository := f.hiddenItself(t); byRepository {
				list = append(list, t.Display)
			}
		}
	}
	return list
}

// free reports whether a repository must not hide the file at a path.
func (f *Files) free(abs string) bool {
	_, runs := f.run.Load(abs)
	return runs || f.guarded != nil && f.guarded(abs)
}

// Runs notes files that a command names to run, as absolute paths: no repository hides these from now on.
func (f *Files) Runs(paths []string) {
	for _, path := range paths {
		if place, err := f.Resolve(path, false); err == nil {
			f.run.Store(place.Abs, true)
		}
	}
}

// builtIn is hiddenItself by the built-in list.
func (f *Files) builtIn(t Place, folded string) (why string) {
	inside := filepath.ToSlash(names.Fold(t.rel))
	marks := ""
	if why = SecretName(inside, folded); why == "" {
		marks = contentMarks(path.Base(inside))
	} else if why == whyKey && f.inPackage(t, inside) {
		marks = packageMarks
	}
	if marks != "" {
		if why = ""; t.holds(marks) {
			why = "holds a key or token"
		}
	}
	if why != "" && f.ofTests(t, inside) {
		return ""
	}
	return why
}

// Hides reports whether the file at an absolute path without links is hidden, or would be if it were there.
func (f *Files) Hides(abs string) bool {
	t := f.found(abs)
	return t.grant == nil || f.hidden(t) != ""
}

// HidesName reports whether a file or directory that a search meets is hidden, by its name or the content that its name
// makes doubtful. Other names of a file are not looked for.
func (f *Files) HidesName(abs string) bool {
	folded := filepath.ToSlash(names.Fold(abs))
	cut := strings.LastIndexByte(folded, '/') + 1
	doubtful := ownName(folded[cut:], folded[:cut], false) != "" || contentMarks(folded[cut:]) != "" || covered(f.hide, folded) || f.own(abs)
	if !doubtful {
		return false
	}
	place, err := f.Resolve(abs, false)
	return err != nil || place.Denied
}

// own reports whether a path without links is one of DenyFiles, or is below one. A
// granted directory below one, such as the session's output directory, is open.
func (f *Files) own(abs string) bool {
	if len(f.deny) == 0 {
		return false
	}
	g, _ := f.grantOf(abs, false)
	folded := names.Fold(abs)
	return slices.ContainsFunc(f.deny, func(denied string) bool {
		denied = names.Fold(denied)
		_, within := names.Relative(denied, folded)
		if g == nil || !within {
			return within
		}
		_, open := names.Relative(denied, names.Fold(g.real))
		return !open
	})
}

// contentMarks lists the marks that hide a file of this folded name, or a copy of one; "" for none.
func contentMarks(base string) string {
	return ofCopy(base, contentIndex().of)
}

// inPackage reports whether the target lies in an installed package that git does not track.
func (f *Files) inPackage(t Place, inside string) bool {
	dirs := strings.Split(path.Dir(inside), "/")
	return slices.ContainsFunc(dirs, func(dir string) bool { return slices.Contains(PackageDirs(), dir) }) && !f.tracked(t)
}

// PackageDirs are the names of directories with installed packages.
func PackageDirs() []string {
	return []string{"node_modules", "vendor", "site-packages", ".venv", "venv", "bower_components", "pods", "gems"}
}

// ofTests reports whether the target is tracked below a directory of tests: what a repository has for its tests is no secret.
// A directory is where something in it is tracked.
func (f *Files) ofTests(t Place, inside string) bool {
	dirs := strings.Split(path.Dir(inside), "/")
	return slices.ContainsFunc(dirs, func(dir string) bool { return slices.Contains(TestDirs(), dir) }) && f.tracked(t)
}

// TestDirs are the names of directories with files for tests.
func TestDirs() []string { return []string{"testdata", "fixtures", "test"} }

// TestKeys are the texts of the private keys that are shown since git tracks them below a directory of tests.
func (f *Files) TestKeys() (texts []string) {
	root := f.Root()
	list := f.Tracked.Of(context.Background(), root)
	f.testKeys.Lock()
	defer f.testKeys.Unlock()
	if known := &f.testKeys; len(list) != len(known.of) || len(list) > 0 && &list[0] != &known.of[0] { // another index
		known.of, known.names = list, nil
		for _, name := range list {
			folded := names.Fold(name)
			if (contentMarks(path.Base(folded)) != "" || SecretName(folded, "/"+folded) == whyKey) && f.ofTests(f.found(filepath.Join(root, name)), folded) {
				known.names = append(known.names, name)
			}
		}
	}
	for _, name := range f.testKeys.names {
		if place := f.found(filepath.Join(root, filepath.FromSlash(name))); place.holds("PRIVATE_KEY") {
			if data, _, err := place.ReadFile(sniffMax); err == nil {
				texts = append(texts, string(data))
			}
		}
	}
	return texts
}

// testKeys are the names of keys of tests in an index.
type testKeys struct {
	sync.Mutex
	of, names []string
}

// TrackedOf are those of absolute paths that git tracks in the project, or tracks something below.
func (f *Files) TrackedOf(paths []string) (tracked []string) {
	for _, path := range paths {
		if f.tracked(f.found(path)) {
			tracked = append(tracked, path)
		}
	}
	return tracked
}

// tracked reports whether git tracks the target, or something below it.
func (f *Files) tracked(t Place) bool {
	root := f.granted()[0]
	rel, ok := root.covers(t.Abs)
	if !ok {
		return false
	}
	rel = filepath.ToSlash(rel)
	list := f.Tracked.Of(context.Background(), root.real)
	if _, found := slices.BinarySearch(list, rel); found {
		return true
	}
	at, _ := slices.BinarySearch(list, rel+"/")
	return at < len(list) && strings.HasPrefix(list[at], rel+"/")
}

// sniffMax is how far into a file the marks are looked for.
const sniffMax = 1 << 20

// holds reports whether the file holds one of the marks.
func (t Place) holds(marks string) bool {
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
	for mark := range strings.FieldsSeq(marks) {
		text, first := markBytes(mark)
		if first && bytes.HasPrefix(head, []byte(text)) || !first && bytes.Contains(head, []byte(text)) {
			return true
		}
	}
	return false
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
				found = found || SecretName(inside, folded) != "" || contentMarks(base) != "" || covered(f.hide, folded)
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
	top := ""                // a hidden directory, with which all beneath it is gone
	for _, at := range candidates {
		info, err := os.Lstat(at)
		if err != nil {
			continue // it is gone
		}
		below := top != "" && names.Within(top, at)
		if info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe) != 0 && !below {
			denied = append(denied, at)
			continue
		}
		place, err := f.Resolve(at, false)
		if err != nil || !place.Denied || info.Mode()&fs.ModeSymlink != 0 {
			continue // a link is only a name: its target is denied itself
		}
		if !below {
			denied = append(denied, at)
		}
		if info.IsDir() && !below {
			top = at
		}
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
		if t := f.found(at); t.grant != nil {
			if why, _ := f.hiddenItself(t); why != "" {
				note(at, t.Display)
			}
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
