package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Changes are the changes a command made on a layer. They hold the layer until Discard;
// those not applied elsewhere are gone then. Reading them needs no care for links
// in the layer, since nothing writes to it any more.
type Changes struct {
	Entries []Change // sorted by path, without the project's caches; a directory precedes its content
	stays   []string
	room    string   // the directory of the layer
	roots   []string // the writable directories, each with a directory of the layer
	// layer is nil once it was given up, or where its owner gives it up.
	layer interface {
		keepCaches() error
		Discard() error
	}
}

// List returns the Entries.
func (c *Changes) List() []Change { return c.Entries }

// Stays lists absolute paths that the command could not see in directories that it removed.
func (c *Changes) Stays() []string { return c.stays }

// Open opens the new content of a regular file that Entries lists by this path.
func (c *Changes) Open(path string) (*os.File, error) {
	file, mode := c.find(path)
	if file == "" || !mode.IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	return os.Open(file)
}

// Path is where the layer has the new file of an entry's path: a file, a directory or
// a link; "" where nothing is. Where the layer lies on the project's file system it can
// be moved from there into the project.
func (c *Changes) Path(path string) string {
	file, _ := c.find(path)
	return file
}

func (c *Changes) find(path string) (file string, mode fs.FileMode) {
	i, found := slices.BinarySearchFunc(c.Entries, path, func(e Change, path string) int { return strings.Compare(e.Path, path) })
	if !found || c.Entries[i].Kind == Deleted {
		return "", 0
	}
	e := c.Entries[i]
	return filepath.Join(c.room, upperName(slices.Index(c.roots, e.Dir)), e.Path[len(e.Dir):]), e.Mode
}

func upperName(root int) string { return "upper" + strconv.Itoa(root) }

// Discard gives the layer up. With keepCaches, the files that the command left in caches stay for the next one: of the
// user's in artoo's own directories, of the project's in Config.Kept. A file that another command has left there
// meanwhile stays if it is newer. Caches stay only in directories that the project has by now. Further calls do nothing.
func (c *Changes) Discard(keepCaches bool) (err error) {
	layer := c.layer
	if c.layer = nil; layer == nil {
		return nil
	}
	if keepCaches {
		err = layer.keepCaches()
	}
	return errors.Join(err, layer.Discard())
}

// Kind is the kind of a change.
type Kind string

// The kinds. A renamed directory is a deleted and a created one.
const (
	Created  Kind = "created"
	Modified Kind = "modified" // the content, and maybe the mode
	Mode     Kind = "mode"     // the mode alone
	Replaced Kind = "replaced" // The type has changed.
	Deleted  Kind = "deleted"
)

// Change is one path that differs between the layer and the tree below.
type Change struct {
	Path   string // absolute
	Dir    string // the writable directory that it lies in: the project's root or another
	Kind   Kind
	Mode   fs.FileMode // type and permission bits now; those before for Deleted
	Size   int64
	Target string
	// Special says that it is a device, FIFO, socket, or setuid or setgid program: never applied.
	Special bool
	// Hidden says that the command could not see the file there below: never to be applied.
	Hidden bool
	Before Before
	// Output is the directory of build output that the path belongs to, in any words; ""
	// for none. The judgement of the changes sets it.
	Output string
	// Checked says that the judgement found no hidden file at the path, so that no one has to look again.
	Checked bool
}

// Before describes the file there below the layer, to be compared before a change is applied.
type Before struct {
	Mode    fs.FileMode
	Size    int64
	Target  string
	Inode   uint64
	Changed time.Time // ctime
	// Moved says that it changed or went after the command began: the layer may be of neither state.
	Moved bool
}

// Exists reports whether there was anything.
func (b Before) Exists() bool { return b.Inode != 0 }
