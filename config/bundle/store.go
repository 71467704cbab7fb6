package bundle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"artoo/tool/atomicfile"
	"artoo/tool/git"
	"artoo/tool/text"
)

// These bound a bundle: no user reads more, and its content is hashed at each start.
const (
	mostEntries  = 5000
	mostBytes    = 4 << 20 // a file's
	mostTogether = 32 << 20
)

// Store is the directory of the bundles, artoo's own.
type Store struct{ Dir string }

// staging begins the names of directories with bundles not approved yet.
const staging = ".new-"

// Fetch copies a bundle from a directory or a git repository, for the user to look at. done removes
// the copy, unless Keep took it. git runs no program that the repository names.
func (s Store) Fetch(ctx context.Context, environ []string, source, ref string) (b Bundle, done func(), err error) {
	done = func() {}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return b, done, err
	}
	root, err := os.MkdirTemp(s.Dir, staging)
	if err != nil {
		return b, done, err
	}
	done = func() { _ = os.RemoveAll(root) } // a copy that stays is swept with the next one
	s.sweep(root)
	b = Bundle{Record: Record{Source: source, Ref: ref}, Root: root}
	from, part := splitPart(source)
	address := from
	if IsAddress(from) {
		clone := filepath.Join(root, ".clone")
		if b.Commit, err = checkout(ctx, environ, clone, from, ref); err != nil {
			return b, done, wrong(source, "cannot be fetched: "+err.Error(), "check the address and the ref, or clone it and name the directory", err)
		}
		from = clone
	} else if ref != "" {
		return b, done, wrong(source, "a directory has no ref", "an address such as file://"+source+"@"+ref, nil)
	}
	from, entry, err := partOf(from, part, address, ref)
	if err != nil {
		return b, done, err
	}
	files, err := readTree(from)
	if err != nil {
		return b, done, wrong(source, err.Error(), "check the path, or report a faulty bundle to its author", err)
	}
	files = withManifest(files, entry)
	if err := os.RemoveAll(filepath.Join(root, ".clone")); err != nil {
		return b, done, err
	}
	for _, f := range files {
		at := filepath.Join(root, filepath.FromSlash(f.Name))
		mode := fs.FileMode(0o600)
		if f.Exec {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return b, done, err
		}
		if err := os.WriteFile(at, f.Data, mode); err != nil {
			return b, done, err
		}
	}
	b.Files, b.Sum = files, sum(files)
	return b, done, b.read()
}

// sweep removes copies that killed runs left; one that another run looks at is younger than a day.
func (s Store) sweep(own string) {
	found, _ := filepath.Glob(filepath.Join(s.Dir, staging+"*")) // the pattern is well formed
	for _, dir := range found {
		if info, err := os.Stat(dir); err == nil && dir != own && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir) // the next one tries again
		}
	}
}

// IsAddress reports whether a source is a git repository's address, not a directory.
func IsAddress(source string) bool {
	return strings.Contains(source, "://") || scpLike().MatchString(source)
}

var scpLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:`)
})

// splitPart takes #PART from the end of a source: a directory in it, or a plugin that its marketplace lists.
func splitPart(source string) (from, part string) {
	if _, err := os.Stat(source); err == nil { // a directory may have such a name
		return source, ""
	}
	from, part, _ = strings.Cut(source, "#")
	return from, part
}

// SplitRef takes @REF from the end of an address, before #PART.
func SplitRef(source string) (address, ref string) {
	if before, part, ok := strings.Cut(source, "#"); ok {
		address, ref = SplitRef(before)
		return address + "#" + part, ref
	}
	if !IsAddress(source) {
		return source, ""
	}
	begin := len(scpLike().FindString(source))
	if i := strings.Index(source, "://"); i >= 0 {
		begin = i + len("://")
		begin += max(0, strings.IndexByte(source[begin:], '/'))
	}
	if i := strings.LastIndexByte(source[begin:], '@'); i > 0 && source[begin+i-1] != '/' { // A part of the path may begin with @.
		return source[:begin+i], source[begin+i+1:]
	}
	return source, ""
}

// refName is a branch, a tag or a commit; git would take one with a dash for an option.
var refName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+-]*$`)
})

// checkout has git fetch a commit, alone, into a new directory.
func checkout(ctx context.Context, environ []string, dir, address, ref string) (commit string, err error) {
	if ref != "" && !refName().MatchString(ref) {
		return "", fmt.Errorf("%q is not a ref", ref)
	}
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return "", errors.New("the address holds a password, which would be kept")
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	g := git.Git{Dir: dir, Env: git.SafeEnviron(environ), Flags: []string{"-c", "init.templateDir=", "-c", "advice.detachedHead=false"}}
	g = g.With("GIT_ALLOW_PROTOCOL=https:http:ssh:git:file")
	for _, protocol := range []string{"https", "http", "ssh", "git", "file"} {
		g.Flags = append(g.Flags, "-c", "protocol."+protocol+".allow=always")
	}
	// The repository picks filters by their names, and the user's configuration says which programs those
	// are. Fetching alone needs that configuration, for proxies and credentials.
	bare := g.With("GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if err := bare.Do(ctx, "init", "--quiet"); err != nil {
		return "", err
	}
	if err := g.Do(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", address, cmp.Or(ref, "HEAD")); err != nil {
		return "", err
	}
	if err := bare.Do(ctx, "checkout", "--quiet", "--detach", "FETCH_HEAD"); err != nil {
		return "", err
	}
	err = bare.Run(ctx, nil, '\n', func(line string) error { commit = line; return nil }, "rev-parse", "HEAD")
	return commit, err
}

// readTree reads all files of a directory except for git's. The error names a file.
func readTree(dir string) (files []File, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, bytes := 0, 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch entries++; {
		case err != nil:
			return err
		case path.Base(name) == ".git" && d.IsDir():
			return fs.SkipDir
		case path.Base(name) == ".git": // a work tree elsewhere has it
			return nil
		case entries > mostEntries:
			return fmt.Errorf("%s exceeds the limit of %d entries", name, mostEntries)
		case d.IsDir():
			return nil
		}
		info, err := root.Stat(name) // a link that leads out of the directory is an error
		if err != nil {
			return fmt.Errorf("%s is a link that leads out of the bundle, or nowhere", name)
		}
		if info.IsDir() { // a link to a directory of the bundle, which is copied by its own name
			return nil
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", name)
		}
		// O_NONBLOCK: opening a file that has just become a FIFO does not wait for its writer.
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
		switch err = errors.Join(err, f.Close()); {
		case err != nil:
			return err
		case len(data) > mostBytes:
			return fmt.Errorf("%s is larger than %s", name, text.Bytes(mostBytes))
		}
		if bytes += len(data); bytes > mostTogether {
			return fmt.Errorf("%s exceeds %s together with the other files", name, text.Bytes(mostTogether))
		}
		files = append(files, File{Name: name, Exec: info.Mode()&0o100 != 0, Data: data})
		return nil
	})
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

func sum(files []File) string {
	whole := sha256.New()
	for _, f := range files {
		fmt.Fprintf(whole, "%q %t %x\n", f.Name, f.Exec, sha256.Sum256(f.Data))
	}
	return hex.EncodeToString(whole.Sum(nil))
}

// Keep puts an approved copy in force, in place of an earlier version.
func (s Store) Keep(b Bundle, now time.Time) error {
	b.Added = now
	data, err := json.MarshalIndent(b.Record, "", "\t")
	if err != nil {
		return err
	}
	// A record of another content makes the bundle unused, so a kill in between puts nothing in force.
	if err := os.RemoveAll(s.root(b.Name)); err != nil {
		return err
	}
	if err := os.Rename(b.Root, s.root(b.Name)); err != nil {
		return err
	}
	return atomicfile.Write(s.record(b.Name), append(data, '\n'), 0o600)
}

func (s Store) root(name string) string   { return filepath.Join(s.Dir, name) }
func (s Store) record(name string) string { return filepath.Join(s.Dir, name+".json") }

// Names are the bundles that the user added, in alphabetical order.
func (s Store) Names() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && ValidName(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// Open reads a bundle that the user added. The error, an *Error, is of one that is missing, or whose content is not the
// approved one; then the record counts.
func (s Store) Open(name string) (b Bundle, err error) {
	if !ValidName(name) {
		return b, wrong("bundle "+name, "no such bundle", "artoo bundle list", nil)
	}
	data, err := os.ReadFile(s.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		return b, wrong("bundle "+name, "no such bundle", "artoo bundle list", err)
	}
	if err == nil {
		err = json.Unmarshal(data, &b.Record)
	}
	again := "artoo bundle rm " + name + ", and add it again"
	if err != nil || b.Name != name {
		return b, wrong("bundle "+name, "its record cannot be read", again, err)
	}
	dir, err := filepath.EvalSymlinks(s.Dir) // The sandbox shows it there, without the links that lead to it.
	if err != nil {
		return b, err
	}
	b.Root = filepath.Join(dir, name)
	record := b.Record
	if b.Files, err = readTree(b.Root); err != nil {
		return b, wrong("bundle "+name, "not used: "+err.Error(), again, err)
	}
	if sum(b.Files) != b.Sum {
		return b, wrong("bundle "+name, "not used: its content has changed since you approved it", "artoo bundle update "+name, nil)
	}
	err = b.read()
	b.Record = record
	return b, err
}

// Remove forgets a bundle and removes its copy.
func (s Store) Remove(name string) error {
	if err := os.Remove(s.record(name)); err != nil {
		return err
	}
	return os.RemoveAll(s.root(name))
}

// Changes compares two versions of a bundle file by file; before or after is nil where there is none.
func Changes(before, after Bundle, each func(name string, before, after *File) error) error {
	var names []string
	for _, f := range slices.Concat(before.Files, after.Files) {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, now := before.file(name), after.file(name)
		if old != nil && now != nil && string(old.Data) == string(now.Data) && old.Exec == now.Exec {
			continue
		}
		if err := each(name, old, now); err != nil {
			return err
		}
	}
	return nil
}
