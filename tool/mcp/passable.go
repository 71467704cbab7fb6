package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// passable makes a result one that the library reads without losing the rest of it: a task is carried along, a part that
// cannot be read becomes a text that names it, and a tool that runs only as a task is marked.
func passable(result json.RawMessage) json.RawMessage {
	return markTaskTools(readableParts(carryTask(result)))
}

// readableParts puts a text in the place of each part that the library would fail at.
func readableParts(result json.RawMessage) json.RawMessage {
	for _, list := range []struct {
		key, part string // the list in a result, and a part that cannot be read with %s for the words about it
		into      func() any
	}{
		{"content", `{"type":"text","text":%s}`, func() any { return new(sdk.CallToolResult) }},
		{"messages", `{"role":"user","content":{"type":"text","text":%s}}`, func() any { return new(sdk.GetPromptResult) }},
		{"contents", `{"uri":"","text":%s}`, func() any { return new(sdk.ReadResourceResult) }},
	} {
		if !bytes.Contains(result, []byte(`"`+list.key+`"`)) || json.Unmarshal(result, list.into()) == nil {
			continue
		}
		var fields map[string]json.RawMessage
		var parts []json.RawMessage
		if json.Unmarshal(result, &fields) != nil || json.Unmarshal(fields[list.key], &parts) != nil {
			continue
		}
		for i, part := range parts {
			if one := `{"` + list.key + `":[` + string(part) + `]}`; json.Unmarshal([]byte(one), list.into()) != nil {
				parts[i] = fmt.Appendf(nil, list.part, quoted(unreadable(part)))
			}
		}
		if changed, err := json.Marshal(parts); err == nil {
			fields[list.key] = changed
		}
		if changed, err := json.Marshal(fields); err == nil {
			return changed
		}
	}
	return result
}

// unreadable names a part of a result that cannot be read.
func unreadable(part json.RawMessage) string {
	type names struct {
		Type     string `json:"type"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
	}
	var known struct {
		names
		Content names `json:"content"`
	}
	_ = json.Unmarshal(part, &known) // What it has of a name is enough.
	var what []string
	for _, name := range []string{known.Type, known.MIMEType, known.URI, known.Content.Type, known.Content.MIMEType, known.Content.URI} {
		if name != "" {
			what = append(what, oneLine(cut(name, 100)))
		}
	}
	return "(a part of the result cannot be read and was left out: " + cmp.Or(strings.Join(what, ", "), "of no known kind") + ")"
}

func quoted(text string) []byte {
	data, err := json.Marshal(text)
	if err != nil { // A text always has a form in JSON.
		return []byte(`""`)
	}
	return data
}

// onlyTask is the key in a tool's _meta that says that it runs only as a task.
const onlyTask = "artoo/only-task"

// markTaskTools notes in the _meta of tools that they run only as tasks, which the library does not read.
func markTaskTools(result json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var tools []map[string]json.RawMessage
	if !bytes.Contains(result, []byte(`"taskSupport"`)) || json.Unmarshal(result, &fields) != nil || json.Unmarshal(fields["tools"], &tools) != nil {
		return result
	}
	for _, tool := range tools {
		var execution struct {
			Task string `json:"taskSupport"`
		}
		if json.Unmarshal(tool["execution"], &execution) == nil && execution.Task == "required" {
			tool["_meta"] = json.RawMessage(`{"` + onlyTask + `":true}`)
		}
	}
	changed, err := json.Marshal(tools)
	if err != nil {
		return result
	}
	fields["tools"] = changed
	if changed, err = json.Marshal(fields); err != nil {
		return result
	}
	return changed
}
