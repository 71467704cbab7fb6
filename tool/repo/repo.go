// Package repo classifies a shell line's changes below a git directory, as git sees them, and makes the
// approved ones in the real repository by git itself. The line ran on a layer: nothing that it wrote into a
// git directory is moved into the project. Its refs, indexes and objects are copied into a private git directory,
// whose configuration names no program. Git reads them there, and fetches objects from there.
package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"artoo/tool/environ"
	"artoo/tool/git"
)

// Change is one path below a git directory that the line changed.
type Change struct {
	Path string      // It is absolute and spelled as in Repository.
	Mode fs.FileMode // It is 0 when the path is gone.
	Gone bool
}

// Repository is a repository as it is in the project. Its paths are absolute. Common is
// GitDir, except in a linked work tree; WorkTree is "" in a bare repository.
type Repository struct {
	WorkTree string
	GitDir   string
	Common   string
	Own      environ.Vars // artoo's own variables, by which git is looked up
	Environ  []string     // Git gets them.
}

// WorkTree is the work tree as it will be after landing, and the facts about its
// paths, which have slashes and are relative to its top.
type WorkTree struct {
	// Open opens a file, or the target of a symbolic link as text. An error that is
	// fs.ErrNotExist says that there is nothing.
	Open func(path string) (io.ReadCloser, fs.FileMode, error)
	// Guarded reports whether others run the file. Nil guards nothing.
	Guarded func(path string) bool
	// Ignored reports whether the project's rules ignore the path. Nil ignores nothing.
	Ignored func(path string) bool
	// Hidden reports whether the line could not see the file. Nil hides nothing.
	Hidden func(path string) bool
	// Left are the hidden paths at which the line left a file, which Open opens. Project opens the project's own.
	Left    []string
	Project func(path string) (io.ReadCloser, fs.FileMode, error)
}

var (
	// ErrNoRepository is Open's error where the project holds no repository yet: the
	// line made it, so that there is nothing to compare with.
	ErrNoRepository = errors.New("the repository is not in the project yet")
	// ErrRefStorage is Open's error where refs are stored in another form than files.
	ErrRefStorage = errors.New("the repository stores its refs in a form that artoo cannot compare")
	// ErrStops is Replay's error where a row of Effects stops the line.
	ErrStops = errors.New("git cannot make these changes again")
	// ErrMoved is Replay's error where the repository is no longer as it was in Open.
	ErrMoved = errors.New("the repository changed meanwhile")
)

// Kind is the kind of a row.
type Kind string

// The kinds.
const (
	Special     Kind = "special" // A link, a device or the like is among git's files.
	BadRef      Kind = "bad ref" // The name or value is not valid, the history not whole, or the ref symbolic.
	RefNew      Kind = "ref new"
	RefMoved    Kind = "ref moved"
	RefGone     Kind = "ref gone" // Dropped stash entries have it too.
	Head        Kind = "head"
	Pending     Kind = "pending"  // A merge, cherry-pick or revert is to be finished, or is ended.
	Detached    Kind = "detached" // Only a detached HEAD reached the commits.
	Commit      Kind = "commit"
	Stash       Kind = "stash"        // The entry is new.
	GuardedBlob Kind = "guarded blob" // No ref held the content at this guarded path.
	Staged      Kind = "staged"
	StagedLost  Kind = "staged lost"
	BadEntry    Kind = "bad entry"  // Git would not take the index entry, or the index.
	IndexFlag   Kind = "index flag" // Assume-unchanged or skip-worktree changed.
	Reflog      Kind = "reflog"     // The log is shorter or different.
	Objects     Kind = "objects"    // Files of the object store are changed or gone.
	Config      Kind = "config"
	UnderWay    Kind = "under way" // The state of a rebase or another sequence changed.
	Hidden      Kind = "hidden"    // A tracked file that the line could not see would be lost.
	Unknown     Kind = "unknown"   // Other files of the git directory changed.
)

// Row is one effect.
type Row struct {
	Kind   Kind
	Object string   // It names the ref, path, setting or id.
	Text   string   // It is one line for people, and untrusted.
	Diff   string   // Only a commit that differs from the work tree has one.
	Lines  int      // so many lines that Diff, cut or not, adds and removes; 1<<30 where a part has no lines
	Files  []string // A commit, a stash or a group of files has them.
	Gone   []string // Those of a commit's Files that it removes.
	// Left says that Replay leaves this out.
	Left bool
	// Stops says that the line's other changes would be useless without it, so that nothing may
	// land: the state of a rebase that goes on, or another work tree's or submodule's.
	Stops bool
}

// Effects are those of the changes of a git directory, the strictest first.
type Effects struct {
	Forbidden, Guarded, Loss, Content, Bookkeeping []Row
	Hidden                                         map[string]Version // by paths, as in WorkTree
}

// View is a repository as a line left it. Its methods must not be called concurrently.
type View struct {
	r      Repository
	dir    string                                   // Close removes it.
	open   func(path string) (io.ReadCloser, error) // It opens the new content of a changed file.
	done   bool                                     // The changes are made: the project's files are new, and open opens old ones.
	git    git.Git                                  // It works in the private git directory.
	real   git.Git                                  // It works in the repository.
	format format
	config map[string][]string // The repository's own file has these settings.

	changed map[string]Change // It has regular files and gone paths.
	sorted  sorted
	refs    states
	plan    *plan // Effects makes it.
}

// Open makes a view of the repository as the line left it, in a new directory below
// dir: objects by reference to the real store, beside the line's new objects.
// open opens the new content of a changed regular file. Where no change is below the
// git directory, Open starts no process.
func Open(ctx context.Context, r Repository, dir string, changes []Change,
	open func(path string) (io.ReadCloser, error)) (*View, error) {
	v := &View{r: r, open: open}
	v.sort(changes)
	if v.sorted.empty() {
		return v, nil
	}
	if !v.exists() {
		return nil, ErrNoRepository
	}
	if err := v.load(ctx, dir); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// exists reports whether the project holds the repository.
func (v *View) exists() bool {
	info, err := os.Stat(filepath.Join(v.r.GitDir, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}

// load reads the repository into a new directory below dir.
func (v *View) load(ctx context.Context, dir string) (err error) {
	if v.dir, err = os.MkdirTemp(dir, "git-"); err != nil {
		return err
	}
	if err := v.prepare(ctx); err != nil {
		return err
	}
	for _, path := range v.sorted.objects {
		if err := v.takeObject(ctx, path); err != nil {
			return err
		}
	}
	for _, path := range v.sorted.packs {
		if err := v.takePack(ctx, path); err != nil {
			return err
		}
	}
	if err := v.readRefs(ctx); err != nil {
		return err
	}
	return v.copyIndexes(ctx)
}

// Removed reports whether the line removed the repository and left nothing in its place.
// There is nothing to replay then: its files go as other files do.
func (v *View) Removed() bool { return v.sorted.gone && len(v.sorted.unknown["."]) == 0 }

// Close removes the view.
func (v *View) Close() error {
	if v.dir == "" {
		return nil
	}
	return os.RemoveAll(v.dir)
}

// prepare makes the private git directory.
func (v *View) prepare(ctx context.Context) (err error) {
	// Replace refs are off, so that an object matches its id.
	v.real = git.Git{Own: v.r.Own, Dir: v.dir, Env: append(git.SafeEnviron(v.r.Environ), "GIT_NO_REPLACE_OBJECTS=1", "GIT_ADVICE=0"),
		Flags: []string{"--literal-pathspecs", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.splitIndex=false",
			"-c", "log.showSignature=false", "-c", "core.alternateRefsCommand=:", "-c", "fetch.fsckObjects=true"}}
	v.git = v.real.With("GIT_DIR="+filepath.Join(v.dir, "git"),
		"GIT_WORK_TREE="+filepath.Join(v.dir, "empty"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_ATTR_NOSYSTEM=1")
	// The user's own configuration counts for writing: the reflog has a name.
	v.real = v.real.With("GIT_DIR=" + v.r.GitDir)
	if v.r.WorkTree != "" {
		v.real = v.real.With("GIT_WORK_TREE=" + v.r.WorkTree)
	}
	for _, sub := range []string{"git/refs", "empty"} {
		if err := os.MkdirAll(filepath.Join(v.dir, sub), 0o700); err != nil {
			return err
		}
	}
	objects := filepath.Join(v.r.Common, "objects")
	if strings.ContainsAny(objects, "\n\"") {
		return fmt.Errorf("%q: git cannot refer to objects in a directory of this name", objects)
	}
	// Without a configuration of its own the private directory is SHA-1's.
	err = errors.Join(v.write("git/HEAD", "ref: refs/heads/none\n"), v.write("git/objects/info/alternates", objects+"\n"),
		v.copyFile(ctx, "git/shallow", filepath.Join(v.r.Common, "shallow"), openFile))
	if err != nil {
		return err
	}
	if v.config, err = v.settings(ctx, filepath.Join(v.r.Common, "config")); err != nil {
		return err
	}
	v.format = format{hex: 40}
	settings := "[core]\nrepositoryformatversion = 1\nbare = false\n[uploadpack]\nallowAnySHA1InWant = true\n"
	if strings.EqualFold(v.setting("extensions.objectformat"), "sha256") {
		v.format.hex = 64
		settings += "[extensions]\nobjectformat = sha256\n"
	}
	if name := v.setting("extensions.refstorage"); name != "" && !strings.EqualFold(name, "files") {
		return fmt.Errorf("%w (%s)", ErrRefStorage, name)
	}
	if shared := v.setting("core.sharedrepository"); shared != "" {
		v.git.Flags = append(v.git.Flags, "-c", "core.sharedRepository="+shared)
	}
	return v.write("git/config", settings)
}

// write makes a file of the view, and its directory.
func (v *View) write(name, text string) error {
	path := filepath.Join(v.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// promises reports whether the store may lack objects that a remote promised.
func (v *View) promises() bool {
	for key := range v.config {
		if key == "extensions.partialclone" || strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") {
			return true
		}
	}
	return false
}

const mostText = 256 << 20 // bytes of one file of a git directory that are read into memory

// openFile opens a regular file of the project: a FIFO would not open.
func openFile(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// openOther opens the content of a file on the side that is not the project's.
func (v *View) openOther(path string) (io.ReadCloser, error) {
	change, changed := v.changed[path]
	switch {
	case change.Gone:
		return nil, fs.ErrNotExist
	case changed:
		return v.open(path)
	}
	return openFile(path)
}

// openBefore opens the content of a file of the repository before the line, openAfter the one after it.
func (v *View) openBefore(path string) (io.ReadCloser, error) {
	if v.done {
		return v.openOther(path)
	}
	return openFile(path)
}

func (v *View) openAfter(path string) (io.ReadCloser, error) {
	if v.done {
		return openFile(path)
	}
	return v.openOther(path)
}

// before reads the file of openBefore, after that of openAfter; nil if there is no such file.
func (v *View) before(path string) ([]byte, error) { return readFrom(path, v.openBefore) }

func (v *View) after(path string) ([]byte, error) { return readFrom(path, v.openAfter) }

func readFrom(path string, open func(path string) (io.ReadCloser, error)) ([]byte, error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostText+1))
	if err == nil && len(data) > mostText {
		err = fmt.Errorf("%s: more than %d MB", path, mostText>>20)
	}
	return data, err
}
