package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/extension"
)

// claudeTools are Claude Code's names of artoo's tools.
var claudeTools = map[string]string{
	"bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "apply_patch": "Edit", "notebook_edit": "NotebookEdit",
	"glob": "Glob", "grep": "Grep", "ls": "LS", "web_fetch": "WebFetch", "web_search": "WebSearch", "task": "Task",
	"todo": "TodoWrite", "exit_plan_mode": "ExitPlanMode", "ask_user": "AskUserQuestion",
}

// claudeTool is Claude Code's name of a tool; others keep theirs. Text that is typed to a command runs
// as a command does.
func claudeTool(name string, kind tool.Kind) string {
	if kind == tool.KindRun {
		return "Bash"
	}
	if claude, ok := claudeTools[name]; ok {
		return claude
	}
	return name
}

// claudeModes are Claude Code's names of the modes.
var claudeModes = map[permission.Mode]string{
	permission.ModeAsk: "default", permission.ModeEdits: "acceptEdits", permission.ModeAuto: "auto", permission.ModePlan: "plan",
}

// claudeNotice is Claude Code's name of a kind of notice.
func claudeNotice(kind string) string {
	if kind == "question" {
		return "permission_prompt"
	}
	return kind
}

// claude is the input as Claude Code gives it to its hooks.
func (in hookInput) claude() ([]byte, error) {
	out := map[string]any{"session_id": in.SessionID, "transcript_path": in.Transcript, "cwd": in.CWD,
		"permission_mode": claudeModes[in.Mode], "hook_event_name": in.Event.Claude()}
	text := ""
	if in.Text != nil {
		text = *in.Text
	}
	if in.Agent != "" {
		out["agent_id"], out["agent_type"] = in.Agent, in.Agent
	}
	switch in.Event {
	case extension.BeforeTool, extension.OnQuestion, extension.AfterTool:
		input, err := in.claudeInput()
		if err != nil {
			return nil, err
		}
		out["tool_name"], out["tool_input"], out["tool_use_id"] = claudeTool(in.Tool, in.Access.Kind), input, in.ID
		if in.Event == extension.AfterTool {
			out["tool_response"] = map[string]any{"content": text, "is_error": in.Status != CallOK}
			out["duration_ms"] = in.Millis
		}
	case extension.OnMessage:
		out["prompt"] = text
	case extension.OnStop, extension.OnAgentStop:
		out["stop_hook_active"], out["last_assistant_message"] = in.Active, text
	case extension.SessionStart:
		out["source"] = in.Source
	case extension.BeforeCompact:
		out["trigger"], out["custom_instructions"] = in.Trigger, text
	case extension.OnNotify:
		out["message"], out["notification_type"] = text, claudeNotice(in.Kind)
	case extension.SessionEnd:
		out["reason"] = in.Reason
	}
	return provider.Marshal(out)
}

// claudeInput is the input of a call with the names of Claude Code's tools.
func (in hookInput) claudeInput() (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(in.Input, &fields); err != nil {
		return nil, err
	}
	raw := func(v any) json.RawMessage {
		data, err := provider.Marshal(v)
		if err != nil { // a string or a number, which always has a form
			return json.RawMessage("null")
		}
		return data
	}
	path := ""
	if len(in.Access.Paths) > 0 {
		path = in.Access.Paths[0]
	}
	switch in.Tool {
	case "shell":
		if in.Access.Kind == tool.KindRun {
			fields = map[string]json.RawMessage{"command": raw(in.Access.Command)}
		}
	case "read", "write", "edit", "apply_patch":
		if path != "" {
			delete(fields, "path")
			fields["file_path"] = raw(path)
		}
	case "notebook_edit":
		delete(fields, "path")
		fields["notebook_path"] = raw(path)
	case "bash":
		var seconds float64
		if json.Unmarshal(fields["timeout"], &seconds) == nil {
			fields["timeout"] = raw(int64(seconds * 1000))
		}
	}
	var edits []map[string]json.RawMessage
	if json.Unmarshal(fields["edits"], &edits) == nil && len(edits) == 1 {
		delete(fields, "edits")
		maps.Copy(fields, edits[0])
	}
	return fields, nil
}

// artooInput is an input that a hook gave back, in Claude Code's names, as artoo's tools take it: nil
// where it is the input that the hook got. The names of other programs the tools know themselves.
func (in hookInput) artooInput(input json.RawMessage) json.RawMessage {
	if given, err := in.claudeInput(); err == nil {
		if data, err := provider.Marshal(given); err == nil && sameJSON(data, input) {
			return nil
		}
	}
	var fields map[string]json.RawMessage
	var millis float64
	switch {
	case json.Unmarshal(input, &fields) != nil:
		return input // Planning the call reports the error.
	case in.Tool == "shell" && in.Access.Kind == tool.KindRun:
		typed := fields["command"]
		if json.Unmarshal(in.Input, &fields) != nil || typed == nil {
			return input
		}
		delete(fields, "command")
		fields["input"] = typed
	case in.Tool == "bash" && json.Unmarshal(fields["timeout"], &millis) == nil:
		fields["timeout"] = json.RawMessage(fmt.Sprint(int64((time.Duration(millis)*time.Millisecond + time.Second - 1) / time.Second)))
	default:
		return input
	}
	changed, err := provider.Marshal(fields)
	if err != nil {
		return input
	}
	return changed
}

// sameJSON reports whether two texts are one JSON value, whatever its spacing and the order of its keys.
func sameJSON(a, b []byte) bool {
	var values [2]any
	for i, data := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if decoder.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// readClaude reads an answer in Claude Code's form.
func readClaude(event extension.Event, out []byte) (answer hookAnswer, err error) {
	var said struct {
		Continue      *bool  `json:"continue"`
		StopReason    string `json:"stopReason"`
		SystemMessage string `json:"systemMessage"`
		Decision      string `json:"decision"`
		Reason        string `json:"reason"`
		Specific      struct {
			Decision    string          `json:"permissionDecision"`
			Reason      string          `json:"permissionDecisionReason"`
			Input       json.RawMessage `json:"updatedInput"`
			Context     string          `json:"additionalContext"`
			Output      json.RawMessage `json:"updatedToolOutput"`
			ForQuestion *struct {
				Behavior  string          `json:"behavior"`
				Input     json.RawMessage `json:"updatedInput"`
				Message   string          `json:"message"`
				Interrupt bool            `json:"interrupt"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return answer, fmt.Errorf("its answer is not understood: %w", err)
	}
	if said.Specific.Output != nil {
		return answer, errors.New("it changes the result of a call, which no hook can here")
	}
	answer = hookAnswer{Reason: said.Reason, Input: said.Specific.Input, Context: said.Specific.Context, Notice: said.SystemMessage}
	word := said.Decision
	if word == "allow" {
		word = "allow beside hookSpecificOutput" // where Claude Code has approve and block
	}
	if event == extension.BeforeTool && said.Specific.Decision != "" {
		word, answer.Reason = said.Specific.Decision, said.Specific.Reason
	}
	if q := said.Specific.ForQuestion; event == extension.OnQuestion && q != nil {
		word, answer.Reason, answer.Input = q.Behavior, q.Message, q.Input
		if q.Interrupt {
			answer.Stop = new(true)
		}
	}
	switch word {
	case "block":
		answer.Decision = permission.Refuse
	case "approve":
		answer.Decision = permission.Run
	case "defer":
	default:
		answer.Decision = permission.Verdict(word)
	}
	if said.Continue != nil && !*said.Continue {
		answer.Stop = new(true)
		if answer.Reason == "" {
			answer.Reason = said.StopReason
		}
	}
	return answer, answer.check()
}
