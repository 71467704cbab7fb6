package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool/spelling"
)

func runModel(ctx context.Context, t *Terminal, name string) error {
	d := t.opt.Deps
	switch {
	case name == "":
		if d.Model == nil {
			return errNotHere
		}
		t.Note(oneLine(d.Model()) + " (/model NAME or /model PROVIDER/NAME changes it, /model list tells those known)")
		return nil
	case name == "list":
		return listModels(ctx, t)
	case d.SwitchModel == nil:
		return errNotHere
	}
	now, err := d.SwitchModel(ctx, name)
	if err != nil {
		return err
	}
	t.Note("model: " + oneLine(now))
	t.unknownModel(now)
	return nil
}

// unknownModel tells that a name is not among those known of its provider: it may
// be new, or a slip.
func (t *Terminal) unknownModel(now string) {
	if t.opt.Deps.Models == nil {
		return
	}
	provider, name, _ := strings.Cut(now, "/")
	best, least := "", max(len(name)/3, 2)
	list := t.opt.Deps.Models()
	for _, c := range list {
		known := strings.TrimPrefix(c.Name, provider+"/")
		if known == name {
			return
		}
		if d := spelling.Distance(name, known, least); d < least {
			best, least = known, d
		}
	}
	if len(list) == 0 {
		return
	}
	text := name + " is not among the models known of " + provider
	if best != "" {
		text += "; did you mean " + best + "?"
	} else {
		text += "."
	}
	t.Note(oneLine(text + " /model list tells those it has"))
}

// listModels is /model list.
func listModels(ctx context.Context, t *Terminal) error {
	d := t.opt.Deps
	if d.Models == nil {
		return errNotHere
	}
	var list []Choice
	if d.ListModels == nil {
		list = d.Models()
	} else {
		var err error
		if list, err = d.ListModels(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			t.Note(oneLine(err.Error()))
		}
	}
	t.choices(list, "none is known; any name may be given")
	return nil
}

// choices prints what may be chosen, with what is known of each.
func (t *Terminal) choices(list []Choice, none string) {
	if len(list) == 0 {
		t.Note(none)
	}
	var rows [][]string
	for _, c := range list {
		rows = append(rows, []string{oneLine(c.Name), oneLine(c.About)})
	}
	t.columns(rows)
}

// choiceCandidates are choices to be completed.
func choiceCandidates(list []Choice) []candidate {
	var all []candidate
	for _, c := range list {
		all = append(all, candidate{text: c.Name, help: c.About})
	}
	return all
}

func completeModels(t *Terminal, arg string) []candidate {
	d := t.opt.Deps
	if d.Models == nil {
		return nil
	}
	all := append(choiceCandidates(d.Models()), candidate{text: "list", help: "those known"})
	if d.Providers != nil && arg != "" {
		list, _ := d.Providers() // /provider says what is wrong
		for _, p := range list {
			all = append(all, candidate{text: p.Name + "/", help: "a model of " + p.Name})
		}
	}
	return all
}

func runProvider(ctx context.Context, t *Terminal, name string) error {
	d := t.opt.Deps
	if name == "" {
		if d.Providers == nil || d.Model == nil {
			return errNotHere
		}
		list, err := d.Providers()
		t.Note("now " + oneLine(d.Model()) + "; /provider NAME changes to one of these, with its default model:")
		t.choices(list, "none is at hand")
		return err
	}
	if d.SwitchProvider == nil {
		return errNotHere
	}
	now, err := d.SwitchProvider(ctx, name)
	if err != nil {
		return err
	}
	t.Note("model: " + oneLine(now))
	return nil
}

func completeProviders(t *Terminal, _ string) []candidate {
	if t.opt.Deps.Providers == nil {
		return nil
	}
	list, _ := t.opt.Deps.Providers() // the command itself says what is wrong
	return choiceCandidates(list)
}

// efforts are the words /effort takes.
func efforts() []string {
	var all []string
	for _, e := range []provider.Effort{provider.EffortOff, provider.EffortLow, provider.EffortMedium, provider.EffortHigh, provider.EffortMax} {
		all = append(all, string(e))
	}
	return all
}

func runEffort(_ context.Context, t *Terminal, arg string) error {
	d := t.opt.Deps
	if d.Effort == nil {
		return errNotHere
	}
	if arg != "" {
		if !slices.Contains(efforts(), arg) {
			return fmt.Errorf("%q is none of %s", arg, strings.Join(efforts(), ", "))
		}
		effort := provider.Effort(arg)
		t.Note("effort: " + string(d.Effort(&effort)))
		return nil
	}
	now := string(d.Effort(nil))
	if now == "" {
		now = "not set, it is the model's own"
	}
	t.Note("effort: " + now + " (" + strings.Join(efforts(), ", ") + ")")
	return nil
}
