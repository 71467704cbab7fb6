package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"artoo/agent"
	"artoo/tool"
	"artoo/tool/text"
	"artoo/ui/sanitize"
)

// Bounds of the parts of a line, in bytes. A text may grow by JSON's escapes.
const (
	mostText   = 100 << 10 // of a message's piece and of a call's result
	mostOutput = 32 << 10  // of a call's live output: its end is shown
	mostInput  = 256 << 10 // of a call's input as JSON
	mostDiff   = 256 << 10 // of the two sides of a call's diffs
)

// outputPause is the least time between two reports of a call's live output.
const outputPause = 200 * time.Millisecond

// turn reports a turn to the client; it implements agent.Callbacks.
type turn struct {
	*session
	message string // the id of the present message
	output  map[string]*liveOutput
	changed map[string]bool // The client has a diff of these replayed calls.
}

// liveOutput is the output of a running call so far.
type liveOutput struct {
	text string
	sent time.Time
}

func newTurn(s *session) *turn {
	return &turn{session: s, message: rand.Text(), output: map[string]*liveOutput{}, changed: map[string]bool{}}
}

// next begins another message.
func (t *turn) next() { t.message = rand.Text() }

// OnThinking implements agent.Callbacks.
func (t *turn) OnThinking() { t.next() }

// OnThinkingDone implements agent.Callbacks.
func (t *turn) OnThinkingDone() {}

// OnText implements agent.Callbacks.
func (t *turn) OnText(text string) { t.chunks("agent_message_chunk", text) }

// OnReasoning implements agent.Callbacks.
func (t *turn) OnReasoning(text string) { t.chunks("agent_thought_chunk", text) }

func (t *turn) chunks(kind, text string) {
	for text != "" {
		piece := text
		if len(piece) > mostText {
			piece = cut(piece, mostText)
		}
		text = text[len(piece):]
		t.update(chunk{kind, textBlock(piece), t.message})
	}
}

// cut is the beginning of a text, at most n bytes, which ends with a whole character.
func cut(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func textBlock(text string) contentBlock { return contentBlock{Type: "text", Text: text} }

// OnToolCall implements agent.Callbacks.
func (t *turn) OnToolCall(call agent.Call) {
	c := callOf(call)
	c.Kind, c.Status = "tool_call", "pending"
	t.update(c)
	t.next()
}

// OnToolOutput implements agent.Callbacks.
func (t *turn) OnToolOutput(call agent.Call, piece string) {
	o := t.output[call.ID]
	if o == nil {
		o = &liveOutput{}
		t.output[call.ID] = o
	}
	o.text += piece
	if over := len(o.text) - mostOutput; over > 0 {
		o.text = strings.ToValidUTF8(o.text[over:], "")
	}
	if now := time.Now(); now.Sub(o.sent) >= outputPause {
		o.sent = now
		t.update(toolCall{Kind: "tool_call_update", ID: call.ID, Status: "in_progress", Content: []callContent{textContent(o.text)}})
	}
}

// OnToolResult implements agent.Callbacks.
func (t *turn) OnToolResult(call agent.Call, result agent.CallResult) {
	delete(t.output, call.ID)
	c := toolCall{Kind: "tool_call_update", ID: call.ID, Status: "failed"}
	if result.Status == agent.CallOK {
		c.Status = "completed"
		c.Content, _ = diffs(call.Access)
	}
	if c.Content == nil {
		c.Content = []callContent{textContent(result.Text)}
	}
	t.update(c)
	if result.Todo != nil {
		t.plan(result.Todo)
	}
	t.next()
}

// plan reports the model's plan of a long task.
func (s *session) plan(items []agent.TodoItem) {
	update := planUpdate{"plan", []planEntry{}}
	for _, item := range items {
		status := item.State()
		switch status {
		case "dropped":
			continue
		case "done":
			status = "completed"
		}
		update.Entries = append(update.Entries, planEntry{item.Text, "medium", status})
	}
	s.update(update)
}

// OnNotice implements agent.Callbacks.
func (t *turn) OnNotice(n agent.Notice) {
	switch n.Kind {
	case agent.NoticeInput, agent.NoticeUsage, agent.NoticeAnswered:
	case agent.NoticeStep:
		t.next()
	case agent.NoticeInfo, agent.NoticeTrimmed, agent.NoticeCompacted:
		t.say("info", n.Text)
	default:
		t.say("warning", n.Text)
	}
}

// say shows a notice: as a thought to clients that have none.
func (t *turn) say(severity, text string) {
	text = sanitize.Text(text, sanitize.Line)
	if text == "" {
		return
	}
	if t.client.Session != nil && t.client.Session.Notices != nil {
		t.update(notice{"notice", severity, text})
		return
	}
	t.next()
	t.chunks("agent_thought_chunk", text)
	t.next()
}

// Ask implements agent.Callbacks.
func (t *turn) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	a, err := t.session.ask(ctx, q)
	a.From = agent.FromEditor
	return a, err
}

// callOf is a call with all that the client may show of it.
func callOf(call agent.Call) toolCall {
	c := toolCall{ID: call.ID, Title: titleOf(call), ToolKind: kindOf(call.Access.Kind)}
	c.Content, _ = diffs(call.Access)
	if call.Raw == "" && len(call.Input) <= mostInput && json.Valid(call.Input) {
		c.RawInput = call.Input
	}
	for _, path := range call.Access.Paths {
		c.Locations = append(c.Locations, location{Path: path})
	}
	if len(c.Content) > 0 && len(c.Locations) == 1 {
		c.Locations[0].Line = firstLine(call.Access.Diff)
	}
	return c
}

func titleOf(call agent.Call) string {
	title := call.Access.Verb + " " + text.Head(call.Access.Object)
	if call.Agent != "" {
		title = call.Agent + ": " + title
	}
	return sanitize.Text(cutText(strings.TrimSpace(title), mostTitle), sanitize.Line)
}

// mostTitle bounds a title, in bytes.
const mostTitle = 4 << 10

func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return cut(text, n) + " …"
}

func kindOf(k tool.Kind) string {
	switch k {
	case tool.KindRead:
		return "read"
	case tool.KindWrite:
		return "edit"
	case tool.KindRun:
		return "execute"
	case tool.KindNetwork:
		return "fetch"
	}
	return "other"
}

func textContent(text string) callContent {
	block := textBlock(sanitize.Text(cutText(text, mostText), sanitize.Code))
	return callContent{Type: "content", Content: &block}
}
