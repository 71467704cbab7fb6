package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"artoo/config"
	"artoo/provider"
)

func runModel(ctx context.Context, t *Terminal, name string) error {
	switch name {
	case "":
		t.Note(oneLine(t.opt.Agent.Model().String()) +
			" (/model NAME or /model PROVIDER/NAME changes it, /model list tells those known)")
		return nil
	case "list":
		return listModels(ctx, t)
	}
	if err := t.opt.Program.SwitchModel(ctx, name); err != nil {
		return err
	}
	t.tellModel()
	t.unknownModel()
	return nil
}

func (t *Terminal) tellModel() { t.Note("model: " + oneLine(t.opt.Agent.Model().String())) }

// unknownModel tells that a name is not among those known of its provider: it may
// be new, or a slip.
func (t *Terminal) unknownModel() {
	now := t.opt.Agent.Model()
	name := now.Defaults.Model
	var known []string
	for _, m := range t.opt.Program.Models() {
		known = append(known, strings.TrimPrefix(m.ID, now.Name+"/"))
	}
	if len(known) == 0 || slices.Contains(known, name) {
		return
	}
	end := "."
	if near := config.Nearest(name, known); near != "" {
		end = "; did you mean " + near + "?"
	}
	t.Note(oneLine(name + " is not among the models known of " + now.Name + end + " /model list tells those it has"))
}

// listModels is /model list.
func listModels(ctx context.Context, t *Terminal) error {
	list, err := t.opt.Program.AskModels(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		t.Note(oneLine(err.Error()))
	}
	if len(list) == 0 {
		t.Note("none is known; any name may be given")
	}
	var rows [][]string
	for _, m := range list {
		rows = append(rows, []string{oneLine(m.ID), oneLine(m.About())})
	}
	t.columns(rows)
	return nil
}

func completeModels(t *Terminal, arg string) []candidate {
	var all []candidate
	for _, m := range t.opt.Program.Models() {
		all = append(all, candidate{text: m.ID, help: m.About()})
	}
	all = append(all, candidate{text: "list", help: "those known"})
	if arg != "" {
		for _, p := range completeProviders(t, arg) {
			all = append(all, candidate{text: p.text + "/", help: "a model of " + p.text})
		}
	}
	return all
}

func runProvider(ctx context.Context, t *Terminal, name string) error {
	if name != "" {
		if err := t.opt.Program.SwitchProvider(ctx, name); err != nil {
			return err
		}
		t.tellModel()
		return nil
	}
	list, err := t.opt.Program.Providers()
	t.Note("now " + oneLine(t.opt.Agent.Model().String()) + "; /provider NAME changes to one of these, with its default model:")
	if len(list) == 0 {
		t.Note("none is at hand")
	}
	var rows [][]string
	for _, c := range list {
		rows = append(rows, []string{oneLine(c.Provider), oneLine(c.Model)})
	}
	t.columns(rows)
	return err
}

func completeProviders(t *Terminal, _ string) []candidate {
	list, _ := t.opt.Program.Providers() // the command itself says what is wrong
	var all []candidate
	for _, c := range list {
		all = append(all, candidate{text: c.Provider, help: c.Model})
	}
	return all
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
	if arg != "" {
		if !slices.Contains(efforts(), arg) {
			return fmt.Errorf("%q is none of %s", arg, strings.Join(efforts(), ", "))
		}
		t.opt.Program.SetEffort(provider.Effort(arg))
		t.Note("effort: " + arg)
		return nil
	}
	now := cmp.Or(string(t.opt.Agent.Model().Defaults.Effort), "not set, it is the model's own")
	t.Note("effort: " + now + " (" + strings.Join(efforts(), ", ") + ")")
	return nil
}
