// Package tool defines the tools of the model: each is a value made from a typed func. It knows nothing of models, the
// loop or a terminal. A tool never asks for permission: it names beforehand the access of a call (Plan), the loop
// decides, and only then Run is called.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tool is one thing the model can do. Use New to make one.
type Tool struct {
	Def
	normalize func(input json.RawMessage) json.RawMessage
	// Each is made when it is first asked for: a start needs none, a short run few.
	schema func() *jsonschema.Schema // the properties that a call may have
	// resolved validates the calls of a tool that FromSchema made; nil for others.
	resolved func() (*jsonschema.Resolved, error)
	offered  func() *jsonschema.Schema // the part that the model sees
	written  func() json.RawMessage    // offered as JSON
	plan     func(ctx context.Context, env *Env, input json.RawMessage) (Access, error)
	run      func(ctx context.Context, env *Env, input json.RawMessage, out io.Writer) (Result, error)
}

// Def is the name and the purpose of a tool.
type Def struct {
	Name        string
	Description string
	Kind        Kind // the most it ever does; Plan is of one call
	// Fix changes the fields of an input, after their names are those of the
	// schema, where the model's input can mean only one thing. It reports
	// whether it did. May be nil.
	Fix func(fields map[string]json.RawMessage) (changed bool)
	// Optional says that the model gets the tool only when the user names it.
	Optional bool
	// Marks says that the tool resolves marks in its input, and refuses unknown ones.
	Marks bool
	// Instead names the tool in whose place this one is offered to models trained on it; "" for none.
	Instead string
	// For is an extension: the tool is offered where the project has such files. "" is none.
	For string
	// Elsewhere gives advice on properties that other programs' tools have; nil for none.
	Elsewhere map[string]string
	// FromText makes the input of a call of a bare text; ok is false for no call. nil takes none.
	FromText func(text string) (input json.RawMessage, ok bool)
	// Unoffered names properties that are taken, but not shown to the model.
	Unoffered []string
}

// New makes a tool from typed funcs. The schema comes from In's json and
// jsonschema tags: fields without omitempty are required, unknown ones are
// refused. plan may be nil for a tool that touches nothing; it must not change
// anything, and an error it returns is given to the model without asking
// anyone. run's error is text for the model too, never the end of a turn; out
// takes output as it appears and is never nil. A nil run leaves the call to the
// loop, see ByLoop. If In has no schema, Schema and Check panic: that is a mistake in the
// program, found by any test that offers the tool or calls it.
func New[In any](
	def Def,
	plan func(ctx context.Context, env *Env, in In) (Access, error),
	run func(ctx context.Context, env *Env, in In, out io.Writer) (Result, error),
) Tool {

	t := Tool{Def: def}
	t.schema = sync.OnceValue(func() *jsonschema.Schema {
		schema, err := jsonschema.For[In](nil)
		if err != nil {
			panic(fmt.Sprintf("the schema of %T: %v", *new(In), err))
		}
		withoutNull(schema)
		return schema
	})
	t.offered = t.schema
	if len(def.Unoffered) > 0 {
		t.offered = sync.OnceValue(func() *jsonschema.Schema {
			schema := *t.schema()
			schema.Properties = maps.Clone(schema.Properties)
			for _, name := range def.Unoffered {
				delete(schema.Properties, name)
			}
			return &schema
		})
	}
	t.written = sync.OnceValue(func() json.RawMessage {
		b, err := json.Marshal(t.offered())
		if err != nil {
			panic(fmt.Sprintf("the schema of the tool %s: %v", def.Name, err))
		}
		return b
	})
	t.normalize = func(input json.RawMessage) json.RawMessage { return normalizeCall(t.schema(), def.Fix, input) }
	decode := func(input json.RawMessage) (In, error) { return Decode[In](t, input) }
	t.plan = func(ctx context.Context, env *Env, input json.RawMessage) (Access, error) {
		if plan == nil {
			return Access{Kind: def.Kind, Verb: def.Name}, nil
		}
		in, err := decode(input)
		if err != nil {
			return Access{}, err
		}
		return plan(ctx, env, in)
	}
	if run == nil {
		return t
	}
	t.run = func(ctx context.Context, env *Env, input json.RawMessage, out io.Writer) (Result, error) {
		in, err := decode(input)
		if err != nil {
			return Result{}, err
		}
		return run(ctx, env, in, out)
	}
	return t
}

// FromSchema makes a tool of a JSON Schema; New makes one of a type. The error is of a schema that
// is not one, refers to another document or whose root is no object. plan and run are as for New, and plan
// may be nil; they get the input as the model wrote it, valid by the schema.
func FromSchema(
	def Def, schema json.RawMessage,
	plan func(ctx context.Context, env *Env, input json.RawMessage) (Access, error),
	run func(ctx context.Context, env *Env, input json.RawMessage, out io.Writer) (Result, error),
) (Tool, error) {

	t := FromConstant(def, string(schema), plan, run)
	if _, err := t.resolved(); err != nil {
		return Tool{}, err
	}
	return t, nil
}

// FromConstant is FromSchema for a schema of the program's own, which is read when the first call is checked. A
// mistake in it panics then.
func FromConstant(
	def Def, schema string,
	plan func(ctx context.Context, env *Env, input json.RawMessage) (Access, error),
	run func(ctx context.Context, env *Env, input json.RawMessage, out io.Writer) (Result, error),
) Tool {

	if plan == nil {
		plan = func(context.Context, *Env, json.RawMessage) (Access, error) {
			return Access{Kind: def.Kind, Verb: def.Name}, nil
		}
	}
	resolved := sync.OnceValues(func() (*jsonschema.Resolved, error) {
		var parsed jsonschema.Schema
		err := json.Unmarshal([]byte(schema), &parsed)
		if err == nil && parsed.Type != "object" {
			err = errors.New("its root is not an object")
		}
		var made *jsonschema.Resolved
		if err == nil {
			made, err = parsed.Resolve(nil)
		}
		if err != nil {
			return nil, fmt.Errorf("the schema of the tool %s: %w", def.Name, err)
		}
		return made, nil
	})
	written := json.RawMessage(schema)
	t := Tool{Def: def, plan: plan, run: run, resolved: resolved, written: func() json.RawMessage { return written },
		normalize: func(input json.RawMessage) json.RawMessage { return input }}
	t.schema = func() *jsonschema.Schema {
		made, err := resolved()
		if err != nil {
			panic(err)
		}
		return made.Schema()
	}
	t.offered = t.schema
	return t
}

// ByLoop reports whether the loop makes the call itself. Run must not be called then.
func (t Tool) ByLoop() bool { return t.run == nil }

// Find is the tool of that name, else the only one that it can mean, by other letters or the
// names of other programs; nil for none.
func Find(tools []Tool, name string) *Tool {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	folded := plainName(name)
	var found *Tool
	for i := range tools {
		if foldProperty(tools[i].Name) != folded && !slices.Contains(calledElsewhere(tools[i].Name), folded) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &tools[i]
	}
	return found
}

// Decode reads the input of a tool that New made for In. Input must have passed Check.
func Decode[In any](t Tool, input json.RawMessage) (in In, err error) {
	if err = json.Unmarshal(t.normalize(input), &in); err != nil {
		err = fmt.Errorf("%s: %w", t.Name, err)
	}
	return in, err
}

// Valid reports whether New made the tool.
func (t Tool) Valid() bool { return t.schema != nil }

// Schema is the JSON Schema of the input, always the same bytes, not to be changed. Safe for
// concurrent use.
func (t Tool) Schema() json.RawMessage { return t.written() }

// Check validates input against the schema. Slips that can mean only one thing
// are let pass: null for optional properties, a number, truth value or list in
// quotes, the names other programs have for a property. The error names each
// property that is wrong and its right form, for the model to fix the call.
func (t Tool) Check(input json.RawMessage) error {
	var v any
	if err := json.Unmarshal(t.normalize(input), &v); err != nil {
		return fmt.Errorf("the input of %s is not JSON: %w", t.Name, err)
	}
	if t.resolved != nil {
		made, err := t.resolved()
		if err != nil {
			panic(err) // a mistake in a schema of the program's own
		}
		if err := made.Validate(v); err != nil {
			return fmt.Errorf("the input of %s does not fit: %w; its schema is %s", t.Name, err, t.written())
		}
		return nil
	}
	wrong := misfits(t.schema(), "", v)
	if given, ok := v.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(t.Elsewhere)) {
			if _, ok := given[name]; ok {
				wrong = append(wrong, t.Elsewhere[name])
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	wrong = wrong[:min(len(wrong), maxMisfits)]
	return fmt.Errorf("the input of %s does not fit: %s; it takes %s", t.Name, strings.Join(wrong, "; "),
		properties(t.offered()))
}

// maxMisfits is how many mistakes of one call are named.
const maxMisfits = 8

// Repair is the input with those slips of models put right that can mean only one thing.
func (t Tool) Repair(input json.RawMessage) json.RawMessage { return t.normalize(input) }

// Plan is the access of the call. Input must have passed Check.
func (t Tool) Plan(ctx context.Context, env *Env, input json.RawMessage) (Access, error) {
	return t.plan(ctx, env, input)
}

// Run makes the call. Input must have passed Check, and the caller must have the right to the planned access. It
// returns soon after ctx is done, leaving no process. Calls of KindRead and KindNone may run side by side.
func (t Tool) Run(ctx context.Context, env *Env, input json.RawMessage, out io.Writer) (Result, error) {
	return t.run(ctx, env, input, out)
}
