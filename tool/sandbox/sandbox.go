// Package sandbox runs commands so that the kernel holds them: they read and write
// what was granted, reach no network but a loopback of their own, see no other
// process, and leave none behind, also when artoo is killed. On a layer they
// change nothing at all: what they would have changed is read afterwards.
//
// A launcher is started once per session (package launcher): artoo's own program
// under another name, which makes the confined file tree once and starts each
// command in it, in the milliseconds that a bar of this package allows. What this
// machine can do is found by Probe, which really tries.
//
// The package decides nothing: which command runs confined, on a layer or
// outside is the policy's, and so is what becomes of a layer's changes.
package sandbox

import "errors"

// Config is what a session's commands may reach. Paths are absolute and hold no
// links; directories that are not there are left out.
type Config struct {
	Root  string   // the project: writable, or the lower directory of a layer
	Read  []string // more directories to read
	Write []string // more directories to write, on a layer as the project is

	// Denied lists what is to be gone from the file tree, as it is now: denied
	// files under every name they have, and the FIFOs and sockets of the project
	// that lead out. It is called for each command, and may be nil.
	Denied func() ([]string, error)
	// Protected lists files and directories below Root or Write that others run,
	// as they are now: not writable, but on a layer. It is called for each command
	// and may be nil. What is not there yet cannot be protected.
	Protected func() ([]string, error)

	Common     string   // the common git directory of a linked worktree: readable
	Toolchains []string // directories of programs in the home, to read and execute
	Caches     []Cache
	Home       string // the user's; empty inside but for what is granted
	Temp       string // a directory of the session's own, on a file system that executes: /tmp and /var/tmp inside
	Loopback   []int  // ports of this machine's loopback that are let in
	Limits     Limits
}

// Cache is a cache directory: the user's is readable, what is written goes to
// artoo's own.
type Cache struct {
	Path string // the user's, and where it is seen; need not be there
	Own  string // artoo's own, made when missing; one session at a time has it, another gets an empty one
	Env  string // the variable that names it to its program, for where Path cannot lead to Own; may be ""
}

// Limits bound one command on a layer. Zero is the default.
type Limits struct {
	Processes int   // 512; eight times as many in the sandbox
	Memory    int64 // bytes of one process, 2 GB
	Layer     int64 // bytes of all that is written, temporary files included, 1 GB; a file counts 4 KB at least
}

// ErrUnconfined says that nothing here can confine a command as it was asked to be.
var ErrUnconfined = errors.New("commands cannot be confined here")

// ErrBusy says that a command cannot be confined as it was asked to be while another
// one runs. Its words name no command: whoever started them knows them.
var ErrBusy = errors.New("another confined command is running")
