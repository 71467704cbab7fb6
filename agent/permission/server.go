package permission

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/tool"
)

// serverTool matches the whole name of one tool of an MCP server.
var serverTool = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^mcp__[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]+$`)
})

// serverCall is a call of the tool of an MCP server by its name, as rules see it.
func serverCall(name string) tool.Access {
	server, _, _ := strings.Cut(strings.TrimPrefix(name, mcpPrefix), "__")
	return tool.Access{Kind: tool.KindServer, Server: server, Object: name}
}

// serverRule is the rule for all tools of the server of a tool; the tool's own name where that
// does not show the server.
func serverRule(name, server string) string {
	whole := mcpPrefix + server
	if server == "" || !strings.HasPrefix(name, whole+"__") {
		return name
	}
	return whole
}

// Unmatched are the rules that name a tool of an MCP server which it does not have. tools are the
// whole names of those that it has.
func (p *Policy) Unmatched(server string, tools []string) (rules []Rule) {
	for _, r := range slices.Concat(p.DenyRules, p.AskRules, p.AllowRules, p.session) {
		if strings.HasPrefix(r.Tool, mcpPrefix+server+"__") &&
			!slices.ContainsFunc(tools, func(name string) bool { return r.names(name, tool.KindServer) }) {
			rules = append(rules, r)
		}
	}
	return rules
}
