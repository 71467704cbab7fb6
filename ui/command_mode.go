package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"artoo/agent/permission"
)

// approvalModes are the modes in the order in which they are listed.
func approvalModes() []permission.Mode {
	return []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModeAuto, permission.ModePlan}
}

func runApproval(_ context.Context, t *Terminal, arg string) error {
	switch {
	case arg == "":
		t.tellMode()
		t.Note("/approval ask, edits, auto or plan changes it; next goes through ask, edits and plan")
		return nil
	case arg == "next":
		return t.nextMode()
	case arg == "prompt": // as the option has it
		arg = string(permission.ModeAsk)
	case !slices.Contains(approvalModes(), permission.Mode(arg)):
		return fmt.Errorf("%q is none of ask, edits, auto, plan", arg)
	}
	return t.setMode(permission.Mode(arg))
}

// setMode changes the mode and prints what holds now.
func (t *Terminal) setMode(mode permission.Mode) error {
	before := t.opt.Agent.Policy().Mode
	if err := t.opt.Agent.SetMode(mode); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "--approval "+string(mode)+": ")) // which speaks of the command line
	}
	if mode == permission.ModePlan && before != mode {
		t.beforePlan = before
	}
	t.tellMode()
	return nil
}

func (t *Terminal) tellMode() {
	mode := t.opt.Agent.Policy().Mode
	t.Note(fmt.Sprintf("approval: %s: %s", mode, modeText(mode)))
}

// nextMode goes through ask, edits and plan. A mode that cannot hold here is
// passed over.
func (t *Terminal) nextMode() error {
	cycle := []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModePlan}
	at := slices.Index(cycle, t.opt.Agent.Policy().Mode) // -1 for auto, whose next is ask
	var err error
	for i := 1; i < len(cycle); i++ {
		if err = t.setMode(cycle[(at+i)%len(cycle)]); err == nil {
			return nil
		}
	}
	return err
}

func runPlan(_ context.Context, t *Terminal, arg string) error {
	if arg != "" && arg != "off" {
		return fmt.Errorf("%q is not off: /plan alone begins and ends it", arg)
	}
	planning := t.opt.Agent.Policy().Mode == permission.ModePlan
	switch {
	case !planning && arg == "":
		return t.setMode(permission.ModePlan)
	case !planning:
		t.tellMode()
		return nil
	}
	back := t.beforePlan
	if back == "" { // it began with plan
		back = permission.ModeAsk
	}
	return t.setMode(back)
}

func runPermissions(_ context.Context, t *Terminal, arg string) error {
	if what, which := cutWord(arg); what != "" {
		if !slices.Contains([]string{"rm", "drop", "remove"}, what) || which == "" {
			return fmt.Errorf("%q: say rm and the number or the text of a rule", arg)
		}
		return t.dropRule(which)
	}
	mode := t.opt.Agent.Policy().Mode
	t.Note("mode " + string(mode) + ": " + modeText(mode))
	t.Note("commands are not confined")
	var rows [][]string
	dropped := false
	for i, r := range t.opt.Agent.Rules() {
		rows = append(rows, []string{strconv.Itoa(i + 1), string(r.Effect), oneLine(r.Rule), "(" + oneLine(r.Origin) + ")"})
		dropped = dropped || r.Session
	}
	if rows == nil {
		t.Note("no rules; --allow, --ask and --deny give some")
	}
	t.columns(rows)
	if dropped {
		t.Note("/permissions rm N drops one of this session")
	}
	return nil
}

// dropRule takes back what was allowed in this session, by the number in the
// list or as it is written.
func (t *Terminal) dropRule(which string) error {
	rules := t.opt.Agent.Rules()
	found := slices.IndexFunc(rules, func(r permission.RuleInForce) bool { return r.Session && r.Rule == which })
	if n, err := strconv.Atoi(which); err == nil {
		if found = n - 1; found < 0 || found >= len(rules) {
			return fmt.Errorf("there is no rule %d; /permissions numbers them", n)
		}
	} else if found < 0 {
		found = slices.IndexFunc(rules, func(r permission.RuleInForce) bool { return r.Rule == which })
	}
	if found < 0 {
		return fmt.Errorf("there is no rule %s; /permissions lists them", which)
	}
	r := rules[found]
	if !r.Session {
		return fmt.Errorf("%s %s comes from %s and is changed there", r.Effect, r.Rule, r.Origin)
	}
	if err := t.opt.Agent.DropRule(r.Rule); err != nil {
		return err
	}
	t.Note("dropped: " + string(r.Effect) + " " + oneLine(r.Rule))
	return nil
}

func completeRules(t *Terminal, _ string) []candidate {
	var all []candidate
	for _, r := range t.opt.Agent.Rules() {
		if r.Session {
			all = append(all, candidate{text: "rm " + r.Rule, help: string(r.Effect) + ", " + r.Origin})
		}
	}
	return all
}

func modeText(mode permission.Mode) string {
	switch mode {
	case permission.ModeEdits:
		return "writes in the project pass, the rest is asked"
	case permission.ModeAuto:
		return "what is confined passes; nothing is confined yet, so it is as edits"
	case permission.ModePlan:
		return "only reading, all else is refused"
	}
	return "asks before it writes, runs or fetches"
}
