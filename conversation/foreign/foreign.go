// Package foreign reads the session files of other agents, so that artoo can go on
// with them.
package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"artoo/provider"
)

// Session is another agent's session: messages, calls and results. Reasoning, which belongs
// to the provider's account, and that agent's own notes are left out.
type Session struct {
	Agent    string // "Claude Code" or "Codex"
	ID       string // its name there; may be ""
	Dir      string // absolute directory it was in; "" if the file does not name it
	Model    string // the last to answer, may be ""
	Messages []provider.Message
	Skipped  int // lines that are no JSON
}

// Known names the formats that can be read.
const Known = "the JSONL files of Claude Code (below ~/.claude/projects) and of Codex (below ~/.codex/sessions)"

// ErrUnknown is a file of another format, or one in which nothing was said.
var ErrUnknown = errors.New("it is not a session file that artoo can read")

// Read reads a session of any known format. The messages include at least one of the user.
func Read(r io.Reader) (Session, error) {
	claude := claudeReader{at: map[string]int{}}
	codex := codexReader{s: Session{Agent: "Codex"}, names: map[string]string{}}
	skipped := 0
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if !json.Valid(line) {
				skipped++
			} else {
				claude.line(line)
				codex.line(line)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Session{}, err
		}
	}
	for _, s := range []Session{claude.session(), codex.s} {
		for _, m := range s.Messages {
			if m.Role == provider.RoleUser {
				s.Skipped = skipped
				return s, nil
			}
		}
	}
	return Session{}, ErrUnknown
}

// texts is the text of a content: a string, or a list of parts of which some have one.
func texts(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var all []string
	for _, p := range parts {
		if p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

func callOf(id, name string, input json.RawMessage) provider.ToolCall {
	if fields := map[string]json.RawMessage{}; json.Unmarshal(input, &fields) != nil || fields == nil {
		return provider.ToolCall{ID: id, Name: name, Input: json.RawMessage("{}"), Raw: string(input)}
	}
	return provider.ToolCall{ID: id, Name: name, Input: input}
}

// resultOf is the message of a result; a wire wants some text in it.
func resultOf(id, name, text string, failed bool) provider.Message {
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	return provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
		provider.ToolResult{CallID: id, Name: name, Text: text, IsError: failed}}}
}
