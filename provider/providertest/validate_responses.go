package providertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type responsesBody struct {
	Model             string   `json:"model"`
	Stream            bool     `json:"stream"`
	Store             *bool    `json:"store"`
	Include           []string `json:"include"`
	MaxOutputTokens   *int     `json:"max_output_tokens"`
	Temperature       *float64 `json:"temperature"`
	ParallelToolCalls *bool    `json:"parallel_tool_calls"`
	PromptCacheKey    *string  `json:"prompt_cache_key"`
	Reasoning         *struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Instructions *string `json:"instructions"`
	ToolChoice   *string `json:"tool_choice"`
	Text         *struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"format"`
	} `json:"text"`
	Tools []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"tools"`
	Input []json.RawMessage `json:"input"`
}

type responsesItem struct {
	Type      string            `json:"type"`
	Role      string            `json:"role"`
	ID        *string           `json:"id"`
	Phase     *string           `json:"phase"`
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments json.RawMessage   `json:"arguments"`
	Output    json.RawMessage   `json:"output"`
	Content   json.RawMessage   `json:"content"`
	Summary   []json.RawMessage `json:"summary"`
	Encrypted string            `json:"encrypted_content"`
	Status    json.RawMessage   `json:"status"`
}

type responsesPart struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Detail      string            `json:"detail"`
	ImageURL    string            `json:"image_url"`
	Annotations []json.RawMessage `json:"annotations"`
	Logprobs    []json.RawMessage `json:"logprobs"`
}

func (v *validator) responses(body []byte) {
	var b responsesBody
	if err := strictly(body, &b); err != nil {
		v.bad("the body is no Responses request: %w", err)
		return
	}
	v.responsesHead(b)
	s := responsesState{validator: v, used: map[string]bool{}}
	var it responsesItem
	for i, raw := range b.Input {
		what := fmt.Sprintf("item %d", i)
		it = responsesItem{}
		read := json.Unmarshal
		if !bytes.Contains(raw, []byte(`"type":"reasoning"`)) { // a reasoning item must come back whole
			read = strictly
		}
		if err := read(raw, &it); err != nil {
			v.bad("%s: %w", what, err)
			return
		}
		s.item(what, it)
	}
	v.ended(s.open)
	if s.nameless != "" && len(s.used) > 0 {
		v.bad("%s: missing required parameter: 'id'", s.nameless)
	}
	if len(b.Input) == 0 || it.Role != "user" && it.Type != "function_call_output" {
		v.bad("the input ends neither with the user nor with a tool")
	}
}

func (v *validator) responsesHead(b responsesBody) {
	if b.Model == "" || !b.Stream || b.Store == nil || *b.Store {
		v.bad("model %q, stream %v, store %v: the first two are needed, the last is to be false",
			b.Model, b.Stream, b.Store)
	}
	if t := b.Text; t != nil {
		v.name("the schema", t.Format.Name, 64)
		v.structured(t.Format.Type, t.Format.Schema, strictness{object: true, required: t.Format.Strict, recursive: true})
	}
	reasons := !strings.HasPrefix(b.Model, "gpt-4") && !strings.HasPrefix(b.Model, "gpt-3")
	if slices.Contains(b.Include, "reasoning.encrypted_content") != reasons {
		v.bad("include %q for %s", b.Include, b.Model)
	}
	if !reasons && b.Reasoning != nil {
		v.bad("reasoning for %s, which has none", b.Model)
	}
	if reasons && strings.HasPrefix(b.Model, "gpt-5") && b.Temperature != nil &&
		(b.Reasoning == nil || b.Reasoning.Effort != "none") {
		v.bad("a temperature for %s while it reasons", b.Model)
	}
	if b.MaxOutputTokens != nil && *b.MaxOutputTokens < 16 {
		v.bad("max_output_tokens %d, 16 is the least", *b.MaxOutputTokens)
	}
	if b.PromptCacheKey != nil && (*b.PromptCacheKey == "" || len(*b.PromptCacheKey) > 64) {
		v.bad("prompt_cache_key %q, which is empty or longer than 64", *b.PromptCacheKey)
	}
	oneOf := func(field, word string, words ...string) {
		if word != "" && !slices.Contains(words, word) {
			v.bad("%s %q is not one of %q", field, word, words)
		}
	}
	if b.Reasoning != nil {
		oneOf("reasoning.effort", b.Reasoning.Effort, "none", "minimal", "low", "medium", "high", "xhigh", "max")
		oneOf("reasoning.summary", b.Reasoning.Summary, "auto", "concise", "detailed")
	}
	if b.ToolChoice != nil {
		oneOf("tool_choice", cmp.Or(*b.ToolChoice, "empty"), "none", "auto", "required")
	}
	if b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2) {
		v.bad("temperature %v is not from 0 to 2", *b.Temperature)
	}
	if b.Instructions != nil {
		v.text("instructions", *b.Instructions)
	}
	for _, t := range b.Tools {
		v.tool(t.Name, 64)
		v.responsesSchema("the schema of "+t.Name, t.Parameters)
		if t.Type != "function" || t.Strict == nil || *t.Strict {
			v.bad("the tool %q is no function or strict", t.Name)
		}
	}
}

// responsesSchema checks a tool's schema: an object at the root and no choice of
// several, and every array with the schema of its items.
func (v *validator) responsesSchema(what string, raw json.RawMessage) {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil || root["type"] != "object" {
		v.bad("%s is no JSON object, or its type is none: %.80s", what, raw)
		return
	}
	if _, ok := root["properties"].(map[string]any); !ok {
		v.bad("%s: object schema missing properties", what)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if _, there := root[word]; there {
			v.bad("%s: %s at the top level", what, word)
		}
	}
	v.arraysHaveItems(what, root)
}

// arraysHaveItems looks at every object in a schema. An object that is no schema, such as
// a default value, may only be one that looks like an array of none by chance.
func (v *validator) arraysHaveItems(what string, at any) {
	switch at := at.(type) {
	case map[string]any:
		_, items := at["items"]
		kinds, _ := at["type"].([]any)
		if !items && (at["type"] == "array" || slices.Contains(kinds, any("array"))) {
			v.bad("%s: array schema missing items", what)
		}
		for _, inner := range at {
			v.arraysHaveItems(what, inner)
		}
	case []any:
		for _, inner := range at {
			v.arraysHaveItems(what, inner)
		}
	}
}

// responsesState is the state that an item is checked against: the calls that wait for
// their results, and the reasoning that waits for its item.
type responsesState struct {
	*validator
	open      []string
	answering bool // results have come since the last call
	reasoning string
	nameless  string          // reasoning without an id
	used      map[string]bool // ids of items
}

func (s *responsesState) item(what string, it responsesItem) {
	kind := cmp.Or(it.Type, "message")
	what += " (" + kind + ")"
	ofModel := kind == "reasoning" || kind == "function_call" || it.Role == "assistant"
	if s.reasoning != "" && !ofModel {
		s.bad("%s: %s of type reasoning without its required following item", what, s.reasoning)
	}
	if len(s.open) > 0 && kind != "function_call_output" && (!ofModel || s.answering) {
		s.bad("%s: comes before the results of %q", what, s.open)
		s.open = nil
	}
	if kind != "function_call_output" {
		s.answering = false
	}
	if kind != "reasoning" {
		s.reasoning = ""
	}
	if it.Status != nil && kind != "message" {
		s.bad("%s: unknown parameter: 'status'", what)
	}
	switch kind {
	case "message":
		s.message(what, it)
	case "reasoning":
		s.id(what, it.ID, "rs")
		if content := string(it.Content); it.Summary == nil || it.Encrypted == "" &&
			(content == "" || content == "null" || content == "[]") {
			s.bad("%s: needs a summary and its content", what)
		}
		if it.ID == nil {
			s.nameless = what
		}
		s.thoughts(what, "summary_text", it.Summary)
		var content []json.RawMessage
		if it.Content != nil && json.Unmarshal(it.Content, &content) != nil {
			s.bad("%s: the content is no list", what)
		}
		s.thoughts(what, "reasoning_text", content)
		s.reasoning = what
	case "function_call":
		s.id(what, it.ID, "fc")
		s.callID(what, it.CallID)
		s.name(what, it.Name, 64)
		var args string
		if err := json.Unmarshal(it.Arguments, &args); err != nil {
			s.bad("%s: arguments must be a string", what)
		}
		s.object(what+" arguments", []byte(args))
		s.surrogates(what+" arguments", []byte(args))
		s.open = append(s.open, it.CallID)
	case "function_call_output":
		s.answering = true
		s.output(what, it.Output)
		s.open = s.answered(what, it.CallID, s.open)
	default:
		s.bad("%s: unknown type", what)
	}
}

// id checks an item's own id. All but reasoning can do without; a server that
// takes no ids at all reads reasoning without one too.
func (s *responsesState) id(what string, id *string, prefix string) {
	if id == nil {
		return
	}
	if !strings.HasPrefix(*id, prefix) || len(*id) > 64 {
		s.bad("%s: expected an ID that begins with '%s', at most 64 long: %q", what, prefix, *id)
	}
	if s.used[*id] {
		s.bad("%s: duplicate item found with id %s", what, *id)
	}
	s.used[*id] = true
}

// message checks the three forms of a message: the user's parts, plain words in any role,
// and the model's with ID, status and annotations.
func (s *responsesState) message(what string, it responsesItem) {
	var text string
	var parts []responsesPart
	plain := json.Unmarshal(it.Content, &text) == nil
	if !plain && (strictly(it.Content, &parts) != nil || len(parts) == 0) {
		s.bad("%s: no content, or a part that is not known", what)
	}
	made := !plain && it.Role == "assistant"
	if made != (it.ID != nil) || made != (it.Status != nil) {
		s.bad("%s: a message that the model made has an id and a status, any other has none: %v, %s", what, it.ID != nil,
			it.Status)
	}
	if made && !slices.Contains([]string{`"completed"`, `"incomplete"`}, string(it.Status)) {
		s.bad("%s: status %s", what, it.Status)
	}
	if it.Phase != nil && (it.Role != "assistant" || *it.Phase != "commentary" && *it.Phase != "final_answer") {
		s.bad("%s: phase %q", what, *it.Phase)
	}
	switch {
	case it.Role != "user" && it.Role != "assistant":
		s.bad("%s: role %q", what, it.Role)
	case plain:
		s.text(what, text)
	case made:
		s.id(what, it.ID, "msg")
		s.madeParts(what, parts)
	default:
		s.parts(what, parts)
	}
}

func (s *responsesState) madeParts(what string, parts []responsesPart) {
	for _, p := range parts {
		if p.Type != "output_text" || p.Annotations == nil || p.Logprobs == nil || p.Detail+p.ImageURL != "" {
			s.bad("%s: an output_text has annotations and logprobs and no image: %+v", what, p)
		}
		s.text(what, p.Text)
	}
}

func (s *responsesState) thoughts(what, kind string, list []json.RawMessage) {
	for _, raw := range list {
		var p struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if json.Unmarshal(raw, &p) != nil || p.Type != kind || p.Text == nil {
			s.bad("%s: a text of it is no %s: %.80s", what, kind, raw)
		}
	}
}

func (s *responsesState) output(what string, raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		s.text(what, text)
		return
	}
	var parts []responsesPart
	if err := json.Unmarshal(raw, &parts); err != nil || len(parts) == 0 {
		s.bad("%s: output is neither text nor a list of parts", what)
	}
	s.parts(what, parts)
}

func (s *responsesState) parts(what string, parts []responsesPart) {
	for _, p := range parts {
		switch p.Type {
		case "input_text":
			if p.Annotations != nil || p.Logprobs != nil {
				s.bad("%s: unknown parameter: 'annotations' or 'logprobs'", what)
			}
			s.text(what, p.Text)
		case "input_image":
			if !strings.HasPrefix(p.ImageURL, "data:image/") && !strings.HasPrefix(p.ImageURL, "http") {
				s.bad("%s: not an image address: %.40s", what, p.ImageURL)
			}
			if !slices.Contains([]string{"low", "high", "auto"}, p.Detail) {
				s.bad("%s: missing required parameter: 'detail', or not known: %q", what, p.Detail)
			}
		default:
			s.bad("%s: a part of type %q", what, p.Type)
		}
	}
}
