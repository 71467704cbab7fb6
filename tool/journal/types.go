// Package journal keeps the files of a project as they were before each change, so that a turn can be taken
// back without git, and applies the changes of a throwaway layer.
//
// A journal belongs to one session and one project. Files change within a [Step]: a tool names the paths beforehand
// ([Step.Before]), a shell command has the whole project looked at ([Step.Snapshot]), and [Step.End] records the
// outcome. [Journal.Plan] describes the undo of the last turns, and [Journal.Apply] makes it.
//
// Nothing is ever between two states: each change is written down first, and [Open] undoes or finishes the change of a
// killed process. docs/undo.md describes the files.
package journal

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Config names a journal's project. Dir and Root are required.
type Config struct {
	// Dir is the journal's own directory, outside the project; it is made
	// with mode 0700 when something is first written. [Dir] names one.
	Dir string
	// Root is the project, absolute and without links. Nothing outside it, and of
	// the directories of Added, is kept or restored.
	Root string
	// Added are directories outside the project, absolute and without links, that artoo
	// may also write to.
	Added []string
	// Locks is a directory for the locks that order the landings of all journals which
	// name it; "" is Dir, for one that no other journal shares a project with. It is
	// made with mode 0700.
	Locks string
	// Denied reports whether the file at the path, relative to Root with
	// slashes or absolute, must not be copied. Nil denies nothing. It may be called from
	// several goroutines.
	Denied func(path string) bool
	// Ignored lists the paths that git ignores, relative to Root with slashes; a
	// directory, which stands for all below it, ends in a slash. It is called
	// from a goroutine of its own while the project is looked at; until it has
	// answered for the first time nothing is ignored. Nil ignores nothing.
	Ignored func(ctx context.Context) ([]string, error)
	// Head says where the repository stands, in any words that change when it moves (the commit and the branch), and
	// the operation under way in it ("rebase", "merge"), "" for none. Nil: there is no repository.
	Head func() (head, busy string)
	// Merges reports whether the content of a path, absolute, is changed in parts that can be undone one by one, as the
	// index of a repository. Merge makes in such a file, which holds now, the changes that lead from one content to
	// another, and names the parts that have another value by now and stay. A nil content is no file. Merges is nil
	// where there is none.
	Merges func(path string) bool
	Merge  func(ctx context.Context, path string, from, to, now []byte) (merged []byte, left []string, err error)
	// MaxFile is the size in bytes above which Snapshot leaves a file out; 0: 1 MB.
	MaxFile int64
	// MaxSession is how many bytes of contents are kept in all; 0: 512 MB. Kept contents are never discarded for it.
	MaxSession int64
	// Budget is how long Snapshot may take; 0: 300 ms.
	Budget time.Duration
}

// Abs is a path of a change or lack in the project at root as an absolute one.
func Abs(root, path string) string {
	if strings.HasPrefix(path, "/") {
		return filepath.FromSlash(path)
	}
	return filepath.Join(root, filepath.FromSlash(path))
}

// Kind is the kind of file at a path. The empty one is nothing.
type Kind string

const (
	Absent  Kind = ""
	File    Kind = "file"
	Folder  Kind = "dir"
	Link    Kind = "link"    // symbolic
	Special Kind = "special" // a device, FIFO or socket
)

// KindOf is the kind of a file with such a mode.
func KindOf(mode fs.FileMode) Kind {
	switch {
	case mode.IsRegular():
		return File
	case mode.IsDir():
		return Folder
	case mode&fs.ModeSymlink != 0:
		return Link
	}
	return Special
}

// State describes a file at a path.
type State struct {
	Kind Kind `json:"kind,omitempty"`
	// Mode is the permission bits, with set-user-ID, set-group-ID and sticky.
	Mode fs.FileMode `json:"mode,omitempty"`
	Size int64       `json:"size,omitempty"`
	// Hash is the content's SHA-256 in hexadecimal digits, "" where it was not
	// read. Target is the target of a link.
	Hash   string `json:"hash,omitempty"`
	Target string `json:"target,omitempty"`
	// Stamp distinguishes files where Hash is empty.
	Stamp Stamp `json:"stamp,omitzero"`
	// Peer is another path of the same file (a hard link), "" if there is none
	// in the project.
	Peer string `json:"peer,omitempty"`
	// Whole says of a directory that it was moved with all that it holds.
	Whole bool `json:"whole,omitempty"`
	// UID and GID are the owner's, where the system has such numbers. They are
	// restored as far as it lets us, and not compared.
	UID uint32 `json:"uid,omitempty"`
	GID uint32 `json:"gid,omitempty"`
}

// Stamp is the file system's description of a file. Times are nanoseconds since
// 1970. A zero field is not known, and not compared.
type Stamp struct {
	Inode uint64 `json:"inode,omitempty"`
	Ctime int64  `json:"ctime,omitempty"`
	Mtime int64  `json:"mtime,omitempty"`
}

// Change is the change of one path, relative to the root, with slashes, or absolute in
// a directory outside it. It need not be UTF-8.
type Change struct {
	Path          string
	Before, After State
	// From is the path that a created file had before, if it was renamed. In a plan
	// the file, or a directory with all that it holds, is renamed back from there.
	From string
	// Kept says that the state before can be brought back.
	Kept bool
}

// Reason is why a path is not covered, or was left alone.
type Reason string

const (
	TooLarge     Reason = "larger than the limit for one file"
	NoSpace      Reason = "the session's limit is reached"
	Older        Reason = "kept as an earlier look saw it; no time for another before the command"
	NoTime       Reason = "no time to copy it before the command"
	Lost         Reason = "its copy is gone from the journal"
	IsDenied     Reason = "denied"
	IsIgnored    Reason = "ignored by git"
	IsSpecial    Reason = "a device, FIFO or socket"
	OtherMount   Reason = "on another file system"
	Unreadable   Reason = "cannot be read"
	Outside      Reason = "outside the project"
	ChangedSince Reason = "changed since"
	NotEmpty     Reason = "holds files that are not artoo's"
	SetID        Reason = "set-user-ID or set-group-ID"
	NotRestored  Reason = "could not be restored"
	NotMoved     Reason = "cannot be moved out of the project"
)

// Lack is a path, relative to the root with slashes, that is not covered or was
// left alone, and why. One that ends in a slash stands for all below it.
type Lack struct {
	Path string
	Why  Reason
	Size int64
	Err  error // The system said so, if it is the reason.
}

// Changed is the outcome of a step.
type Changed struct {
	Changes []Change // sorted by path
	// Lacks are those of the changed paths that cannot be undone.
	Lacks []Lack
}

// StepInfo describes a step afterwards.
type StepInfo struct {
	ID   int
	Turn int
	What string
	Time time.Time
	// Paths is how many paths it changed.
	Paths int
	// Undone says that it was undone.
	Undone bool
}

// Plan lists the changes an undo or redo would make. Making one changes nothing in the project.
type Plan struct {
	Redo  bool
	Turns []int      // undone or redone, the last first
	Steps []StepInfo // the last first
	// Restore lists the changes: Before is there now, After will be.
	Restore []Change
	// Left lists paths that stay as they are, because they are no longer as artoo left them.
	Left []Lack
	// Cannot lists paths that artoo changed and cannot bring back.
	Cannot []Lack
	// HeadMoved says that the repository stands elsewhere than when one of the
	// steps began: a second yes is needed. Busy names a rebase, merge or the like in it.
	HeadMoved bool
	Busy      string
	steps     []int
	last      int // step when the plan was made
}

// Report describes the outcome of Apply or ApplyLayer.
type Report struct {
	Step int // the step it was recorded as
	// Finished says that Open finished an interrupted undo or redo, and Kept that it left the changes of a
	// run (see [Journal.BeginRun]); it took back any other step.
	Finished, Kept bool
	Done           []Change
	Left           []Lack // These were not done.
	// Cannot lists paths that were replaced or deleted and cannot be brought back.
	Cannot []Lack
}

// Source is a throwaway layer whose changes are applied.
type Source interface {
	// Open opens the new content of the file at an absolute path.
	Open(path string) (*os.File, error)
	// Path is where that content lies, absolute, if it may be renamed from there; "" has it
	// copied. Nothing else may write to it.
	Path(path string) string
}

// Then is a step that belongs to the application of a layer. The zero one does nothing.
type Then struct {
	// Paths are the files that Do may change, absolute or relative to the root: they are
	// kept before.
	Paths []string
	// Do runs when the files of the layer are in their places. Its error takes back
	// everything, the paths included; so does a kill before it has returned.
	Do func(ctx context.Context) error
}

// Session is one journal of a project.
type Session struct {
	Dir   string
	ID    string // Dir's last element
	Time  time.Time
	InUse bool // A running artoo writes to it.
	// Unfinished says that a process died in the middle of a step: Open will finish or undo it.
	Unfinished bool
	Steps      []StepInfo // those that changed something, the oldest first
}
