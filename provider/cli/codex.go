package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"artoo/provider"
)

// codex is OpenAI's `codex exec --json`. Its sandbox confines its commands; it asks no one.
var codex = dialect{
	program:  "codex",
	least:    "0.50.0",
	install:  "npm install -g @openai/codex",
	login:    "codex login",
	own:      []string{"CODEX_API_KEY"},
	settings: []string{".codex", ".agents"},
	keys:     []string{"OPENAI_API_KEY"},
	edits: "it may change files; its sandbox confines its commands, except those that its own rules let out, " +
		"and not its own MCP servers",
	reads:  "it only reads; its sandbox confines its commands, not its own MCP servers",
	events: func() decoder { return &codexEvents{begun: map[string]bool{}} },
	effort: "xhigh",
	args: func(c call) []string {
		// codex needs this option for a project without git.
		args := []string{"exec", "--json", "--skip-git-repo-check"}
		args = append(args, "--config="+trustLevel(c.place, c.trust))
		if c.edits {
			args = append(args, "--sandbox=workspace-write")
			if c.place.root != c.place.dir { // reading needs no permission
				args = append(args, "--add-dir="+c.place.root)
			}
		} else { // the user's own rules may let commands out of the sandbox
			args = append(args, "--sandbox=read-only", "--ignore-rules")
		}
		args = option(option(args, "--model=", c.model), "--config=model_reasoning_effort=", c.effort)
		if c.resume != "" {
			args = append(args, "resume", c.resume)
		}
		return append(args, "-")
	},
}

type codexEvents struct {
	begun       map[string]bool // items whose step was shown
	last        string          // the last error that was not the end
	lastTrouble time.Time       // when
	held        string          // it, if the user was not notified of it: the end may be for the same reason
}

type codexEvent struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage *struct {
		Input      int `json:"input_tokens"`
		Cached     int `json:"cached_input_tokens"`
		CacheWrite int `json:"cache_write_input_tokens"`
		Output     int `json:"output_tokens"`
		Reasoning  int `json:"reasoning_output_tokens"`
	} `json:"usage"`
	Item codexItem `json:"item"`
}

type codexItem struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Text     string `json:"text"`
	Message  string `json:"message"`
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`
	Status   string `json:"status"`
	Changes  []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"arguments"`
	Query  string          `json:"query"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (d *codexEvents) event(r *reply, data []byte) {
	var e codexEvent
	if json.Unmarshal(data, &e) != nil && e.Type == "" {
		return
	}
	r.events++
	if e.Type != "turn.failed" {
		d.notify(r)
	}
	switch e.Type {
	case "turn.started":
		r.heard = true
	case "thread.started":
		r.begin(e.ThreadID, "")
	case "item.started", "item.updated":
		d.step(r, e.Item)
	case "item.completed":
		d.item(r, e.Item)
	case "error":
		d.trouble(r, e.Message)
	case "turn.completed":
		r.over = true
		if u := e.Usage; u != nil {
			// The count is the thread's. Cached tokens are part of the input.
			r.total = &provider.Usage{Input: max(u.Input-u.Cached-u.CacheWrite, 0), CacheRead: u.Cached,
				CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
		}
	case "turn.failed":
		r.over = true
		text, status := apiError(e.Error.Message)
		text = cmp.Or(text, d.last)
		if text != d.held {
			d.notify(r)
		}
		r.failure = &failure{text: text, status: status}
		if _, after, ok := strings.Cut(text, "unexpected status "); ok {
			digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
			r.failure.status, _ = strconv.Atoi(after[:digits]) // 0 without digits
		}
	}
}

// trouble takes an error that is not the end: mostly of a connection that codex tries to fix.
func (d *codexEvents) trouble(r *reply, text string) {
	if text, _ = apiError(text); text != d.last { // once is enough
		d.last, d.held = text, text
	}
	now := time.Now()
	// A long wait for a silent server is a silence, for which there is another limit.
	silent := now.Sub(d.lastTrouble) > r.mayBeStuck/2
	d.lastTrouble = now
	switch {
	case r.stuck.IsZero() || silent:
		r.stuck = now
	case now.Sub(r.stuck) > r.mayBeStuck:
		r.failure, r.abort = &failure{text: d.last, kind: provider.KindNetwork}, true
	}
}

// notify reports trouble that was not the end.
func (d *codexEvents) notify(r *reply) {
	if d.held != "" {
		r.notify("codex: " + d.held)
		d.held = ""
	}
}

func (d *codexEvents) step(r *reply, item codexItem) {
	if d.begun[item.ID] {
		return
	}
	switch item.Type {
	case "command_execution":
		r.step("command", item.Command)
	case "file_change":
		var names []string
		for _, c := range item.Changes {
			names = append(names, c.Kind+" "+filepath.Base(c.Path))
		}
		r.step("change", strings.Join(names, ", "))
	case "mcp_tool_call":
		r.step(item.Server+" "+item.Tool, about(item.Args))
	case "web_search":
		r.step("web search", item.Query)
	case "collab_tool_call":
		r.step("agent", item.Tool)
	default:
		return
	}
	d.begun[item.ID] = true
	r.requests++
}

// item takes one that is complete; texts come only so, and whole.
func (d *codexEvents) item(r *reply, item codexItem) {
	switch item.Type {
	case "agent_message":
		r.block()
		r.say(item.Text)
	case "reasoning":
		r.think(item.Text + "\n\n")
	case "error":
		r.notify("codex: " + item.Message)
	default:
		d.step(r, item)
		d.outcome(r, item)
	}
}

func (d *codexEvents) outcome(r *reply, item codexItem) {
	switch {
	case item.Status == "declined":
		r.step("declined", item.Command)
		r.refuse(strings.ReplaceAll(item.Type, "_", " "), item.Command, "")
	case item.ExitCode != nil && *item.ExitCode != 0:
		r.step(fmt.Sprintf("command ended with %d", *item.ExitCode), item.Output)
	case item.Error != nil && item.Error.Message != "":
		r.step(item.Tool+" failed", item.Error.Message)
	case item.Status == "failed":
		r.step(strings.ReplaceAll(item.Type, "_", " ")+" failed", item.Output)
	}
}
