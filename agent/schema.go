package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"artoo/provider"
	"artoo/tool/schemas"
	"artoo/tool/text"
)

// The largest schema, in bytes, and how many parts of it one value is checked against, at most.
const (
	maxSchema   = 64 << 10
	maxInPlace  = 20_000
	schemaDraft = "https://json-schema.org/draft/2020-12/schema"
)

// NewSchema reads a JSON Schema of the draft 2020-12. The error is of one that is larger than 64 KB, is no such
// schema, refers to another document, or would check a value without an end.
func NewSchema(raw []byte) (*Schema, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("larger than %d KB", maxSchema>>10)
	}
	var root any
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if key, twice := provider.DuplicateKey(raw); twice {
		return nil, fmt.Errorf("it has the key %q twice", key)
	}
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", text.Misread(err))
	}
	if parsed.Schema != "" && strings.TrimSuffix(parsed.Schema, "#") != schemaDraft {
		return nil, fmt.Errorf("$schema is %s, and artoo supports only %s", text.Clip(parsed.Schema, 80), schemaDraft)
	}
	w := schemaWalk{root: root}
	if err := w.part(root, true); err != nil {
		return nil, err
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, err
	}
	return &Schema{text: compact.Bytes(), resolved: resolved}, nil
}

// Read takes the JSON out of an answer that is nothing else, apart from one code fence around it. The error names the
// misfit, for the model.
func (s *Schema) Read(answer string) (json.RawMessage, error) {
	answer = withoutFence(strings.TrimSpace(answer))
	if answer == "" {
		return nil, errors.New("the answer is empty")
	}
	raw := []byte(answer)
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("the answer is not pure JSON: %w", err)
	}
	if key, twice := provider.DuplicateKey(raw); twice {
		return nil, fmt.Errorf("an object has the key %q twice", key)
	}
	if err := s.resolved.Validate(value); err != nil {
		return nil, errors.New(text.Clip(err.Error(), 2000))
	}
	return raw, nil
}

// withoutFence is a text without the code fence that is around all of it.
func withoutFence(answer string) string {
	inner, fenced := strings.CutPrefix(answer, "```")
	inner, ends := strings.CutSuffix(inner, "```")
	head, body, lines := strings.Cut(inner, "\n")
	if !fenced || !ends || !lines || strings.ContainsAny(head, "{[\"`") {
		return answer
	}
	return strings.TrimSpace(body)
}

// schemaWalk looks at a schema before the library does, which follows references without a bound.
type schemaWalk struct {
	root any
	left int // so many parts may still apply to one value
}

// part checks a schema and all below it.
func (w *schemaWalk) part(v any, root bool) error {
	fields, _ := v.(map[string]any)
	if id, is := fields["$id"].(string); is && !root {
		return fmt.Errorf("$id %q: only the root schema may have an $id", text.Clip(id, 80))
	}
	if ref, is := fields["$dynamicRef"].(string); is {
		return fmt.Errorf("$dynamicRef %q: only $ref is followed", text.Clip(ref, 80))
	}
	kinds, _ := fields["type"].([]any)
	if fields["type"] != nil && kinds == nil {
		kinds = []any{fields["type"]}
	}
	for _, kind := range kinds {
		if name, _ := kind.(string); !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name) {
			return fmt.Errorf("not a JSON Schema: no type is called %v", kind)
		}
	}
	w.left = maxInPlace
	if err := w.inPlace(v, nil); err != nil {
		return err
	}
	for key, field := range fields {
		switch inner := field.(type) {
		case map[string]any:
			switch key {
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
				for _, schema := range inner {
					if err := w.part(schema, false); err != nil {
						return err
					}
				}
			case "const", "default", "enum", "examples":
			default:
				if err := w.part(inner, false); err != nil {
					return err
				}
			}
		case []any:
			if key == "enum" || key == "examples" {
				continue
			}
			for _, schema := range inner {
				if err := w.part(schema, false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// inPlace follows all that applies to the same value as a schema. on are the references on the way.
func (w *schemaWalk) inPlace(v any, on []string) error {
	if w.left--; w.left < 0 {
		return fmt.Errorf("over %d parts apply to one value", maxInPlace)
	}
	fields, _ := v.(map[string]any)
	if ref, is := fields["$ref"].(string); is {
		target, ok := schemas.At(w.root, ref)
		switch {
		case !ok:
			return fmt.Errorf("$ref %q: only references within the schema are followed, such as #/$defs/name", text.Clip(ref, 80))
		case slices.Contains(on, ref):
			return fmt.Errorf("$ref %q: it leads back to itself", text.Clip(ref, 80))
		}
		if err := w.inPlace(target, append(slices.Clip(on), ref)); err != nil {
			return err
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if inner, is := fields[key].(map[string]any); is {
			if err := w.inPlace(inner, on); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := fields[key].([]any)
		for _, inner := range list {
			if err := w.inPlace(inner, on); err != nil {
				return err
			}
		}
	}
	dependent, _ := fields["dependentSchemas"].(map[string]any)
	for _, inner := range dependent {
		if err := w.inPlace(inner, on); err != nil {
			return err
		}
	}
	return nil
}

// schema is that of this session's answers; nil for any text. Sub-agents and questions beside
// the session are answered in words.
func (s *session) schema() *Schema {
	if s.parent != nil || s.beside {
		return nil
	}
	return s.opt.Schema
}

// holds reports whether the model's server holds an answer to the schema.
func (s *session) holds(noCalls bool) bool {
	p, ok := s.model.Provider.(provider.Structurer)
	return ok && p.Structures(provider.Request{Options: s.model.Defaults, Tools: s.specs(), NoCalls: noCalls, Schema: s.schema().text})
}

// schemaNote asks the model for the schema, once a turn; nil where it was asked, or the server holds it to the schema.
func (r *requests) schemaNote() []provider.Part {
	s := r.session
	if s.schema() == nil || r.schemaAsked || s.holds(false) {
		return nil
	}
	r.schemaAsked = true
	if text := "the schema is an instruction: nothing else holds " + s.model.String() + " to it"; s.isNews(text) {
		r.cb.notice(NoticeInfo, text)
	}
	return []provider.Part{provider.Text{Note: provider.NoteSchema,
		Text: "(Use the tools as ever. The answer at the end must be JSON alone, without a word or a code fence around it, " +
			"that fits this JSON Schema:\n" + string(s.schema().text) + ")"}}
}

// askForSchema asks for the schema before a request, where the model that began the turn was held to it and this one is not.
func (r *requests) askForSchema() error {
	if r.closing {
		return nil
	}
	note := r.schemaNote()
	if note == nil {
		return nil
	}
	return r.session.conv.Append(provider.Message{Role: provider.RoleUser, Parts: note})
}

// misfit reports whether the model has to answer again, since its answer does not fit the schema. The second
// such answer is the error of the turn.
func (t *turn) misfit(reply provider.Done) (again bool, err error) {
	schema := t.session.schema()
	if schema == nil {
		return false, nil
	}
	answer, wrong := schema.Read(t.requests.answer.String() + reply.Message.Text())
	if wrong == nil {
		t.response.JSON = answer
		return false, nil
	}
	if t.corrected {
		return false, &Failure{Kind: KindSchema, What: "answer", Err: fmt.Errorf("it does not fit the schema, even on the second try: %s", firstLine(wrong.Error())),
			Hint: "another model with --model, or a simpler schema"}
	}
	t.corrected = true
	t.requests.answer.Reset()
	t.requests.attempt.last = !t.session.holds(false) && t.session.holds(true)
	t.cb.notice(NoticeStep, "the answer does not fit the schema ("+firstLine(wrong.Error())+"); asking again")
	ask := "Your answer does not fit the schema: " + wrong.Error() + "\n\nAnswer again, with JSON alone that fits."
	if !t.requests.schemaAsked {
		ask += " The schema:\n" + string(schema.text)
	}
	return true, t.session.conv.Append(provider.Message{Role: provider.RoleUser,
		Parts: []provider.Part{provider.Text{Note: provider.NoteSchema, Text: t.session.masked(ask)}}})
}
