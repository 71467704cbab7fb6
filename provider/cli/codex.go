package cli

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"artoo/provider"
)

// codexEvents has the items whose step was shown, by their ids.
type codexEvents map[string]bool

type codexEvent struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage codexUsage `json:"usage"`
	Item  codexItem  `json:"item"`
}

type codexUsage struct {
	Input      int `json:"input_tokens"`
	Cached     int `json:"cached_input_tokens"`
	CacheWrite int `json:"cache_write_input_tokens"`
	Output     int `json:"output_tokens"`
	Reasoning  int `json:"reasoning_output_tokens"`
}

// usage is that of the thread. Cached tokens are part of the input.
func (u codexUsage) usage() *provider.Usage {
	return &provider.Usage{Input: max(u.Input-u.Cached-u.CacheWrite, 0), CacheRead: u.Cached, CacheWrite: u.CacheWrite,
		Output: u.Output, Reasoning: u.Reasoning}
}

type codexItem struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Text     string `json:"text"`
	Message  string `json:"message"`
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode int    `json:"exit_code"`
	Status   string `json:"status"`
	Changes  []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"arguments"`
	Query  string          `json:"query"`
	Error  struct {
		Message string `json:"message"`
	} `json:"error"`
}

// codexSteps are the types of items that are steps, by the names that the user sees.
var codexSteps = map[string]string{"command_execution": "command", "file_change": "change", "mcp_tool_call": "call",
	"web_search": "web search", "collab_tool_call": "agent"}

func (d codexEvents) event(r *reply, e codexEvent) {
	// An error that is not the end is mostly of a connection that codex tries to fix. It is no sign of life.
	if e.Type == "error" {
		text, _ := apiError(e.Message)
		r.inTrouble("codex", text)
		return
	}
	r.events++
	switch e.Type {
	case "turn.started":
		r.heard = true
	case "thread.started":
		r.begin(e.ThreadID, "")
	case "item.started", "item.updated":
		d.step(r, e.Item, false)
	case "item.completed":
		d.completed(r, e.Item)
	case "turn.completed":
		r.over = true
		r.total = e.Usage.usage()
	case "turn.failed":
		r.over = true
		text, status := apiError(e.Error.Message)
		r.failure = failure{text: cmp.Or(text, r.trouble, "the turn failed"), status: status}
	}
}

// completed takes an item that is complete: texts come only so, and whole.
func (d codexEvents) completed(r *reply, item codexItem) {
	switch item.Type {
	case "agent_message":
		r.block()
		r.say(item.Text)
	case "reasoning":
		r.think(item.Text + "\n\n")
	case "error":
		r.notify("codex: " + item.Message)
	default:
		d.step(r, item, true)
	}
}

func (d codexEvents) step(r *reply, item codexItem, complete bool) {
	what := codexSteps[item.Type]
	if what == "" {
		return
	}
	what = cmp.Or(strings.TrimSpace(item.Server+" "+item.Tool), what)
	if !d[item.ID] {
		var changes []string
		for _, c := range item.Changes {
			changes = append(changes, c.Kind+" "+filepath.Base(c.Path))
		}
		d[item.ID] = true
		r.step(what, cmp.Or(item.Command, item.Query, strings.Join(changes, ", "), about(item.Args)))
	}
	switch {
	case !complete:
	case item.Status == "declined":
		r.refuse(strings.ReplaceAll(item.Type, "_", " "), item.Command, "")
	case item.Status == "failed" || item.ExitCode != 0 || item.Error.Message != "":
		r.outcome(what+" failed", cmp.Or(item.Error.Message, item.Output))
	}
}
