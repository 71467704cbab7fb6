package cli

// The sub-agents that the user has described.

import (
	"fmt"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/config"
)

// subAgents are those of the [agents.NAME] tables; all are the names of the tools that
// there are.
func (a *app) subAgents(all []string) ([]agent.SubAgent, error) {
	var list []agent.SubAgent
	for _, t := range a.cfg.Agents {
		for _, name := range t.Tools {
			if !slices.Contains(all, name) {
				return nil, fail(agent.KindConfig, t.Origin, fmt.Errorf("agents.%s: no such tool: %s", t.Name, name),
					strings.Join(all, ", "))
			}
		}
		s := agent.SubAgent{Name: t.Name, Description: t.Description, Prompt: t.Prompt, Tools: t.Tools}
		if t.Model != "" {
			choice := a.choiceOf(t.Model)
			if isProgram(choice.Provider) {
				return nil, fail(agent.KindConfig, t.Origin,
					fmt.Errorf("agents.%s: %s runs tools of its own, by its own rules", t.Name, choice.Provider),
					"a model that is asked directly")
			}
			s.Model = func() (agent.Model, error) { return a.model(choice) }
		}
		list = append(list, s)
	}
	return list, nil
}

// choiceOf is the model that a name means beside the present one.
func (a *app) choiceOf(name string) config.Choice {
	if first, rest, ok := strings.Cut(name, "/"); ok && a.cfg.IsProvider(first) && rest != "" {
		return config.Choice{Provider: first, Model: rest}
	}
	return config.Choice{Provider: a.choice.Provider, Model: name}
}
