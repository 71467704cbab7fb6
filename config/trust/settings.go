// Package trust knows the files of a repository that a program would obey, such as settings, hooks
// and servers, and which of them the user trusts: by the project's path and the content, so that a
// change is not trusted. It also knows which projects may run their own programs, by the path
// alone. It runs and prints nothing.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"artoo/tool/atomicfile"
	"artoo/tool/text"
)

// These bound settings that can be trusted, in bytes and entries: no user reads more.
const (
	mostBytes    = 16 << 20 // one file's
	mostTogether = 64 << 20
	mostEntries  = 20_000
	mostShown    = 1 << 20 // a file's whose content is kept
	mostKept     = 16 << 20
)

// File is one file that a repository brings.
type File struct {
	Name string // below the project's root, with slashes
	Sum  string // SHA-256 of where a link leads and of the content, in hex
	Size int    // bytes
	Data []byte // the summed content; nil for a dangling link and for a file that is too large to be shown
}

// Settings holds the settings files of a repository.
type Settings struct {
	Root  string
	Files []File // sorted by name
}

// Find reads the files of the project at root, an absolute path, under these names: own only in
// the root, others in each directory from there down to dir. The error, a *RefusedError except
// for trouble with root, is of a link out of the project, something that is no file, or too much.
func Find(root, dir string, own []string, others []string) (Settings, error) {
	b := Settings{Root: root}
	at, err := os.OpenRoot(root)
	if err != nil {
		return b, err
	}
	defer at.Close()
	w := walk{root: at}
	for _, below := range down(root, dir) {
		names := others
		if below == "." {
			names = slices.Concat(own, others)
		}
		for _, name := range names {
			name := path.Join(below, name)
			info, err := at.Lstat(name)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue
			}
			if err == nil {
				err = w.take(at, name, info)
			} else {
				err = &RefusedError{name, "cannot be read: " + reason(err)}
			}
			if err != nil {
				return b, err
			}
		}
	}
	slices.SortStableFunc(w.files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	b.Files = slices.CompactFunc(w.files, func(a, b File) bool { return a.Name == b.Name })
	return b, nil
}

// down are the directories from root to dir, relative to root, with slashes.
func down(root, dir string) []string {
	dirs := []string{"."}
	rel, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return dirs
	}
	at := ""
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		at = path.Join(at, part)
		dirs = append(dirs, at)
	}
	return dirs
}

// RefusedError is of a file for which a repository cannot be trusted.
type RefusedError struct {
	Name string // below the project's root
	Why  string // "is a link that leads out of the project"
}

// Error is name and reason.
func (e *RefusedError) Error() string { return e.Name + " " + e.Why }

// walk collects files.
type walk struct {
	root    *os.Root
	files   []File
	entries int
	bytes   int64
	kept    int // bytes of content that is kept
}

// take adds the file or directory of a name, with all below it; info is its own. It is looked at in
// the directory at, by its last name, unless it is a link, which is followed from the root.
func (w *walk) take(at *os.Root, name string, info fs.FileInfo) (err error) {
	refuse := func(why string) error { return &RefusedError{name, why} }
	base := name
	if at != w.root {
		base = path.Base(name)
	}
	if w.entries++; w.entries > mostEntries {
		return refuse(fmt.Sprintf("exceeds the limit of %d entries", mostEntries))
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = at.Readlink(base); err != nil {
			return refuse("cannot be read: " + reason(err))
		}
		at, base = w.root, name
		info, err = at.Stat(base)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			w.add(File{Name: name}, link, nil)
			return nil
		case errors.Is(err, syscall.ELOOP):
			return refuse("is a link that leads to itself")
		case err != nil: // os.Root follows no other
			return refuse("is a link that leads out of the project")
		}
	}
	switch {
	case info.IsDir():
		return w.takeDir(at, base, name)
	case !info.Mode().IsRegular():
		return refuse("is neither a file nor a directory")
	}
	return w.takeFile(at, base, name, link)
}

// takeDir adds all that is in a directory.
func (w *walk) takeDir(at *os.Root, base, name string) error {
	refuse := func(err error) error { return &RefusedError{name, "cannot be read: " + reason(err)} }
	dir, err := at.OpenRoot(base)
	if err != nil {
		return refuse(err)
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return refuse(err)
	}
	for _, e := range entries {
		if path.Base(name) == ".claude" && e.Name() == "worktrees" {
			continue // whole checkouts, which claude makes there and takes no settings from
		}
		info, err := e.Info() // A Root's entries have theirs.
		if err != nil {
			return refuse(err)
		}
		if err := w.take(dir, path.Join(name, e.Name()), info); err != nil {
			return err
		}
	}
	return nil
}

// takeFile adds a regular file, which is read once. The content of a small one is kept.
func (w *walk) takeFile(at *os.Root, base, name, link string) error {
	// O_NONBLOCK: opening a file that has just become a FIFO does not wait for its writer.
	f, err := at.OpenFile(base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return &RefusedError{name, "cannot be read: " + reason(err)}
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
		return &RefusedError{name, "is neither a file nor a directory"}
	case info.Size() > mostBytes:
		return &RefusedError{name, "is larger than 16 MiB, too much to look through"}
	}
	data := make([]byte, info.Size()+1) // The last byte is for the end.
	n, err := io.ReadFull(f, data)
	switch {
	case err == nil:
		return &RefusedError{name, "grows while it is read"}
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return &RefusedError{name, "cannot be read: " + reason(err)}
	}
	data = data[:n]
	if w.bytes += int64(len(data)); w.bytes > mostTogether {
		return &RefusedError{name, "exceeds 64 MiB together with the other files"}
	}
	w.add(File{Name: name, Size: len(data)}, link, data)
	return nil
}

// add adds a file with its sum; nil data is of a link that leads nowhere.
func (w *walk) add(file File, link string, data []byte) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %t\n", link, data == nil)
	sum.Write(data)
	file.Sum = hex.EncodeToString(sum.Sum(nil))
	if len(data) <= mostShown && w.kept+len(data) <= mostKept {
		file.Data = data
		w.kept += len(data)
	}
	w.files = append(w.files, file)
}

// reason is an error without operation and path.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err.Error()
}

// Sum is one number for names and contents, in hex.
func (b Settings) Sum() string {
	sum := sha256.New()
	for _, f := range b.Files {
		fmt.Fprintf(sum, "%q %s\n", f.Name, f.Sum)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Data is the content of a file; nil where it is not among the settings.
func (b Settings) Data(name string) []byte {
	at := slices.IndexFunc(b.Files, func(f File) bool { return f.Name == name })
	if at < 0 {
		return nil
	}
	return b.Files[at].Data
}

// Under reports whether the file has one of these names, or lies in a directory that has, wherever that is.
func (f File) Under(names []string) bool {
	return slices.ContainsFunc(strings.Split(f.Name, "/"), func(part string) bool { return slices.Contains(names, part) })
}

// Sums are the sums by name.
func (b Settings) Sums() map[string]string {
	sums := map[string]string{}
	for _, f := range b.Files {
		sums[f.Name] = f.Sum
	}
	return sums
}

// Changes compares the settings with earlier sums: "NAME is new", "has changed", "is gone".
func (b Settings) Changes(before map[string]string) (changes []string) {
	now := b.Sums()
	for _, f := range b.Files {
		switch sum, there := before[f.Name]; {
		case !there:
			changes = append(changes, f.Name+" is new")
		case sum != f.Sum:
			changes = append(changes, f.Name+" has changed")
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			changes = append(changes, name+" is gone")
		}
	}
	slices.Sort(changes)
	return changes
}

// mostAnswers is how many contents of one project are remembered, so that changing branches asks
// rarely.
const mostAnswers = 20

// mostNamed is how many files an answer that nothing is compared with may name: every start of artoo
// reads them all.
const mostNamed = 200

// storeVersion is of the file.
const storeVersion = 1

// Answer is the user's answer about a project's settings.
type Answer struct {
	Root    string            `json:"root"`
	Trusted bool              `json:"trusted"`
	Sum     string            `json:"sum"`
	Files   map[string]string `json:"files"` // their sums, by name; nil for an earlier one of very many
	At      time.Time         `json:"at"`
}

// Programs is a project, by its path, whose own programs may run in the sandbox without a question.
type Programs struct {
	Root string    `json:"root"`
	At   time.Time `json:"at"`
}

// Store is the file of the answers, which lies outside every project.
type Store struct{ Path string }

// Answers are all that the store keeps.
type Answers struct {
	Version int `json:"v"`
	// Settings are those about projects' settings, Programs the projects that may run their own programs, each the
	// oldest first. An artoo that does not know Programs drops them.
	Settings []Answer   `json:"answers"`
	Programs []Programs `json:"programs,omitempty"`
	// Approvals are answers about servers and hooks, the oldest first.
	Approvals []Approval `json:"extensions,omitempty"`
}

// TrustsPrograms reports whether the project at root may run its own programs.
func (s Store) TrustsPrograms(root string) (bool, error) {
	c, err := s.Read()
	return c.has(root), err
}

// TrustPrograms remembers that the project at root may run its own programs.
func (s Store) TrustPrograms(root string, at time.Time) error {
	c, err := s.Read()
	if err != nil || c.has(root) {
		return err
	}
	c.Programs = append(c.Programs, Programs{Root: root, At: at})
	return s.write(c)
}

// RevokePrograms forgets that permission, and reports whether the project at root had it.
func (s Store) RevokePrograms(root string) (bool, error) {
	c, err := s.Read()
	if err != nil || !c.has(root) {
		return false, err
	}
	c.Programs = slices.DeleteFunc(c.Programs, func(p Programs) bool { return p.Root == root })
	return true, s.write(c)
}

func (c Answers) has(root string) bool {
	return slices.ContainsFunc(c.Programs, func(p Programs) bool { return p.Root == root })
}

// Read reads all answers; there are none without a file.
func (s Store) Read() (Answers, error) {
	data, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // no such file either
		return Answers{}, nil
	}
	var c Answers
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err == nil && c.Version != storeVersion {
		err = fmt.Errorf("its version is %d, and this artoo knows %d", c.Version, storeVersion)
	}
	if err != nil {
		return Answers{}, fmt.Errorf("the list of trusted files cannot be read: %w", text.Misread(err))
	}
	return c, nil
}

// Of is the answer to a project's present settings, nil for none, and the newest that trusts
// anything of it.
func (c Answers) Of(b Settings) (now, trusted *Answer) {
	sum := b.Sum()
	for i := range c.Settings {
		a := &c.Settings[i]
		if a.Root == b.Root && a.Sum == sum {
			now = a
		}
		if a.Root == b.Root && a.Trusted {
			trusted = a
		}
	}
	return now, trusted
}

// Keep remembers an answer to a project's settings.
func (s Store) Keep(b Settings, trusted bool, at time.Time) error {
	c, err := s.Read()
	if err != nil {
		return err
	}
	sum := b.Sum()
	answers := without(c.Settings, mostAnswers, func(a Answer) (bool, bool) { return a.Root == b.Root, a.Sum == sum })
	now := Answer{Root: b.Root, Trusted: trusted, Sum: sum, Files: b.Sums(), At: at}
	if len(now.Files) > mostNamed && !trusted {
		now.Files = nil
	}
	for i, a := range answers {
		if a.Root == b.Root && trusted && len(a.Files) > mostNamed {
			answers[i].Files = nil // Changes are shown against the newest that is trusted.
		}
	}
	c.Settings = append(answers, now)
	return s.write(c)
}

// without is a list without the answer that a new one of the same project replaces, and with room for that: at most so
// many of a project are remembered.
func without[T any](list []T, most int, compare func(T) (ofRoot, same bool)) []T {
	ofRoot := 0
	list = slices.DeleteFunc(list, func(a T) bool {
		of, same := compare(a)
		if of && !same {
			ofRoot++
		}
		return of && same
	})
	if ofRoot >= most {
		oldest := slices.IndexFunc(list, func(a T) bool { of, _ := compare(a); return of })
		list = slices.Delete(list, oldest, oldest+1)
	}
	return list
}

// Revoke forgets all answers about a project's settings, its servers and hooks, and says how many there were.
func (s Store) Revoke(root string) (int, error) {
	c, err := s.Read()
	if err != nil {
		return 0, err
	}
	all := len(c.Settings) + len(c.Approvals)
	c.Settings = slices.DeleteFunc(c.Settings, func(a Answer) bool { return a.Root == root })
	c.Approvals = slices.DeleteFunc(c.Approvals, func(a Approval) bool { return a.Root == root })
	left := len(c.Settings) + len(c.Approvals)
	if left == all {
		return 0, nil
	}
	return all - left, s.write(c)
}

// write replaces the file in one step; only its owner can read it.
func (s Store) write(c Answers) error {
	c.Version = storeVersion
	data, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.Path, append(data, '\n'), 0o600)
}
