package sandbox

import "strings"

// Mechanism is what of the system confines a command.
type Mechanism string

// The mechanisms, the strongest first.
const (
	Namespaces  Mechanism = "namespaces"   // Linux: namespaces and seccomp, with a file tree of the command's own
	Landlock    Mechanism = "landlock"     // Linux: Landlock and seccomp: the files are granted, nothing is hidden
	SandboxExec Mechanism = "sandbox-exec" // macOS
	None        Mechanism = "none"         // nothing is confined; what a command started still ends with artoo
)

// Facts are what this machine can confine. They hold for the machine, with
// Facts.For also for the directories of a project.
type Facts struct {
	Mechanism     Mechanism
	Layer         bool // a command can run on a copy-on-write layer
	Network       bool // the network is out of reach, addresses of this machine included
	HidesFiles    bool // denied files are gone, and what was not granted cannot be read
	HidesProcess  bool // other processes cannot be seen
	Still         bool // a read-only command changes nothing: no file except temporary ones, and no other process
	EndsProcesses bool // the kernel itself ends what a command leaves behind
	Missing       []Lack
}

// Lack is one thing that is not to be had here.
type Lack struct {
	What string // "sandbox", "layer", "network", "processes", "denials", or the path of a directory
	Why  string
	Cure string // "" where the user can do nothing about it
}

// String names the mechanism and what it holds, in one line.
func (f Facts) String() string {
	var holds []string
	for _, row := range []struct {
		there bool
		text  string
	}{
		{f.Mechanism == Landlock, "writes are confined"},
		{f.Network, "no network"}, {f.HidesFiles, "other files are hidden"}, {f.HidesProcess, "other processes are hidden"},
		{f.Layer, "what changes files is shown before it counts"},
	} {
		if row.there {
			holds = append(holds, row.text)
		}
	}
	switch {
	case f.Mechanism == None || f.Mechanism == "":
		return "none, commands are not confined"
	case len(holds) == 0:
		return string(f.Mechanism)
	}
	return string(f.Mechanism) + ": " + strings.Join(holds, ", ")
}
