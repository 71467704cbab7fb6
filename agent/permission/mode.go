package permission

// Mode is the approval mode.
type Mode string

// The four modes. ModeAuto asks nothing that the sandbox confines; see Confinement.Auto
// for machines without layers.
const (
	ModeAsk   Mode = "ask"
	ModeEdits Mode = "edits"
	ModeAuto  Mode = "auto"
	ModePlan  Mode = "plan"
)

// Confinement is what can hold the commands of a session. The zero value is
// nothing: all run on the host.
type Confinement struct {
	Sandbox  bool // commands can be confined
	Layer    bool // and every foreground line runs on a throwaway layer
	First    bool // a read-only command changes nothing: without layers system programs are tried so
	Auto     bool // mode auto runs a trusted project's programs in the sandbox also without layers
	Shows    bool // confined commands can read denied files
	Network  bool // confined commands reach the network, unless they are read-only
	Required bool // calls that cannot be confined are refused
}

// holds is what confines the commands now: denied files that they could read have
// every line asked about that does more than read.
func (p *Policy) holds() Confinement {
	can := p.Confinement
	if can.Shows && !can.Layer && (p.World.mayRead([]string{p.Root}, ".", true) != "" || p.TrackedSecret() != "") {
		can.First, can.Auto = false, false
	}
	return can
}

// trustAnswers reports whether trust in the project answers for a command that runs in
// the sandbox on the project itself.
func (p *Policy) trustAnswers() bool {
	can := p.holds()
	return p.TrustsPrograms && (can.Layer && p.Mode != ModeAsk || can.Auto && p.Mode == ModeAuto)
}

// ModeError says that a mode cannot hold where artoo was started.
type ModeError struct{ Mode Mode }

// Error names the option and says why.
func (e *ModeError) Error() string {
	return "--approval " + string(e.Mode) + ": there is no project here, so every write and run is asked"
}

// ErrorKind is the kind of failure it is for the table of exit codes.
func (*ModeError) ErrorKind() string { return "usage" }

// ErrorHint names what helps.
func (*ModeError) ErrorHint() string { return "cd into a project directory, or --approval ask" }

// CheckMode refuses modes that cannot hold where there is no project; the error
// is a *ModeError.
func (p *Policy) CheckMode() error {
	if p.NoProject && (p.Mode == ModeEdits || p.Mode == ModeAuto) {
		return &ModeError{p.Mode}
	}
	return nil
}
