package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
	if w.cfg.Sandbox == "on" && facts.Mechanism == sandbox.None {
		lack := sandbox.Lack{Why: "nothing here can"}
		if i := slices.IndexFunc(facts.Missing, func(l sandbox.Lack) bool { return l.What == "sandbox" }); i >= 0 {
			lack = facts.Missing[i]
		}
		return facts, fail(agent.KindConfig, "ARTOO_SANDBOX=on: commands cannot be confined", errors.New(lack.Why),
			cmp.Or(lack.Cure, "ARTOO_SANDBOX=auto runs commands as they are, after a question"))
	}
	return facts, nil
}

// loopback are the ports of the machine that are let in.
func (w *workspace) loopback() (ports []int, err error) {
	for _, text := range w.cfg.Loopback {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return nil, fail(agent.KindConfig, w.cfg.Origin("loopback"), fmt.Errorf("%q is no port", text), "loopback = [5432]")
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
	if w.cfg.Sandbox == "off" || len(w.facts.Missing) == 0 {
		return ""
	}
	var names []string
	for _, lack := range w.facts.Missing {
		if lack.What == "sandbox" {
			return "commands are not confined here: " + lack.Why + "; try: " + cmp.Or(lack.Cure, "artoo doctor")
		}
		names = append(names, lack.What)
	}
	return "the sandbox here lacks: " + strings.Join(names, ", ") + "; artoo doctor says why"
}
