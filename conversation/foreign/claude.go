package foreign

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
)

// claudeLine is a line of a session of Claude Code: a tree of lines by uuid and
// parentUuid, in which messages have Anthropic's form; a reply is a line for each of
// its blocks, which share its id.
type claudeLine struct {
	Type       string
	UUID       string `json:"uuid"`
	ParentUUID string `json:"parentUuid"`
	// LogicalParentUUID leads on where a summary cut the tree.
	LogicalParentUUID string `json:"logicalParentUuid"`
	IsSidechain       bool   `json:"isSidechain"` // a sub-agent's
	IsMeta            bool   `json:"isMeta"`      // said by the agent, not by the user
	CWD               string `json:"cwd"`
	SessionID         string `json:"sessionId"`
	Message           struct {
		ID      string
		Role    string
		Model   string
		Content json.RawMessage
	}
}

type claudeBlock struct {
	Type      string
	Text      string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
	IsError   bool `json:"is_error"`
	Source    struct {
		Type, Data string
		MediaType  string `json:"media_type"`
	}
}

type claudeReader struct {
	lines []claudeLine
	at    map[string]int // index of a uuid
	last  int            // index+1 of the last line that is said, or 0
}

func (c *claudeReader) line(line []byte) {
	var l claudeLine
	if json.Unmarshal(line, &l) != nil || l.UUID == "" || l.IsSidechain {
		return
	}
	c.at[l.UUID] = len(c.lines)
	c.lines = append(c.lines, l)
	if l.Type == "user" || l.Type == "assistant" {
		c.last = len(c.lines)
	}
}

func (c *claudeReader) session() Session {
	s := Session{Agent: "Claude Code"}
	var chain []claudeLine
	for i := c.last - 1; i >= 0; {
		l := c.lines[i]
		chain = append(chain, l)
		before := i
		i = -1
		for _, parent := range []string{l.ParentUUID, l.LogicalParentUUID} {
			if at, ok := c.at[parent]; ok && at < before { // a file cannot lead in a circle
				i = at
				break
			}
		}
	}
	names := map[string]string{} // call names by ID
	reply := ""                  // id of the one that is open
	for _, l := range slices.Backward(chain) {
		s.Dir, s.ID = cmp.Or(s.Dir, l.CWD), cmp.Or(s.ID, l.SessionID)
		switch {
		case l.Type == "assistant":
			if l.Message.Model != "" && !strings.HasPrefix(l.Message.Model, "<") {
				s.Model = l.Message.Model
			}
			parts := claudeReply(l, names)
			if n := len(s.Messages); reply != "" && reply == l.Message.ID && s.Messages[n-1].Role == provider.RoleAssistant {
				s.Messages[n-1].Parts = append(s.Messages[n-1].Parts, parts...)
			} else if len(parts) > 0 {
				s.Messages = append(s.Messages, provider.Message{Role: provider.RoleAssistant, Model: s.Model, Parts: parts})
				reply = l.Message.ID
			}
		case l.Type == "user" && !l.IsMeta:
			s.Messages = append(s.Messages, claudeUser(l, names)...)
		}
	}
	return s
}

func claudeReply(l claudeLine, names map[string]string) (parts []provider.Part) {
	for _, b := range claudeBlocks(l.Message.Content) {
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) != "":
			parts = append(parts, provider.Text{Text: b.Text})
		case b.Type == "tool_use":
			names[b.ID] = b.Name
			parts = append(parts, callOf(b.ID, b.Name, b.Input))
		}
	}
	return parts
}

// claudeUser is a line of the user's role: results, each a message of its own, then the
// user's words.
func claudeUser(l claudeLine, names map[string]string) (messages []provider.Message) {
	var said []provider.Part
	for _, b := range claudeBlocks(l.Message.Content) {
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) != "":
			said = append(said, provider.Text{Text: b.Text})
		case b.Type == "image" && b.Source.Type == "base64":
			if data, err := base64.StdEncoding.DecodeString(b.Source.Data); err == nil {
				said = append(said, provider.Image{MediaType: b.Source.MediaType, Data: data})
			}
		case b.Type == "tool_result":
			messages = append(messages, resultOf(b.ToolUseID, names[b.ToolUseID], texts(b.Content), b.IsError))
		}
	}
	if len(said) > 0 {
		messages = append(messages, provider.Message{Role: provider.RoleUser, Parts: said})
	}
	return messages
}

// claudeBlocks are the blocks of a content, which may be a string.
func claudeBlocks(content json.RawMessage) (blocks []claudeBlock) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	return blocks
}
