// Package tool defines the tools of the model: each is a value made from a typed func. It knows nothing of models, the
// loop or a terminal. A tool never asks for permission: it names beforehand the access of a call (Plan), the loop
// decides, and only then Run is called.
package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"artoo/tool/names"
	"artoo/tool/spelling"
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

// withoutNull removes null from a field's types: a model leaves out fields that it does not set.
func withoutNull(schema *jsonschema.Schema) {
	if len(schema.Types) == 2 && schema.Types[0] == "null" {
		schema.Type, schema.Types = schema.Types[1], nil
	}
	if schema.Items != nil {
		withoutNull(schema.Items)
	}
	for _, property := range schema.Properties {
		withoutNull(property)
	}
}

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

// normalizeInput takes slips that models make and that can mean only one thing: null
// for a property that may be left out, a number or truth value in quotes, a number
// without them where a text belongs, a whole number written as 2.0, a list in quotes or
// of one element without its brackets, names that other programs give a property. All
// else stays as it is.
func normalizeInput(schema *jsonschema.Schema, input json.RawMessage) json.RawMessage {
	input = bytes.TrimSpace(input)
	if len(input) == 0 {
		return input
	}
	switch {
	case input[0] == '{' && schema.Type == "object":
		return normalizeObject(schema, input)
	case input[0] == '{' && schema.Type == "array" && schema.Items != nil && schema.Items.Type == "object":
		return normalizeList(schema.Items, slices.Concat([]byte{'['}, input, []byte{']'}))
	case input[0] == '[' && schema.Type == "array" && schema.Items != nil:
		return normalizeList(schema.Items, input)
	case input[0] == '"' && schema.Type != "string":
		var quoted string
		if err := json.Unmarshal(input, &quoted); err != nil {
			return input
		}
		if inner := json.RawMessage(strings.TrimSpace(quoted)); isA(schema.Type, inner) ||
			schema.Type == "array" && isA("object", inner) {
			return normalizeInput(schema, inner)
		}
	case schema.Type == "integer":
		return plainInteger(input)
	case schema.Type == "string" && isA("number", input):
		return Quoted(string(input))
	}
	return input
}

// normalizeCall is normalizeInput for the whole input of a call, with the tool's own rules.
func normalizeCall(schema *jsonschema.Schema, own func(map[string]json.RawMessage) bool,
	input json.RawMessage) json.RawMessage {
	fixed := normalizeInput(schema, input)
	var fields map[string]json.RawMessage
	if own == nil || json.Unmarshal(fixed, &fields) != nil || fields == nil || !own(fields) {
		return fixed
	}
	return normalizeInput(schema, again(fixed, fields, true))
}

// isA reports whether raw is JSON of a type that is not written in quotes.
func isA(kind string, raw json.RawMessage) bool {
	if len(raw) == 0 || !json.Valid(raw) {
		return false
	}
	switch kind {
	case "array":
		return raw[0] == '['
	case "object":
		return raw[0] == '{'
	case "boolean":
		return raw[0] == 't' || raw[0] == 'f'
	case "integer", "number":
		return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	}
	return false
}

func normalizeObject(schema *jsonschema.Schema, input json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return input
	}
	changed := rename(schema, fields)
	for name, value := range fields {
		property, ok := schema.Properties[name]
		if !ok {
			continue
		}
		var paths []string
		if name == "path" && json.Unmarshal(value, &paths) == nil && len(paths) == 1 {
			value = Quoted(paths[0])
			fields[name], changed = value, true
		}
		if string(value) == "null" && !slices.Contains(schema.Required, name) {
			delete(fields, name)
			changed = true
		} else if fixed := normalizeInput(property, value); !bytes.Equal(fixed, value) {
			fields[name] = fixed
			changed = true
		}
	}
	return again(input, fields, changed)
}

func normalizeList(item *jsonschema.Schema, input json.RawMessage) json.RawMessage {
	var values []json.RawMessage
	if err := json.Unmarshal(input, &values); err != nil {
		return input
	}
	for i, value := range values {
		fixed := normalizeInput(item, value)
		values[i] = fixed
	}
	return again(input, values, true)
}

// again writes v, which came from input, if it was changed.
func again(input json.RawMessage, v any, changed bool) json.RawMessage {
	if !changed {
		return input
	}
	fixed, err := json.Marshal(v)
	if err != nil {
		return input
	}
	return fixed
}

// plainInteger writes 2.0 and 2e3 as Go reads integers.
func plainInteger(number json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(number, ".eE") || len(number) > 24 {
		return number
	}
	f, _, err := big.ParseFloat(string(number), 10, 128, big.ToNearestEven)
	if err != nil || !f.IsInt() {
		return number
	}
	n, exact := f.Int64()
	if exact != big.Exact {
		return number
	}
	return fmt.Append(nil, n)
}

// misfits names the faults of a decoded JSON value that is named by at.
func misfits(schema *jsonschema.Schema, at string, v any) []string {
	if is := typeOf(v); schema.Type != "" && is != schema.Type &&
		(is != "number" || schema.Type != "integer" || !wholeNumber(v)) {
		if is == "number" {
			return []string{fmt.Sprintf("%s must be %s, not %v", orInput(at), article(schema.Type), v)}
		}
		return []string{fmt.Sprintf("%s must be %s, not %s", orInput(at), article(schema.Type), article(is))}
	}
	var wrong []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if property, ok := schema.Properties[name]; ok {
				wrong = append(wrong, misfits(property, join(at, name), v[name])...)
			} else if schema.AdditionalProperties != nil {
				wrong = append(wrong, fmt.Sprintf("there is no property %q%s", join(at, name), perhaps(schema, v, name)))
			}
		}
		for _, name := range schema.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s is missing", join(at, name)))
			}
		}
	case []any:
		for i, item := range v {
			if schema.Items != nil {
				wrong = append(wrong, misfits(schema.Items, fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	}
	return wrong
}

// perhaps suggests the property that was meant: the missing one, else one that looks like it.
func perhaps(schema *jsonschema.Schema, given map[string]any, name string) string {
	const meant = " (did you mean %s?)"
	var missing []string
	for _, p := range schema.Required {
		if _, ok := given[p]; !ok {
			missing = append(missing, p)
		}
	}
	unknown := 0
	for n := range given {
		if _, ok := schema.Properties[n]; !ok {
			unknown++
		}
	}
	if len(missing) == 1 && unknown == 1 {
		return fmt.Sprintf(meant, missing[0]) // cmd is command, not cwd
	}
	folded := strings.ReplaceAll(names.Fold(name), "-", "_")
	free := slices.DeleteFunc(slices.Clone(schema.PropertyOrder), func(p string) bool { _, ok := given[p]; return ok })
	likely := func(p string) bool { return strings.HasSuffix(folded, "_"+p) || strings.HasPrefix(p, folded) } // file_path, old_str
	near := spelling.Nearest(folded, free)
	if at := slices.IndexFunc(free, likely); near == "" && at >= 0 {
		near = free[at]
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(meant, near)
}

// properties lists a tool's properties for the end of an error.
func properties(schema *jsonschema.Schema) string {
	var words []string
	for _, name := range schema.PropertyOrder {
		property := schema.Properties[name]
		if property == nil {
			continue
		}
		word := name + " (" + property.Type
		if slices.Contains(schema.Required, name) {
			word += ", required"
		}
		words = append(words, word+")")
	}
	return strings.Join(words, ", ")
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func orInput(at string) string {
	return cmp.Or(at, "the input")
}

func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "integer":
		return "a whole number"
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// wholeNumber reports whether a number is one that an int64 holds exactly.
func wholeNumber(v any) bool {
	f, ok := v.(float64)
	return ok && f == float64(int64(f)) && f > -1<<63 && f < 1<<63
}

// Quoted is text as JSON.
func Quoted(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil { // a string can always be written
		return json.RawMessage(`""`)
	}
	return raw
}

// otherNames are other names that models give a property, without case, underscores and hyphens.
func otherNames(property string) []string {
	return strings.Fields(map[string]string{
		"path": "filepath file filename absolutepath targetfile dirpath directory dir folder notebookpath notebook targetnotebook " +
			"relativepath searchpath targetdirectory searchdirectory directorypath relativeworkspacepath rootdir",
		"cell_id":     "cell id",
		"new_source":  "newcode newcellsource cellsource source newcontent content",
		"edit_mode":   "edittype mode",
		"content":     "contents filetext filecontent filecontents newcontent text code",
		"agent":       "subagenttype agenttype subagent agentname agentid mode",
		"command":     "cmd commandline shellcommand script",
		"cwd":         "workdir workingdirectory workingdir dir directory dirpath",
		"timeout":     "timeoutseconds timeoutsec timeouts timeoutsecs",
		"pattern":     "regex regexp query search searchpattern glob globpattern searchterm",
		"glob":        "include includes includepattern globpattern filepattern fileglob",
		"type":        "filetype language",
		"ignore_case": "i caseinsensitive",
		"context":     "c contextlines linesofcontext a b aftercontext beforecontext linesafter linesbefore",
		"query":       "q searchquery searchterm",
		"url":         "uri link href address webpage website page urls",
		"offset": "startindex startline linestart start fromline firstline startlineonebased offsetlines " +
			"startlineoneindexed",
		"limit":       "headlimit maxresults maxcount maxmatches numlines maxlines linecount",
		"files_only":  "fileswithmatches filenamesonly l",
		"old_string":  "oldstr oldtext old search find searchstring",
		"new_string":  "newstr newtext new replace replacement replacestring",
		"replace_all": "all replaceallmatches allowmultiple replaceeverywhere",
		"edits":       "replacements changes",
		"reason":      "justification",
		"background":  "runinbackground isbackground inbackground async detach",
		"id":          "bashid shellid sessionid taskid jobid processid pid backgroundid commandid terminalid",
		"input":       "chars text stdin data patch patchtext diff",
		"items":       "todos plan todolist",
		"text":        "content step title",
		"choices":     "options followup",
		"prompt":      "message instruction instructions task request",
	}[property])
}

// changesNothing reports whether a property of tools elsewhere makes no difference here.
func changesNothing(name string, value json.RawMessage) bool {
	if string(value) == "null" {
		return true
	}
	said := strings.Trim(string(value), `"`)
	switch foldProperty(name) {
	case "description", "explanation", "reason", "reasoning", "thought", "thoughts", "title", "summary",
		"justification", "purpose", "toolcallid", "callid", "taskprogress", "securityrisk", "requiresapproval",
		"safetoautorun", "instruction", "instructions", "shouldreadentirefile", "yieldtimems", "maxoutputtokens",
		"login", "prefixrule", "linecount", "activeform", "operation":
		return true
	case "runinbackground", "isbackground", "background", "async", "restart", "interactive",
		"dangerouslydisablesandbox", "forkcontext", "dryrun", "recursive", "ignore", "tty", "isinput", "requiredpermissions",
		"pages":
		return said == "false" || said == "" || said == "[]"
	case "outputmode":
		return said == "content"
	case "isregex", "isregexp", "casesensitive":
		return said == "true"
	case "literal", "literaltext", "fixedstrings", "withescalatedpermissions":
		return said == "false"
	case "sandboxpermissions":
		return said == "use_default"
	case "expectedreplacements":
		return said == "1"
	case "shell":
		return said == "bash" || said == "sh"
	case "n", "linenumbers", "showlinenumbers":
		return said == "true"
	case "encoding":
		return strings.EqualFold(strings.ReplaceAll(said, "-", ""), "utf8")
	case "createdirs", "createdirectories", "respectgitignore":
		return said == "true"
	}
	return false
}

// foldProperty is a property's name without the differences between programs.
func foldProperty(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// meant is the property of the schema that another name can only mean, "" for none or several.
func meant(schema *jsonschema.Schema, name string) string {
	folded := foldProperty(name)
	var found []string
	for property := range schema.Properties {
		if foldProperty(property) == folded {
			return property
		}
		if slices.Contains(otherNames(property), folded) {
			found = append(found, property)
		}
	}
	if len(found) > 1 { // glob_pattern is glob rather than pattern
		found = slices.DeleteFunc(found, func(p string) bool { return !strings.HasPrefix(folded, foldProperty(p)) })
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// rename gives the fields of an object the names of the schema, where they can
// mean only one thing, and drops fields that change nothing. Two fields of one meaning
// stay, to be refused, unless they say the same.
func rename(schema *jsonschema.Schema, fields map[string]json.RawMessage) (changed bool) {
	if schema.AdditionalProperties == nil {
		return false
	}
	names := slices.Sorted(maps.Keys(fields))
	wanted := map[string][]string{}
	for _, name := range names {
		if _, ok := schema.Properties[name]; ok {
			wanted[name] = append(wanted[name], name)
		} else if property := meant(schema, name); property != "" {
			wanted[property] = append(wanted[property], name)
		}
	}
	for property, given := range wanted {
		same := !slices.ContainsFunc(given, func(n string) bool { return !bytes.Equal(fields[n], fields[given[0]]) })
		if len(given) == 1 && given[0] == property || !same {
			continue
		}
		value := fields[given[0]]
		for _, name := range given {
			delete(fields, name)
		}
		fields[property], changed = value, true
	}
	for _, name := range names {
		if _, known := schema.Properties[name]; !known && fields[name] != nil && changesNothing(name, fields[name]) {
			delete(fields, name)
			changed = true
		}
	}
	return changed
}

// calledElsewhere are the names that a tool has in other programs.
func calledElsewhere(name string) []string {
	return strings.Fields(map[string]string{
		"read":            "readfile view viewfile openfile fileread cat readtextfile viewimage getfilecontents notebookread readnotebook",
		"ls":              "list listdirectory listdir listfiles",
		"glob":            "findfiles filesearch globtool globfilesearch findbyname searchforfiles find",
		"grep":            "grepsearch searchfilecontent searchfiles ripgrep rg greptool searchtext textsearch grepfiles",
		"write":           "writefile createfile createnewfile writetofile filewrite savefile",
		"edit":            "editfile multiedit strreplace searchreplace replace replaceinfile replacestringinfile fileedit applydiff findandreplace",
		"notebook_edit":   "notebookedit editnotebook editnotebookfile notebookeditcell",
		"task":            "agent subagent spawnagent delegate dispatchagent newtask runsubagent",
		"todo":            "todowrite todolist updateplan writetodos updatetodos updatetodolist managetodolist",
		"ask_user":        "askuserquestion requestuserinput askfollowupquestion askquestion",
		"enter_plan_mode": "enterplanmode",
		"exit_plan_mode":  "exitplanmode exitplan presentplan",
		"apply_patch":     "applypatch patch patchfile",
		"bash": "shell sh runshellcommand executecommand runcommand runterminalcmd runinterminal terminal bashtool " +
			"execcommand executebash exec shellcommand",
		"web_fetch":  "fetch fetchurl urlfetch webfetchurl fetchwebpage fetchwebcontent readurl readurlcontent openurl browse",
		"web_search": "googlewebsearch searchweb websearchtool bravewebsearch tavilysearch",
		"shell":      "bashoutput taskoutput writestdin readbackgroundoutput getterminaloutput",
	}[name])
}

// plainName is a tool's name without the differences between programs.
func plainName(name string) string {
	for _, prefix := range []string{"functions.", "default_api.", "default_api:", "tools.", "container."} {
		name = strings.TrimPrefix(name, prefix)
	}
	return foldProperty(name)
}

// Instead names the alternative to a tool that artoo does not have; "" where none is known.
func Instead(name string) string {
	for words, instead := range map[string]string{
		"deletefile removefile movefile renamefile copyfile createdirectory mkdir": "Use bash: rm, mv, cp, mkdir.",
		"codebasesearch semanticsearch search searchcode":                          "Use grep for contents and glob for names.",
		"readmanyfiles readfiles":                                                  "Use read, one call for each file; several calls in one reply are fine.",
		"strreplaceeditor strreplacebasededittool texteditor insert":               "Use read, write or edit.",
		"attemptcompletion finish submit done":                                     "When the task is done, answer without a call.",
		"killshell killbash taskstop":                                              "Use shell with action kill.",
		"think sequentialthinking":                                                 "Think without a call.",
		"python ipython codeinterpreter":                                           "Use bash, for example python3 - <<'EOF'.",
		"multitooluse.parallel batch":                                              "Write the calls one after another in one reply: those that only read run side by side.",
		"savememory memory updatememory":                                           "Use edit on AGENTS.md, if the user wants it kept.",
		"getdiagnostics readlints diagnostics":                                     "Use bash with the project's own compiler or linter.",
		"insertcell overwritecellsource deletecell editcell":                       "Use read on the notebook, then notebook_edit.",
		"runnotebookcell executecell runcell insertexecutecodecell":                "Use bash, for example jupyter nbconvert --to notebook --execute --inplace FILE.",
		"waitagent wait closeagent sendinput resumeagent":                          "A call of task ends with the sub-agent's report: there is nothing to wait for.",
		"gitstatus gitdiff gitlog gitcommit":                                       "Use bash with git.",
		"askfollowupquestion askuser":                                              "Ask in your answer.",
		"todoread readtodos gettodos":                                              "The plan is the list that you sent last: to change it, send it again with todo.",
		"switchmode newtask createplan setmode":                                    "Go on without it.",
	} {
		if slices.Contains(strings.Fields(words), plainName(name)) {
			return instead
		}
	}
	return ""
}
