package acp

import "encoding/json"

// The messages of protocol 1, as schema/v1 of agentclientprotocol/agent-client-protocol has them;
// only fields that artoo reads or writes.

// protocolVersion is the only one that artoo speaks.
const protocolVersion = 1

// empty is an object without fields, which says yes to a capability.
type empty struct{}

type initializeRequest struct {
	Capabilities clientCapabilities `json:"clientCapabilities"`
}

type clientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Auth struct {
		Terminal bool `json:"terminal"`
	} `json:"auth"`
	Elicitation *struct {
		Form *empty `json:"form"`
		URL  *empty `json:"url"`
	} `json:"elicitation"`
	Session *struct {
		Notices *empty `json:"notices"`
	} `json:"session"`
}

type initializeResponse struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Capabilities    agentCapabilities `json:"agentCapabilities"`
	Info            implementation    `json:"agentInfo"`
	AuthMethods     []authMethod      `json:"authMethods"`
}

type agentCapabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		Image    bool `json:"image"`
		Audio    bool `json:"audio"`
		Embedded bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCP struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	Session struct {
		List                  empty `json:"list"`
		Resume                empty `json:"resume"`
		Close                 empty `json:"close"`
		Delete                empty `json:"delete"`
		AdditionalDirectories empty `json:"additionalDirectories"`
	} `json:"sessionCapabilities"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type authMethod struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        string   `json:"type,omitempty"`
	Args        []string `json:"args,omitempty"`
}

type cancelRequest struct {
	RequestID json.RawMessage `json:"requestId"`
}

// sessionRequest has the fields of all requests about a session, which are read at once.
type sessionRequest struct {
	SessionID   string          `json:"sessionId"`
	CWD         string          `json:"cwd"`
	Directories []string        `json:"additionalDirectories"`
	Servers     []Server        `json:"mcpServers"`
	Prompt      []contentBlock  `json:"prompt"`
	ModeID      string          `json:"modeId"`
	ConfigID    string          `json:"configId"`
	Value       json.RawMessage `json:"value"`
	Cursor      string          `json:"cursor"`
}

// Server is an MCP server that an editor names.
type Server struct {
	Type    string   `json:"type"` // http, sse; "" for a command
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []Named  `json:"env"`
	URL     string   `json:"url"`
	Headers []Named  `json:"headers"`
}

// Named is a variable or a header.
type Named struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type sessionResponse struct {
	SessionID string         `json:"sessionId,omitempty"`
	Modes     modeState      `json:"modes"`
	Options   []configOption `json:"configOptions"`
}

type modeState struct {
	Current   string `json:"currentModeId"`
	Available []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type configOption struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Category string        `json:"category"`
	Type     string        `json:"type"`
	Current  string        `json:"currentValue"`
	Options  []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type configResponse struct {
	Options []configOption `json:"configOptions"`
}

type listResponse struct {
	Sessions []sessionInfo `json:"sessions"`
	Next     string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	Updated   string `json:"updatedAt,omitempty"`
}

type promptResponse struct {
	StopReason string `json:"stopReason"`
}

type contentBlock struct {
	Type     string        `json:"type"` // text, image, resource_link, resource
	Text     string        `json:"text,omitempty"`
	Data     []byte        `json:"data,omitempty"`
	MimeType string        `json:"mimeType,omitempty"`
	URI      string        `json:"uri,omitempty"`
	Name     string        `json:"name,omitempty"`
	Resource *resourceText `json:"resource,omitempty"`
}

// MarshalJSON writes the text of a text block even if it is empty, as the schema wants it.
func (b contentBlock) MarshalJSON() ([]byte, error) {
	type plain contentBlock
	if b.Type != "text" {
		return json.Marshal(plain(b))
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{b.Type, b.Text})
}

type resourceText struct {
	URI      string `json:"uri"`
	MimeType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
	Blob     []byte `json:"blob,omitempty"`
}

type sessionUpdate struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

// chunk is a piece of a message: user_message_chunk, agent_message_chunk, agent_thought_chunk.
type chunk struct {
	Kind      string       `json:"sessionUpdate"`
	Content   contentBlock `json:"content"`
	MessageID string       `json:"messageId,omitempty"`
}

// toolCall is a call: in tool_call, tool_call_update and in a question.
type toolCall struct {
	Kind      string          `json:"sessionUpdate,omitempty"`
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	ToolKind  string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"` // pending, in_progress, completed, failed
	Content   []callContent   `json:"content,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
}

// callContent is a text or a diff. Old is nil for a new file.
type callContent struct {
	Type    string        `json:"type"` // content, diff
	Content *contentBlock `json:"content,omitempty"`
	Path    string        `json:"path,omitempty"`
	Old     *string       `json:"oldText,omitempty"`
	New     *string       `json:"newText,omitempty"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type planUpdate struct {
	Kind    string      `json:"sessionUpdate"` // plan
	Entries []planEntry `json:"entries"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type commandsUpdate struct {
	Kind     string    `json:"sessionUpdate"` // available_commands_update
	Commands []Command `json:"availableCommands"`
}

// Command is a command that the user can call with a slash.
type Command struct {
	Name        string `json:"name"` // without the slash
	Description string `json:"description"`
	Input       *Hint  `json:"input,omitempty"` // nil for a command without arguments
}

// Hint describes a command's arguments.
type Hint struct {
	Hint string `json:"hint"`
}

type modeUpdate struct {
	Kind    string `json:"sessionUpdate"` // current_mode_update
	Current string `json:"currentModeId"`
}

type optionsUpdate struct {
	Kind    string         `json:"sessionUpdate"` // config_option_update
	Options []configOption `json:"configOptions"`
}

type infoUpdate struct {
	Kind    string `json:"sessionUpdate"` // session_info_update
	Title   string `json:"title,omitempty"`
	Updated string `json:"updatedAt,omitempty"`
}

type usageUpdate struct {
	Kind string `json:"sessionUpdate"` // usage_update
	Used int    `json:"used"`
	Size int    `json:"size"`
	Cost *cost  `json:"cost,omitempty"`
	// Meta is artoo's own, as the protocol allows.
	Meta *usageMeta `json:"_meta,omitempty"`
}

type usageMeta struct {
	Model string `json:"artoo/model"` // that answered last, provider/model
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type notice struct {
	Kind     string `json:"sessionUpdate"` // notice
	Severity string `json:"severity"`
	Title    string `json:"title"`
}

type permissionRequest struct {
	SessionID string   `json:"sessionId"`
	Call      toolCall `json:"toolCall"`
	Options   []option `json:"options"`
}

type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once
}

type permissionResponse struct {
	Outcome struct {
		Outcome  string `json:"outcome"` // selected, cancelled
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

type elicitation struct {
	SessionID string          `json:"sessionId"`
	CallID    string          `json:"toolCallId,omitempty"`
	Mode      string          `json:"mode"` // form, url
	Message   string          `json:"message"`
	Schema    json.RawMessage `json:"requestedSchema,omitempty"`
	ID        string          `json:"elicitationId,omitempty"`
	URL       string          `json:"url,omitempty"`
}

type elicited struct {
	Action  string          `json:"action"` // accept, decline, cancel
	Content json.RawMessage `json:"content"`
}

type fileRequest struct {
	SessionID string  `json:"sessionId"`
	Path      string  `json:"path"`
	Content   *string `json:"content,omitempty"` // nil for reading
}

type fileResponse struct {
	Content string `json:"content"`
}
