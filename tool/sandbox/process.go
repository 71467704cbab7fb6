package sandbox

import (
	"syscall"
	"time"

	"artoo/tool/sandbox/launcher"
)

// Options are how one command runs.
type Options struct {
	Layer    bool // runs it on a copy-on-write layer; needs Facts.Layer
	ReadOnly bool // nothing but temporary files of its own can be written, no sockets
	// Job has a command in the background run on the project itself, of which it writes
	// Outputs only: directories that are there. With Whole it writes all of it; what
	// others run is read-only then, and what lies above that cannot be moved.
	// Without Layer, ReadOnly and Job a command runs as with Whole, for machines that
	// have no layers.
	Job     bool
	Whole   bool
	Outputs []string
	Hidden  []string // hides these too, besides Config.Denied
	Exec    bool     // programs on the layer may be executed: the user answered for them
	// Grace is how long processes that the command left in the background may
	// still write before they are ended.
	Grace time.Duration
}

// Exit is how a command ended.
type Exit struct {
	Status  syscall.WaitStatus
	Stopped int      // processes left in the background that were ended
	Limit   string   // the limit that ended it, in words: "512 processes", "2 GB of memory in a process"; "" for none
	Denials []Denial // each once
}

// Denial is one wall that the kernel refused to let a command through.
type Denial struct {
	Wall  string   // one of the Wall constants
	What  string   // the refusal in words, such as "no route to another machine"
	N     int      // how often
	Paths []string // at most ten, where known
}

// The kinds of denials.
const (
	WallNetwork   = launcher.WallNetwork
	WallLoopback  = launcher.WallLoopback // no one listened at a port of the loopback
	WallSocket    = launcher.WallSocket
	WallNamespace = launcher.WallNamespace
	WallTrace     = launcher.WallTrace
	WallHome      = launcher.WallHome  // files were written to the home, and are lost: Paths
	WallExec      = launcher.WallExec  // programs on a layer without Options.Exec: Paths
	WallEntry     = launcher.WallEntry // Landlock allows no new entries in a directory that holds what others run: Paths
	// WallWrite is what a job may not write without Options.Whole, and what a read-only
	// command tried to write: Paths. Where the system does not say what it refused, a
	// read-only command that failed has it without Paths.
	WallWrite   = launcher.WallWrite
	WallGuarded = launcher.WallGuarded
)
