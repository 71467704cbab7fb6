package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool/text"
)

// The forms of the parts that a reply consists of beside its text.
const (
	formSession  = provider.FormSession // Opaque is a session
	formStep     = "cli_step"           // Text describes the tool's step
	formSaid     = "cli_said"           // Text is the model's text before a step
	formThinking = "cli_thinking"
)

// Bounds of the history for a tool that has not seen it.
const (
	mostResult     = 4 << 10   // bytes of one result
	mostTranscript = 400 << 10 // bytes in all; the oldest goes
)

type session struct {
	ID string `json:"id"`
	// Of is the artoo session it belongs to: in a fork the tool would remember too much.
	Of string `json:"of,omitempty"`
	// Total is the usage of the tool's session, where the tool counts so.
	Total *provider.Usage `json:"total,omitempty"`
}

func (s session) part() (provider.Part, error) {
	data, err := provider.Marshal(s)
	return provider.Reasoning{Form: formSession, Opaque: string(data)}, err
}

type plan struct {
	session session // the session to resume; its ID is "" for a new one
	prompt  string
	heard   string // the user's message itself, by which it is known again
	images  int    // images that cannot be passed on
}

// plan decides which session is resumed, or none (a new one), and its prompt.
func (c *CLI) plan(d *dialect, req provider.Request, anew bool) plan {
	p := plan{}
	from := 0
	if !anew {
		p.session, from = c.resumed(req)
	}
	unseen := req.Messages[from:]
	last := len(unseen)
	for last > 0 && unseen[last-1].Role == provider.RoleUser {
		last--
	}
	var says []string
	for _, m := range unseen[last:] {
		says = append(says, userText(m))
	}
	p.images = len(provider.Images(unseen[last:]))
	p.heard = strings.Join(says, "\n\n")
	p.prompt = p.heard
	if before := transcript(unseen[:last]); before != "" {
		p.prompt = "This is the conversation so far. You have not heard it: another assistant took part, or your own " +
			"memory of it is gone.\n\n<conversation>\n" + before +
			"</conversation>\n\nGo on from there. The user's message is now:\n\n" + p.heard
	}
	if p.session.ID == "" && c.Instructions != "" {
		p.prompt = c.Instructions + "\n\n" + p.prompt
	}
	p.prompt = strings.ToValidUTF8(p.prompt, "\uFFFD")
	if d.guard != nil {
		p.prompt = d.guard(p.prompt)
	}
	return p
}

// resumed is the newest session in the history, and the first message it lacks.
func (c *CLI) resumed(req provider.Request) (session, int) {
	var found session
	from := 0
	for i := len(req.Messages) - 1; i >= 0 && from == 0; i-- {
		if s, ok := c.sessionOf(req.Messages[i]); ok && s.Of == req.SessionID {
			found, from = s, i+1
		}
	}
	c.mu.Lock()
	cut, ok := c.broken[req.SessionID]
	c.mu.Unlock()
	// The last message is the one to send: it was not heard, whatever it says.
	for i := len(req.Messages) - 2; ok && i >= from; i-- {
		text := userText(req.Messages[i])
		if req.Messages[i].Role != provider.RoleUser || text == "" || !strings.HasSuffix(cut.heard, text) {
			continue
		}
		from = i + 1
		if next := req.Messages[from]; next.Partial && next.Provider == c.Name {
			from++
		}
		return cut.session, from
	}
	return found, from
}

func (c *CLI) sessionOf(m provider.Message) (s session, ok bool) {
	if m.Role != provider.RoleAssistant || m.Provider != c.Name {
		return s, false
	}
	for _, p := range m.Parts {
		if r, isReasoning := p.(provider.Reasoning); isReasoning && r.Form == formSession {
			return s, json.Unmarshal([]byte(r.Opaque), &s) == nil && validID(s.ID)
		}
	}
	return s, false
}

// validID refuses IDs that could be taken for an option.
func validID(id string) bool {
	for i, r := range id {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '-' && r != '_' && r != '.') {
			return false
		}
	}
	return id != "" && len(id) <= 200
}

func userText(m provider.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if t, ok := p.(provider.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// transcript writes messages down for a model that has not heard them.
func transcript(messages []provider.Message) string {
	var entries []string
	size := 0
	for i := len(messages) - 1; i >= 0; i-- {
		text := entry(messages[i])
		if size += len(text); size > mostTranscript {
			entries = append(entries, fmt.Sprintf("(%d earlier messages are left out.)\n\n", i+1))
			break
		}
		entries = append(entries, text)
	}
	slices.Reverse(entries)
	return strings.Join(entries, "")
}

func entry(m provider.Message) string {
	var b strings.Builder
	put := func(who, text string) {
		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n\n", who, text)
		}
	}
	who := string(m.Role)
	if m.Partial {
		who += ", interrupted"
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			put(who, p.Text)
		case provider.Reasoning:
			switch p.Form {
			case formStep:
				put("assistant did", p.Text)
			case formSaid:
				put(who, p.Text)
			}
		case provider.Image:
			put(who, "(an image that is not shown here)")
		case provider.ToolCall:
			put("assistant called "+p.Name, text.Ends(string(p.Input), mostResult))
		case provider.ToolResult:
			put("result of "+p.Name, text.Ends(p.Text, mostResult))
		}
	}
	return b.String()
}
