package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"artoo/agent"
	"artoo/tool/sandbox"
	"artoo/ui/doctor"
)

// findSandbox finds out how this machine can confine commands in the project.
func (w *workspace) findSandbox(ctx context.Context) (sandbox.Facts, error) {
	if w.cfg.Sandbox == "off" {
		return sandbox.Facts{Mechanism: sandbox.None}, nil
	}
	if w.project.None != "" {
		return sandbox.Facts{Mechanism: sandbox.None, Missing: []sandbox.Lack{{What: "sandbox", Why: w.project.None, Cure: "cd into a project's directory"}}}, nil
	}
	cache := ""
	if dir, err := w.cfg.Paths.CacheDir(); err == nil {
		cache = filepath.Join(dir, "sandbox.json")
	}
	facts := sandbox.Probe(ctx, cache).For(w.project.Root)
	if w.cfg.Sandbox == "external" && !facts.Layer {
		return sandbox.Facts{Mechanism: sandbox.None}, nil
	}
	if why, cure := facts.Unconfined(); w.cfg.Sandbox == "on" && why != "" {
		return facts, fail(agent.KindConfig, "ARTOO_SANDBOX=on: commands cannot be confined", errors.New(why),
			cmp.Or(cure, "ARTOO_SANDBOX=auto runs commands as they are, after a question"))
	}
	return facts, nil
}

// loopback are the ports of the machine that are let in.
func (w *workspace) loopback() (ports []int, err error) {
	for _, text := range w.cfg.Loopback {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return nil, fail(agent.KindConfig, w.cfg.Origin("loopback"), fmt.Errorf("%q is not a port", text), "loopback = [5432]")
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// sandboxFacts describe the confinement of commands, for the doctor.
func (w *workspace) sandboxFacts() sandbox.Facts {
	if w.facts.Mechanism != "" {
		return w.facts
	}
	facts, _ := w.findSandbox(context.Background()) // where it is needed and missing, Missing says why
	return facts
}

// confines names the mechanism that confines commands, and, where nothing does, why. Before the machine was probed there
// is no reason.
func (a *app) confines() (mechanism sandbox.Mechanism, unconfined string) {
	mechanism = cmp.Or(a.facts.Mechanism, sandbox.None)
	switch {
	case a.cfg != nil && a.cfg.Sandbox == "off":
		unconfined = "switched off by " + a.cfg.Origin("sandbox")
	case a.agent != nil && a.agent.Policy().Confinement.External:
		unconfined = "external, as " + a.cfg.Origin("sandbox") + " says"
	case a.agent != nil && a.agent.Policy().Confinement.Lost != "":
		mechanism, unconfined = sandbox.None, "lost: "+a.agent.Policy().Confinement.Lost
	default:
		unconfined, _ = a.facts.Unconfined()
	}
	return mechanism, a.shown(unconfined)
}

// Confined implements ui.Program.
func (p program) Confined() []string {
	facts := p.app.facts
	if can := p.app.agent.Policy().Confinement; !can.Sandbox { // it may have been lost
		facts.Mechanism = sandbox.None
	} else {
		facts.Layer = facts.Layer && can.Layer
	}
	rows := []string{"sandbox: " + doctor.SandboxText(facts, p.app.cfg.Sandbox)}
	for _, lack := range p.app.facts.Missing {
		row := "missing: " + lack.What + ": " + lack.Why
		if lack.Cure != "" {
			row += "; try: " + lack.Cure
		}
		rows = append(rows, row)
	}
	return append(rows, p.app.agent.Reached()...)
}

// unconfinedNote names the walls that the machine lacks; "" where the user wants no sandbox.
func (w *workspace) unconfinedNote() string {
	if w.cfg.Sandbox == "external" && w.facts.Mechanism == sandbox.None {
		return "commands run unconfined: " + w.cfg.Origin("sandbox") + " says that this machine is the sandbox"
	}
	if w.project.None != "" {
		return w.project.None + ", not a project: artoo asks before every change and command, nothing confines " +
			"commands, and undo covers only artoo's own tools; try: cd into a project's directory"
	}
	if w.cfg.Sandbox == "off" || len(w.facts.Missing) == 0 {
		return ""
	}
	if why, cure := w.facts.Unconfined(); why != "" {
		return "commands are not confined here: " + why + "; try: " + cmp.Or(cure, "artoo doctor")
	}
	var names []string
	for _, lack := range w.facts.Missing {
		names = append(names, lack.What)
	}
	return "the sandbox here lacks: " + strings.Join(names, ", ") + "; artoo doctor says why"
}
