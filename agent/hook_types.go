package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// hooks are those of an agent and its sub-agents.
type hooks struct {
	environ  []string
	approved func(extension.Extension) error
	running  chan struct{}  // holds one while a hook runs: they run one at a time
	notices  sync.WaitGroup // hooks that no caller waits for: on notify, and asynchronous ones

	mu       sync.Mutex
	list     []hook
	warned   map[string]bool // the texts of warnings that the user had
	noticing context.Context // ends with the session
	stop     context.CancelFunc
}

// hook is a hook with the rules it matches.
type hook struct {
	extension.Hook
	rules   []permission.Rule
	matcher *regexp.Regexp // nil matches everything
	names   []string       // those of tools that the matcher lists
}

// hookInput is the standard input of a hook, for all events.
type hookInput struct {
	V          int             `json:"v"`
	Event      extension.Event `json:"event"`
	SessionID  string          `json:"session_id"`
	Transcript string          `json:"transcript"`
	CWD        string          `json:"cwd"`
	Project    string          `json:"project"`
	Mode       permission.Mode `json:"mode"`
	Model      string          `json:"model"`
	Agent      string          `json:"agent,omitempty"`

	Tool     string          `json:"tool,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	ID       string          `json:"id,omitempty"`
	Access   *hookAccess     `json:"access,omitempty"`
	Question string          `json:"question,omitempty"` // its id
	Reason   string          `json:"reason,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Diff     string          `json:"diff,omitempty"`
	Status   CallStatus      `json:"status,omitempty"`
	Millis   *int64          `json:"ms,omitempty"`

	Text    *string  `json:"text,omitempty"`
	Turns   *int     `json:"turns,omitempty"`
	CostUSD *float64 `json:"cost_usd,omitempty"`
	Active  *bool    `json:"active,omitempty"`

	Source   string `json:"source,omitempty"`
	Trigger  string `json:"trigger,omitempty"`
	Kind     string `json:"kind,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`

	// lander is nil where nothing lands.
	lander lander
}

// lander lands changes of a hook on a layer, and returns those that it left.
type lander interface {
	landChanges(ctx context.Context, changes confine.Changes) (left []sandbox.Change)
}

// hookAccess lists the things a call would touch.
type hookAccess struct {
	Kind    tool.Kind `json:"kind"`
	Paths   []string  `json:"paths,omitempty"`
	Command string    `json:"command,omitempty"`
	Host    string    `json:"host,omitempty"`
	Outside bool      `json:"outside,omitempty"`
}

// hookAnswer is the answer of a hook.
type hookAnswer struct {
	Decision permission.Verdict `json:"decision"`
	Reason   string             `json:"reason"`
	Input    json.RawMessage    `json:"input"`
	Context  string             `json:"context"`
	Stop     *bool              `json:"stop"`
	Rule     string             `json:"rule"`
	Lasting  string             `json:"lasting"`
	Notice   string             `json:"-"` // Claude Code's systemMessage
}

// check reports an answer that can mean nothing.
func (a hookAnswer) check() error {
	switch a.Decision {
	case "", permission.Run, permission.Ask, permission.Refuse:
	default:
		return fmt.Errorf("its decision %q is not one of allow, deny, ask", text.Clip(string(a.Decision), 40))
	}
	if a.Input != nil && !bytes.HasPrefix(bytes.TrimSpace(a.Input), []byte("{")) {
		return errors.New("its input is not a JSON object")
	}
	if a.Lasting != "" && a.Lasting != "session" {
		return fmt.Errorf("its lasting %q is not \"session\"", text.Clip(a.Lasting, 40))
	}
	return nil
}

// unclear is the failure of a hook that may have meant to deny: where it guards something that is denied, whatever the
// hook's on_failure says.
type unclear struct{ error }
