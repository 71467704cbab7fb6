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

// mcpServers are the servers in use: of the repository's those that are approved as they are.
// Where artoo works on a layer, or its effects are capped, those that would run outside are none.
func (a *app) mcpServers() []extension.Server {
	return slices.DeleteFunc(slices.Clone(a.cfg.MCPServers), func(s extension.Server) bool {
		// The editor's are asked about when they start.
		return s.Source == extension.SourceRepository && a.approvedServer(s) != nil ||
			(a.layer != nil || a.effectCaps().Any()) && len(s.Command) > 0 && !s.Confined()
	})
}

// approvedServer is an error if a server may not be started.
func (a *app) approvedServer(s extension.Server) error {
	if s.Source == extension.SourceEditor {
		return a.approvedByUser(s)
	}
	if s.Source == extension.SourceRepository && !a.approved(trust.OfServer(a.project.Root, s)) {
		return errors.New("it is not what you approved any more; artoo trust shows it")
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
