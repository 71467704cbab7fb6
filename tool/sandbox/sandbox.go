// Package sandbox runs commands so that the kernel holds them: they read and write granted paths, reach no network but
// a loopback of their own, see no other process, and leave none behind, also when artoo is killed. On a layer they
// change nothing at all: their changes are read afterwards.
//
// A launcher is started once per session (package launcher): artoo's own program under another name, which makes the
// confined file tree once and starts each command in it, in the milliseconds that a bar of this package allows. Probe
// finds the abilities of this machine by real attempts.
//
// The package decides nothing: which command runs confined, on a layer or
// outside is the policy's decision, and so is the fate of a layer's changes.
package sandbox

import (
	"cmp"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"artoo/tool/sandbox/launcher"
)

// Config lists the places that a session's commands may reach. Paths are absolute and hold no
// links; directories that are not there are left out.
type Config struct {
	Root  string   // the project: writable, or the lower directory of a layer
	Read  []string // more directories to read
	Write []string // more directories to write, on a layer as the project is

	// Denied lists the present paths to remove from the file tree: denied files under every name they have, and the
	// FIFOs and sockets of the project that lead out. It is called as Protected is, for each command, and may be nil.
	Denied func() ([]string, error)
	// Protected lists files and directories below Root or Write that others run,
	// as they are now: not writable, except on a layer. It is called for each command
	// that writes the project itself, and every two seconds while that runs; from any
	// goroutine. It may be nil. A path that does not exist yet cannot be protected.
	Protected func() ([]string, error)

	// Shown lists files that commands on a layer see in place of others: absolute paths, each with the file that is seen
	// there, which lies in dir. It gets the denied paths and the directories with a layer, is called for each such
	// command, from any goroutine, and may be nil.
	Shown func(dir string, denied, layered []string) (map[string]string, error)

	// Fixed are files and directories below Root, Write or Common that no command can write.
	Fixed []string

	Common     string   // a git directory outside Root: a layer is laid over it too, for others it is readable
	Toolchains []string // directories of programs in the home, to read and execute
	Caches     []Cache
	Home       string // the user's; inside an empty one of each command, except for granted paths
	Temp       string // a directory of the session's own, on a file system that executes: /tmp and /var/tmp inside
	// Layers is a directory of artoo's own for the writes of commands on layers, best on the
	// project's file system; it is made when missing. "" is one in Temp. Where it cannot
	// hold a layer they lie in memory.
	Layers string
	// Kept is a directory of artoo's own for files that commands on layers left in the caches of this project. Another
	// session that has it open gets an empty one. "" keeps nothing.
	Kept string
	// IsCache reports whether a path, relative to a writable directory, is a cache of the
	// project: all below it is too. It is called from any goroutine; nil finds none.
	IsCache func(rel string) bool

	// Network leaves commands the machine's network.
	Network bool
	// Served gets each connection that a command opens to Sandbox.ServedAt, a port of its loopback, in a goroutine of its
	// own. It closes the connection. nil serves no port.
	Served func(net.Conn)

	inMemory bool  // has layers lie in memory, as where Layers cannot hold one
	Loopback []int // ports of this machine's loopback that are let in
	Limits   Limits
}

// Cache is a cache directory: the user's is readable, artoo's own gets the writes.
type Cache struct {
	Path string // the user's, and where it is seen; need not be there
	Own  string // artoo's own, made when missing, best where Config.Layers is; one session at a time has it, another gets an empty one
	Env  string // the variable that names it to its program, for where Path cannot lead to Own; may be ""
}

// Limits bound one command. Zero is the default.
type Limits struct {
	Processes int   // 512; eight times as many where programs of the project may run
	Memory    int64 // bytes of one process, 2 GB; without end where programs of the project may run
	Layer     int64 // bytes of all that it writes besides Temp: on disk the larger of 8 GB and a quarter of the free space, in memory 1 GB; a file counts 4 KB at least
	Entries   int64 // counts the files of a layer without caches: 200,000
	Free      int64 // bytes of the disk that stay free: a twentieth of it, at most 2 GB
}

// ErrUnconfined says that nothing here can confine a command as it was asked to be.
var ErrUnconfined = errors.New("commands cannot be confined here")

// Place is where a command runs.
type Place string

// The places.
const (
	// PlaceHost is the machine itself, with the rights that artoo has.
	PlaceHost Place = ""
	// PlaceReadOnly is confined, and nothing can be written.
	PlaceReadOnly Place = "read-only"
	// PlaceLayer is confined, and the command's writes go to a layer over the project, whose effects are decided about
	// afterwards. It is the place of every foreground line where the kernel has layers.
	PlaceLayer Place = "layer"
	// PlaceBackground is confined, on the project itself, for a command that outlives its call.
	PlaceBackground Place = "background"
	// PlaceSandbox is confined, and changes of the project stay: for machines without layers.
	PlaceSandbox Place = "sandbox"
	// PlaceDiscarded is confined, on a layer that is thrown away: for the user's own
	// checks and language servers. Nothing is decided to run there.
	PlaceDiscarded Place = "discarded"
)

// Options are how one command runs.
type Options struct {
	Layer    bool // runs it on a copy-on-write layer; needs Facts.Layer
	ReadOnly bool // nothing but temporary files of its own can be written, no sockets
	// Job has a command in the background run on the project itself, of which it writes Outputs only: directories that
	// are there. With Whole it writes all of it; files that others run are read-only then, and the directories above
	// cannot be moved. Without Layer, ReadOnly and Job a command runs as with Whole, for machines that have no layers.
	Job     bool
	Whole   bool
	Outputs []string
	Exec    bool // programs on the layer may be executed: the user answered for them
	// Files are texts of files in the home, by their paths, which the command sees, on Linux with namespaces.
	Files map[string]string
	// Grace is how long processes left in the background may still write.
	Grace time.Duration
}

// OverConfig is how artoo runs itself once more, in layers over directories.
type OverConfig struct {
	Dirs    []string                     // absolute, each with a layer of its own
	Layers  string                       // see Config.Layers
	Dir     string                       // its working directory
	Args    func(layers string) []string // includes the program's name; layers is the directory for them, which ends with Over
	Env     []string
	Streams [3]*os.File
}

// Exit is how a command ended.
type Exit struct {
	Status  syscall.WaitStatus
	Stopped int      // processes left in the background that were ended
	Limit   string   // the limit that ended it, in words: "512 processes", "2 GB of memory in a process"; "" for none
	Denials []Denial // each once
}

// Denial lists refusals of the kernel to a command, of one kind.
type Denial struct {
	Kind  string   // one of the constants below
	What  string   // the refusal in words, such as "no route to another machine"
	N     int      // how often
	Paths []string // at most ten, where known
}

// The kinds of denials.
const (
	DenialNetwork   = launcher.DenialNetwork
	DenialLoopback  = launcher.DenialLoopback // no one listened at a port of the loopback
	DenialSocket    = launcher.DenialSocket
	DenialNamespace = launcher.DenialNamespace
	DenialTrace     = launcher.DenialTrace
	DenialHome      = launcher.DenialHome  // files were written to the home, and are lost: Paths
	DenialExec      = launcher.DenialExec  // programs on a layer without Options.Exec: Paths
	DenialEntry     = launcher.DenialEntry // Landlock allows no new entries in a directory that holds files others run: Paths
	// DenialWrite has the files that a job may not write without Options.Whole, or that a read-only command tried to
	// write: Paths. Where the system does not name them, a read-only command that failed has it without Paths.
	DenialWrite   = launcher.DenialWrite
	DenialGuarded = launcher.DenialGuarded
)

// Mechanism is the part of the system that confines a command.
type Mechanism string

// The mechanisms, the strongest first.
const (
	Namespaces  Mechanism = "namespaces"   // Linux: namespaces and seccomp, with a file tree of the command's own
	Landlock    Mechanism = "landlock"     // Linux: Landlock and seccomp: the files are granted, nothing is hidden
	SandboxExec Mechanism = "sandbox-exec" // macOS
	None        Mechanism = "none"         // nothing is confined; a command's processes still end with artoo
)

// Facts are the machine's abilities to confine; with Facts.For also for a project's directories.
type Facts struct {
	Mechanism    Mechanism
	Layer        bool // a command can run on a copy-on-write layer
	Network      bool // the network is out of reach, addresses of this machine included
	HidesFiles   bool // denied files are gone, and paths that were not granted cannot be read
	HidesProcess bool // other processes cannot be seen
	Missing      []Lack
}

// Lack is one thing that is not to be had here.
type Lack struct {
	What string // "sandbox", "namespaces", "layer", "network", "processes", "denials", or the path of a directory
	Why  string
	Cure string // "" where the user can do nothing about it
}

// Unconfined says why nothing confines commands, and what the user can do about it, which may be "". Both are "" where
// something does.
func (f Facts) Unconfined() (why, cure string) {
	if f.Mechanism != None {
		return "", ""
	}
	var all []string
	for _, lack := range f.Missing {
		if lack.What == "sandbox" {
			all, cure = append(all, lack.Why), cmp.Or(cure, lack.Cure)
		}
	}
	return cmp.Or(strings.Join(all, "; "), "nothing here can confine them"), cure
}

// String names the mechanism and its abilities, in one line.
func (f Facts) String() string {
	var holds []string
	for _, row := range []struct {
		there bool
		text  string
	}{
		{f.Mechanism == Landlock, "writes confined"},
		{f.Network, "no network"}, {f.HidesFiles && f.HidesProcess, "other files and processes hidden"},
		{f.HidesFiles && !f.HidesProcess, "other files hidden"}, {!f.HidesFiles && f.HidesProcess, "other processes hidden"},
		{f.Layer, "changes shown before they are kept"},
	} {
		if row.there {
			holds = append(holds, row.text)
		}
	}
	switch {
	case f.Mechanism == None || f.Mechanism == "":
		return "none: commands are not confined"
	case len(holds) == 0:
		return string(f.Mechanism)
	}
	return string(f.Mechanism) + " (" + strings.Join(holds, ", ") + ")"
}
