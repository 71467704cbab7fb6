// Package permission decides which calls of tools run, and where. Policy.Decide has the rules
// before a call, in the order in which they count: for files and hosts, for shell lines, for
// text typed to a running command. Judge has those for the effects of a line on a layer.
package permission

import (
	"slices"
	"sync"

	"artoo/agent/permission/line"
)

// Policy decides calls from the mode and the rules: deny over ask over allow, except that a permission of
// this session beats an ask rule. It changes nothing. It is not safe for concurrent use.
type Policy struct {
	Mode Mode
	// NoProject means that there is no project: "/", the home directory, or root
	// outside a container. Every write and run is asked then.
	NoProject bool
	Root      string // the project root, absolute
	Dir       string // the working directory, absolute; "" is Root
	// Shell runs the lines, Confinement can hold them.
	Shell       line.Shell
	Confinement Confinement
	// AllowRules, AskRules and DenyRules are the user's.
	AllowRules, AskRules, DenyRules []Rule
	World
	// TrustsPrograms means that the project's own programs may run in the sandbox
	// without a question: the user trusts the project for it, or said so in this session.
	TrustsPrograms bool
	Ceiling

	session []Rule
	kept    map[string][]string      // changes on layers that were approved for lines in this session
	guarded func(path string) string // why a file is guarded; set during one decision
}

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

// Confinement describes the walls around the commands of a session. The zero value is
// nothing: all run on the host.
type Confinement struct {
	Sandbox  bool // commands can be confined
	Layer    bool // and every foreground line runs on a throwaway layer
	First    bool // a read-only command changes nothing: without layers system programs are tried so
	Auto     bool // mode auto runs a trusted project's programs in the sandbox also without layers
	Shows    bool // confined commands can read denied files
	Network  bool // confined commands reach the network, unless they are read-only
	Required bool // calls that cannot be confined are refused
	// Layered means that artoo itself works on a layer over the project, and with Layer alone: writes need no
	// approval except in guarded files, nothing runs outside, and git's data is read-only.
	Layered bool
	// Capped means that the changes of the run are capped: commands run on layers alone, in the background too.
	Capped bool
}

// Inside reports whether nothing may run outside the sandbox.
func (c Confinement) Inside() bool { return c.Layered || c.Capped }

// Binding reports whether a call must not run where its place cannot be had.
func (c Confinement) Binding() bool { return c.Required || c.Inside() }

// Ceiling lists the things that the system's policy forbids whatever the user chooses. The zero value forbids
// nothing.
type Ceiling struct {
	// Modes are those that may be chosen besides ModePlan, which only reads; nil for all. ModesAt
	// is the place in the policy, for messages.
	Modes   []Mode
	ModesAt string
	// NoTrust is the place in the policy where no project is trusted; "" where some may be.
	NoTrust string
}

// Forbids reports whether the mode may not be chosen.
func (c Ceiling) Forbids(mode Mode) bool {
	return c.Modes != nil && mode != ModePlan && !slices.Contains(c.Modes, mode)
}

// SessionRules are the rules the user allowed in this session.
func (p *Policy) SessionRules() []Rule { return append([]Rule(nil), p.session...) }

// allowing are all rules that allow, those of this session first.
func (p *Policy) allowing() []Rule { return append(p.SessionRules(), p.AllowRules...) }

// deciding is the policy for one decision, which looks at git's configuration and for denied
// files once.
func (p *Policy) deciding() *Policy {
	own := *p
	own.guarded = p.Guard.once()
	if own.Files != nil {
		own.denied = sync.OnceValues(own.Files.Denied)
	}
	return &own
}
