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
func (m *models) fallbacks() (list []agent.Fallback) {
	if m.choice.Provider == demo.Name {
		return nil
	}
	for _, name := range m.cfg.Fallback {
		list = append(list, m.named(name))
	}
	return list
}

// small is the model of the setting small_model; its zero value is none.
func (m *models) small() agent.Fallback {
	if m.cfg.SmallModel == "" || m.choice.Provider == demo.Name {
		return agent.Fallback{}
	}
	return m.named(m.cfg.SmallModel)
}

// named is the model of a name, made when it is needed. It is kept, since a model learns about its server: by the
// user's provider, whose models bare names mean.
func (m *models) named(name string) agent.Fallback {
	made := map[string]agent.Model{}
	return agent.Fallback{Name: name, Model: func(ctx context.Context) (agent.Model, error) {
		of := m.choice.Provider
		if m, known := made[of]; known {
			return m, nil
		}
		m, err := m.fallback(ctx, name)
		if err == nil {
			made[of] = m
		}
		return m, err
	}}
}

// fallback makes the model of a name. The error says why it may not or cannot be asked.
func (m *models) fallback(ctx context.Context, name string) (agent.Model, error) {
	choice, err := m.choiceAlone(name)
	if err != nil {
		return agent.Model{}, err
	}
	if isProgram(choice.Provider) {
		return agent.Model{}, errors.New(choice.Provider + " runs its own tools by its own rules")
	}
	server, _, err := m.server(choice.Provider)
	if err != nil {
		return agent.Model{}, err
	}
	if at, err := url.Parse(server.BaseURL); err == nil && bool(m.cfg.Offline) && at.Hostname() != "" {
		if err := transport.Offline(ctx, at.Hostname()); err != nil {
			return agent.Model{}, err
		}
	}
	made, err := m.model(choice)
	if err != nil {
		return agent.Model{}, err
	}
	_, err = m.cfg.Key(ctx, choice.Provider)
	return made, err
}

// choiceAlone is the model that a name means as --model does without a provider: the present provider's where that has it.
func (m *models) choiceAlone(name string) (config.Choice, error) {
	alone := m.cfg.With(config.Choice{Model: name})
	alone.BaseURL = "" // the present provider's
	if ids, _ := m.ids(m.choice.Provider); slices.Contains(ids, name) {
		return config.Choice{Provider: m.choice.Provider, Model: name}, nil
	}
	return alone.Choose(config.Conditions{AtHand: []string{m.choice.Provider}, Catalog: m.catalog.ProviderFor, Meant: m.meant})
}

// fallbacks are the small model and the fallbacks as they would be asked.
func (d diagnosis) fallbacks() (list []doctor.Fallback) {
	cfg := d.app.cfg
	for i, name := range slices.Concat([]string{cfg.SmallModel}, cfg.Fallback) {
		topic := "fallback"
		if i == 0 {
			topic = "small model"
		}
		if name == "" {
			continue
		}
		list = append(list, doctor.Fallback{Topic: topic, Name: name, Check: func(ctx context.Context) (string, error) {
			m, err := d.app.models.fallback(ctx, name)
			return m.String(), err
		}})
	}
	return list
}
