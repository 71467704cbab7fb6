// Package launcher is the program that artoo starts itself as to confine
// commands: see package sandbox, whose other half it is. Its init looks at the
// name the process was started under and does not return when that is Name.
//
// It imports nothing but the standard library's lowest packages, not even os:
// packages are initialised by import path as soon as what they import is, so this
// one comes before those that take long, and before os raises the limit of open
// files that commands are to inherit.
package launcher

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// Name is the first argument of a launcher.
const Name = "artoo-sandbox"

// FD is where a launcher finds its socket.
const FD = 3

// A frame is a list of lists of strings of any bytes, with its length before it.

// maxFrame bounds a frame: a command's arguments and environment are at most 6 MB
// to the kernel.
const maxFrame = 64 << 20

var errFrame = errors.New("malformed frame")

// Encode makes a frame.
func Encode(lists ...[]string) []byte {
	frame := make([]byte, 4, 512)
	for _, list := range lists {
		frame = binary.AppendUvarint(frame, uint64(len(list)))
		for _, s := range list {
			frame = binary.AppendUvarint(frame, uint64(len(s)))
			frame = append(frame, s...)
		}
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// Length is how many bytes follow the four that a frame begins with.
func Length(head []byte) (int, error) {
	n := int64(binary.LittleEndian.Uint32(head))
	if n > maxFrame {
		return 0, errFrame
	}
	return int(n), nil
}

// Decode takes a frame apart, without its length.
func Decode(body []byte) ([][]string, error) {
	var lists [][]string
	for len(body) > 0 {
		count, used := binary.Uvarint(body)
		if used <= 0 || count > uint64(len(body)) {
			return nil, errFrame
		}
		body = body[used:]
		list := make([]string, 0, count)
		for range count {
			size, used := binary.Uvarint(body)
			if used <= 0 || size > uint64(len(body)-used) {
				return nil, errFrame
			}
			list = append(list, string(body[used:used+int(size)]))
			body = body[used+int(size):]
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// Step is one step of making the file tree. To is a path inside, From one
// outside.
type Step struct{ Op, From, To, Data string }

// What a step does. Missing directories above To are made where they can be.
const (
	OpDir      = "dir"      // an empty directory
	OpLink     = "link"     // a symbolic link at To that says From
	OpFile     = "file"     // a read-only file that holds Data
	OpRead     = "read"     // From and what is mounted below it, read-only
	OpWrite    = "write"    // the same, writable
	OpDevice   = "device"   // a device file
	OpTemp     = "temp"     // a tmpfs with the options Data
	OpTerminal = "terminal" // a devpts of its own
	OpProc     = "proc"     // the processes of the launcher; From stands in where it cannot be mounted
	OpCache    = "cache"    // a cache: "upper" in Data, a directory of artoo's own, over From; each command writes its own
)

// Temp is where each command finds temporary files of its own, which no other sees.
// Its path is short: unix sockets lie there.
const Temp = "/run/tmp"

// Shared are the temporary directories of all commands of a session.
var Shared = [...]string{"/tmp", "/var/tmp", "/dev/shm"}

// Setup is the first frame to a launcher.
type Setup struct {
	Mechanism string // "namespaces", "landlock" or "none"
	Home      string // where each command has an empty directory of its own
	Disk      string // the machine's directory for what commands write; "" for memory
	Kept      string // the machine's directory of what is kept of projects' caches; may be ""
	Steps     []Step
	Ports     []int    // ports of its own loopback, on which the caller listens
	Scratch   []string // Landlock lets commands write these besides the project.
}

// Encode makes the frame.
func (s Setup) Encode() []byte {
	var steps, ports []string
	for _, step := range s.Steps {
		steps = append(steps, step.Op, step.From, step.To, step.Data)
	}
	for _, port := range s.Ports {
		ports = append(ports, strconv.Itoa(port))
	}
	return Encode([]string{s.Mechanism, s.Home, s.Disk, s.Kept}, steps, ports, s.Scratch)
}

func decodeSetup(body []byte) (s Setup, err error) {
	lists, err := Decode(body)
	if err != nil || len(lists) != 4 || len(lists[0]) != 4 || len(lists[1])%4 != 0 {
		return s, errFrame
	}
	s.Mechanism, s.Home, s.Disk, s.Kept, s.Scratch = lists[0][0], lists[0][1], lists[0][2], lists[0][3], lists[3]
	for steps := lists[1]; len(steps) > 0; steps = steps[4:] {
		s.Steps = append(s.Steps, Step{steps[0], steps[1], steps[2], steps[3]})
	}
	for _, port := range lists[2] {
		n, err := strconv.Atoi(port)
		if err != nil {
			return s, errFrame
		}
		s.Ports = append(s.Ports, n)
	}
	return s, nil
}

// Line is the first frame of a command, on a socket of its own.
type Line struct {
	Path, Dir string
	Args, Env []string

	Layer    bool
	ReadOnly bool // nothing of Writable is written, no sockets
	Job      bool // It writes only Outputs of Writable.
	Exec     bool // programs among what it writes may be executed
	Overlay  bool // denied names below Writable are gone from a layer or a read-only tree, not covered

	Writable          []string
	Kept              []string // one directory in Setup.Kept for each of Writable, or ""
	Outputs           []string
	Denied, Protected []string
	Readable          []string // Landlock grants reading these.

	Processes, Memory, Size, Free, Entries int64 // limits; Free are bytes of the disk that stay free
	Grace                                  int64 // milliseconds
}

// Encode makes the frame.
func (l Line) Encode() []byte {
	facts := []string{l.Path, l.Dir, flag(l.Layer), flag(l.ReadOnly), flag(l.Job), flag(l.Exec), flag(l.Overlay)}
	for _, n := range []int64{l.Processes, l.Memory, l.Size, l.Free, l.Entries, l.Grace} {
		facts = append(facts, strconv.FormatInt(n, 10))
	}
	return Encode(facts, l.Args, l.Env, l.Writable, l.Kept, l.Outputs, l.Denied, l.Protected, l.Readable)
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

func decodeLine(body []byte) (l Line, err error) {
	lists, err := Decode(body)
	if err != nil || len(lists) != 9 || len(lists[0]) != 13 || len(lists[3]) != len(lists[4]) {
		return l, errFrame
	}
	facts := lists[0]
	l.Path, l.Dir = facts[0], facts[1]
	for i, on := range []*bool{&l.Layer, &l.ReadOnly, &l.Job, &l.Exec, &l.Overlay} {
		*on = facts[2+i] != ""
	}
	for i, n := range []*int64{&l.Processes, &l.Memory, &l.Size, &l.Free, &l.Entries, &l.Grace} {
		if *n, err = strconv.ParseInt(facts[7+i], 10, 64); err != nil {
			return l, errFrame
		}
	}
	for i, list := range []*[]string{&l.Args, &l.Env, &l.Writable, &l.Kept, &l.Outputs, &l.Denied, &l.Protected, &l.Readable} {
		*list = lists[1+i]
	}
	return l, nil
}

// What the two sides say to each other about a command: the first string of a
// frame's first list.
const (
	SayReady     = "ready"     // The launcher takes commands now. It says whether layers lie on disk, in memory or nowhere, and sends the listening sockets.
	SayFailed    = "failed"    // what, why
	SayStarted   = "started"   // the command runs; the name below Setup.Disk of what it writes, or "", and its directory
	SayEntries   = "entries"   // the command has written more than Entries, caches of the project included
	SayDenials   = "denials"   // the denials of a command that goes on: triples as of exit
	SayExit      = "exit"      // status, stopped, limit; then triples of wall, number and path
	SaySignal    = "signal"    // artoo sends the number.
	SayProtect   = "protect"   // artoo sends two lists: the paths denied and protected by now.
	SayProtected = "protected" // The launcher answers with an error, or "".
)

// Where layers lie.
const (
	OnDisk   = "disk"
	InMemory = "memory"
)

// The kinds of denials.
const (
	WallNetwork   = "network"
	WallLoopback  = "loopback"
	WallSocket    = "socket"
	WallNamespace = "namespace"
	WallTrace     = "trace"
	WallHome      = "home"
	WallExec      = "exec"
	WallEntry     = "entry"
	WallWrite     = "write"
	WallGuarded   = "guarded"
)
