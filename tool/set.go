package tool

import "slices"

// Offer is a tool and whether the model gets it when nothing else is said.
type Offer struct {
	Tool    Tool
	Default bool
}

// BuiltIn lists the tools of the program, in the order in which the model sees
// them. shell is the path shell.Find gave, "" where there is none: commands are
// not offered then.
func BuiltIn(shell string) []Offer {
	offers := []Offer{{Read(), true}, {Ls(), true}, {Glob(), true}, {Grep(), true}, {Write(), true}, {Edit(), true}}
	if shell != "" {
		offers = append(offers, Offer{Bash(shell), true})
	}
	return append(offers, Offer{Random(), false})
}

// Pick keeps the tools that are named, in the order of offers: the tools are
// part of the prefix that providers cache, so it never depends on the user's.
func Pick(offers []Offer, names []string) []Tool {
	var tools []Tool
	for _, o := range offers {
		if slices.Contains(names, o.Tool.Name) {
			tools = append(tools, o.Tool)
		}
	}
	return tools
}
