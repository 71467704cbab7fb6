package project

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/names"
)

// historyTime is how long a history may take to be looked through.
const historyTime = 2 * time.Second

var errHistory = errors.New("the repository's history could not be looked through for secrets in time")

// Histories knows which files of the deny list stand in the index, the history or the object
// store of repositories, and keeps that until one of them changes.
// The zero value is ready; safe for concurrent use.
type Histories struct {
	mu   sync.Mutex
	kept map[string]history
}

type history struct {
	state uint64 // hashes refs, reflogs, the index, the store and the denied files as they were
	names []string
	err   error
}

// Secrets lists the files of the deny list, absolute and sorted, that git in the project could show: those that the
// index holds, or a commit that a ref, a reflog or a stash reaches, and those of denied whose present content is in the
// object store. denied are the absolute denied files that are there. The error says that they cannot be listed. environ
// is the environment that commands get; git's own programs must be known to be off (Project.GitRuns).
func (h *Histories) Secrets(p Project, environ, denied []string) ([]string, error) {
	if !p.Git {
		return nil, nil
	}
	dir, common, err := git.Dirs(p.Root)
	if err != nil {
		return nil, err
	}
	state := historyState(dir, common, denied)
	h.mu.Lock()
	defer h.mu.Unlock()
	if kept, ok := h.kept[p.Root]; ok && kept.state == state {
		return kept.names, kept.err
	}
	names, err := p.historySecrets(dir, environ, denied)
	if h.kept == nil {
		h.kept = map[string]history{}
	}
	h.kept[p.Root] = history{state: state, names: names, err: err}
	return names, err
}

// historyState hashes the stamps that change with commits, objects and denied files.
func historyState(dir, common string, denied []string) uint64 {
	sum := fnv.New64a()
	note := func(path string, info fs.FileInfo) {
		fmt.Fprintln(sum, path, info.Size(), info.ModTime().UnixNano())
	}
	// A new object changes the time of a directory in objects.
	objects, _ := fs.Glob(os.DirFS(common), "objects/*") // The pattern is valid.
	for i, name := range objects {
		objects[i] = filepath.Join(common, name)
	}
	for _, path := range slices.Concat(objects, denied) {
		if info, err := os.Lstat(path); err == nil {
			note(path, info)
		}
	}
	for _, base := range []string{dir, common} {
		for _, name := range []string{"HEAD", "index", "packed-refs", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "shallow"} {
			if info, err := os.Lstat(filepath.Join(base, name)); err == nil {
				note(name, info)
			}
		}
		for _, name := range []string{"refs", "logs", "reftable"} {
			// Git does not find refs that cannot be listed either.
			_ = filepath.WalkDir(filepath.Join(base, name), func(at string, d fs.DirEntry, err error) error {
				if err == nil {
					if info, err := d.Info(); err == nil {
						note(at, info)
					}
				}
				return nil
			})
		}
	}
	return sum.Sum64()
}

func (p Project) historySecrets(dir string, environ, denied []string) (secrets []string, err error) {
	found := map[string]bool{} // has names relative to the top, with slashes
	if err := git.EachIndexed(p.Root, func(name string, _ bool) error {
		if p.secretHere(name) && !files.MayBeTestKey(name) { // it is tracked: see Files.testKey
			found[name] = true
		}
		return nil
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), historyTime)
	defer cancel()
	err = git.Run(ctx, environ, p.Root, p.Root, func(piece string) error {
		if name := strings.TrimLeft(piece, "\n"); name != "" && p.secretHere(name) {
			found[name] = true
		}
		return nil
	}, "--no-replace-objects", "-c", "log.showRoot=true", "-c", "log.showSignature=false", "-c", "core.quotePath=false",
		"-c", "diff.renames=false", "log", "--all", "--reflog", "--ignore-missing", "-z", "--format=", "--name-only", "-c",
		"--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
	if err != nil && names.Exists(filepath.Join(dir, "HEAD")) { // Git recognises a repository by its HEAD.
		return nil, errHistory
	}
	if secrets, err = p.stored(ctx, environ, denied); err != nil {
		return nil, errHistory
	}
	for name := range found {
		secrets = append(secrets, filepath.Join(p.Root, filepath.FromSlash(name)))
	}
	slices.Sort(secrets)
	return slices.Compact(secrets), nil
}

// stored lists those of the denied files whose content is in the object store, except those that the index also holds
// under a readable name.
func (p Project) stored(ctx context.Context, environ, denied []string) ([]string, error) {
	files := map[string]string{} // has the IDs of their contents, with either line end
	for _, path := range denied {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > mostHashed {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			continue // Git could not have read it either.
		}
		for _, content := range [][]byte{data, bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))} {
			files[git.ObjectID(sha1.New(), "blob", content)] = path
			files[git.ObjectID(sha256.New(), "blob", content)] = path
		}
	}
	held := map[string]string{}
	blobs, err := p.FileContents(environ, slices.Collect(maps.Keys(files)))
	if err != nil || len(blobs) == 0 {
		return nil, err
	}
	for _, id := range blobs {
		held[id] = files[id]
	}
	err = git.Run(ctx, environ, p.Root, p.Root, func(entry string) error {
		place, name, _ := strings.Cut(entry, "\t")
		if !p.secretHere(name) && !slices.Contains(denied, filepath.Join(p.Root, filepath.FromSlash(name))) {
			delete(held, strings.Fields(place)[1])
		}
		return nil
	}, "ls-files", "-s", "-z")
	return slices.Collect(maps.Values(held)), err
}

// FileContents returns those of the names, each an object's ID or an expression such as v1^{}, that git
// resolves to the content of a file. Git's own programs must be known to be off (Project.GitRuns).
func (p Project) FileContents(environ, names []string) (blobs []string, err error) {
	if !p.Git || len(names) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), historyTime)
	defer cancel()
	store, at := git.Git{Dir: p.Root, Env: git.SafeEnviron(environ)}, 0
	err = store.Run(ctx, strings.NewReader(strings.Join(names, "\n")), '\n', func(kind string) error {
		if kind == "blob" {
			blobs = append(blobs, names[min(at, len(names)-1)]) // To git a name with a line break is two.
		}
		at++
		return nil
	}, "cat-file", "--batch-check=%(objecttype)")
	return blobs, err
}

// leadsOut returns an error when a file of git's own is a link out of its directory, or objects come from another
// repository: git would show files from there.
func leadsOut(dir string) error {
	if names.Exists(filepath.Join(dir, "objects", "info", "alternates")) {
		return errors.New("the repository takes objects from another one (objects/info/alternates)")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	seen := 0
	return filepath.WalkDir(real, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // Git cannot read it either.
		}
		if seen++; seen > files.ReachLimit {
			return errors.New("git's directory holds more files than could be looked at")
		}
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := filepath.EvalSymlinks(at)
			if _, inside := names.Relative(real, to); err != nil || !inside {
				return fmt.Errorf("%s is a link out of git's directory", at)
			}
			return nil
		}
		if rel, _ := names.Relative(real, at); d.IsDir() &&
			(rel == "objects" || rel == "modules" || rel == "hooks" || rel == "lfs" || rel == "annex") {
			return fs.SkipDir
		}
		return nil
	})
}
