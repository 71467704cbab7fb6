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
func (a *app) findSandbox(ctx context.Context) (sandbox.Facts, error) {
	if a.cfg.Sandbox == "off" || a.project.None != "" {
		return sandbox.Facts{Mechanism: sandbox.None}, nil
	}
	cache := ""
	if dir, err := a.cfg.Paths.CacheDir(); err == nil {
		cache = filepath.Join(dir, "sandbox.json")
	}
	facts := sandbox.Probe(ctx, cache).For(a.project.Root)
	if a.cfg.Sandbox == "on" && facts.Mechanism == sandbox.None {
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
func (a *app) loopback() (ports []int, err error) {
	for _, text := range a.cfg.Loopback {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return nil, fail(agent.KindConfig, a.cfg.Origin("loopback"), fmt.Errorf("%q is no port", text), "loopback = [5432]")
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// sandboxFacts describe the confinement of commands, for the doctor.
func (a *app) sandboxFacts() sandbox.Facts {
	if a.facts.Mechanism != "" {
		return a.facts
	}
	facts, _ := a.findSandbox(context.Background()) // where it is needed and missing, Missing says why
	return facts
}

// Confined implements ui.Program.
func (a *app) Confined() []string {
	facts := a.facts
	if can := a.agent.Policy().Confinement; !can.Sandbox { // it may have been lost
		facts.Mechanism = sandbox.None
	} else {
		facts.Layer = facts.Layer && can.Layer
	}
	rows := []string{"sandbox: " + doctor.SandboxText(facts, a.cfg.Sandbox)}
	for _, lack := range a.facts.Missing {
		row := "missing: " + lack.What + ": " + lack.Why
		if lack.Cure != "" {
			row += "; try: " + lack.Cure
		}
		rows = append(rows, row)
	}
	return append(rows, a.agent.Reached()...)
}

// unconfinedNote names the walls that the machine lacks; "" where the user wants no sandbox.
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
