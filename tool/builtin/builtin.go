// Package builtin lists the tools of the program, one file for each.
package builtin

import (
	"slices"

	"artoo/tool"
)

// Tools lists the tools of the program, in the order in which the model sees
// them. Commands are not among them where there is no shell.
func Tools(commands BashOptions) []tool.Tool {
	tools := []tool.Tool{Read(), Ls(), Glob(), Grep(), Write(), Edit(), ApplyPatch(), NotebookEdit()}
	if commands.Path != "" {
		tools = append(tools, Bash(commands), Shell())
	}
	return append(tools, WebFetch(), LSP(), Map(), Random())
}

// Usual are the names of those that a model gets where the user names none, without
// the cost of making them.
func Usual(shell string) []string {
	names := []string{"read", "ls", "glob", "grep", "write", "edit"}
	if shell != "" {
		names = append(names, "bash", "shell")
	}
	return append(names, "web_fetch")
}

// Pick keeps the tools that are named, in their order: the tools are part of the
// prefix that providers cache, so it never depends on the user's.
func Pick(tools []tool.Tool, names []string) []tool.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool.Tool) bool { return !slices.Contains(names, t.Name) })
}
