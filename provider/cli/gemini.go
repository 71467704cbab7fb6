package cli

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
)

// gemini is Google's Gemini CLI. An empty prompt makes it read the real one from stdin.
var gemini = dialect{
	program:         "gemini",
	least:           "0.34.0",
	install:         "npm install -g @google/gemini-cli",
	login:           "gemini, and choose how to log in there",
	keys:            []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	edits:           "it may change files, and run commands that its own settings allow",
	reads:           "it only reads and runs no command",
	most:            8 << 20,
	settings:        []string{".gemini", ".agents"},
	trusts:          []string{"GEMINI_CLI_TRUST_WORKSPACE=true"},
	policy:          geminiPolicy,
	projectSettings: geminiProjectSettings,
	environ:         geminiEnviron,
	guard:           func(prompt string) string { return noSlash(noAt(prompt)) },
	events:          func() decoder { return &geminiEvents{calls: map[string]geminiEvent{}} },
	args: func(c call) []string {
		args := []string{"--prompt=", "--output-format=stream-json"}
		if c.edits {
			args = append(args, "--approval-mode=auto_edit")
		} else {
			// A user's settings may allow more than plan mode does.
			args = append(args, "--approval-mode=plan", "--admin-policy="+c.policy, "--allowed-mcp-server-names=none")
		}
		for _, dir := range c.opens {
			if !strings.Contains(dir, ",") { // a comma would split the option
				args = append(args, "--include-directories="+dir)
			}
		}
		return option(option(args, "--model=", c.model), "--resume=", c.resume)
	},
	https: map[int]int{173: 429, 244: 500, 246: 502, 247: 503, 248: 504},
	exits: map[int]provider.ErrorKind{
		41: provider.KindAuth, 42: provider.KindInvalid, 44: provider.KindConfig, 52: provider.KindConfig,
		53: provider.KindCap, 55: provider.KindConfig,
	},
	remark: "Approval mode overridden",
}

// geminiPolicy denies tools that change something: the user's settings may allow them.
const geminiPolicy = `[[rule]]
toolName = ["run_shell_command", "write_file", "replace", "save_memory", "exit_plan_mode"]
decision = "deny"
priority = 999
`

type geminiEvents struct {
	calls   map[string]geminiEvent
	last    string // the type of the last event
	trouble string // the last error that was not the end
	stopped bool   // it ended the run itself
}

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
	Error     *struct {
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

func (d *geminiEvents) event(r *reply, data []byte) {
	var e geminiEvent
	if json.Unmarshal(data, &e) != nil && e.Type == "" {
		return
	}
	r.events++
	switch e.Type {
	case "init":
		if e.Model == "auto" { // it chooses for each request
			e.Model = ""
		}
		r.begin(e.SessionID, e.Model)
	case "message":
		if e.Role != "assistant" {
			return // an echo of the prompt
		}
		if !e.Delta {
			r.block()
		}
		r.say(e.Content)
	case "tool_use":
		d.calls[e.ID] = e
		if d.last != "tool_use" {
			r.requests++
		}
		r.step(e.Tool, about(e.Input))
	case "tool_result":
		if e.Status == "error" {
			why, name, unasked := e.Output, d.calls[e.ID].Tool, false
			if e.Error != nil {
				why = e.Error.Message
				// A tool that would ask, where no one can answer, is not even offered.
				unasked = e.Error.Type == "policy_violation" ||
					e.Error.Type == "tool_not_registered" && slices.Contains(geminiAsks, name)
			}
			r.step(name+" failed", why)
			if unasked {
				r.refuse(name, about(d.calls[e.ID].Input), why)
			}
		}
	case "error":
		d.trouble = e.Message
		if fits(strings.ToLower(e.Message), []string{"stopping execution", "maximum session turns"}) {
			d.stopped = true
			return
		}
		r.notify("gemini: " + e.Message)
	case "result":
		d.result(r, e)
	}
	d.last = e.Type
}

var geminiAsks = []string{"run_shell_command", "write_file", "replace", "save_memory", "web_fetch"}

// result is the last event. Its status counts, not the exit status.
func (d *geminiEvents) result(r *reply, e geminiEvent) {
	r.over = true
	s := e.Stats
	r.usage = provider.Usage{Input: max(s.Input-s.Cached, 0), CacheRead: s.Cached, Output: max(s.Output, s.Total-s.Input)}
	most := 0
	for name, m := range s.Models {
		if r.model == "" || m.Output > most {
			if most = m.Output; most > 0 {
				r.model = name
			}
		}
	}
	if e.Status == "success" && !d.stopped {
		return
	}
	f := &failure{text: d.trouble}
	if d.stopped && strings.Contains(strings.ToLower(d.trouble), "turns") {
		f.kind = provider.KindCap
	}
	if e.Error != nil {
		f.code = e.Error.Type
		f.text, f.status = apiError(e.Error.Message)
	}
	f.text = cmp.Or(f.text, "the model's reply was empty or invalid")
	r.failure = f
}

// apiError takes the words and the status out of "[API Error: {…}]".
func apiError(message string) (text string, status int) {
	i, j := strings.IndexByte(message, '{'), strings.LastIndexByte(message, '}')
	var body struct {
		Error struct {
			Code    any    `json:"code"` // a number, or a word
			Message string `json:"message"`
		} `json:"error"`
	}
	if i < 0 || j < i || json.Unmarshal([]byte(message[i:j+1]), &body) != nil || body.Error.Message == "" {
		return message, 0
	}
	code, _ := body.Error.Code.(float64)
	return body.Error.Message, int(code)
}

// noAt keeps gemini from including a file for an @ in its input, also within an address: a
// backslash stands before each one behind which gemini would look for a path.
func noAt(prompt string) string {
	var b strings.Builder
	for i := range len(prompt) {
		if prompt[i] == '@' && (i == 0 || prompt[i-1] != '\\') && beginsPath(prompt[i+1:]) {
			b.WriteByte('\\')
		}
		b.WriteByte(prompt[i])
	}
	if b.Len() == len(prompt) {
		return prompt
	}
	return "(In what follows, a backslash before an at sign is not part of the text.)\n\n" + b.String()
}

// beginsPath reports whether gemini takes the beginning of a text for that of a path: neither
// a space nor punctuation, and a dot only where something follows it.
func beginsPath(text string) bool {
	text = strings.TrimPrefix(text, ".")
	return text != "" && !strings.ContainsAny(text[:1], " \t\n\r,;!?()[]{}")
}
