package sandbox

// Mechanism is what of the system confines a command.
type Mechanism string

// The mechanisms, the strongest first.
const (
	Namespaces  Mechanism = "namespaces"   // Linux: namespaces and seccomp, with a file tree of the command's own
	Landlock    Mechanism = "landlock"     // Linux: Landlock and seccomp: the files are granted, nothing is hidden
	SandboxExec Mechanism = "sandbox-exec" // macOS
	None        Mechanism = "none"         // nothing is confined; but what a command started ends with artoo all the same
)

// Facts are what this machine can confine. They hold for the machine, with
// Facts.For also for the directories of a project.
type Facts struct {
	Mechanism     Mechanism
	Layer         bool // a command can run on a copy-on-write layer
	LayerOnDisk   bool // which has to lie on disk: its size is then only looked at now and then
	Network       bool // the network is out of reach, addresses of this machine included
	HidesFiles    bool // denied files are gone, and what was not granted cannot be read
	HidesProcess  bool // other processes cannot be seen
	EndsProcesses bool // the kernel itself ends what a command leaves behind
	Missing       []Lack
}

// Lack is one thing that is not to be had here.
type Lack struct {
	What string // "sandbox", "layer", "network", "processes", "denials", or the path of a directory
	Why  string // what the system said, in words
	Cure string // what the user can do about it; "" where there is nothing
}
