package cli

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
)

// geminiEvents has the calls by their ids.
type geminiEvents map[string]geminiEvent

type geminiEvent struct {
	Type      string          `json:"type"`
	SessionID string          `json:"session_id"`
	Model     string          `json:"model"`
	Role      string          `json:"role"`
	Content   string          `json:"content"`
	Delta     bool            `json:"delta"`
	Tool      string          `json:"tool_name"`
	ID        string          `json:"tool_id"`
	Input     json.RawMessage `json:"parameters"`
	Output    string          `json:"output"`
	Status    string          `json:"status"`
	Message   string          `json:"message"`
	Error     struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Total  int `json:"total_tokens"`
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Cached int `json:"cached"`
		Models map[string]struct {
			Output int `json:"output_tokens"`
		} `json:"models"`
	} `json:"stats"`
}

// geminiAsks are tools that would ask: where no one can answer they are not even offered.
var geminiAsks = []string{"run_shell_command", "write_file", "replace", "save_memory", "web_fetch"}

func (d geminiEvents) event(r *reply, e geminiEvent) {
	r.events++
	switch e.Type {
	case "init":
		// Under this name it chooses for each request.
		r.begin(e.SessionID, strings.TrimPrefix(e.Model, "auto"))
	case "message":
		// That of the user is an echo of the prompt.
		if e.Role == "assistant" {
			if !e.Delta {
				r.block()
			}
			r.say(e.Content)
		}
	case "tool_use":
		d[e.ID] = e
		r.step(e.Tool, about(e.Input))
	case "tool_result":
		if e.Status == "error" {
			call, why := d[e.ID], cmp.Or(e.Error.Message, e.Output)
			r.outcome(call.Tool+" failed", why)
			if e.Error.Type == "policy_violation" ||
				e.Error.Type == "tool_not_registered" && slices.Contains(geminiAsks, call.Tool) {
				r.refuse(call.Tool, about(call.Input), why)
			}
		}
	case "error":
		r.inTrouble("gemini", e.Message)
	case "result":
		e.result(r)
	}
}

// result is the last event. Its status counts, not the exit status.
func (e geminiEvent) result(r *reply) {
	r.over = true
	r.usage = provider.Usage{Input: max(e.Stats.Input-e.Stats.Cached, 0), CacheRead: e.Stats.Cached,
		Output: max(e.Stats.Output, e.Stats.Total-e.Stats.Input)}
	most := 0
	for name, m := range e.Stats.Models {
		if m.Output > most {
			most, r.model = m.Output, name
		}
	}
	if e.Status != "success" {
		text, status := apiError(e.Error.Message)
		r.failure = failure{text: cmp.Or(text, r.trouble, "the model's reply was empty or invalid"),
			code: e.Error.Type, status: status}
	}
}

// apiError takes the words and the status out of "[API Error: {…}]".
func apiError(message string) (text string, status int) {
	var body struct {
		Error struct {
			// Code is a number, or a word.
			Code    any    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	from, to := max(strings.IndexByte(message, '{'), 0), strings.LastIndexByte(message, '}')
	if to < from || json.Unmarshal([]byte(message[from:to+1]), &body) != nil || body.Error.Message == "" {
		return message, 0
	}
	code, _ := body.Error.Code.(float64)
	return body.Error.Message, int(code)
}
