package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"artoo/provider"
)

// sharer shows a file to all commands in the sandbox, which see it at another path than this machine has it.
type sharer interface {
	Share(name string, data []byte) (seen string, err error)
}

// transcript writes the conversation for a hook in Claude Code's form, and returns the path at which the hook finds it: ""
// where it has none.
func (s *session) transcript(k hook) (path string, err error) {
	name := "transcript.jsonl"
	if s.agentName != "" {
		name = "transcript-" + filepath.Base(s.agentName) + ".jsonl"
	}
	data, err := claudeTranscript(s.sessionID, s.opt.Env.Dir, s.conv.Kept())
	if err != nil {
		return "", err
	}
	if k.Source.ThirdParty() {
		if show, ok := s.opt.Sandbox.(sharer); ok {
			return show.Share("artoo-"+name, data)
		}
		return "", nil
	}
	if dir := s.outputDir(); dir != "" {
		path = filepath.Join(dir, name)
		err = os.WriteFile(path, data, 0o600)
	}
	return path, err
}

// claudeTranscript is a conversation as Claude Code keeps it: a JSON object a line for each message.
func claudeTranscript(session, dir string, messages []provider.Message) ([]byte, error) {
	var b bytes.Buffer
	for _, m := range messages {
		content := []map[string]any{}
		for _, part := range m.Parts {
			switch part := part.(type) {
			case provider.Text:
				content = append(content, map[string]any{"type": "text", "text": part.Text})
			case provider.ToolCall:
				name := part.Name
				if claude, ok := claudeTools[name]; ok {
					name = claude
				}
				input := part.Input
				if !json.Valid(input) {
					input = json.RawMessage("{}")
				}
				content = append(content, map[string]any{"type": "tool_use", "id": part.ID, "name": name, "input": claudePath(input)})
			case provider.ToolResult:
				content = append(content, map[string]any{"type": "tool_result", "tool_use_id": part.CallID, "content": part.Text, "is_error": part.IsError})
			}
		}
		kind := "user"
		if m.Role == provider.RoleAssistant {
			kind = "assistant"
		}
		line, err := provider.Marshal(map[string]any{"type": kind, "sessionId": session, "cwd": dir, "message": map[string]any{"role": kind, "content": content}})
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// claudePath is an input with Claude Code's name for the path of a file.
func claudePath(input json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields["path"] == nil || fields["file_path"] != nil {
		return input
	}
	fields["file_path"] = fields["path"]
	delete(fields, "path")
	return raw(fields)
}
