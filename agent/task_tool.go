package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/skill"
)

type taskInput struct {
	Description string `json:"description,omitempty" jsonschema:"in a few words, for the user"`
	Prompt      string `json:"prompt" jsonschema:"all that it must know: it sees nothing else"`
	Agent       string `json:"agent,omitempty"`
	Kind        string `json:"kind,omitempty" jsonschema:"search: only find things, by a cheaper model"`
}

// agentBytes is how much of a request the names and descriptions of agents may take.
const agentBytes = 700

// taskTool offers agents by name, and with small searches by a smaller model.
func taskTool(agents []SubAgent, small bool) tool.Tool {
	text := "Give a self-contained task to a sub-agent with these tools and a context of its own; it returns a report. " +
		"For broad searches and independent parts: several calls in one reply run side by side."
	if len(agents) > 0 {
		var items []skill.Item
		for _, s := range agents {
			items = append(items, skill.Item{Name: s.Name, Description: strings.Join(strings.Fields(s.Description), " ")})
		}
		text += " agent is one of:\n" + skill.Catalogue(items, agentBytes, "another name lists them")
	}
	def := tool.Def{Name: "task", Kind: tool.KindNone, Description: text}
	noModel := "leave out model: a sub-agent has the one of this conversation"
	if len(agents) > 0 {
		noModel += ", or its own where agent names one that has"
	} else { // Models that know the tool of another program may still name a usual agent.
		def.Unoffered = append(def.Unoffered, "agent")
	}
	if !small {
		def.Unoffered = append(def.Unoffered, "kind")
	}
	def.Elsewhere = map[string]string{"model": noModel}
	return tool.New(def,
		func(_ context.Context, _ *tool.Env, in taskInput) (tool.Access, error) {
			if strings.TrimSpace(in.Prompt) == "" {
				return tool.Access{}, errors.New("task: prompt is empty: say what is to be done")
			}
			if _, err := subAgentNamed(agents, in.Agent); err != nil {
				return tool.Access{}, err
			}
			about := firstLine(cmp.Or(in.Description, in.Prompt))
			return tool.Access{Kind: tool.KindNone, Verb: "task", Object: about}, nil
		}, nil)
}

// withSearch has task offer searches where there is a small model.
func (o Options) withSearch() Options {
	at := slices.IndexFunc(o.Tools, func(t tool.Tool) bool { return t.Name == "task" && t.ByLoop() })
	if o.Small.Model != nil && at >= 0 {
		o.Tools = slices.Clone(o.Tools)
		o.Tools[at] = taskTool(o.SubAgents, true)
	}
	return o
}

// usualAgents are the names in other programs of a sub-agent without a kind.
var usualAgents = []string{"", "general-purpose", "general", "default", "explore", "plan", "worker", "explorer",
	"code", "architect", "ask", "debug", "orchestrator"}

// subAgentNamed finds a sub-agent. The error lists those there are.
func subAgentNamed(agents []SubAgent, name string) (SubAgent, error) {
	for _, s := range agents {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
	}
	if slices.Contains(usualAgents, strings.ToLower(name)) {
		return SubAgent{}, nil
	}
	var names []string
	for _, s := range agents {
		names = append(names, s.Name)
	}
	if names == nil {
		return SubAgent{}, fmt.Errorf("task: there is no agent %q, nor any other by name: leave agent out", name)
	}
	return SubAgent{}, fmt.Errorf("task: there is no agent %q; there are: %s", name, strings.Join(names, ", "))
}
