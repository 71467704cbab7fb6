// Package launcher is the program that artoo starts itself as to confine
// commands: see package sandbox, whose other half it is. Its init looks at the
// name the process was started under and does not return when that is Name.
//
// It imports nothing but x/sys/unix and the standard library's lowest packages, not even os:
// packages are initialised by import path as soon as their imports are, so this one comes
// before those that take long, and before os raises the limit of open files for commands.
package launcher

import (
	"encoding/binary"
	"errors"
	"reflect"
)

// Name is the first argument of a launcher.
const Name = "artoo-sandbox"

// OverName is the first argument of a process that becomes an artoo in layers.
const OverName = "artoo-over"

// FD is where a launcher finds its socket.
const FD = 3

// maxFrame bounds a frame: to the kernel arguments and environment are at most 6 MB.
const maxFrame = 64 << 20

var errFrame = errors.New("malformed frame")

// Encode makes the frame of a message, a struct: its length, then its fields in their order.
func Encode(message any) []byte {
	frame := appendValue(make([]byte, 4, 512), reflect.ValueOf(message))
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

func appendValue(frame []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			frame = appendValue(frame, v.Field(i))
		}
	case reflect.Slice:
		frame = binary.AppendVarint(frame, int64(v.Len()))
		for i := range v.Len() {
			frame = appendValue(frame, v.Index(i))
		}
	case reflect.String:
		frame = append(binary.AppendVarint(frame, int64(v.Len())), v.String()...)
	case reflect.Bool:
		n := int64(0)
		if v.Bool() {
			n = 1
		}
		frame = binary.AppendVarint(frame, n)
	default:
		frame = binary.AppendVarint(frame, v.Int())
	}
	return frame
}

// Decode reads a frame, without its length, into a message of the type it was made of.
func Decode(body []byte, message any) error {
	rest, ok := decode(body, reflect.ValueOf(message).Elem())
	if !ok || len(rest) > 0 {
		return errFrame
	}
	return nil
}

func decode(rest []byte, v reflect.Value) (after []byte, ok bool) {
	if v.Kind() == reflect.Struct {
		ok = true
		for i := 0; i < v.NumField() && ok; i++ {
			rest, ok = decode(rest, v.Field(i))
		}
		return rest, ok
	}
	n, used := binary.Varint(rest)
	sized := v.Kind() == reflect.String || v.Kind() == reflect.Slice
	if used <= 0 || sized && (n < 0 || n > int64(len(rest)-used)) {
		return nil, false
	}
	rest, ok = rest[used:], true
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rest[:n]))
		rest = rest[n:]
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
		for i := 0; i < int(n) && ok; i++ {
			rest, ok = decode(rest, v.Index(i))
		}
	case reflect.Bool:
		v.SetBool(n != 0)
	default:
		v.SetInt(n)
	}
	return rest, ok
}

// Step is one step of making the file tree. To is a path inside, From one outside.
type Step struct{ Op, From, To, Data string }

// These are the operations of a step. Missing directories above To are made where possible.
const (
	OpDir      = "dir"      // an empty directory
	OpLink     = "link"     // a symbolic link at To that says From
	OpFile     = "file"     // a read-only file that holds Data
	OpRead     = "read"     // From and the mounts below it, read-only
	OpWrite    = "write"    // the same, writable
	OpDevice   = "device"   // a device file
	OpTemp     = "temp"     // a tmpfs with the options Data
	OpTerminal = "terminal" // a devpts of its own
	OpProc     = "proc"     // the processes of the launcher; From stands in where it cannot be mounted
	OpCache    = "cache"    // a cache: "upper" in Data, a directory of artoo's own, over From; each command writes its own
)

// Temp is where each command has temporary files. Its path is short, since unix sockets lie there.
const Temp = "/run/tmp"

// Shared are the temporary directories of all commands of a session.
var Shared = [...]string{"/tmp", "/var/tmp", "/dev/shm"}

// Setup is the first frame to a launcher.
type Setup struct {
	Mechanism string // "namespaces", "landlock" or "none"
	Network   bool   // the network namespace is the machine's
	Home      string // where each command has an empty directory of its own
	Disk      string // the machine's directory for the writes of commands; "" for memory
	Kept      string // the machine's directory of kept caches of projects; may be ""
	Shown     string // the machine's directory of files that are seen in place of the project's; may be ""
	Steps     []Step
	Ports     []int    // ports of its own loopback, on which the caller listens; 0 is any free one
	Scratch   []string // Landlock lets commands write these besides the project.
}

// Over is the frame to a process started as OverName: it lays a layer over each of Dirs and runs itself with
// Args in them. Its answer is SayReady, or SayFailed. The socket stays open for the program.
type Over struct {
	Dirs, Uppers, Works []string
	Dir                 string
	Args, Env           []string
}

// Line is the first frame of a command, on a socket of its own.
type Line struct {
	Path, Dir string
	Args, Env []string

	Layer    bool
	ReadOnly bool // nothing of Writable is written, no sockets
	Job      bool // It writes only Outputs of Writable.
	Exec     bool // programs that it writes may be executed
	Overlay  bool // denied names below Writable are gone from a layer or a read-only tree, not covered

	Writable []string
	Kept     []string // one directory in Setup.Kept for each of Writable, or ""
	Shown    []string // one directory in Setup.Shown for each of Writable, or "": its files are seen in place of others
	Outputs  []string
	// Files are in the home, and not missed afterwards.
	Files []File

	Denied, Protected []string
	Readable          []string // Landlock grants reading these.

	Processes, Memory, Size, Free, Entries int64 // limits; Free are bytes of the disk that stay free
	Grace                                  int64 // milliseconds
}

// File is a file with its text.
type File struct{ Path, Text string }

// Order is a later frame to a command's launcher: a signal, or the paths to cover by now.
type Order struct {
	Signal            int  // valid without Protect
	Protect           bool // covers Denied and Protected, and is answered
	Denied, Protected []string
}

// Answer is a frame of the launcher's. The meaning of the fields depends on Say.
type Answer struct {
	Say     string
	Why     string // the reason of SayFailed, of SayProtected ("" if it did not fail), or of SayReady (why there are no layers)
	Where   string // SayReady: the place of layers, "" for none; SayStarted: the name below Setup.Disk of its writes, or ""
	Status  int    // set for SayExit, like Stopped and Limit
	Stopped int
	Limit   string
	Denials []Denial // so far; of SayExit and SayDenials
}

// Denial is a refused act, with its path where that is known.
type Denial struct {
	Kind, Path string
	N          int // how often
}

// These are the values of Answer.Say.
const (
	SayReady     = "ready"     // The launcher takes commands now. It sends the listening sockets.
	SayFailed    = "failed"    // The launcher, or the command, did not start.
	SayStarted   = "started"   // The command runs. The launcher sends the directory of its writes, if that is in memory.
	SayEntries   = "entries"   // The command has written more than Entries, caches of the project included.
	SayDenials   = "denials"   // A command that goes on met new denials.
	SayExit      = "exit"      // The command has ended.
	SayProtected = "protected" // It answers an Order with Protect.
)

// Where layers lie.
const (
	OnDisk   = "disk"
	InMemory = "memory"
)

// The kinds of denials.
const (
	DenialNetwork   = "network"
	DenialLoopback  = "loopback"
	DenialSocket    = "socket"
	DenialNamespace = "namespace"
	DenialTrace     = "trace"
	DenialHome      = "home"
	DenialExec      = "exec"
	DenialEntry     = "entry"
	DenialWrite     = "write"
	DenialGuarded   = "guarded"
)
