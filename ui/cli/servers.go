package cli

import (
	"errors"
	"path/filepath"
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
	servers, notes, err := config.ParseMCP(data, extension.Origin{}, redact.Mask)
	return data != nil && (err != nil || servers != nil || notes != nil)
}

// addRepositoryServers takes over the servers of a trusted repository, as far as the policy allows.
// One of the user's with the same name stands in its place. A file that cannot be read is left out,
// with a word.
func (a *app) addRepositoryServers(data []byte) {
	if slices.Contains(a.cfg.MCP, "none") {
		return
	}
	servers, notes, err := config.ParseMCP(data, extension.Origin{Source: extension.SourceRepository, Root: a.project.Root,
		Place: repositoryServers}, redact.Mask)
	if err != nil {
		notes = append(notes, err.Error())
	}
	for _, s := range servers {
		s.Required = false
		if s.Dir != "" && !filepath.IsAbs(s.Dir) {
			s.Dir = filepath.Join(a.project.Root, s.Dir)
		}
		if slices.ContainsFunc(a.cfg.MCPServers, func(o extension.Server) bool { return o.Name == s.Name }) {
			continue
		}
		if err := a.cfg.Policy.CheckServer(s); err != nil {
			notes = append(notes, err.Error())
			continue
		}
		a.cfg.MCPServers = append(a.cfg.MCPServers, s)
	}
	for _, note := range notes {
		a.warn(repositoryServers + ": " + note)
	}
}

// mcpServers are the servers in use: of the repository's those that are approved as they are, and no outsider.
func (a *app) mcpServers() []extension.Server {
	return slices.DeleteFunc(slices.Clone(a.cfg.MCPServers), func(s extension.Server) bool {
		// The editor's are asked about when they start.
		return s.Source == extension.SourceRepository && a.approvedServer(s) != nil || a.outsider(s)
	})
}

// outsider reports whether a server would run outside, where artoo works on a layer or its effects are capped.
func (a *app) outsider(s extension.Server) bool {
	return (a.layer != nil || a.effectCaps().Any()) && len(s.Command) > 0 && !s.Confined()
}

// nameOutsiders says which servers are left out as outsiders. The error is of the first one that is required.
func (a *app) nameOutsiders() error {
	const why, cure = "it would run unconfined, which a run on a layer or with caps on effects does not allow", "confine = true"
	for _, s := range a.cfg.MCPServers {
		switch {
		case !a.outsider(s):
		case s.Required:
			return usage("required: "+s.Name, why, cure)
		default:
			a.warn("server " + s.Name + " is not offered: " + why + "; " + cure + " in its table cures that")
		}
	}
	return nil
}

// approvedServer is an error if a server may not be started.
func (a *app) approvedServer(s extension.Server) error {
	if s.Source == extension.SourceEditor {
		return a.approvedByUser(s)
	}
	if s.Source == extension.SourceRepository && !a.approved(trust.OfServer(a.project.Root, s)) {
		return errors.New("it has changed since you approved it; artoo trust shows it")
	}
	return nil
}

// addServers gives a conversation that has begun the servers that it lacks. tools are those that are
// now offered.
func (a *app) addServers() (tools []tool.Tool, err error) {
	tools, _, _, err = a.tools()
	if err == nil && tool.Find(tools, builtin.CallTool) != nil {
		a.agent.AddServers(a.mcpServers())
	}
	return tools, err
}
