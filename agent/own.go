package agent

import (
	"context"
	"fmt"

	"artoo/tool"
)

// OwnTools are the tools that the agent itself runs, in the order in which the model
// sees them; agents are the sub-agents that task offers by name.
func OwnTools(agents []SubAgent) []tool.Tool {
	return []tool.Tool{taskTool(agents), todoTool(), askUserTool(), enterPlanTool(), exitPlanTool()}
}

// runOwn runs a call of one of OwnTools.
func (t *turn) runOwn(ctx context.Context, p *pending) (tool.Result, error) {
	switch p.tool.Name {
	case "task":
		return t.runTask(ctx, p)
	case "todo":
		return t.runTodo(p)
	case AskUser:
		return t.runAskUser(ctx, p)
	case "enter_plan_mode":
		return t.runEnterPlan()
	case ExitPlan:
		return t.runExitPlan(ctx, p)
	}
	return tool.Result{}, fmt.Errorf("nobody runs the tool %s here", p.tool.Name)
}
