package cli

import (
	"fmt"
	"strings"
)

// claudeReads are the tools that claude is given where it only reads: nothing
// that runs a command, whatever the user's own settings allow. Those that edit
// are among them so that claude says what it was refused: its plan mode keeps
// them from running. Names that a version does not know are passed over.
var claudeReads = []string{
	"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "Task", "Agent", "TodoWrite",
	"Edit", "Write", "NotebookEdit", "ExitPlanMode",
}

// claudeArgs are the arguments of a run. Settings, hooks and servers come from the
// user alone; in plan mode its own model does not decide what may run.
func claudeArgs(c call) []string {
	args := []string{"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages", "--setting-sources=user", "--strict-mcp-config"}
	if c.edits {
		args = append(args, "--permission-mode=acceptEdits")
	} else {
		args = append(args, "--permission-mode=plan", `--settings={"useAutoModeDuringPlan":false}`, "--tools="+strings.Join(claudeReads, ","))
	}
	for _, dir := range c.opens {
		args = append(args, "--add-dir="+dir)
	}
	if c.model != "" {
		args = append(args, "--model="+c.model)
	}
	if c.effort != "" {
		args = append(args, "--effort="+c.effort)
	}
	if c.caps.Money > 0 {
		args = append(args, fmt.Sprintf("--max-budget-usd=%.6f", c.caps.Money))
	}
	if c.caps.Steps > 0 {
		args = append(args, fmt.Sprintf("--max-turns=%d", c.caps.Steps))
	}
	if c.resume != "" {
		args = append(args, "--resume="+c.resume)
	}
	return args
}
