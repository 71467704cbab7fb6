package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"artoo/config"
	"artoo/provider/redact"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/extension"
	"artoo/tool/mcp"
)

// repositoryServers is the file in a repository's root that may name MCP servers.
const repositoryServers = ".mcp.json"

// takeServers takes over the servers of a third party's file. One of the user's with the same name stands in its place.
func (x *extensions) takeServers(data []byte, from extension.Origin) {
	if slices.Contains(x.cfg.MCP, "none") {
		return
	}
	servers, notes, err := x.serversIn(data, from)
	if err != nil {
		notes = append(notes, err.Error())
	}
	for _, s := range servers {
		if !x.hasServer(s.Name) {
			x.cfg.MCPServers = append(x.cfg.MCPServers, s)
		}
	}
	supplier := from.Place
	if from.Bundle != "" {
		supplier = "bundle " + from.Bundle
	}
	for _, note := range notes {
		x.warn(supplier + ": " + note)
	}
}

// serversIn are the servers of a third party's file, as far as the policy allows; those of a bundle are BUNDLE:NAME. The
// user approves these, and no others start. Notes name those that are left out, and why; the error is of the whole file.
func (x *extensions) serversIn(data []byte, from extension.Origin) (list []extension.Server, notes []string, err error) {
	servers, notes, err := config.ParseMCP(data, from, x.cfg.Paths, redact.Mask)
	for _, s := range servers {
		s.Required, s.Name = false, from.Full(s.Name)
		relative := len(s.Command) > 0 && strings.ContainsRune(s.Command[0], '/') && !filepath.IsAbs(s.Command[0])
		if relative && from.Bundle != "" {
			s.Command[0] = filepath.Join(from.Root, s.Command[0]) // never a program of the project
		}
		against := x.cfg.Policy.CheckServer(s)
		if len(s.Name) > mcp.MaxServer {
			against = fmt.Errorf("server %s: its name is over %d characters", s.Name, mcp.MaxServer)
		}
		if against != nil {
			notes = append(notes, against.Error())
			continue
		}
		list = append(list, s)
	}
	return list, notes, err
}

// hasServer reports whether a server of this name is set up.
func (x *extensions) hasServer(name string) bool {
	return slices.ContainsFunc(x.cfg.MCPServers, func(s extension.Server) bool { return s.Name == name })
}

// mcpServers are the servers in use: of the repository's those that are approved as they are, and no outsider.
func (x *extensions) mcpServers() []extension.Server {
	return slices.DeleteFunc(slices.Clone(x.cfg.MCPServers), func(s extension.Server) bool {
		// The editor's are asked about when they start.
		return s.Source == extension.SourceRepository && x.allowed(s.Extension()) != nil || x.outsider(s)
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

// addServers gives a conversation that has begun the servers that it lacks. tools are those that are
// now offered.
func (a *app) addServers() (tools []tool.Tool, err error) {
	tools, _, _, err = a.tools()
	if err == nil && tool.Find(tools, builtin.CallTool) != nil {
		a.agent.AddServers(a.extensions.mcpServers())
	}
	return tools, err
}
