package cli

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"artoo/provider"
)

// From this try on a refused login is not waited for: claude tries ten times, over minutes.
const hopeless = 3

// givesPlan is the tool by which claude asks to leave plan mode: the plan is the answer.
const givesPlan = "ExitPlanMode"

type claudeEvents struct {
	// message is the id of the one that streams; joined means that the last one was cut at its limit, so that the next
	// text goes on in it.
	message string
	joined  bool
	// waited is the time spent on retries of the present request.
	waited time.Duration
	// writes is the tool that it is writing a call of. calls has the tools by the calls' ids, why what the failed ones
	// said.
	writes     string
	calls, why map[string]string
	// fault is the word of the last message that was an error.
	fault string
	// used has the usage by message id, streams the message that streams by its parent.
	used    map[string]provider.Usage
	streams map[string]string
}

type claudeEvent struct {
	Type      string        `json:"type"`
	Subtype   string        `json:"subtype"`
	SessionID string        `json:"session_id"`
	Parent    string        `json:"parent_tool_use_id"`
	Error     string        `json:"error"`
	Content   string        `json:"content"`
	Status    string        `json:"status"`
	Message   claudeMessage `json:"message"`
	Event     claudeStream  `json:"event"`
	claudeRetry
	claudeResult
}

// claudeRetry is what a system event has of the next try.
type claudeRetry struct {
	Attempt     int     `json:"attempt"`
	MaxRetries  int     `json:"max_retries"`
	RetryDelay  float64 `json:"retry_delay_ms"`
	ErrorStatus int     `json:"error_status"`
}

// claudeResult is what the last event has.
type claudeResult struct {
	IsError        bool   `json:"is_error"`
	Result         string `json:"result"`
	Errors         []any  `json:"errors"`
	APIErrorStatus int    `json:"api_error_status"`
	StopReason     string `json:"stop_reason"`
	Denials        []struct {
		Tool  string          `json:"tool_name"`
		ID    string          `json:"tool_use_id"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Cost       *float64    `json:"total_cost_usd"`
	Usage      claudeUsage `json:"usage"`
	ModelUsage map[string]struct {
		Input      int `json:"inputTokens"`
		CacheRead  int `json:"cacheReadInputTokens"`
		CacheWrite int `json:"cacheCreationInputTokens"`
		Output     int `json:"outputTokens"`
	} `json:"modelUsage"`
}

type claudeUsage struct {
	Input      int `json:"input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Output     int `json:"output_tokens"`
}

type claudeMessage struct {
	ID      string       `json:"id"`
	Model   string       `json:"model"`
	Content claudeBlocks `json:"content"`
	Usage   claudeUsage  `json:"usage"`
}

// claudeStream is a piece of a message.
type claudeStream struct {
	Type    string        `json:"type"`
	Index   int           `json:"index"`
	Message claudeMessage `json:"message"`
	Block   claudeBlock   `json:"content_block"`
	Delta   struct {
		claudeBlock
		// Input is a piece of a call's arguments.
		Input string `json:"partial_json"`
		Stop  string `json:"stop_reason"`
	} `json:"delta"`
	Usage claudeUsage `json:"usage"`
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  claudeBlocks    `json:"content"`
	IsError  bool            `json:"is_error"`
}

// claudeBlocks are the blocks of a content, which may be a plain string.
type claudeBlocks []claudeBlock

// UnmarshalJSON implements json.Unmarshaler. A content of another form holds nothing to show, and the rest of its event
// counts.
func (b *claudeBlocks) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*b = claudeBlocks{{Type: "text", Text: text}}
	} else if json.Unmarshal(data, (*[]claudeBlock)(b)) != nil {
		*b = nil
	}
	return nil
}

func (d *claudeEvents) event(r *reply, e claudeEvent) {
	r.events++
	r.begin(e.SessionID, "")
	d.spend(r, e)
	switch {
	case e.Type == "result":
		d.result(r, e)
	case e.Parent != "":
		// It is a sub-agent's: its result comes as a tool's.
	case e.Subtype == "status":
		r.heard = r.heard || e.Status == "requesting"
	case e.Subtype == "informational":
		r.notify("claude: " + e.Content)
	case e.Subtype == "api_retry":
		d.retry(r, e)
	case e.Type == "stream_event":
		d.stream(r, e.Event)
	case e.Type == "assistant" && e.Error != "":
		// These are claude's own words, which the result has too.
		d.fault = e.Error
	case e.Type == "assistant":
		d.assistant(r, e.Message)
	case e.Type == "user":
		d.user(r, e.Message.Content)
	}
}

// bareModel is the id without claude's own mark of the window: opus[1m].
func bareModel(model string) string {
	return strings.Split(strings.TrimPrefix(model, "<synthetic>"), "[")[0]
}

func (u claudeUsage) usage() provider.Usage {
	return provider.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
}

// spend counts the usage so far, also of sub-agents: a run may be cut off.
func (d *claudeEvents) spend(r *reply, e claudeEvent) {
	id, now := e.Message.ID, e.Message.Usage
	if piece := e.Event; e.Type == "stream_event" {
		if id, now = piece.Message.ID, piece.Message.Usage; id == "" {
			id, now = d.streams[e.Parent], piece.Usage
		}
		d.streams[e.Parent] = id
	}
	was := d.used[id]
	d.used[id] = provider.Usage{Input: max(was.Input, now.Input), CacheRead: max(was.CacheRead, now.CacheRead),
		CacheWrite: max(was.CacheWrite, now.CacheWrite), Output: max(was.Output, now.Output)}
	r.usage = provider.Usage{}
	for _, used := range d.used {
		r.usage = r.usage.Add(used)
	}
}

func (d *claudeEvents) stream(r *reply, e claudeStream) {
	switch e.Type {
	case "message_start":
		broke(r)
		d.message, r.begun = e.Message.ID, r.sure
		r.begin("", bareModel(e.Message.Model))
	case "content_block_start":
		if e.Block.Type == "text" && !d.joined {
			r.block()
		}
		d.joined = d.joined && e.Block.Type != "text"
		if e.Block.Type == "tool_use" {
			d.writes = e.Block.Name
			r.calling(d.writes, e.Index, 0)
		}
	case "content_block_delta":
		r.think(e.Delta.Thinking)
		r.say(e.Delta.Text)
		if e.Delta.Type == "input_json_delta" {
			r.calling(d.writes, e.Index, len(e.Delta.Input))
		}
	case "message_delta":
		d.joined = e.Delta.Stop == "max_tokens"
		// The text of a message that a filter stopped is void when another message follows.
		if e.Delta.Stop == "refusal" {
			r.sure = r.begun
		}
	}
}

// broke takes back what came of a message that broke off, which claude asks for once more at once.
func broke(r *reply) {
	if r.unsure() {
		r.void(provider.Retry{Try: 2, Tries: 2, Own: true, Err: &provider.Error{Kind: provider.KindNetwork,
			Provider: ClaudeName, Message: "the reply ended early", RequestID: r.session}})
	}
}

// retry reports claude's own retry, and takes back the text of the broken message.
func (d *claudeEvents) retry(r *reply, e claudeEvent) {
	why := cmp.Or(strings.ReplaceAll(strings.TrimPrefix(e.Error, "unknown"), "_", " "), "no connection")
	if r.unsure() {
		why = "the reply ended early"
	}
	wait := time.Duration(e.RetryDelay * float64(time.Millisecond)).Round(100 * time.Millisecond)
	// The first try is one of a new request.
	if e.Attempt <= 1 {
		d.waited = 0
	}
	d.waited += wait
	switch {
	case (e.ErrorStatus == 401 || e.ErrorStatus == 403) && e.Attempt >= hopeless:
		r.abort(failure{text: "the login is refused", code: e.Error, status: e.ErrorStatus})
	case d.waited > r.mayWait:
		r.abort(failure{text: why + "; claude would wait longer than ARTOO_MAX_RETRY_TIME", status: e.ErrorStatus})
	default:
		r.void(provider.Retry{Own: true, Try: e.Attempt + 1, Tries: max(e.MaxRetries, e.Attempt) + 1, Wait: wait,
			Err: &provider.Error{Kind: kindOf(why, e.ErrorStatus), Provider: ClaudeName, Status: e.ErrorStatus,
				Message: why, RequestID: r.session}})
	}
}

// assistant takes whole blocks of a message. Streamed blocks come once more, which makes them sure.
func (d *claudeEvents) assistant(r *reply, m claudeMessage) {
	r.begin("", bareModel(m.Model))
	streamed := m.ID != "" && m.ID == d.message
	// It may be given whole after its stream broke off.
	if !streamed {
		broke(r)
	}
	for _, b := range m.Content {
		d.calls[b.ID] = b.Name
		switch {
		case b.Type == "text" && !streamed:
			r.block()
			r.say(b.Text)
		case b.Type == "thinking" && !streamed:
			r.think(b.Thinking)
		case b.Type == "tool_use" && b.Name == givesPlan:
			r.block()
			r.say(strings.TrimSpace(field(b.Input, "plan")))
		case b.Type == "tool_use":
			r.step(b.Name, about(b.Input))
		}
	}
	r.sure = len(r.text)
}

// user takes the results of claude's tools: those that failed are shown.
func (d *claudeEvents) user(r *reply, blocks claudeBlocks) {
	for _, b := range blocks {
		name := cmp.Or(d.calls[b.CallID], "tool")
		if b.Type != "tool_result" || !b.IsError || name == givesPlan {
			continue
		}
		for _, said := range b.Content {
			d.why[b.CallID] += said.Text
		}
		r.outcome(name+" failed", d.why[b.CallID])
	}
}

// result is the last event. is_error counts, not the subtype.
func (d *claudeEvents) result(r *reply, e claudeEvent) {
	r.over, r.answer = true, e.Result
	for _, denied := range e.Denials {
		if denied.Tool != givesPlan {
			r.refuse(denied.Tool, about(denied.Input), d.why[denied.ID])
		}
	}
	used := e.Usage.usage()
	// These include sub-agents and small models, as the cost does.
	if len(e.ModelUsage) > 0 {
		used = provider.Usage{}
	}
	for _, m := range e.ModelUsage {
		used = used.Add(claudeUsage(m).usage())
	}
	// A run that was aborted counts no tokens.
	if used.Total() > 0 || r.usage.Total() == 0 {
		r.usage, r.usage.CostUSD = used, e.Cost
	} else if e.Cost != nil && *e.Cost > 0 {
		r.usage.CostUSD = e.Cost
	}
	if e.IsError || e.Subtype != "" && e.Subtype != "success" {
		r.failure = d.failed(e)
		return
	}
	if e.StopReason == "refusal" {
		r.stop = provider.StopRefusal
	}
}

func (d *claudeEvents) failed(e claudeEvent) failure {
	text := e.Result
	for _, said := range e.Errors {
		// In brackets stand notes for claude's makers.
		if said, _ := said.(string); !strings.HasPrefix(said, "[") {
			text = cmp.Or(text, said)
		}
	}
	return failure{code: cmp.Or(d.fault, strings.TrimPrefix(e.Subtype, "success")), status: e.APIErrorStatus,
		text: cmp.Or(text, strings.ReplaceAll(e.Subtype, "_", " "), "claude reports an error without a message")}
}
