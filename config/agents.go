package config

import "strconv"

// AgentTable is an [agents.NAME] table: a sub-agent that the model may call by name.
type AgentTable struct {
	Name        string
	Description string
	Model       string   // the form of -m; "" inherits the caller's model
	Prompt      string   // added to its system prompt
	Tools       []string // nil for all that a sub-agent may have
	Origin      string   // "config.toml line 7"
}

// applyAgents reads the tables of [agents], in the order of the file.
func (c loader) applyAgents(t *table) {
	for _, name := range t.keys() {
		sub := t.sub(name)
		if sub == nil {
			continue
		}
		if !validName(name) {
			t.doc.wrong(t.at(name), strconv.Quote(name)+" cannot be a sub-agent's name: letters, digits, - and _ only", "")
			continue
		}
		a := AgentTable{Name: name, Tools: sub.texts("tools"), Origin: t.doc.where(t.at(name)...)}
		sub.text("description", &a.Description)
		sub.text("model", &a.Model)
		sub.text("prompt", &a.Prompt)
		sub.leftover(false)
		c.Agents = append(c.Agents, a)
	}
}
