package launcher

import (
	"encoding/binary"
	"errors"
	"strconv"
)

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
	OpCache    = "cache"    // an overlay: From read-only below Data, a directory with "upper" and "work"
)

// Setup is the first frame to a launcher.
type Setup struct {
	Mechanism string // "namespaces", "landlock" or "none"
	Steps     []Step
	Ports     []int    // of the own loopback to listen on, for the caller
	Home      string   // whose use is told as a denial
	Disk      string   // the machine's directory for what layers hold; "" for memory
	Scratch   []string // to Landlock: where commands may write besides the project
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
	return Encode([]string{s.Mechanism, s.Home, s.Disk}, steps, ports, s.Scratch)
}

func decodeSetup(body []byte) (s Setup, err error) {
	lists, err := Decode(body)
	if err != nil || len(lists) != 4 || len(lists[0]) != 3 || len(lists[1])%4 != 0 {
		return s, errFrame
	}
	s.Mechanism, s.Home, s.Disk, s.Scratch = lists[0][0], lists[0][1], lists[0][2], lists[3]
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

	Layer, ReadOnly, Exec bool
	Caches                bool     // artoo's caches are written also from a layer
	Beside                bool     // commands run that may move files: denied ones are covered, not gone
	Writable              []string // what a layer is laid over
	Denied, Protected     []string
	Readable              []string // to Landlock, which grants

	Processes, Memory, Size int64 // the limits of a layer
	Grace                   int64 // milliseconds
}

// Encode makes the frame.
func (l Line) Encode() []byte {
	facts := []string{l.Path, l.Dir, flag(l.Layer), flag(l.ReadOnly), flag(l.Exec), flag(l.Caches), flag(l.Beside)}
	for _, n := range []int64{l.Processes, l.Memory, l.Size, l.Grace} {
		facts = append(facts, strconv.FormatInt(n, 10))
	}
	return Encode(facts, l.Args, l.Env, l.Writable, l.Denied, l.Protected, l.Readable)
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

func decodeLine(body []byte) (l Line, err error) {
	lists, err := Decode(body)
	if err != nil || len(lists) != 7 || len(lists[0]) != 11 {
		return l, errFrame
	}
	facts := lists[0]
	l.Path, l.Dir = facts[0], facts[1]
	l.Layer, l.ReadOnly, l.Exec = facts[2] != "", facts[3] != "", facts[4] != ""
	l.Caches, l.Beside = facts[5] != "", facts[6] != ""
	for i, n := range []*int64{&l.Processes, &l.Memory, &l.Size, &l.Grace} {
		if *n, err = strconv.ParseInt(facts[7+i], 10, 64); err != nil {
			return l, errFrame
		}
	}
	l.Args, l.Env, l.Writable = lists[1], lists[2], lists[3]
	l.Denied, l.Protected, l.Readable = lists[4], lists[5], lists[6]
	return l, nil
}

// What the two sides say to each other about a command: the first string of a
// frame's first list.
const (
	SayReady   = "ready"   // of the launcher: it takes commands; the listening sockets come along
	SayFailed  = "failed"  // what, why
	SayMoved   = "moved"   // the path of what was to be hidden or protected: it has to be looked for anew
	SayStarted = "started" // the command runs
	SayExit    = "exit"    // status, stopped, limit; then pairs of wall and number; a directory comes along for a layer
	SaySignal  = "signal"  // to the launcher: number
)
