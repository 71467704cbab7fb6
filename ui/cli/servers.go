package cli

import (
	"errors"
	"slices"

	"artoo/config"
	"artoo/config/trust"
	"artoo/provider/redact"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/extension"
)

// repositoryServers is the file in a repository's root that may name MCP servers.
const repositoryServers = ".mcp.json"

// hasServers reports whether a repository's file names servers, or cannot be read.
func hasServers(data []byte) bool {
	servers, notes, err := config.ParseMCP(data, extension.Origin{}, config.Paths{}, redact.Mask)
	return data != nil && (err != nil || servers != nil || notes != nil)
}

// addRepositoryServers takes over the servers of a trusted repository, as far as the policy allows.
// One of the user's with the same name stands in its place. A file that cannot be read is left out,
// with a word.
func (x *extensions) addRepositoryServers(data []byte) {
	if slices.Contains(x.cfg.MCP, "none") {
		return
	}
	servers, notes, err := config.ParseMCP(data, extension.Origin{Source: extension.SourceRepository, Root: x.project.Root,
		Place: repositoryServers}, x.cfg.Paths, redact.Mask)
	if err != nil {
		notes = append(notes, err.Error())
	}
	for _, s := range servers {
		s.Required = false
		if slices.ContainsFunc(x.cfg.MCPServers, func(o extension.Server) bool { return o.Name == s.Name }) {
			continue
		}
		if err := x.cfg.Policy.CheckServer(s); err != nil {
			notes = append(notes, err.Error())
			continue
		}
		x.cfg.MCPServers = append(x.cfg.MCPServers, s)
	}
	for _, note := range notes {
		x.warn(repositoryServers + ": " + note)
	}
}

// mcpServers are the servers in use: of the repository's those that are approved as they are, and no outsider.
func (x *extensions) mcpServers() []extension.Server {
	return slices.DeleteFunc(slices.Clone(x.cfg.MCPServers), func(s extension.Server) bool {
		// The editor's are asked about when they start.
		return s.Source == extension.SourceRepository && x.approvedServer(s) != nil || x.outsider(s)
	})
}

// outsider reports whether a server would run outside, where artoo works on a layer or its effects are capped.
func (x *extensions) outsider(s extension.Server) bool {
	return (x.layer != nil || x.effectCaps().Any()) && len(s.Command) > 0 && !s.Confined()
}

// nameOutsiders says which servers are left out as outsiders. The error is of the first one that is required.
func (x *extensions) nameOutsiders() error {
	const why, cure = "it would run unconfined, which a run on a layer or with caps on effects does not allow", "confine = true"
	for _, s := range x.cfg.MCPServers {
		switch {
		case !x.outsider(s):
		case s.Required:
			return usage("required: "+s.Name, why, cure)
		default:
			x.warn("server " + s.Name + " is not offered: " + why + "; " + cure + " in its table fixes that")
		}
	}
	return nil
}

// approvedServer is an error if a server may not be started.
func (x *extensions) approvedServer(s extension.Server) error {
	if s.Source == extension.SourceEditor {
		return x.approvedByUser(s)
	}
	if s.Source == extension.SourceRepository && !x.approved(trust.OfServer(x.project.Root, s)) {
		return errors.New("it has changed since you approved it; artoo trust shows it")
	}
	return nil
}

// addServers gives a conversation that has begun the servers that it lacks. tools are those that are
// now offered.
func (a *app) addServers() (tools []tool.Tool, err error) {
	tools, _, _, err = a.tools()
	if err == nil && tool.Find(tools, builtin.CallTool) != nil {
		a.agent.AddServers(a.extensions.mcpServers())
	}
	return tools, err
}
