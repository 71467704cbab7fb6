package permission

import (
	"fmt"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// Fate is the outcome of a kind of act that no rule speaks of.
type Fate string

// The fates.
const (
	Unasked   Fate = "unasked"   // it runs, or lands, without a question
	Asked     Fate = "asked"     // the user is asked
	Refused   Fate = "refused"   // it does not run
	Discarded Fate = "discarded" // it ran on a layer, and does not land
)

// Rights are the fates of each kind of act without a rule, as Decide and Judge decide.
// The model's prompt and the user's pages are made of them.
type Rights struct {
	// The causes of the rights.
	Mode                         Mode
	Confinement                  Confinement
	Trusted, NoProject, Headless bool

	Reading    Fate // listed read-only commands inside the project
	Edits      Fate // file tools on files of the project that are not guarded
	Guarded    Fate // file tools on guarded files
	Fetching   Fate // tools that reach other hosts
	Servers    Fate // tools of MCP servers; in plan mode those that the user lists as reading
	Commands   Fate // other commands in the foreground
	Own        Fate // those that run the project's own programs
	Outside    Fate // those that leave the sandbox
	Background Fate // those that go on after their call
	// Lands is the strictest class of effects that land unasked on a layer, Beyond the fate of stricter ones; Nothing
	// and "" without layers.
	Lands  Class
	Beyond Fate
}

// Rights are those of a session; headless means that no one can answer.
func (p *Policy) Rights(headless bool) Rights {
	return Rights{Confinement: p.Confinement, Trusted: p.TrustsPrograms, NoProject: p.NoProject != "",
		Headless: headless}.In(p.Mode)
}

// In are the same rights in another mode: the decisions on a call of each kind.
func (r Rights) In(mode Mode) Rights {
	p := &Policy{Mode: mode, Confinement: r.Confinement, TrustsPrograms: r.Trusted}
	if r.NoProject {
		p.NoProject = "no project"
	}
	decide := func(name string, access tool.Access) Fate { return r.fate(p.Decide(name, access).Verdict) }
	command := func(text string) Fate {
		return decide("bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: "/"})
	}
	file := []string{"a"}
	r.Mode, r.Lands, r.Beyond = mode, Nothing, ""
	r.Reading, r.Commands, r.Own, r.Outside = command("pwd"), command("touch a"), command("./a"),
		command("gh pr list")
	r.Background = decide("bash", tool.Access{Kind: tool.KindRun, Command: "touch a", Dir: "/", Background: true})
	r.Edits = decide("write", tool.Access{Kind: tool.KindWrite, Paths: file})
	r.Guarded = decide("write", tool.Access{Kind: tool.KindWrite, Paths: file, OtherNames: true})
	r.Fetching = decide("web_fetch", tool.Access{Kind: tool.KindNetwork})
	r.Servers = decide("mcp__a__b", tool.Access{Kind: tool.KindServer, Reads: true})
	if !r.Confinement.Layer {
		return r
	}
	r.Lands, r.Beyond = p.lands(Decision{}), r.fate(Ask)
	if mode == ModePlan || r.Headless {
		r.Beyond = Discarded
	}
	return r
}

// fate is the fate by a verdict.
func (r Rights) fate(v Verdict) Fate {
	switch {
	case v == Run:
		return Unasked
	case v == Ask && !r.Headless:
		return Asked
	}
	return Refused
}

// ModeError means that a mode cannot hold where artoo was started.
type ModeError struct {
	Mode Mode
	// Ceiling has the modes of the system's policy, if that is the reason.
	Ceiling Ceiling
	// NoProject says why there is no project, if that is the reason.
	NoProject string
}

// Error names the option and explains why.
func (e *ModeError) Error() string {
	if e.Ceiling.Forbids(e.Mode) {
		return fmt.Sprintf("--approval %s: not allowed by %s", e.Mode, e.Ceiling.ModesAt)
	}
	return "--approval " + string(e.Mode) + ": " + e.NoProject + ", so artoo asks before every write and command"
}

// ErrorKind is the kind of failure it is for the table of exit codes.
func (*ModeError) ErrorKind() string { return "usage" }

// ErrorHint names a way out.
func (e *ModeError) ErrorHint() string {
	if e.Ceiling.Forbids(e.Mode) {
		modes := append([]Mode{ModePlan}, e.Ceiling.Modes...)
		words := line.Each(modes, func(m Mode) string { return string(m) })
		return "one of the modes that it allows: " + strings.Join(words, ", ")
	}
	return "cd into a project directory, or --approval ask"
}

// CheckMode refuses modes that cannot hold without a project, or that the system's policy forbids,
// with a *ModeError.
func (p *Policy) CheckMode() error {
	if p.Forbids(p.Mode) {
		return &ModeError{Mode: p.Mode, Ceiling: p.Ceiling}
	}
	if p.NoProject != "" && (p.Mode == ModeEdits || p.Mode == ModeAuto) {
		return &ModeError{Mode: p.Mode, NoProject: p.NoProject}
	}
	return nil
}
