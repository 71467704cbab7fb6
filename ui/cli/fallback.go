package cli

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"artoo/agent"
	"artoo/config"
	"artoo/provider/demo"
	"artoo/provider/transport"
	"artoo/ui/doctor"
)

// fallbacks are the models of the setting, in its order. They are made when they are needed.
func (a *app) fallbacks() (list []agent.Fallback) {
	if a.choice.Provider == demo.Name {
		return nil
	}
	for _, name := range a.cfg.Fallback {
		made := map[string]agent.Model{} // by the user's provider, whose models bare names mean; kept, since a model learns about its server
		list = append(list, agent.Fallback{Name: name, Model: func(ctx context.Context) (agent.Model, error) {
			of := a.choice.Provider
			if m, known := made[of]; known {
				return m, nil
			}
			m, err := a.fallback(ctx, name)
			if err == nil {
				made[of] = m
			}
			return m, err
		}})
	}
	return list
}

// fallback makes the model of a name. The error says why it may not or cannot be asked.
func (a *app) fallback(ctx context.Context, name string) (agent.Model, error) {
	choice, err := a.choiceAlone(name)
	if err != nil {
		return agent.Model{}, err
	}
	if isProgram(choice.Provider) {
		return agent.Model{}, errors.New(choice.Provider + " runs tools of its own, by its own rules")
	}
	server, _, err := a.server(choice.Provider)
	if err != nil {
		return agent.Model{}, err
	}
	if at, err := url.Parse(server.BaseURL); err == nil && bool(a.cfg.Offline) && at.Hostname() != "" {
		if err := transport.Offline(ctx, at.Hostname()); err != nil {
			return agent.Model{}, err
		}
	}
	m, err := a.model(choice)
	if err != nil {
		return agent.Model{}, err
	}
	_, err = a.cfg.Key(ctx, choice.Provider)
	return m, err
}

// choiceAlone is the model that a name means as --model does without a provider: the present provider's where that has it.
func (a *app) choiceAlone(name string) (config.Choice, error) {
	alone := a.cfg.With(config.Choice{Model: name})
	alone.BaseURL = "" // the present provider's
	if ids, _ := a.ids(a.choice.Provider); slices.Contains(ids, name) {
		return config.Choice{Provider: a.choice.Provider, Model: name}, nil
	}
	return alone.Choose(config.Conditions{AtHand: []string{a.choice.Provider}, Catalog: a.catalog.ProviderFor, DefaultModel: a.defaultModel})
}

// doctorFallbacks are the models of the setting as they would be asked.
func (a *app) doctorFallbacks() (list []doctor.Fallback) {
	for _, name := range a.cfg.Fallback {
		list = append(list, doctor.Fallback{Name: name, Check: func(ctx context.Context) (string, error) {
			m, err := a.fallback(ctx, name)
			return m.String(), err
		}})
	}
	return list
}
