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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"artoo/tool/environ"
	"artoo/tool/git"
)

// Change is one path below a git directory that the line changed.
type Change struct {
	Path string      // It is absolute and spelled as in Repository.
	Mode fs.FileMode // It does not count when the path is gone.
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

// WorkTree is the work tree as it will be after landing. Its paths have slashes and are relative to its top.
type WorkTree interface {
	// Open opens a file, or the target of a symbolic link as text. An error that is
	// fs.ErrNotExist says that there is nothing.
	Open(path string) (io.ReadCloser, fs.FileMode, error)
	// Guarded reports whether others run the file.
	Guarded(path string) bool
	// Ignored reports whether the project's rules ignore the path.
	Ignored(path string) bool
	// Hidden reports whether the line could not see the file.
	Hidden(path string) bool
	// Left are the hidden paths at which the line left a file, which Open opens. Project opens the project's own.
	Left() []string
	Project(path string) (io.ReadCloser, fs.FileMode, error)
}

// noTree is a work tree of which nothing is known.
type noTree struct{ WorkTree }

func (noTree) Guarded(string) bool { return false }
func (noTree) Ignored(string) bool { return false }
func (noTree) Hidden(string) bool  { return false }
func (noTree) Left() []string      { return nil }

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
	done   bool                                     // The project's files are new already, and open opens old ones.
	git    git.Git                                  // It works in the private git directory.
	real   git.Git                                  // It works in the repository.
	format format
	config map[string][]string // The repository's own file has these settings.

	changed map[string]Change    // It has regular files and gone paths.
	sorted  map[subject][]string // The names are relative to the git directory.
	unknown map[string][]string  // The keys are directories or files of the git directory.
	special []Change             // They are links, devices and the like.
	refs    states
	judged  map[string][]byte // Effects has read these files of the project; nil is no file.
	plan    *plan             // Effects makes it.
	err     error             // After the first failure nothing more is read, asked or done.
}

// Open makes a view of the repository as the line left it, in a new directory below
// dir: objects by reference to the real store, beside the line's new objects.
// open opens the new content of a changed regular file. Where no change is below the
// git directory, Open starts no process.
func Open(ctx context.Context, r Repository, dir string, changes []Change,
	open func(path string) (io.ReadCloser, error)) (*View, error) {
	v := newView(r, changes, open)
	if v.empty() {
		return v, nil
	}
	if !v.exists() {
		return nil, ErrNoRepository
	}
	if v.load(ctx, dir); v.err != nil {
		return nil, errors.Join(v.err, v.Close())
	}
	return v, nil
}

func newView(r Repository, changes []Change, open func(path string) (io.ReadCloser, error)) *View {
	v := &View{r: r, open: open, plan: &plan{stops: true}, changed: map[string]Change{},
		sorted: map[subject][]string{}, unknown: map[string][]string{},
		judged: map[string][]byte{}}
	for _, c := range changes {
		v.sort(c)
	}
	return v
}

func (v *View) empty() bool { return len(v.sorted)+len(v.unknown)+len(v.special) == 0 }

// exists reports whether the project holds the repository.
func (v *View) exists() bool {
	info, err := os.Stat(v.own("HEAD"))
	return err == nil && info.Mode().IsRegular()
}

// Removed reports whether the line removed the repository and left nothing in its place.
// There is nothing to replay then: its files go as other files do.
func (v *View) Removed() bool { return v.sorted[removed] != nil && v.sorted[replaced] == nil }

// Close removes the view.
func (v *View) Close() error { return os.RemoveAll(v.dir) }

// load reads the repository into a new directory below dir.
func (v *View) load(ctx context.Context, dir string) {
	v.prepare(ctx, dir)
	for _, name := range v.sorted[objects] {
		v.takeObject(ctx, name)
	}
	for _, name := range v.sorted[packs] {
		v.takePack(ctx, name)
	}
	v.readRefs(ctx)
	v.copyIndexes()
}

// prepare makes the private git directory, in a new directory below dir.
func (v *View) prepare(ctx context.Context, dir string) {
	v.dir, v.err = os.MkdirTemp(dir, "git-")
	// Replace refs are off, so that an object matches its id.
	v.real = git.Git{Own: v.r.Own, Dir: v.dir,
		Env: append(git.SafeEnviron(v.r.Environ), "GIT_NO_REPLACE_OBJECTS=1", "GIT_ADVICE=0"),
		Flags: []string{"--literal-pathspecs", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
			"-c", "core.splitIndex=false", "-c", "log.showSignature=false",
			"-c", "core.alternateRefsCommand=:", "-c", "fetch.fsckObjects=true"}}
	v.git = v.real.With("GIT_DIR="+filepath.Join(v.dir, "git"),
		"GIT_WORK_TREE="+filepath.Join(v.dir, "empty"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_ATTR_NOSYSTEM=1")
	// The user's own configuration counts for writing: the reflog has a name.
	v.real = v.real.With("GIT_DIR="+v.r.GitDir, "GIT_WORK_TREE="+v.r.WorkTree)
	// Without a configuration of its own the private directory is SHA-1's.
	v.write("git/HEAD", []byte("ref: refs/heads/none\n"))
	v.write("git/refs/.kept", nil)
	v.write("git/objects/info/alternates", []byte(git.Quote(v.path("objects"))+"\n"))
	v.write("empty/.kept", nil)
	v.copy("git/shallow", v.path("shallow"), v.done)
	v.copy("config", v.path("config"), v.done)
	v.config, _ = v.settings(ctx, "config")
	v.format = format{hex: 40}
	settings := "[core]\nrepositoryformatversion = 1\nbare = false\n[uploadpack]\nallowAnySHA1InWant = true\n"
	if strings.EqualFold(v.setting("extensions.objectformat"), "sha256") {
		v.format.hex = 64
		settings += "[extensions]\nobjectformat = sha256\n"
	}
	if name := v.setting("extensions.refstorage"); v.err == nil && name != "" && !strings.EqualFold(name, "files") {
		v.err = fmt.Errorf("%w (%s)", ErrRefStorage, name)
	}
	if shared := v.setting("core.sharedrepository"); shared != "" {
		v.git.Flags = append(v.git.Flags, "-c", "core.sharedRepository="+shared)
	}
	v.write("git/config", []byte(settings))
}

// run has git work. Input may be nil; each gets the pieces of the output that end with sep, and may be nil too.
func (v *View) run(ctx context.Context, g git.Git, input io.Reader, sep byte, each func(piece string), args ...string) {
	v.err = v.try(ctx, g, input, sep, each, args...)
}

// ask is run where git's exit status is the answer.
func (v *View) ask(ctx context.Context, g git.Git, input io.Reader, sep byte, each func(piece string),
	args ...string) (yes bool) {
	err := v.try(ctx, g, input, sep, each, args...)
	if ctx.Err() != nil || !errors.As(err, new(*exec.ExitError)) {
		v.err = err
	}
	return err == nil
}

// try does nothing after a failure.
func (v *View) try(ctx context.Context, g git.Git, input io.Reader, sep byte, each func(piece string),
	args ...string) error {
	if v.err != nil {
		return v.err
	}
	return g.Run(ctx, input, sep, func(piece string) error {
		if each != nil {
			each(piece)
		}
		return v.err
	}, args...)
}

func lines(list []string) io.Reader { return strings.NewReader(strings.Join(append(list, ""), "\n")) }

// write makes a file of the view, and its directory.
func (v *View) write(name string, data []byte) {
	path := filepath.Join(v.dir, filepath.FromSlash(name))
	if v.err == nil {
		v.err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
	}
}

// promises reports whether the store may lack objects that a remote promised.
func (v *View) promises() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(v.config)), func(key string) bool {
		return key == "extensions.partialclone" ||
			strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor")
	})
}

// own is the path of a file of the work tree's own git directory.
func (v *View) own(name string) string { return filepath.Join(v.r.GitDir, filepath.FromSlash(name)) }

// path is that of a file which work trees share.
func (v *View) path(name string) string { return filepath.Join(v.r.Common, filepath.FromSlash(name)) }

// copy copies a file into the view; one that is not there is left out.
func (v *View) copy(name, path string, after bool) {
	if data := v.read(path, after); data != nil {
		v.write(name, data)
	}
}

const mostText = 256 << 20 // bytes of one file of a git directory that are read into memory

// read reads a regular file as the line left it, or as it was before; nil if there is no such file.
func (v *View) read(path string, after bool) []byte {
	var f io.ReadCloser
	change, changed := v.changed[path]
	info, err := os.Stat(path)
	switch other := changed && after != v.done; {
	case v.err != nil, other && change.Gone, !other && (errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, syscall.ENOTDIR) || err == nil && !info.Mode().IsRegular()):
		return nil
	case other:
		f, err = v.open(path)
	case err == nil:
		f, err = os.Open(path)
	}
	if v.err = err; err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostText+1))
	if len(data) > mostText {
		err = fmt.Errorf("%s: more than %d MB", path, mostText>>20)
	}
	v.err = err
	return data
}

// before reads a file of the project, which must be the same when Replay begins; after reads it as the line left it.
func (v *View) before(path string) []byte {
	v.judged[path] = v.read(path, false)
	return v.judged[path]
}

func (v *View) after(path string) []byte { return v.read(path, true) }
