package acp

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/edit"
)

// replay sends all that was said in a session, and its plan and cost.
func (s *session) replay() error {
	saved, err := s.agent.Saved()
	if err != nil {
		return err
	}
	var messages []provider.Message
	if saved != nil {
		messages = saved.Messages()
	}
	t := newTurn(s)
	for _, m := range messages {
		t.replayMessage(m)
	}
	if items := s.agent.Todo(); items != nil {
		s.plan(items)
	}
	s.reportUsage()
	return nil
}

func (t *turn) replayMessage(m provider.Message) {
	t.next()
	if m.Own() {
		return
	}
	for i, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			kind := "agent_message_chunk"
			if m.Role == provider.RoleUser {
				kind = "user_message_chunk"
			}
			if p.Note == "" && (m.Role != provider.RoleUser || i == 0) { // Attachments were not typed.
				t.chunks(kind, p.Text)
			}
		case provider.Image:
			if len(p.Data) < mostDiff && len(p.Data) > 0 {
				t.update(chunk{"user_message_chunk", contentBlock{Type: "image", Data: p.Data, MimeType: p.MediaType}, t.message})
			}
		case provider.Reasoning:
			t.chunks("agent_thought_chunk", p.Text)
		case provider.ToolCall:
			call := t.replayedCall(p)
			t.changed[p.ID] = call.Content != nil
			t.update(call)
		case provider.ToolResult:
			t.replayResult(p)
		}
	}
}

// replayedCall is a call of the history. It is not planned again: files have changed since.
func (t *turn) replayedCall(c provider.ToolCall) toolCall {
	call := agent.Call{ToolCall: c}
	call.Access.Verb = c.Name
	tools := t.agent.Tools()
	if i := slices.IndexFunc(tools, func(o tool.Tool) bool { return o.Name == c.Name }); i >= 0 {
		call.Access.Kind = tools[i].Kind
	}
	var input map[string]any
	if json.Unmarshal(c.Input, &input) == nil {
		for _, key := range []string{"command", "path", "pattern", "query", "url", "description"} {
			if text, ok := input[key].(string); ok {
				call.Access.Object = text
				break
			}
		}
		if patch, ok := input["input"].(string); ok {
			call.Access.Object = strings.Join(edit.PatchPaths(patch), ", ")
		}
	}
	out := callOf(t.agent.Shown(call))
	out.Kind, out.Status, out.Content = "tool_call", "pending", replayedDiff(t.agent.Env().Dir, c.Input)
	return out
}

// replayedDiff is the change that a call was to make, as far as its input has it; nil for another call.
func replayedDiff(dir string, input json.RawMessage) (list []callContent) {
	type replacement struct {
		Old *string `json:"old_string"`
		New *string `json:"new_string"`
	}
	var in struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
		replacement
		Edits []replacement `json:"edits"`
		Patch string        `json:"input"`
	}
	if len(input) > mostDiff || json.Unmarshal(input, &in) != nil {
		return nil
	}
	add := func(path string, old, after *string) {
		if after == nil || path == "" {
			return
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		list = append(list, callContent{Type: "diff", Path: path, Old: old, New: after})
	}
	for _, e := range append(in.Edits, in.replacement, replacement{New: in.Content}) {
		add(in.Path, e.Old, e.New)
	}
	files, err := edit.ParsePatch(in.Patch)
	if err != nil { // It is no patch, or changed nothing.
		return list
	}
	lines := func(list []string) *string {
		if len(list) == 0 {
			return new(string)
		}
		return new(strings.Join(list, "\n") + "\n")
	}
	for _, f := range files {
		if f.Op == 'A' {
			add(f.Path, nil, &f.Text)
		}
		for _, chunk := range f.Chunks {
			add(cmp.Or(f.MoveTo, f.Path), lines(chunk.Old), lines(chunk.New))
		}
	}
	return list
}

func (t *turn) replayResult(r provider.ToolResult) {
	out := toolCall{Kind: "tool_call_update", ID: r.CallID, Status: "completed"}
	if r.IsError {
		out.Status = "failed"
	}
	if r.IsError || !t.changed[r.CallID] { // Else the diff stays.
		out.Content = []callContent{textContent(r.Text)}
	}
	if r.Effect != nil {
		for _, path := range r.Effect.Files {
			if !filepath.IsAbs(path) {
				path = filepath.Join(t.agent.Env().Dir, path)
			}
			out.Locations = append(out.Locations, location{Path: path})
		}
	}
	t.update(out)
}
