package doctor

import (
	"context"
	"strings"
)

// MCPServer has the facts about an MCP server that are known without starting it.
type MCPServer struct {
	Name, Address string // Address is its command line or its address
	Required      bool
	NoProgram     bool     // its program is not on PATH
	Missing       []string // variables that it is to get and that are not set
	Loose         bool     // it is to run confined, and nothing confines it here
}

// CheckServers looks at the MCP servers. It starts none and asks none.
func CheckServers(servers []MCPServer) Check {
	return func(context.Context) (list []Finding) {
		for _, s := range servers {
			bad := warn
			if s.Required {
				bad = fail
			}
			switch {
			case s.NoProgram:
				list = append(list, bad("mcp", "install it, or remove the server: artoo mcp list names its place", "%s: its program is not on PATH: %s", s.Name, s.Address))
			case s.Loose:
				list = append(list, bad("mcp", "see the line on the sandbox", "%s: it is to run confined, and nothing confines it here", s.Name))
			case len(s.Missing) > 0:
				list = append(list, bad("mcp", "export "+strings.Join(s.Missing, " "), "%s: not set: %s", s.Name, strings.Join(s.Missing, ", ")))
			default:
				list = append(list, ok("mcp", "%s: %s", s.Name, s.Address))
			}
		}
		return list
	}
}
