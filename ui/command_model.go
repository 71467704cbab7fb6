package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

func runApproval(_ context.Context, t *Terminal, arg string) error {
	switch {
	case arg == "":
		t.showMode()
		t.screen.Note("/approval ask, edits, auto or plan changes it; next goes through ask, edits and plan")
		return nil
	case arg == "next":
		return t.shownMode(t.nextMode())
	case arg == "prompt": // the option calls it so
		arg = string(permission.ModeAsk)
	case !slices.Contains([]string{"ask", "edits", "auto", "plan"}, arg):
		return fmt.Errorf("unknown mode %q: use ask, edits, auto or plan", arg)
	}
	return t.shownMode(t.setMode(permission.Mode(arg)))
}

func (t *Terminal) setMode(mode permission.Mode) error {
	if err := t.opt.Agent.SetMode(mode); err != nil {
		// which speaks of the command line
		return errors.New(strings.TrimPrefix(err.Error(), "--approval "+string(mode)+": "))
	}
	return nil
}

// shownMode says which mode holds now, unless err kept it from being changed.
func (t *Terminal) shownMode(err error) error {
	if err == nil {
		t.showMode()
	}
	return err
}

func (t *Terminal) showMode() {
	t.screen.Note(oneLine("mode " + approvalText(t.opt.Agent)))
}

// nextMode goes through ask, edits and plan, and passes over a mode that cannot hold here.
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

// pressMode is Shift-Tab. The prompt names the mode and is drawn over, so a mode that was passed by leaves no row.
func (t *Terminal) pressMode(ctx context.Context) error {
	err := t.followUp(ctx)
	if err == nil {
		if refused := t.nextMode(); refused != nil {
			t.screen.Trouble("approval: " + oneLine(refused.Error()))
		}
	}
	return err
}

func runPlan(_ context.Context, t *Terminal, arg string) error {
	if arg != "" && arg != "off" {
		return fmt.Errorf("unknown word %q: /plan alone begins and ends the mode", arg)
	}
	planning := t.opt.Agent.Policy().Mode == permission.ModePlan
	switch {
	case !planning && arg == "":
		return t.shownMode(t.setMode(permission.ModePlan))
	case !planning:
		t.showMode()
		return nil
	}
	return t.shownMode(t.setMode(t.opt.Agent.BeforePlan()))
}

// untilRounds is how often in a turn the model goes on where the user names no number.
const untilRounds = 5

// runUntil sets the command that makes the model continue until it succeeds, shows it, or drops it.
func runUntil(_ context.Context, t *Terminal, arg string) error {
	a, rounds := t.opt.Agent, untilRounds
	switch before := a.Until(); {
	case arg == "" && before == "":
		t.screen.Note("no command; /until CMD makes the model continue until CMD succeeds, such as /until make test")
		return nil
	case arg == "":
		t.screen.Note("until " + oneLine(before) + "; /until off ends it")
		return nil
	case arg == "off":
		if err := a.SetUntil("", 0); err != nil {
			return err
		}
		t.screen.Note("/until is off")
		return nil
	}
	if i := strings.LastIndexByte(arg, ' '); i > 0 {
		if n, err := strconv.Atoi(arg[i+1:]); err == nil && n > 0 {
			arg, rounds = strings.TrimSpace(arg[:i]), n
		}
	}
	if err := a.SetUntil(arg, rounds); err != nil {
		return err
	}
	t.screen.Note("after each turn " + oneLine(arg) + " runs; while it fails the model continues, at most " +
		screen.Count(rounds, "round") + "; /until off ends it")
	return nil
}

func runPermissions(_ context.Context, t *Terminal, arg string) error {
	if what, which := cutWord(arg); what != "" {
		if !slices.Contains([]string{"rm", "drop", "remove"}, what) || which == "" {
			return fmt.Errorf("%q: use rm NUMBER, or rm RULE", arg)
		}
		return t.dropRule(which)
	}
	t.showMode()
	t.screen.Note(oneLine(t.opt.Program.Confined()[0]))
	var rows [][]string
	dropped := false
	for i, r := range t.opt.Agent.Rules() {
		rows = append(rows, []string{strconv.Itoa(i + 1), string(r.Verdict), oneLine(r.Rule), "(" + oneLine(r.Origin) + ")"})
		dropped = dropped || r.Session
	}
	if rows == nil {
		t.screen.Note("no rules; --allow, --ask and --deny add some")
	}
	t.columns(rows)
	if dropped {
		t.screen.Note("/permissions rm N drops one of this session")
	}
	return nil
}

// dropRule takes back a rule of this session, by its number or text.
func (t *Terminal) dropRule(which string) error {
	rules := t.opt.Agent.Rules()
	found := slices.IndexFunc(rules, func(r permission.RuleInForce) bool { return r.Session && r.Rule == which })
	if n, err := strconv.Atoi(which); err == nil {
		if found = n - 1; found < 0 || found >= len(rules) {
			return fmt.Errorf("no rule %d; /permissions lists them", n)
		}
	} else if found < 0 {
		found = slices.IndexFunc(rules, func(r permission.RuleInForce) bool { return r.Rule == which })
	}
	if found < 0 {
		return fmt.Errorf("no rule %s; /permissions lists them", which)
	}
	r := rules[found]
	if !r.Session {
		return fmt.Errorf("%s %s comes from %s; change it there", r.Verdict, r.Rule, r.Origin)
	}
	if err := t.opt.Agent.DropRule(r.Rule); err != nil {
		return err
	}
	t.screen.Note("dropped: " + string(r.Verdict) + " " + oneLine(r.Rule))
	return nil
}

func completeRules(t *Terminal, _ string) []prompt.Candidate {
	var all []prompt.Candidate
	for _, r := range t.opt.Agent.Rules() {
		if r.Session {
			all = append(all, prompt.Candidate{Text: "rm " + r.Rule, Help: string(r.Verdict) + ", " + r.Origin})
		}
	}
	return all
}

func runModel(ctx context.Context, t *Terminal, name string) error {
	switch name {
	case "":
		return chooseModel(ctx, t)
	case "list":
		return listModels(ctx, t)
	}
	found, err := t.opt.Models.FindModel(ctx, name)
	if err != nil {
		return err
	}
	if !found.Known && found.Listed {
		if yes, err := t.insists(ctx, found); err != nil || !yes {
			return err
		}
	}
	if err := t.opt.Models.SwitchModel(found.Provider + "/" + found.Model); err != nil {
		return err
	}
	t.showModel()
	if !found.Known && !found.Listed {
		t.screen.Note(oneLine(found.Provider + " lists no models, so the name was not checked"))
	}
	return nil
}

// insists asks whether a model that its provider does not list is meant all the same.
func (t *Terminal) insists(ctx context.Context, found FoundModel) (bool, error) {
	text := fmt.Sprintf("%s does not list a model %q", found.Provider, found.Model)
	if found.Nearest != "" {
		text += "; the nearest is " + found.Nearest
	}
	if t.program != nil { // A program is not asked: the name it sent is wrong.
		return false, errors.New(text)
	}
	show := func() (string, bool) {
		t.screen.Note(oneLine(text))
		return "switch to " + oneLine(found.Model) + " anyway? [y,n] (n) ", false
	}
	yes, err := yesNo(dialogue[bool]{show: show,
		help: func() {
			t.screen.Note("y: the next message goes to it; n: keep the current model. /model list shows all of them")
		},
		decided: func(yes bool) {
			if !yes {
				t.showModel()
			}
		},
	}).ask(ctx, t.asker())
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return yes, err
}

// chooseModel is /model. A provider is asked only where nothing else is known.
func chooseModel(ctx context.Context, t *Terminal) error {
	now := t.opt.Agent.Model()
	list := t.opt.Models.Models()
	if len(list) < 2 {
		var err error
		if list, err = t.askModels(ctx); err != nil {
			return err
		}
	}
	c := choices{title: oneLine("model: " + now.String() + "; models of " + now.Name + ":")}
	for _, m := range list {
		c.list = append(c.list, listed{name: m.ID, cells: []string{m.ID, m.About()}, now: m.ID == now.Defaults.Model})
	}
	i, err := t.choose(ctx, c)
	if err != nil || i == nothingChosen {
		return err
	}
	if err := t.opt.Models.SwitchModel(now.Name + "/" + list[i].ID); err != nil {
		return err
	}
	t.showModel()
	return nil
}

func (t *Terminal) showModel() { t.screen.Note("model: " + oneLine(t.opt.Agent.Model().String())) }

// askModels asks the provider; why it could not be asked is shown.
func (t *Terminal) askModels(ctx context.Context) ([]provider.ModelInfo, error) {
	list, err := t.opt.Models.AskModels(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		t.screen.Trouble(oneLine(err.Error()))
	}
	return list, nil
}

// listModels is /model list.
func listModels(ctx context.Context, t *Terminal) error {
	list, err := t.askModels(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		t.screen.Note("no models are known; any name may be given")
	}
	var rows [][]string
	for _, m := range list {
		rows = append(rows, []string{oneLine(m.ID), oneLine(m.About())})
	}
	t.columns(rows)
	return nil
}

func completeModels(t *Terminal, arg string) []prompt.Candidate {
	var all []prompt.Candidate
	for _, m := range t.opt.Models.Models() {
		all = append(all, prompt.Candidate{Text: m.ID, Help: m.About()})
	}
	all = append(all, prompt.Candidate{Text: "list", Help: "the known models"})
	if arg != "" {
		for _, p := range completeProviders(t, arg) {
			all = append(all, prompt.Candidate{Text: p.Text + "/", Help: "a model of " + p.Text})
		}
	}
	return all
}

func runProvider(ctx context.Context, t *Terminal, name string) error {
	if name != "" {
		return runModel(ctx, t, name+"/")
	}
	list, err := t.opt.Models.Providers()
	t.screen.Note("now " + oneLine(t.opt.Agent.Model().String()) +
		"; /provider NAME switches to one of these and its default model:")
	if len(list) == 0 {
		t.screen.Note("no provider has a key")
	}
	var rows [][]string
	for _, c := range list {
		rows = append(rows, []string{oneLine(c.Provider), oneLine(c.Model)})
	}
	t.columns(rows)
	return err
}

func completeProviders(t *Terminal, _ string) []prompt.Candidate {
	list, _ := t.opt.Models.Providers() // the command itself reports the fault
	var all []prompt.Candidate
	for _, c := range list {
		all = append(all, prompt.Candidate{Text: c.Provider, Help: c.Model})
	}
	return all
}

// efforts are the words /effort takes.
func efforts() []string {
	var all []string
	for _, e := range []provider.Effort{provider.EffortOff, provider.EffortLow, provider.EffortMedium,
		provider.EffortHigh, provider.EffortMax} {
		all = append(all, string(e))
	}
	return all
}

func runEffort(_ context.Context, t *Terminal, arg string) error {
	if arg != "" {
		if !slices.Contains(efforts(), arg) {
			return fmt.Errorf("unknown effort %q: use one of %s", arg, strings.Join(efforts(), ", "))
		}
		t.opt.Agent.SetEffort(provider.Effort(arg))
		t.screen.Note("effort: " + arg)
		return nil
	}
	now := cmp.Or(string(t.opt.Agent.Model().Defaults.Effort), "model default")
	t.screen.Note("effort: " + now + " (" + strings.Join(efforts(), ", ") + ")")
	return nil
}
