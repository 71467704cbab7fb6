package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// The wires Validate knows.
const (
	WireAnthropic = "anthropic"
	WireChat      = "chat"
	WireResponses = "responses"
	WireGemini    = "gemini"
	WireGemini3   = "gemini-3" // Gemini 3 and later
	WireOllama    = "ollama"
	WireConverse  = "converse"
)

// Validate checks a request body as strictly as the strictest server, and against artoo's
// promises: the order of fields, a history that does not end in the model's words. It
// returns all faults.
func Validate(wire string, body []byte) error {
	var v validator
	v.bytes(body)
	last := "messages"
	switch wire {
	case WireResponses:
		last = "input"
	case WireGemini, WireGemini3:
		last = "contents"
	}
	v.lastKey(body, last)
	switch wire {
	case WireAnthropic:
		v.anthropic(body)
	case WireChat:
		v.chat(body)
	case WireResponses:
		v.responses(body)
	case WireGemini:
		v.gemini(body, false)
	case WireGemini3:
		v.gemini(body, true)
	case WireOllama:
		v.ollama(body)
	case WireConverse:
		v.converse(body)
	default:
		v.bad("no validator for the wire %q", wire)
	}
	return errors.Join(v.errs...)
}

type validator struct {
	errs  []error
	ids   map[string]bool // IDs of all tool calls so far
	tools []string        // offered so far
}

func (v *validator) bad(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

// bytes checks the encoding: valid UTF-8, and no escape of half a surrogate
// pair, which encoding/json replaces while strict servers refuse it.
func (v *validator) bytes(body []byte) {
	if !utf8.Valid(body) {
		v.bad("the body is not valid UTF-8")
	}
	v.surrogates("the body", body)
}

func (v *validator) surrogates(what string, raw []byte) {
	if utf8.Valid(raw) && !bytes.Equal(provider.CleanJSON(raw), raw) {
		v.bad("%s holds half a surrogate pair", what)
	}
}

func (v *validator) lastKey(body []byte, name string) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		v.bad("the body is no JSON object")
		return
	}
	last := ""
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			v.bad("the body is no JSON: %w", err)
			return
		}
		name, _ := key.(string)
		if seen[name] {
			v.bad("the key %q stands twice", name)
		}
		seen[name] = true
		if !slices.Contains([]string{"tool_choice", "response_format", "provider", "text", "format", "toolConfig"}, name) { // may differ in the last request
			last = name
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			v.bad("the body is no JSON: %w", err)
			return
		}
	}
	if last != name {
		v.bad("the last key is %q, want %q", last, name)
	}
}

func (v *validator) name(what, name string, limit int) {
	if name == "" || len(name) > limit {
		v.bad("%s: the name %q is empty or longer than %d", what, name, limit)
	}
	if provider.Identifier(name, len(name)) != name {
		v.bad("%s: the name %q has a character that no API takes", what, name)
	}
}

// tool checks the name of a tool, of which each is offered once.
func (v *validator) tool(name string, limit int) {
	v.name("tool", name, limit)
	if slices.Contains(v.tools, name) {
		v.bad("two tools are called %q: it is there twice", name)
	}
	v.tools = append(v.tools, name)
}

// answered checks the result of a call against those that wait for one, in their
// order, and returns the calls that wait after it.
func (v *validator) answered(what, id string, open []string) []string {
	if len(open) == 0 || open[0] != id {
		v.bad("%s: answers %q, the open calls are %q", what, id, open)
		return open
	}
	return open[1:]
}

// ended checks that no call of the history waits for its result.
func (v *validator) ended(open []string) {
	if len(open) > 0 {
		v.bad("calls without a result: %q", open)
	}
}

// strictly decodes JSON as a server does that refuses every key it does not know.
func strictly(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

func (v *validator) callID(what, id string) {
	if id == "" {
		v.bad("%s: a call without an id", what)
	}
	if v.ids == nil {
		v.ids = map[string]bool{}
	}
	if v.ids[id] {
		v.bad("%s: the call id %q is used twice", what, id)
	}
	v.ids[id] = true
}

func (v *validator) object(what string, raw []byte) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		v.bad("%s is no JSON object: %.80s", what, raw)
	}
	if key, twice := provider.DuplicateKey(raw); twice { // Google's parser refuses it
		v.bad("%s has the key %q twice", what, key)
	}
}

func (v *validator) text(what, text string) {
	if strings.TrimSpace(text) == "" {
		v.bad("%s is empty or blank", what)
	}
}
