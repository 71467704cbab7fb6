package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/tool/text"
)

// The forms of the parts that a reply consists of beside its text.
const (
	// Opaque is a session.
	formSession = provider.FormSession
	// Text describes the tool's step.
	formStep = "cli_step"
	// Text is the model's text before a step.
	formSaid     = "cli_said"
	formThinking = "cli_thinking"
)

// Bounds of the history for a tool that has not seen it, in bytes: of one result, and in all. Both ends are kept.
const (
	mostResult     = 4 << 10
	mostTranscript = 400 << 10
)

type session struct {
	ID string `json:"id"`
	// Of is the artoo session it belongs to: in a fork the tool would remember too much.
	Of string `json:"of,omitempty"`
	// Total is the usage of the tool's session, where the tool counts so.
	Total *provider.Usage `json:"total,omitempty"`
}

// sessionAfter is the tool's session as the history keeps it after the run.
func (r *run) sessionAfter() session {
	return session{ID: r.reply.session, Of: r.req.SessionID, Total: cmp.Or(r.reply.total, r.session.Total)}
}

func (s session) part() provider.Part {
	// No such value fails.
	data, _ := provider.Marshal(s)
	return provider.Reasoning{Form: formSession, Opaque: string(data)}
}

// resumed is the newest session in the history, none for a new one, and the first message it lacks.
func (r *run) resumed() (session, int) {
	// A reply without an answer is not in the history, and its work would be asked for once more.
	if s, ok := r.silent.LoadAndDelete(r.req.SessionID); ok {
		return s.(session), max(len(r.req.Messages)-1, 0)
	}
	for i, m := range slices.Backward(r.req.Messages) {
		for _, p := range m.Parts {
			var s session
			if kept, ok := p.(provider.Reasoning); ok && kept.Form == formSession &&
				m.Role == provider.RoleAssistant && m.Provider == r.Name &&
				json.Unmarshal([]byte(kept.Opaque), &s) == nil && validID(s.ID) && s.Of == r.req.SessionID {
				return s, i + 1
			}
		}
	}
	return session{}, 0
}

// prompt is what the tool is given for the messages from an index on. images are those that cannot be passed on.
func (r *run) prompt(from int) (prompt string, images int) {
	unseen := r.req.Messages[from:]
	last := len(unseen)
	for last > 0 && unseen[last-1].Role == provider.RoleUser {
		last--
	}
	var says []string
	for _, m := range unseen[last:] {
		for _, p := range m.Parts {
			if t, ok := p.(provider.Text); ok {
				says = append(says, t.Text)
			}
		}
	}
	prompt = strings.Join(says, "\n\n")
	if before := transcript(unseen[:last]); before != "" {
		prompt = "This is the conversation so far. You have not heard it: another assistant took part, or your own " +
			"memory of it is gone.\n\n<conversation>\n" + before +
			"</conversation>\n\nGo on from there. The user's message is now:\n\n" + prompt
	}
	if r.session.ID == "" && r.Instructions != "" {
		prompt = r.Instructions + "\n\n" + prompt
	}
	prompt = strings.ToValidUTF8(prompt, "\uFFFD")
	// gemini includes a file for an @ in its input, also within an address, unless a backslash stands before it.
	if r.ats && strings.Contains(prompt, "@") {
		prompt = "(In what follows, the backslash before an at sign is not part of the text.)\n\n" +
			strings.ReplaceAll(prompt, "@", `\@`)
	}
	// It could be taken for a slash command of the tool.
	if strings.HasPrefix(strings.TrimSpace(prompt), "/") {
		prompt = "The user's message:\n\n" + prompt
	}
	return prompt, len(provider.Images(unseen[last:]))
}

var ids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`) })

// validID refuses IDs that could be taken for an option.
func validID(id string) bool { return ids().MatchString(id) }

// transcript writes messages down for a model that has not heard them.
func transcript(messages []provider.Message) string {
	var entries strings.Builder
	for _, m := range messages {
		entries.WriteString(entry(m))
	}
	return text.Ends(entries.String(), mostTranscript)
}

// entry writes a message down: its texts, and the beginning and the end of calls and results.
func entry(m provider.Message) string {
	var b strings.Builder
	put := func(who, said string) {
		if strings.TrimSpace(said) != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n\n", who, said)
		}
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			put(string(m.Role), p.Text)
		case provider.Reasoning:
			if who := shown[p.Form]; who != "" {
				put(who, p.Text)
			}
		case provider.ToolCall:
			put("assistant called "+p.Name, text.Ends(string(p.Input), mostResult))
		case provider.ToolResult:
			put("result of "+p.Name, text.Ends(p.Text, mostResult))
		}
	}
	return b.String()
}

// shown are the forms of reasoning that a tool is shown of the history, by what they are called there.
var shown = map[string]string{formStep: "assistant did", formSaid: "assistant"}
