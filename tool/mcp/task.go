package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is the extension by which a call may answer with a task, whose result is asked for
// later. The library has no client for it.
const tasksExtension = "io.modelcontextprotocol/tasks"

// carriedTask is the key under which carryTask puts a task into a result.
const carriedTask = "artoo/task"

// carryTask makes a result of a type that the library does not know one that it passes on: a task is
// put into the result's _meta, another type becomes none.
func carryTask(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte(`"resultType"`)) {
		return result
	}
	var kind struct {
		Type string `json:"resultType"`
	}
	if json.Unmarshal(result, &kind) != nil || kind.Type == "" || kind.Type == "complete" || kind.Type == "input_required" {
		return result
	}
	carried, err := json.Marshal(map[string]any{"content": []any{}, "_meta": map[string]any{carriedTask: json.RawMessage(result)}})
	if err != nil {
		return result
	}
	return carried
}

// task is a call that goes on in the server.
type task struct {
	sdk.ResultBase
	Type     string                    `json:"resultType,omitempty"`
	ID       string                    `json:"taskId"`
	Status   string                    `json:"status"`
	Message  string                    `json:"statusMessage,omitempty"`
	Interval int                       `json:"pollIntervalMs,omitempty"`
	Requests sdk.InputRequestMap       `json:"inputRequests,omitempty"`
	Result   json.RawMessage           `json:"result,omitempty"`
	Error    *struct{ Message string } `json:"error,omitempty"`
}

type taskID struct {
	sdk.ParamsBase
	ID string `json:"taskId"`
}

type taskInput struct {
	sdk.ParamsBase
	ID        string               `json:"taskId"`
	Responses sdk.InputResponseMap `json:"inputResponses"`
}

type taskDone struct{ sdk.ResultBase }

func addTaskMethods(c *sdk.Client) error {
	return errors.Join(sdk.AddSendingCustomMethod[*taskID, *task](c, "tasks/get"),
		sdk.AddSendingCustomMethod[*taskID, *taskDone](c, "tasks/cancel"),
		sdk.AddSendingCustomMethod[*taskInput, *taskDone](c, "tasks/update"))
}

// finishTask waits for the result of a call that became a task; another result it returns as it is.
func (s *server) finishTask(ctx context.Context, l *link, call *openCall, r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
	carried, ok := r.Meta[carriedTask]
	if !ok {
		return r, nil
	}
	raw, err := json.Marshal(carried)
	if err != nil {
		return nil, err
	}
	t := &task{}
	if err := json.Unmarshal(raw, t); err != nil || t.Type != "task" || t.ID == "" {
		return nil, errors.New("answered with an unknown kind of result")
	}
	id := t.ID
	call.task = oneLine(id)
	if call.options.Task != nil {
		if err := call.options.Task(call.task); err != nil {
			s.cancelTask(ctx, l, id)
			return nil, err
		}
	}
	for {
		switch t.Status {
		case "completed":
			r := &sdk.CallToolResult{}
			return r, json.Unmarshal(readableParts(t.Result), r)
		case "failed":
			why := "failed"
			if t.Error != nil {
				why = oneLine(t.Error.Message)
			}
			return nil, &Error{Server: s.Name, Kind: KindProvider, Why: "the task " + call.task + ": " + why}
		case "cancelled":
			return nil, &Error{Server: s.Name, Kind: KindProvider, Why: "the task " + call.task + " was cancelled by the server"}
		case "input_required":
			in, err := s.answer(ctx, call, t.Requests)
			if err != nil {
				return nil, err
			}
			if len(in) > 0 {
				if _, err := sdk.CallCustomMethod[*taskInput, *taskDone](ctx, l.session, "tasks/update", &taskInput{ID: id, Responses: in}); err != nil {
					return nil, err
				}
			}
		}
		if t.Message != "" {
			message, _ := withoutHidden(t.Message)
			call.report(Progress{Message: cut(message, 500)})
		}
		pause := min(max(time.Duration(t.Interval)*time.Millisecond, 200*time.Millisecond), 10*time.Second)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			s.cancelTask(ctx, l, id)
			return nil, ctx.Err()
		}
		next, err := sdk.CallCustomMethod[*taskID, *task](ctx, l.session, "tasks/get", &taskID{ID: id})
		if err != nil {
			if ctx.Err() != nil {
				s.cancelTask(ctx, l, id)
			}
			return nil, err
		}
		if t = next; t.Status == "working" {
			call.limit.heard()
		}
	}
}

// cancelTask asks the server to end a task that is not waited for any more.
func (s *server) cancelTask(ctx context.Context, l *link, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	// It is only a wish: the server may go on.
	_, _ = sdk.CallCustomMethod[*taskID, *taskDone](ctx, l.session, "tasks/cancel", &taskID{ID: id})
}
