package cli

// What is told of the sandbox.

import (
	"context"
	"strings"

	"artoo/tool/sandbox"
	"artoo/ui/doctor"
)

// sandboxProbe is what confines commands, for the doctor.
func (a *app) sandboxProbe() doctor.Sandbox {
	facts := a.facts
	if facts.Mechanism == "" {
		if a.cfg == nil {
			return doctor.Sandbox{}
		}
		facts, _ = a.findSandbox(context.Background()) // where it is needed and missing, Missing says why
	}
	s := a.confining(facts)
	for _, lack := range facts.Missing {
		s.Missing = append(s.Missing, doctor.Lack{What: lack.What, Why: lack.Why, Cure: lack.Cure})
	}
	return s
}

// confining is what the facts and the settings say of the sandbox.
func (a *app) confining(facts sandbox.Facts) doctor.Sandbox {
	return doctor.Sandbox{Off: a.cfg.Sandbox == "off", Needed: a.cfg.Sandbox == "on", Mechanism: string(facts.Mechanism),
		Text: facts.String()}
}

// Confined implements ui.Program.
func (a *app) Confined() []string {
	facts := a.facts
	if can := a.agent.Policy().Confinement; !can.Sandbox { // it may have been lost
		facts.Mechanism = sandbox.None
	} else {
		facts.Layer = facts.Layer && can.Layer
	}
	rows := []string{"sandbox: " + a.confining(facts).String()}
	for _, lack := range a.facts.Missing {
		row := "missing: " + lack.What + ": " + lack.Why
		if lack.Cure != "" {
			row += "; try: " + lack.Cure
		}
		rows = append(rows, row)
	}
	if a.found.reached != nil {
		rows = append(rows, a.found.reached()...)
	}
	return rows
}

// unconfinedNote says in one line what this machine cannot confine; "" where nothing
// is missing, or the user wants no sandbox.
func (a *app) unconfinedNote() string {
	if a.cfg.Sandbox == "off" || len(a.facts.Missing) == 0 {
		return ""
	}
	var names []string
	for _, lack := range a.facts.Missing {
		if lack.What == "sandbox" {
			return "commands are not confined here: " + lack.Why + "; artoo doctor says more"
		}
		names = append(names, lack.What)
	}
	return "the sandbox here lacks: " + strings.Join(names, ", ") + "; artoo doctor says why"
}
