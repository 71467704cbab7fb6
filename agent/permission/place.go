package permission

import (
	"slices"
	"strings"

	"artoo/tool"
)

// Place is where a command runs.
type Place string

// The places, from the least to the most confined.
const (
	// PlaceHost is the machine itself, with the rights that artoo has.
	PlaceHost Place = ""
	// PlaceSandbox is confined: what the command writes in the project stays.
	PlaceSandbox Place = "sandbox"
	// PlaceLayer is confined, and what the command writes goes to a layer over the
	// project, which Judge decides about.
	PlaceLayer Place = "layer"
	// PlaceReading is confined, and nothing can be written.
	PlaceReading Place = "read-only"
	// PlaceDiscarded is confined, and what the command writes goes to a layer that is
	// thrown away: for the user's own checks. Nothing is decided to run there.
	PlaceDiscarded Place = "discarded"
)

// Confinement is what can hold the commands of a session. The zero value is
// nothing: all run on the host.
type Confinement struct {
	Sandbox bool // commands can be confined
	Layer   bool // and run on a throwaway layer
	// Auto says that a confined command reaches neither denied files nor what others
	// run, nor the network: the mode auto asks nothing about it. Else it is edits.
	Auto bool
	// Trusted says that the user trusts the project: its own programs and scripts run
	// on a layer as the system's do.
	Trusted bool
}

// place says where a line runs that is allowed, or would run if the user said
// yes, and lets pass what a layer or the sandbox holds.
func (p *Policy) place(d Decision, name string, access tool.Access, commands []simple, odd string) Decision {
	can := p.Confinement
	if !can.Sandbox || d.Effect == Deny {
		return d
	}
	reads := strings.HasSuffix(d.Rule, "("+ReadGroup+")")
	if d.Effect == Allow && reads && access.Unconfined == "" {
		switch {
		case slices.ContainsFunc(commands, aboutMachine):
		case access.Background: // nothing may be changed while one reads
			d.Place = PlaceSandbox
		default:
			d.Place = PlaceReading
		}
		return d
	}
	offLayer := p.offLayer(access, commands, odd)
	if outside := p.outside(access, commands, offLayer); outside != "" {
		return p.placeOutside(d, name, access, commands, outside)
	}
	if d.Effect == Allow && p.coveredOutside(name, access, commands) {
		return d
	}
	d.Place = PlaceSandbox
	always := strings.HasPrefix(d.Reason, alwaysAsked(""))
	if d.Effect == Ask && always && odd == "" && !p.NoProject {
		if ok, why := p.undone(name, commands); ok {
			d.Effect, d.Reason = Allow, "it is confined, and can be undone"
		} else if why != "" {
			d.Reason += "; cannot be undone: " + why
		}
	}
	writesGit := slices.ContainsFunc(commands, p.writesGit)
	switch {
	case d.Effect == Allow && writesGit:
		d.Place = PlaceLayer // .git is read-only in the sandbox; what the line did there is seen, and applied
	case d.Effect == Allow, d.Rule != "", d.hidden, p.NoProject:
	case p.Mode == ModeAuto && always && writesGit:
		return p.placeOutside(d, name, access, commands, "")
	case p.Mode == ModeAuto && !always && p.gitCouldShow(commands):
		d.Reason = "git could show a denied file that the repository holds"
	case p.Mode == ModeAuto && !always && p.Confinement.Auto:
		d.Effect, d.Reason = Allow, "mode auto: it is confined"
		if writesGit {
			d.Place = PlaceLayer
		}
	case p.Mode != ModeAuto && offLayer == "":
		d.Effect, d.Place, d.Reason = Allow, PlaceLayer, "what it changes is asked about afterwards"
	}
	return d
}

// placeOutside decides a line that has to run on the host: it is asked, unless a
// rule for outside covers it.
func (p *Policy) placeOutside(d Decision, name string, access tool.Access, commands []simple, why string) Decision {
	if d.Effect == Allow && p.coveredOutside(name, access, commands) {
		return d
	}
	d.Effect, d.Rule = Ask, ""
	d.Place = PlaceHost
	if !strings.HasPrefix(d.Reason, alwaysAsked("")) {
		d.Reason = "outside: network, keys, home; " + why
	}
	d.Narrow = outsideRule(name, trimLine(access.Command)).String()
	d.Suggested = d.Narrow
	if rest, _ := p.unread(name, commands); suggestRun(name, rest) != "" {
		if r, err := ParseRule(suggestRun(name, rest)); err == nil {
			r.Outside = true
			d.Suggested = r.String()
		}
	}
	return d
}

func outsideRule(name, line string) Rule {
	r := lineRule(name, line)
	r.Outside = true
	return r
}

// coveredOutside reports whether rules for outside cover every command of a line
// that needs a rule.
func (p *Policy) coveredOutside(name string, access tool.Access, commands []simple) bool {
	rules := slices.DeleteFunc(p.allowing(), func(r Rule) bool { return !r.Outside })
	if len(rules) == 0 {
		return false
	}
	if _, ok := p.exactly(rules, name, trimLine(access.Command), access.Dir); ok {
		return true
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return !r.HasArg && r.names(name, tool.KindRun) }) {
		return true
	}
	rest, _ := p.unread(name, commands)
	return len(rest) > 0 && !slices.ContainsFunc(rest, func(s simple) bool { return !p.commandCovered(rules, name, s) })
}
