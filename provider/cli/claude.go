package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"artoo/provider"
)

// claude is Claude Code: `claude -p` with its events as JSON lines.
var claude = dialect{
	program:  "claude",
	least:    "2.0.0",
	since:    map[string]string{"--max-budget-usd": "2.0.28"},
	install:  "npm install -g @anthropic-ai/claude-code",
	login:    "claude, and /login there",
	own:      []string{"CLAUDE_CODE_OAUTH_TOKEN"},
	settings: []string{".claude", ".mcp.json"},
	keys:     []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"},
	edits:    "it may change files, and run commands that its own settings allow",
	reads:    "it only reads and runs no command",
	guard:    noSlash,
	events: func() decoder {
		return &claudeEvents{calls: map[string]string{}, why: map[string]string{}, used: map[string]provider.Usage{},
			streams: map[string]string{}}
	},
	remark:    "[claude-code:unrecognized_model]",
	args:      claudeArgs,
	effort:    "max",
	keepsCaps: true,
	price:     claudePrice,
}

// claudeReads are the tools in plan mode, which runs no command. Those that edit are included so
// that claude reports refused calls.
const claudeReads = "Read,Glob,Grep,LS,NotebookRead,WebFetch,WebSearch,Task,Agent,TodoWrite," +
	"Edit,Write,NotebookEdit,ExitPlanMode"

// claudeArgs are the arguments of a run. Settings, hooks and servers come from the user alone unless
// the project is trusted.
func claudeArgs(c call) []string {
	args := []string{"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages"}
	if c.trust {
		args = append(args, "--setting-sources=user,project,local")
	} else {
		args = append(args, "--setting-sources=user")
	}
	if !c.trust || !c.edits {
		args = append(args, "--strict-mcp-config")
	}
	if c.edits {
		args = append(args, "--permission-mode=acceptEdits")
	} else {
		args = append(args, "--permission-mode=plan", `--settings={"useAutoModeDuringPlan":false}`, "--tools="+claudeReads)
	}
	for _, dir := range c.opens {
		args = append(args, "--add-dir="+dir)
	}
	args = option(option(args, "--model=", c.model), "--effort=", c.effort)
	if c.caps.Money > 0 {
		args = append(args, fmt.Sprintf("--max-budget-usd=%.6f", c.caps.Money))
	}
	if c.caps.Steps > 0 {
		args = append(args, fmt.Sprintf("--max-turns=%d", c.caps.Steps))
	}
	return option(args, "--resume=", c.resume)
}

// From this try on a refused login is not waited for: claude tries ten times, over minutes.
const hopeless = 3

type claudeEvents struct {
	message  string        // the id of the one that streams
	text     bool          // its text was streamed
	thinking bool          // its reasoning was
	here     bool          // there is such a message
	begun    mark          // where it begins
	sure     mark          // up to where it came whole
	refused  bool          // a filter stopped it
	joined   bool          // it was cut at its limit: the next text goes on in it
	tries    int           // failed tries
	waited   time.Duration // time spent on retries of the present request
	writes   string        // the tool that it is writing a call of
	calls    map[string]string
	why      map[string]string // calls failed
	resets   time.Time         // when a limit that is reached ends
	fault    string            // the word of the last message that was an error

	used    map[string]provider.Usage // usage by message ID
	streams map[string]string         // the message that streams, by its parent
}

type claudeEvent struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	SessionID string          `json:"session_id"`
	Parent    string          `json:"parent_tool_use_id"`
	Model     string          `json:"model"`
	Error     string          `json:"error"`
	Content   string          `json:"content"`
	Status    string          `json:"status"`
	Message   json.RawMessage `json:"message"`
	Event     json.RawMessage `json:"event"`

	// api_retry
	Attempt     int     `json:"attempt"`
	MaxRetries  int     `json:"max_retries"`
	RetryDelay  float64 `json:"retry_delay_ms"`
	ErrorStatus int     `json:"error_status"`

	RateLimit *struct {
		Status      string  `json:"status"`
		ResetsAt    float64 `json:"resetsAt"`
		Type        string  `json:"rateLimitType"`
		Utilization float64 `json:"utilization"`
	} `json:"rate_limit_info"`
	NewConversation string `json:"new_conversation_id"`

	// result
	IsError        bool              `json:"is_error"`
	Result         string            `json:"result"`
	Errors         []json.RawMessage `json:"errors"`
	APIErrorStatus int               `json:"api_error_status"`
	StopReason     string            `json:"stop_reason"`
	Denials        []struct {
		Tool  string          `json:"tool_name"`
		ID    string          `json:"tool_use_id"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Cost       *float64               `json:"total_cost_usd"`
	Usage      claudeUsage            `json:"usage"`
	ModelUsage map[string]claudeModel `json:"modelUsage"`
}

type claudeUsage struct {
	Input      int `json:"input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Output     int `json:"output_tokens"`
}

type claudeModel struct {
	Input      int `json:"inputTokens"`
	CacheRead  int `json:"cacheReadInputTokens"`
	CacheWrite int `json:"cacheCreationInputTokens"`
	Output     int `json:"outputTokens"`
}

type claudeMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"` // blocks, or a plain string
	Usage   claudeUsage     `json:"usage"`
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
}

func (d *claudeEvents) event(r *reply, data []byte) {
	var e claudeEvent
	if json.Unmarshal(data, &e) != nil && e.Type == "" {
		return // not an event of any kind we know
	}
	r.events++
	d.spend(r, e)
	switch {
	case e.Type == "result":
		d.result(r, e)
	case e.Type == "system":
		d.system(r, e)
	case e.Type == "rate_limit_event":
		d.limit(r, e)
	case e.Type == "conversation_reset" && validID(e.NewConversation):
		r.session = e.NewConversation
		r.notify("claude began a new conversation of its own")
	case e.Parent != "": // a sub-agent's: its result comes as a tool's
	case e.Type == "stream_event":
		d.stream(r, e.Event)
	case e.Type == "assistant":
		d.assistant(r, e)
	case e.Type == "user":
		d.user(r, e.Message)
	}
}

func (d *claudeEvents) system(r *reply, e claudeEvent) {
	switch e.Subtype {
	case "init":
		r.begin(e.SessionID, "") // it names the model it will ask, not the one that answers
	case "status":
		r.heard = r.heard || e.Status == "requesting"
	case "informational":
		r.notify("claude: " + e.Content)
	case "compact_boundary":
		r.notify("claude compacted its own conversation")
	case "api_retry":
		if (e.ErrorStatus == 401 || e.ErrorStatus == 403) && e.Attempt >= hopeless {
			r.failure, r.abort = &failure{text: "the login is refused", code: e.Error, status: e.ErrorStatus}, true
			return
		}
		d.retry(r, e)
	}
}

// limit reports a limit that is near, and keeps when one that is reached ends.
func (d *claudeEvents) limit(r *reply, e claudeEvent) {
	info := e.RateLimit
	if info == nil {
		return
	}
	resets := time.Unix(int64(info.ResetsAt), 0)
	switch info.Status {
	case "rejected":
		d.resets = resets
	case "allowed":
		d.resets = time.Time{}
	case "allowed_warning":
		text := "claude: the " + strings.ReplaceAll(info.Type, "_", " ") + " limit is near"
		if info.Utilization > 0 {
			text += fmt.Sprintf(", %.0f %% are used", min(info.Utilization, 1)*100)
		}
		if info.ResetsAt > 0 {
			text += ", it resets " + resets.Format("Jan 2 15:04")
		}
		r.notify(text)
	}
}

// bareModel is the id without claude's own mark of the window: opus[1m].
func bareModel(model string) string {
	if model == "<synthetic>" {
		return ""
	}
	model, _, _ = strings.Cut(model, "[")
	return model
}

// givesPlan is the tool by which claude asks to leave plan mode: the plan is the answer.
const givesPlan = "ExitPlanMode"

// planOf is the plan in a call, or "".
func planOf(b claudeBlock) (plan string) {
	if b.Name == givesPlan && json.Unmarshal(object(b.Input)["plan"], &plan) != nil {
		return ""
	}
	return strings.TrimSpace(plan)
}

// spend counts the usage so far, also of sub-agents: a run may be cut off.
func (d *claudeEvents) spend(r *reply, e claudeEvent) {
	var m claudeMessage
	switch e.Type {
	case "assistant":
		if json.Unmarshal(e.Message, &m) != nil {
			return
		}
	case "stream_event":
		var s struct {
			Message claudeMessage `json:"message"`
			Usage   claudeUsage   `json:"usage"`
		}
		if json.Unmarshal(e.Event, &s) != nil {
			return
		}
		if m = s.Message; m.ID == "" {
			m.ID, m.Usage = d.streams[e.Parent], s.Usage
		}
	}
	if m.ID == "" || m.Usage == (claudeUsage{}) {
		return
	}
	d.streams[e.Parent] = m.ID
	was, now := d.used[m.ID], m.Usage
	more := provider.Usage{
		Input: max(now.Input-was.Input, 0), CacheRead: max(now.CacheRead-was.CacheRead, 0),
		CacheWrite: max(now.CacheWrite-was.CacheWrite, 0), Output: max(now.Output-was.Output, 0),
	}
	d.used[m.ID], r.usage = was.Add(more), r.usage.Add(more)
}

// user takes the results of claude's tools: those that failed are shown.
func (d *claudeEvents) user(r *reply, message json.RawMessage) {
	_, blocks := readMessage(message)
	for _, b := range blocks {
		if b.Type == "tool_result" && b.IsError {
			name := cmp.Or(d.calls[b.CallID], "tool")
			if name == givesPlan {
				continue
			}
			for _, text := range blocksIn(b.Content) {
				d.why[b.CallID] += text.Text
			}
			r.step(name+" failed", d.why[b.CallID])
		}
	}
}

func readMessage(data json.RawMessage) (m claudeMessage, blocks []claudeBlock) {
	if json.Unmarshal(data, &m) != nil {
		return m, nil
	}
	return m, blocksIn(m.Content)
}

// blocksIn are the blocks of a content, which may be a plain string.
func blocksIn(content json.RawMessage) (blocks []claudeBlock) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	return blocks
}

// result is the last event. is_error counts, not the subtype.
func (d *claudeEvents) result(r *reply, e claudeEvent) {
	r.over = true
	r.begin(e.SessionID, "")
	r.answer = e.Result
	for _, denied := range e.Denials {
		if denied.Tool != givesPlan {
			r.refuse(denied.Tool, about(denied.Input), d.why[denied.ID])
		}
	}
	used := e.usage()
	switch {
	case used.Total() > 0 || r.usage.Total() == 0:
		r.usage = used
	case used.CostUSD != nil && *used.CostUSD > 0: // an aborted run counts no tokens
		r.usage.CostUSD = used.CostUSD
	}
	if !e.IsError && (e.Subtype == "" || e.Subtype == "success") {
		switch e.StopReason {
		case "refusal":
			r.stop = provider.StopRefusal
		case "max_tokens":
			r.notify("claude's reply is cut at its limit")
		}
		return
	}
	f := &failure{text: e.Result, code: e.Subtype, status: e.APIErrorStatus}
	if e.Subtype == "success" {
		f.code = d.fault
	}
	for _, raw := range e.Errors {
		var text string
		// In brackets stand notes for claude's makers.
		if f.text == "" && json.Unmarshal(raw, &text) == nil && !strings.HasPrefix(text, "[") {
			f.text = text
		}
	}
	f.text = cmp.Or(f.text, strings.ReplaceAll(e.Subtype, "_", " "))
	f.kind = map[string]provider.ErrorKind{
		"authentication_failed": provider.KindAuth, "billing_error": provider.KindBilling,
		"rate_limit": provider.KindRateLimit,
	}[d.fault]
	if e.Subtype == "error_max_budget_usd" || e.Subtype == "error_max_turns" {
		f.kind = provider.KindCap
	}
	if !d.resets.IsZero() && (f.kind == "" || f.kind == provider.KindRateLimit) {
		f.kind, f.after = provider.KindRateLimit, max(time.Until(d.resets), 0)
	}
	r.failure = f
}

func (e claudeEvent) usage() provider.Usage {
	u := provider.Usage{
		Input: e.Usage.Input, CacheRead: e.Usage.CacheRead, CacheWrite: e.Usage.CacheWrite, Output: e.Usage.Output,
	}
	if len(e.ModelUsage) > 0 { // sub-agents and small models included, as in the cost
		u = provider.Usage{}
	}
	for _, m := range e.ModelUsage {
		u = u.Add(provider.Usage{Input: m.Input, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite, Output: m.Output})
	}
	u.CostUSD = e.Cost
	return u
}
